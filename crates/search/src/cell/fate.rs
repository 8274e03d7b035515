//! Trials after all others that find out what becomes of every lost frame: no throughput and no latency
//! pays for the programs that note it.

use std::time::Duration;

use nicety_model::{CellFate, FateOf, Fps, Purpose, TrialRecord};

use super::evidence::JUST_ABOVE;
use super::{Cell, Stage};

/// Load that a path loses of for certain, in rates that it forwards under overload.
const ABOVE_CAPACITY: f64 = 1.25;

impl Cell {
    /// The stage; after the last latency trial that of bursts, then those of recovery and of the fates, and after
    /// these that of resets and the end.
    pub(super) fn stage(&self) -> Stage {
        let latencies = self.plan.latency_shares.len();
        match self.stage {
            Stage::Latency(number) if number >= latencies || self.level().is_none() => {
                // What is known of the buffer without a throughput is not worth its bursts.
                match self.bursts.next().filter(|_| self.level().is_some()) {
                    Some(_) => Stage::Burst,
                    None => self.recovery_stage(),
                }
            }
            Stage::Burst if self.bursts.next().is_none() => self.recovery_stage(),
            Stage::Recovery => self.recovery_stage(),
            Stage::Fate(number) => self.fate_stage(number),
            Stage::Reset => self.reset_stage(),
            stage => stage,
        }
    }

    fn recovery_stage(&self) -> Stage {
        if self.recoveries.left() > 0 && self.level().is_some() {
            Stage::Recovery
        } else {
            self.fate_stage(0)
        }
    }

    fn reset_stage(&self) -> Stage {
        if self.resets.left() > 0 && self.level().is_some() {
            Stage::Reset
        } else {
            Stage::Ended
        }
    }

    /// Leaves the trials of fates out.
    pub fn without_fates(&mut self) {
        self.plan.settings.fate = Duration::ZERO;
    }

    fn fate_stage(&self, number: usize) -> Stage {
        if number < self.fates_wanted().len() {
            Stage::Fate(number)
        } else {
            self.reset_stage()
        }
    }

    /// The trials whose losses are looked into, and their loads.
    pub(super) fn fates_wanted(&self) -> Vec<(FateOf, Fps)> {
        if self.plan.settings.fate.is_zero() {
            return Vec::new();
        }
        let overload = self.overload_load().map(|load| (FateOf::Overload, load));
        let confirm = self
            .confirm
            .as_ref()
            .filter(|record| record.frames.lost > 0);
        let confirm = confirm.map(|record| (FateOf::Confirm, Fps(record.load_fps)));
        let all = overload.into_iter().chain(confirm);
        all.chain(self.hops_load().map(|load| (FateOf::Latency, load)))
            .collect()
    }

    /// The first load whose latency was measured, where it is looked for where frames spend their time.
    fn hops_load(&self) -> Option<Fps> {
        let share = *self.plan.latency_shares.first()?;
        let load = || Some(self.at_share(self.level()?, share).0);
        self.plan.settings.hops.then(load).flatten()
    }

    /// The load of the lowest lossy trial. Where none is near the throughput, a little more than the path
    /// forwards under overload, if that was seen to be less than was sent.
    fn overload_load(&self) -> Option<Fps> {
        let lower = self.search.outcome().lower;
        if let Some(record) = self.overload(lower) {
            return Some(Fps(record.load_fps));
        }
        let lower = lower?.0;
        let most = (JUST_ABOVE * lower).min(self.plan.max.0);
        let load = (self.capacity?.0 * ABOVE_CAPACITY).min(most);
        (load > lower).then_some(Fps(load))
    }

    /// What the trials of fates have found out.
    pub(super) fn cell_fates(&self) -> Vec<CellFate> {
        let mut fates: Vec<CellFate> = self.fates.iter().filter_map(CellFate::of).collect();
        let hops = fates
            .iter_mut()
            .filter(|fate| fate.of == FateOf::Latency)
            .filter_map(|fate| fate.report.hops.as_mut());
        for hops in hops {
            // What the programs add shows beside the trial that it repeats.
            let plain = self.latency.first().map(|plain| plain.mean * 1e3);
            hops.plain_mean_ns = plain.map(|ns| ns.round().max(0.0) as u64);
        }
        fates
    }

    /// The repeat of the lowest lossy trial, where frames were looked for in it and some were lost.
    pub(super) fn overload_fate(&self) -> Option<&TrialRecord> {
        let of = FateOf::Overload;
        self.fates.iter().find(|record| {
            let found = record.fate.is_some() && record.frames.lost > 0;
            record.purpose == Purpose::Fate { of } && found
        })
    }

    /// Whether a trial tells of fates. It need not have reached its load for that.
    pub(super) fn tells_fates(&self, record: &TrialRecord) -> bool {
        matches!(self.stage(), Stage::Fate(_)) && record.fate.is_some()
    }
}
