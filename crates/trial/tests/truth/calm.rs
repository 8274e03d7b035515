//! Whether the machine let path and tester work: only then a truth is judged. That is told by the machine's own
//! account of its CPUs, never by the loss that is to be judged. Too few such trials are a truth that was not tried.

use std::fmt;
use std::ops::Range;
use std::time::Duration;

use nicety_host::roots::Roots;
use nicety_host::stat::StatSample;
use nicety_model::note::SearchNote;
use nicety_model::{CellResult, Note};
use nicety_port::clock::monotonic_ns;
use nicety_port::stalls::StallWatch;
use nicety_testkit::runner::Skip;

use crate::stage::placement;

/// Share of a watched CPU that other programs and the hypervisor may have.
pub const OTHERS: f64 = 0.05;
/// Share of windows with a stall that a search reckons with.
pub const STALLED: f64 = 0.15;

/// Frames that the first ring of a path holds.
pub const RING: f64 = 256.0;

/// Watches CPUs.
pub struct Machine {
    /// Absent where BPF programs cannot be loaded.
    stalls: Option<StallWatch>,
    cpus: Vec<u32>,
    /// Those of the path, which works in the kernel: what runs in user mode there are other programs.
    path: Vec<u32>,
}

impl Machine {
    /// Watches the path's CPUs. A sender that stands still owes nothing afterwards, so a path loses nothing by it.
    pub fn of_path() -> Self {
        Self::of(placement().path)
    }

    /// Watches the tester's CPUs as well.
    pub fn whole() -> Self {
        Self::of(placement().all_cpus())
    }

    fn of(cpus: Vec<u32>) -> Self {
        Self {
            stalls: StallWatch::new(&cpus).ok(),
            cpus,
            path: placement().path,
        }
    }

    /// What the machine took from these CPUs during `work`.
    pub fn during<T>(&self, work: impl FnOnce() -> T) -> (T, Taken) {
        if let Some(stalls) = &self.stalls {
            stalls.spare(&[]).unwrap();
            stalls.forget();
        }
        let (before, begun) = (sample(), monotonic_ns());
        let done = work();
        let time = begun..monotonic_ns();
        let shares = sample().shares_since(&before);
        let watched = shares.iter().filter(|share| self.cpus.contains(&share.cpu));
        let others = watched.map(|share| {
            let of_path = self.path.contains(&share.cpu);
            share.steal + if of_path { share.user } else { 0.0 }
        });
        let taken = Taken {
            stalls: self.stalls(&time),
            time,
            others: others.fold(0.0, f64::max),
        };
        (done, taken)
    }

    /// Stalls by length; all the time where there were more than can be noted.
    fn stalls(&self, time: &Range<u64>) -> Vec<(Range<u64>, bool)> {
        let Some(watch) = &self.stalls else {
            return Vec::new();
        };
        match watch.seen() {
            Some(stalls) => stalls
                .into_iter()
                .map(|stall| (stall.ns, stall.by_program))
                .collect(),
            None => vec![(time.clone(), false)],
        }
    }
}

/// What the machine took while something was measured.
pub struct Taken {
    time: Range<u64>,
    /// When a CPU stood still, or worked for another program.
    stalls: Vec<(Range<u64>, bool)>,
    /// Share of the time that others had of one of the CPUs.
    pub others: f64,
}

impl Taken {
    fn longest(&self) -> Duration {
        let lengths = self.stalls.iter().map(|(ns, _)| ns.end - ns.start);
        Duration::from_nanos(lengths.max().unwrap_or(0))
    }

    /// Whether no CPU was away for longer than the path has `room` for what comes meanwhile.
    pub fn spared(&self, room: Duration) -> bool {
        self.longest() <= room && self.others <= OTHERS
    }

    /// Share of windows of this length in which a CPU was away for longer than there was `room`.
    pub fn windows(&self, length: Duration, room: Duration) -> f64 {
        let (length, room) = (length.as_nanos() as u64, room.as_nanos() as u64);
        let all = (self.time.end - self.time.start).div_ceil(length);
        let mut hit: Vec<u64> = (self.stalls.iter())
            .filter(|(ns, _)| ns.end - ns.start > room)
            .flat_map(|(ns, _)| {
                let at = |ns: u64| ns.saturating_sub(self.time.start) / length;
                at(ns.start)..=at(ns.end)
            })
            .collect();
        hit.sort_unstable();
        hit.dedup();
        hit.len() as f64 / all as f64
    }

    /// Share of the time in which a CPU stood still; what programs had is not in it.
    pub fn still(&self) -> f64 {
        let still = self.stalls.iter().filter(|(_, by_program)| !by_program);
        let ns: u64 = still.map(|(ns, _)| ns.end - ns.start).sum();
        ns as f64 / (self.time.end - self.time.start) as f64
    }
}

impl fmt::Display for Taken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (count, longest) = (self.stalls.len(), self.longest().as_secs_f64() * 1e3);
        let others = self.others * 100.0;
        write!(
            f,
            "{count} stalls of {longest:.1} ms at most, {others:.0} % for others"
        )
    }
}

/// The first of `tries` trials that is as it should be. One that is not, although no CPU was away for longer than the
/// path has `room`, is wrong; none says that the sender had no CPU, by its own account. The first is not watched: most
/// need no excuse.
pub fn tried<T>(
    tries: usize,
    room: Duration,
    mut trial: impl FnMut() -> Result<Option<T>, String>,
) -> Result<T, Skip> {
    let mut why = "the sender had no CPU".to_owned();
    let mut machine = None;
    for _ in 0..tries {
        let (outcome, taken) = match &machine {
            None => (trial(), None),
            Some(machine) => {
                let (outcome, taken) = Machine::during(machine, &mut trial);
                (outcome, Some(taken))
            }
        };
        match (outcome, taken) {
            (Ok(Some(right)), _) => return Ok(right),
            (Err(wrong), Some(taken)) => {
                assert!(!taken.spared(room), "{wrong}; {taken}");
                why = taken.to_string();
            }
            _ => {}
        }
        machine.get_or_insert_with(Machine::whole);
    }
    Err(not_tried(why))
}

/// A truth that the machine did not let be judged.
pub fn not_tried(why: impl fmt::Display) -> Skip {
    Skip(format!("not tried: {why}"))
}

fn sample() -> StatSample {
    StatSample::read(&Roots::live().proc).unwrap()
}

/// Whether other programs kept the tester from its schedule again and again in a search, by its own account.
pub fn disturbed(result: &CellResult) -> Option<&Note> {
    let disturbed = |note: &&Note| matches!(note, Note::Search(SearchNote::Disturbed { .. }));
    result.notes.iter().find(disturbed)
}
