//! A path whose faults are known exactly: two TAP devices, and a thread that carries frames from
//! one to the other, losing, doubling, delaying or damaging those it was told to.
//!
//! ```text
//!  namespace A      this process      namespace B
//!      a ------------- thread ------------ b
//! ```
//!
//! The thread keeps its own counts, so that the tester's can be held against them.

mod fault;
mod tap;

use std::fs::File;
use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nicety_model::FrameSize;
use nicety_netdev::link::Links;
use nicety_netdev::net_error::NetError;
use nicety_netdev::netns::NetNs;
use nicety_netdev::sysctl;
use nicety_packet::{CheckCorruption, Expect, Seen};
use nicety_paths::counters::{InterfaceCounters, PathCounters};
use nicety_paths::{Coupling, Path, PathFacts, PathPort};

use fault::Way;
pub use fault::{Fault, WireCounts};

/// Names of the ports.
const NAMES: [&str; 2] = ["a", "b"];
/// Frames carried one way before the other gets its turn.
const BATCH: usize = 64;
/// Longer than any frame.
const BUFFER: usize = 16_384;
/// How often the thread looks whether it is to end when there is nothing to carry.
const LOOK_MS: i32 = 5;

/// A direction of a wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From port A to port B.
    AToB,
    /// From port B to port A.
    BToA,
}

/// Two ports joined by a thread of this process; gone when dropped.
#[derive(Debug)]
pub struct Wire {
    links: [Links; 2],
    facts: PathFacts,
    ways: Arc<[Mutex<Way>; 2]>,
    pause_us: Arc<AtomicU64>,
    end: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Wire {
    /// Makes the ports, each in a namespace of its own, and starts to carry every frame.
    ///
    /// # Errors
    /// When the kernel has no TAP devices or the process may not make them.
    pub fn build() -> Result<Self, Box<dyn std::error::Error>> {
        let mut ends = Vec::new();
        for name in NAMES {
            let ns = NetNs::create(name)?;
            sysctl::disable_ipv6(&ns)?;
            let tap = ns
                .run(|| tap::open(name))?
                .map_err(|error| format!("cannot make TAP device {name}: {error}"))?;
            let links = Links::open(&ns)?;
            links.set_up(name)?;
            let link = links.wait_carrier(name, Duration::from_secs(3))?;
            let port = PathPort {
                ns,
                name: link.name,
                index: link.index,
                mac: link.mac.unwrap_or_default(),
                mtu: link.mtu,
                speed_mbps: None,
            };
            ends.push((links, port, tap));
        }
        let ways = Arc::new([Mutex::default(), Mutex::default()]);
        let end = Arc::new(AtomicBool::new(false));
        let (Some(b), Some(a)) = (ends.pop(), ends.pop()) else {
            return Err("a wire has two ends".into());
        };
        let taps = [a.2, b.2];
        let pause_us = Arc::new(AtomicU64::new(0));
        let (ours, ending, paused) = (Arc::clone(&ways), Arc::clone(&end), Arc::clone(&pause_us));
        let thread = std::thread::Builder::new()
            .name("wire".to_owned())
            .spawn(move || {
                // A tester of high priority would keep it from its CPU otherwise. Only root may.
                let _ = nicety_netdev::schedule::before_programs(None);
                carry(&taps, &ours, &ending, &paused);
            })?;
        Ok(Self {
            links: [a.0, b.0],
            facts: PathFacts::new("wire", [a.1, b.1], Coupling::Decoupled),
            ways,
            pause_us,
            end,
            thread: Some(thread),
        })
    }

    /// Treats the frames of one way like this from now on; numbers and counts start again, and a
    /// frame that waited is gone.
    pub fn set(&self, way: Direction, fault: Fault) {
        lock(&self.ways[way as usize]).set(fault);
    }

    /// What became of the frames of one way since [`Self::set`].
    pub fn counts(&self, way: Direction) -> WireCounts {
        lock(&self.ways[way as usize]).counts
    }

    /// Waits until `frames` frames have entered since [`Self::set`]: a sender is done before its
    /// last frames have been read. Returns the counts then, or after ten seconds as they are.
    pub fn entered(&self, way: Direction, frames: u64) -> WireCounts {
        let begun = Instant::now();
        loop {
            let counts = self.counts(way);
            if counts.entered >= frames || begun.elapsed() > Duration::from_secs(10) {
                return counts;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Longest time that the wire stood still since the last call, because the machine gave its
    /// thread no CPU. It idles for five milliseconds at most.
    pub fn take_pause(&self) -> Duration {
        Duration::from_micros(self.pause_us.swap(0, Ordering::Relaxed))
    }

    /// The frame that entered last, without FCS.
    pub fn last_frame(&self, way: Direction) -> Vec<u8> {
        lock(&self.ways[way as usize]).last.clone()
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.end.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has been printed; frames are missing then, which tests see.
            let _ = thread.join();
        }
    }
}

impl Path for Wire {
    fn facts(&self) -> &PathFacts {
        &self.facts
    }

    fn counters(&self) -> Result<PathCounters, NetError> {
        let ports = self.links.iter().zip(NAMES).map(|(links, name)| {
            let counters = links.get(name)?.counters;
            Ok(InterfaceCounters::port(name, counters))
        });
        Ok(ports.collect::<Result<Vec<_>, _>>()?.into())
    }
}

fn lock(way: &Mutex<Way>) -> MutexGuard<'_, Way> {
    way.lock().unwrap_or_else(PoisonError::into_inner)
}

fn carry(taps: &[File; 2], ways: &[Mutex<Way>; 2], end: &AtomicBool, pause_us: &AtomicU64) {
    let mut buffer = vec![0; BUFFER];
    let mut last = Instant::now();
    while !end.load(Ordering::Relaxed) {
        let now = Instant::now();
        let pause = now.duration_since(last).as_micros();
        pause_us.fetch_max(pause.try_into().unwrap_or(u64::MAX), Ordering::Relaxed);
        last = now;
        let mut carried = 0;
        for (from, way) in ways.iter().enumerate() {
            let mut way = lock(way);
            for _ in 0..BATCH {
                // Nothing there, or a port that is down: the wire waits.
                let Ok(length) = (&taps[from]).read(&mut buffer) else {
                    break;
                };
                let frame = &mut buffer[..length];
                if is_learning(frame) {
                    write(&taps[1 - from], frame);
                } else {
                    way.carry(frame, |frame| write(&taps[1 - from], frame));
                }
                carried += 1;
            }
        }
        if carried == 0 {
            tap::wait([&taps[0], &taps[1]], LOOK_MS);
        }
    }
}

/// Whether it is a learning frame, which belongs to no trial: nothing happens to those, and they are not counted.
fn is_learning(frame: &[u8]) -> bool {
    let tagged = frame.get(12..14) == Some(&[0x81, 0x00]);
    // With the FCS that the tap leaves out.
    let size = u16::try_from(frame.len() + 4).ok();
    let size = size.and_then(|bytes| FrameSize::new(bytes).ok());
    let seen = size.map(|size| Expect::new(size, tagged).classify(frame, CheckCorruption::Headers));
    seen == Some(Seen::Learning)
}

/// Hands a frame to the port, which takes it whole or not at all.
fn write(mut tap: &File, frame: &[u8]) -> bool {
    loop {
        match tap.write(frame) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result.is_ok_and(|length| length == frame.len()),
        }
    }
}
