//! The rate at which connections are opened (RFC 9693 §4.5), each validated by an answer (§4.6).

use nicety_model::stateful::{Setback, SetupRate, TableCounts, TableStage, TableVerdict};
use nicety_model::{FrameSize, Shape};
use nicety_search::stateful::{RateSearch, Trial, figure};

use super::Say;
use super::bench::{Bench, Filled, told};
use crate::error::RunError;

/// Lowest rate that is tried.
pub(super) const MIN_RATE: f64 = 1000.0;
/// The bounds of a search are within this share of the upper one.
pub(super) const WIDTH: f64 = 0.02;
/// Where a search begins when nothing is known: a part of the highest rate.
pub(super) const FIRST: f64 = 0.125;
/// Later repeats begin so far above what was found.
pub(super) const AGAIN: f64 = 1.05;
/// Fewest connections of a trial.
const LEAST: u64 = 100;

/// Bytes in a frame behind its headers.
pub(super) fn payload(size: FrameSize, shape: &Shape) -> u64 {
    let ip = if shape.is_ipv6() { 40 } else { 20 };
    let transport = if shape.is_tcp() { 20 } else { 8 };
    size.bytes_without_fcs().saturating_sub(14 + ip + transport) as u64
}

impl Bench {
    /// Searches as often as repeats are asked for.
    pub(super) fn setup(&mut self, say: Say<'_>) -> Result<SetupRate, RunError> {
        let (mut rates, mut at_max) = (Vec::new(), false);
        let (mut counts, mut stopped_by) = (TableCounts::default(), None);
        let (mut trials, mut spoiled) = (0, 0);
        let mut unequal = false;
        let mut first = self.max_rate.0 * FIRST;
        for _ in 0..self.repeats {
            let mut search = RateSearch::new(MIN_RATE, self.max_rate.0, WIDTH, first);
            let mut last_failed = None;
            while let Some(rate) = search.next() {
                let Filled { opened, trial, .. } = self.setup_trial(rate, say)?;
                if !search.take(trial) {
                    continue;
                }
                let setback = told(opened.setback(), trial);
                if trial == Trial::Passed || search.found().is_none() {
                    counts = opened.counts;
                }
                last_failed = setback.or(last_failed);
                unequal |= setback == Some(Setback::Miscounted);
            }
            trials += search.trials();
            spoiled += search.spoiled();
            at_max |= search.at_max() || search.is_by_machine();
            stopped_by = last_failed.or(stopped_by);
            if let Some(found) = search.found() {
                rates.push(found);
                first = found * AGAIN;
            }
        }
        let per_s = figure(&rates);
        Ok(SetupRate {
            per_s,
            verdict: verdict(per_s.is_some(), at_max, unequal && !counts.equal()),
            stopped_by,
            counts,
            trials,
            spoiled: self.watch.counted(spoiled),
        })
    }

    fn setup_trial(&mut self, rate: f64, say: Say<'_>) -> Result<Filled, RunError> {
        let connections = (rate * self.trial.as_secs_f64()) as u64;
        let connections = connections.clamp(LEAST.min(self.room), self.room);
        self.open(TableStage::Setup, connections, rate, true, say)
    }
}

/// Of a figure that was searched.
pub(super) fn verdict(found: bool, at_max: bool, unequal: bool) -> TableVerdict {
    match (found, unequal, at_max) {
        (_, true, _) => TableVerdict::NotValid,
        (false, ..) => TableVerdict::Failed,
        (true, _, true) => TableVerdict::AtLeast,
        (true, ..) => TableVerdict::Ok,
    }
}

#[cfg(test)]
mod tests {
    use nicety_model::Transport;
    use nicety_model::sock::Family;

    use super::*;

    #[test]
    fn counts_that_differ_make_a_figure_not_valid() {
        assert_eq!(verdict(true, true, true), TableVerdict::NotValid);
        assert_eq!(verdict(false, false, true), TableVerdict::NotValid);
        assert_eq!(verdict(false, false, false), TableVerdict::Failed);
        assert_eq!(verdict(true, true, false), TableVerdict::AtLeast);
        assert_eq!(verdict(true, false, false), TableVerdict::Ok);
    }

    #[test]
    fn payload_is_what_headers_leave() {
        let of = |family, protocol| {
            let shape = Shape {
                family,
                protocol,
                ..Shape::default()
            };
            payload(FrameSize::SMALLEST, &shape)
        };
        assert_eq!(of(None, None), 18);
        assert_eq!(of(None, Some(Transport::Tcp)), 6);
        // They do not fit.
        assert_eq!(of(Some(Family::Ipv6), Some(Transport::Tcp)), 0);
    }
}
