//! What passes on connections that are open (RFC 9693 §4.7, test phase 2): frames on all of them, in an order that
//! looks random.

use nicety_model::Fps;
use nicety_model::stateful::{EntryState, Goodput, Setback, TableStage};
use nicety_port::af_packet::connections::{Phase, Way};
use nicety_search::stateful::{Carried, RateSearch, Shortfall, Stalled, Trial, figure};

use super::bench::{Bench, late, told};
use super::setup_rate::{AGAIN, FIRST, MIN_RATE, WIDTH, verdict};
use super::{Say, StatefulEvent};
use crate::error::RunError;

impl Bench {
    /// Searches for the highest rate on `entries` connections in one state.
    pub(super) fn goodput(
        &mut self,
        entries: u64,
        state: EntryState,
        say: Say<'_>,
    ) -> Result<Goodput, RunError> {
        let answer = state == EntryState::Replied;
        let filled = self.fill(TableStage::Goodput, entries, answer, say)?;
        let counts = filled.opened.counts;
        let mut result = Goodput {
            entries,
            state,
            fps: None,
            payload_mbps: None,
            verdict: verdict(false, false, !counts.equal()),
            stopped_by: filled.opened.setback(),
            counts,
            kernel_after: counts.kernel,
            trials: 0,
            spoiled: self.watch.counted(0),
        };
        if let Some(setback) = result.stopped_by {
            result.verdict = verdict(false, false, setback == Setback::Miscounted);
            return Ok(result);
        }
        let (mut rates, mut at_max, mut unequal) = (Vec::new(), false, false);
        let mut spoiled = 0;
        let mut first = self.max_rate.0 * FIRST;
        for _ in 0..self.repeats {
            let mut search = RateSearch::new(MIN_RATE, self.max_rate.0, WIDTH, first);
            let mut last_failed = None;
            let mut passed = None;
            while let Some(rate) = search.next() {
                let tried = self.carry(entries, state, rate, say)?;
                result.kernel_after = tried.carried.entries_after;
                let setback = tried.carried.setback(self.loss);
                let trial = Trial::of(setback, tried.stalled, tried.missing, tried.offered);
                let setback = told(setback, trial);
                say(StatefulEvent::Tried { setback });
                if !search.take(trial) {
                    continue;
                }
                if trial == Trial::Passed && search.found() == Some(rate) {
                    passed = Some(tried.received);
                }
                last_failed = setback.or(last_failed);
                unequal |= setback == Some(Setback::Miscounted);
                if unequal {
                    break;
                }
            }
            result.trials += search.trials();
            spoiled += search.spoiled();
            at_max |= search.at_max() || search.is_by_machine();
            result.stopped_by = last_failed.or(result.stopped_by);
            if let Some(found) = search.found() {
                rates.extend(passed);
                first = found * AGAIN;
            }
        }
        result.spoiled = self.watch.counted(spoiled);
        result.fps = figure(&rates);
        result.payload_mbps = result
            .fps
            .map(|figure| figure.median * self.payload as f64 * 8e-6);
        result.verdict = verdict(result.fps.is_some(), at_max, unequal);
        Ok(result)
    }

    /// One trial.
    fn carry(
        &mut self,
        entries: u64,
        state: EntryState,
        rate: f64,
        say: Say<'_>,
    ) -> Result<Tried, RunError> {
        say(StatefulEvent::Carry {
            connections: entries,
            state,
            rate: Fps(rate),
        });
        let before = self.entries()?;
        let frames = ((rate * self.trial.as_secs_f64()) as u64).max(1);
        let phase = match state {
            EntryState::Unreplied => Phase::Forth,
            EntryState::Replied => Phase::Both,
        };
        self.watch.begin();
        let report = self.phase(phase, entries, frames, rate, false)?;
        let stalled = self.watch.seen();
        let ways: Vec<Way> = report.forth.into_iter().chain(report.back).collect();
        let sum = |of: fn(&Way) -> u64| ways.iter().map(of).sum();
        let carried = Carried {
            intended: sum(|way| way.intended),
            sent: sum(|way| way.sent),
            arrived: sum(|way| way.arrived),
            strange: sum(|way| way.strange),
            tester_drops: report.tester_drops,
            late: ways.iter().any(|way| late(way, rate)),
            entries: before,
            entries_after: self.entries()?,
        };
        let offered = ways.iter().map(|way| way.offered_fps);
        let slowest = offered.fold(f64::INFINITY, f64::min);
        let received = ways.iter().map(|way| {
            let share = way.arrived as f64 / way.sent.max(1) as f64;
            way.offered_fps * share
        });
        let missing = ways.iter().fold(
            carried.shortfall(rate * ways.len() as f64),
            |missing: Shortfall, way| missing.behind(way.sent, rate, way.offered_fps),
        );
        Ok(Tried {
            carried,
            stalled,
            missing,
            offered: slowest,
            received: received.sum(),
        })
    }
}

/// A trial.
struct Tried {
    /// What became of its frames.
    carried: Carried,
    /// What the machine did meanwhile.
    stalled: Stalled,
    /// What is missing.
    missing: Shortfall,
    /// Rate of the slower side.
    offered: f64,
    /// Frames per second that arrived.
    received: f64,
}
