//! Whether the senders rest in the next trial, by how busy the path was in those before it.

use std::time::Duration;

use nicety_host::cpu_load::CpuSnapshot;
use nicety_model::{CoreUse, TrialRecord};
use nicety_port::Rest;

/// Share of a CPU's time, up to which the path leaves it enough that nobody else need rest: one with
/// 10 % idle frees as much as any rest does, and 5 % are for the prediction.
const BUSY_MAX: f64 = 0.85;

/// Rests of a trial from which on their mean length says what the next ones will take.
const RESTS: u32 = 20;

/// How busy a path was in one trial.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Seen {
    /// Frames per second and direction that were sent.
    offered: f64,
    /// Of these, frames that the path carried.
    carried: f64,
    /// Busy share of the path's fullest CPU, 0 to 1.
    busy: f64,
}

impl Seen {
    /// What it says of `load` frames per second: work grows with what is carried, and never falls
    /// when more is sent.
    fn at(&self, load: f64) -> f64 {
        let share = self.busy * load / self.carried;
        if load <= self.offered {
            share.min(self.busy)
        } else {
            share
        }
    }

    /// How far `load` is from this one, by ratio.
    fn distance(&self, load: f64) -> f64 {
        (load / self.offered).ln().abs()
    }
}

/// What the trials on one path have shown.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Memory {
    seen: Vec<Seen>,
    /// What a rest of the last trial that had some took, in seconds.
    takes_s: Option<f64>,
}

impl Memory {
    /// Remembers a trial on a path that runs on `path_cpus`, between whose readings of the CPUs
    /// `elapsed` passed: more than the time of sending, and nobody works after it.
    pub(crate) fn note(&mut self, record: &TrialRecord, path_cpus: &[u32], elapsed: Duration) {
        let pacing = &record.pacing;
        if pacing.rests >= RESTS {
            self.takes_s = Some(pacing.rested_s / f64::from(pacing.rests));
        }
        let sending_s = record.pacing.sending_s;
        let offered = record.pacing.offered_fps;
        let busy = record.cpu.as_ref().and_then(|cpu| {
            let of_path = cpu
                .cores
                .iter()
                .filter(|core| path_cpus.contains(&core.cpu));
            of_path.map(CoreUse::busy).reduce(f64::max)
        });
        let Some(busy) = busy else { return };
        if sending_s > 0.0 && offered > 0.0 && record.forwarding_fps > 0.0 {
            self.seen.push(Seen {
                offered,
                carried: record.forwarding_fps.min(offered),
                busy: (busy * elapsed.as_secs_f64() / sending_s).min(1.0),
            });
        }
    }

    /// The rests of a trial of `load` frames per second: those `configured`, unless what was seen at
    /// the load nearest to it says that the path leaves its CPUs time enough.
    pub(crate) fn rest(&self, configured: Option<Rest>, load: f64) -> Option<Rest> {
        let newest_first = self.seen.iter().rev();
        let near = newest_first.min_by(|a, b| a.distance(load).total_cmp(&b.distance(load)));
        configured
            .filter(|_| near.is_none_or(|seen| seen.at(load) >= BUSY_MAX))
            .map(|rest| self.takes_s.map_or(rest, |seconds| rest.taking(seconds)))
    }
}

/// Time between two readings of the CPUs.
pub(crate) fn elapsed(before: &CpuSnapshot, after: &CpuSnapshot) -> Duration {
    after.at.saturating_sub(before.at)
}

#[cfg(test)]
mod tests;
