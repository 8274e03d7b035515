//! Who watches, and trusts nobody: it reads what every port lets pass, and holds the sum against the cap.
//!
//! It plays the guards as well: each lowers its port when the time that the daemon has told it is over.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{JoinHandle, sleep};
use std::time::{Duration, Instant};

use nicety_host::journal::since_boot;

use crate::port::{Field, Port};

/// Time between two looks.
const LOOK: Duration = Duration::from_millis(20);
/// After a gap of so long nothing can be said about what was between.
const GAP: Duration = Duration::from_millis(250);

/// One cluster as it is watched.
#[derive(Debug)]
pub struct Seen {
    pub ports: Vec<Port>,
    cap: u64,
    /// What each host may send in any case.
    floor: u64,
    period: Duration,
    /// From when each host has to have its floor; none while it cannot talk.
    pub floors: Mutex<Vec<Option<Instant>>>,
    /// What goes on now, for messages.
    pub label: Mutex<String>,
    /// What was wrong.
    pub wrong: Mutex<Vec<String>>,
    /// Highest sum, in thousandths of the cap.
    pub highest: AtomicU64,
    /// Longest time above the cap, in milliseconds.
    pub longest: AtomicU64,
}

impl Seen {
    pub fn new(files: &[PathBuf], (cap, floor): (u64, u64), period: Duration) -> Self {
        Self {
            ports: files.iter().map(|file| Port::open(file).unwrap()).collect(),
            cap,
            floor,
            period,
            floors: Mutex::new(vec![None; files.len()]),
            label: Mutex::default(),
            wrong: Mutex::default(),
            highest: AtomicU64::default(),
            longest: AtomicU64::default(),
        }
    }

    pub fn limits(&self) -> Vec<u64> {
        self.ports
            .iter()
            .map(|port| port.get(Field::Limit))
            .collect()
    }

    pub fn wrong(&self, what: &str) {
        let label = self.label.lock().unwrap().clone();
        self.wrong.lock().unwrap().push(format!("{label}: {what}"));
    }

    /// A machine that has stood still gets the time back, and some to make up for what has waited.
    fn delay(&self, now: Instant, by: Duration) {
        let mut floors = self.floors.lock().unwrap();
        for from in floors.iter_mut().flatten() {
            *from = (*from).max(now) + by;
        }
    }

    /// A look. `over` is since when the sum is above the cap, and whether that was told.
    fn look(&self, over: &mut Option<(Instant, bool)>, blind: bool) {
        let limits = self.limits();
        let sum: u64 = limits.iter().sum();
        let now = Instant::now();
        self.highest
            .fetch_max(sum * 1000 / self.cap, Ordering::Relaxed);
        if sum * 100 <= self.cap * 101 || blind {
            *over = None;
        } else {
            let (since, told) = over.get_or_insert((now, false));
            let long = now - *since;
            self.longest
                .fetch_max(long.as_millis() as u64, Ordering::Relaxed);
            if long > self.period && !std::mem::replace(told, true) {
                self.wrong(&format!(
                    "{sum} of {} may be sent for longer than a period: {limits:?}",
                    self.cap
                ));
            }
        }
        let mut floors = self.floors.lock().unwrap();
        for (host, from) in floors.iter_mut().enumerate() {
            if from.is_some_and(|from| now >= from)
                && limits[host] * 100 < self.floor * 99
                && !blind
            {
                self.wrong(&format!(
                    "host {host} can talk to etcd and may send {} of its guarantee of {}: {limits:?}",
                    limits[host], self.floor
                ));
                *from = None;
            }
        }
    }
}

/// Watches clusters in a thread of its own until it is dropped.
#[derive(Debug)]
pub struct Watch {
    end: Arc<AtomicBool>,
    gaps: Arc<AtomicU64>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    pub fn start(all: Vec<Arc<Seen>>) -> Self {
        let (end, gaps) = (
            Arc::new(AtomicBool::new(false)),
            Arc::new(AtomicU64::new(0)),
        );
        let (ending, longest) = (Arc::clone(&end), Arc::clone(&gaps));
        let thread = std::thread::spawn(move || {
            let mut over = vec![None; all.len()];
            let mut last = Instant::now();
            let mut blind = Instant::now();
            while !ending.load(Ordering::Relaxed) {
                let gap = last.elapsed();
                last = Instant::now();
                longest.fetch_max(gap.as_millis() as u64, Ordering::Relaxed);
                if gap > GAP {
                    // The guards stood still as well, and others may have gone on.
                    blind = last + 2 * GAP;
                    all.iter().for_each(|seen| seen.delay(last, 3 * gap));
                }
                let now = since_boot();
                for (seen, over) in all.iter().zip(&mut over) {
                    seen.ports.iter().for_each(|port| port.guard(now));
                    seen.look(over, last < blind);
                }
                sleep(LOOK);
            }
        });
        Self {
            end,
            gaps,
            thread: Some(thread),
        }
    }

    /// The longest time without a look, in milliseconds.
    pub fn gap(&self) -> u64 {
        self.gaps.load(Ordering::Relaxed)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.end.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
