//! Whether measured changes are worth keeping.
//!
//! Kept is what gains at least 2 % and at least two standard deviations of a single measurement, in
//! logarithms.
//! A cell that failed in a measurement is measured again; where it fails for good nothing is kept,
//! because it may be the change that broke it.

mod failed;
mod sockets;

use nicety_model::Run;
use nicety_model::finding::Goal;
use nicety_model::knob::Change;
use nicety_model::measured::{
    CurvePoint, Measured, MeasuredCell, MeasuredDecision, MeasuredGain, MeasuredTarget,
    MeasuredUnit,
};
use nicety_model::{CellResult, Purpose, Validity};

pub use failed::{failed, mend};

/// Smallest gain that is kept, however quiet the machine.
const LEAST: f64 = 0.02;
/// Standard deviations that a gain must be above.
const SIGMAS: f64 = 2.0;

/// What a goal is measured by.
pub fn target(goal: Goal) -> MeasuredTarget {
    match goal {
        Goal::Throughput | Goal::Forwarding => MeasuredTarget::Throughput,
        Goal::Latency => MeasuredTarget::LatencyP99,
    }
}

/// Judges runs of the same plan before and after `changes`, in the order they were made.
pub fn judge(
    target: MeasuredTarget,
    changes: Vec<Change>,
    before: &[Run],
    after: &[Run],
) -> Measured {
    let names = before.first().map(cells).unwrap_or_default();
    let mut cells: Vec<MeasuredCell> = names
        .into_iter()
        .filter_map(|cell| {
            Some(MeasuredCell {
                before: values(target, before, &cell)?,
                after: values(target, after, &cell)?,
                curve_before: curve(before, &cell),
                curve_after: curve(after, &cell),
                unit: match target {
                    MeasuredTarget::Throughput | MeasuredTarget::ForwardingRate => {
                        MeasuredUnit::FramesPerS
                    }
                    MeasuredTarget::LatencyP99 => MeasuredUnit::P99Us,
                },
                rates_before: Vec::new(),
                rates_after: Vec::new(),
                cell,
            })
        })
        .collect();
    cells.extend(sockets::cells(target, before, after));
    let side = |of: fn(&MeasuredCell) -> &Vec<f64>| scores(target, &cells, of);
    let gain = gain(&side(|cell| &cell.before), &side(|cell| &cell.after));
    let failed = failed::anywhere(target, before, after);
    let decision = match failed.is_empty() {
        true => decide(gain),
        false => MeasuredDecision::NotMeasured,
    };
    Measured {
        schema: nicety_model::SCHEMA,
        target,
        changes,
        cells,
        failed,
        gain,
        decision,
    }
}

fn cells(run: &Run) -> Vec<String> {
    let mut names: Vec<String> = run.cells.iter().map(|cell| cell.cell.clone()).collect();
    names.sort();
    names.dedup();
    names
}

/// One number per run; `None` when a run has none.
fn values(target: MeasuredTarget, runs: &[Run], cell: &str) -> Option<Vec<f64>> {
    runs.iter().map(|run| value(target, run, cell)).collect()
}

/// The target's number of a cell: the mean of its repeats, or the best of its trials.
fn value(target: MeasuredTarget, run: &Run, cell: &str) -> Option<f64> {
    let usable = |number: &f64| number.is_finite() && *number > 0.0;
    if target == MeasuredTarget::ForwardingRate {
        let trials = run.trials.iter().filter(|trial| {
            // What came through did so, whatever load was meant.
            let has_rate = matches!(
                trial.validity,
                Validity::Valid | Validity::LoadMissed { .. }
            );
            has_rate && trial.cell == cell && trial.control.is_none()
        });
        let rates = trials.map(|trial| trial.forwarding_fps).filter(usable);
        return rates.reduce(f64::max);
    }
    let mine = |result: &&CellResult| result.cell == cell && result.control.is_none();
    let numbers: Vec<f64> = run
        .cells
        .iter()
        .filter(mine)
        .filter_map(|result| match target {
            MeasuredTarget::LatencyP99 => Some(result.latency_us.as_ref()?.p99),
            _ => result.throughput_fps,
        })
        .filter(usable)
        .collect();
    (!numbers.is_empty()).then(|| mean(&numbers))
}

fn curve(runs: &[Run], cell: &str) -> Vec<CurvePoint> {
    let trials = runs.iter().flat_map(|run| &run.trials);
    let used = trials.filter(|trial| {
        trial.cell == cell
            && trial.control.is_none()
            && trial.validity.is_valid()
            && matches!(trial.purpose, Purpose::Search | Purpose::Confirm)
    });
    let mut points: Vec<CurvePoint> = used
        .map(|trial| CurvePoint {
            load_fps: trial.load_fps,
            loss_ratio: trial.loss_ratio.0,
        })
        .collect();
    points.sort_by(|a, b| a.load_fps.total_cmp(&b.load_fps));
    points
}

/// One number per run over all cells, more being better: the geometric mean, so that a fast
/// cell does not outweigh a slow one.
fn scores(
    target: MeasuredTarget,
    cells: &[MeasuredCell],
    of: fn(&MeasuredCell) -> &Vec<f64>,
) -> Vec<f64> {
    let runs = cells.iter().map(|cell| of(cell).len()).min().unwrap_or(0);
    let score = |run: usize| {
        let logs: Vec<f64> = cells
            .iter()
            .filter_map(|cell| of(cell).get(run))
            .map(|value| value.ln())
            .collect();
        match target {
            MeasuredTarget::LatencyP99 => (-mean(&logs)).exp(),
            _ => mean(&logs).exp(),
        }
    };
    (0..runs).map(score).collect()
}

/// In logarithms: what disturbs a measurement takes its share of it, so that a rate ten times as high
/// scatters ten times as much, which says nothing against the gain.
fn gain(before: &[f64], after: &[f64]) -> Option<MeasuredGain> {
    // A single measurement says nothing about noise.
    if before.len() < 2 || after.len() < 2 {
        return None;
    }
    let logs = |values: &[f64]| -> Vec<f64> { values.iter().map(|value| value.ln()).collect() };
    let (before, after) = (logs(before), logs(after));
    let variance = |values: &[f64]| {
        let mean = mean(values);
        let squares = values.iter().map(|value| (value - mean).powi(2));
        squares.sum::<f64>() / (values.len() - 1) as f64
    };
    let sigma = f64::midpoint(variance(&before), variance(&after)).sqrt();
    let result = MeasuredGain {
        gain: (mean(&after) - mean(&before)).exp_m1(),
        sigma: (SIGMAS * sigma).exp_m1() / SIGMAS,
    };
    (result.gain.is_finite() && result.sigma.is_finite()).then_some(result)
}

fn decide(gain: Option<MeasuredGain>) -> MeasuredDecision {
    match gain {
        None => MeasuredDecision::NotMeasured,
        Some(MeasuredGain { gain, sigma }) => {
            let noise = LEAST.max(SIGMAS * sigma);
            // What there was before, seen from after.
            let lost = 1.0 / (1.0 + gain) - 1.0;
            if gain >= noise {
                MeasuredDecision::Kept
            } else if lost >= noise {
                MeasuredDecision::Worse
            } else {
                MeasuredDecision::NoEffect
            }
        }
    }
}

/// The decision in a line: `no effect here: +0.4 %, noise (2 σ) 1.2 %`.
pub fn words(measured: &Measured) -> String {
    let decision = match measured.decision {
        MeasuredDecision::Kept => "better here",
        MeasuredDecision::NoEffect => "no effect here",
        MeasuredDecision::Worse => "worse here",
        MeasuredDecision::NotMeasured => return cannot_tell(measured),
    };
    match measured.gain {
        Some(MeasuredGain { gain, sigma }) => format!(
            "{decision}: {:+.1} %, noise (2 σ) {:.1} %",
            gain * 100.0,
            SIGMAS * sigma * 100.0
        ),
        None => decision.to_owned(),
    }
}

fn cannot_tell(measured: &Measured) -> String {
    match measured.failed.as_slice() {
        [] => "cannot tell: no cell has a number on every side".to_owned(),
        [first] => format!("cannot tell: {first} failed, also when repeated"),
        [first, rest @ ..] => format!(
            "cannot tell: {first} and {} more failed, also when repeated",
            rest.len()
        ),
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decision(before: &[f64], after: &[f64]) -> MeasuredDecision {
        decide(gain(before, after))
    }

    #[test]
    fn only_more_than_the_noise_is_kept() {
        use MeasuredDecision::{Kept, NoEffect, NotMeasured, Worse};
        for (before, after, expected) in [
            (&[100.0, 100.0][..], &[102.1, 102.1][..], Kept),
            (&[100.0, 100.0], &[101.9, 101.9], NoEffect),
            // 10 % more, but measurements differ by as much.
            (&[100.0, 112.0], &[110.0, 122.0], NoEffect),
            (&[100.0, 104.0], &[150.0, 156.0], Kept),
            // Disturbed by half, but five times as much at the least.
            (&[10.0, 12.0], &[60.0, 120.0], Kept),
            (&[60.0, 120.0], &[10.0, 12.0], Worse),
            (&[10.0, 12.0], &[11.0, 60.0], NoEffect),
            (&[100.0, 100.0], &[90.0, 90.0], Worse),
            (&[100.0, 120.0], &[90.0, 110.0], NoEffect),
            (&[100.0], &[200.0], NotMeasured),
            (&[], &[], NotMeasured),
        ] {
            assert_eq!(decision(before, after), expected, "{before:?} {after:?}");
        }
    }

    #[test]
    fn latency_is_better_when_it_is_less() {
        let cell = MeasuredCell {
            cell: "a".to_owned(),
            before: vec![20.0, 20.0],
            after: vec![10.0, 10.0],
            curve_before: Vec::new(),
            curve_after: Vec::new(),
            unit: MeasuredUnit::P99Us,
            rates_before: Vec::new(),
            rates_after: Vec::new(),
        };
        let cells = [cell];
        let side = |target, of| scores(target, &cells, of);
        for (target, expected) in [
            (MeasuredTarget::LatencyP99, 1.0),
            (MeasuredTarget::Throughput, -0.5),
            (MeasuredTarget::ForwardingRate, -0.5),
        ] {
            let gained = gain(&side(target, |c| &c.before), &side(target, |c| &c.after));
            assert!((gained.unwrap().gain - expected).abs() < 1e-9, "{target:?}");
        }
        assert_eq!(target(Goal::Latency), MeasuredTarget::LatencyP99);
        assert_eq!(target(Goal::Forwarding), MeasuredTarget::Throughput);
    }

    #[test]
    fn words_tell_gain_and_noise() {
        let measured = Measured {
            schema: 1,
            target: MeasuredTarget::Throughput,
            changes: Vec::new(),
            cells: Vec::new(),
            failed: Vec::new(),
            gain: Some(MeasuredGain {
                gain: 0.0042,
                sigma: 0.006,
            }),
            decision: MeasuredDecision::NoEffect,
        };
        assert_eq!(
            words(&measured),
            "no effect here: +0.4 %, noise (2 σ) 1.2 %"
        );
        let failed = Measured {
            failed: vec!["a".to_owned(), "b".to_owned()],
            decision: MeasuredDecision::NotMeasured,
            ..measured
        };
        assert_eq!(
            words(&failed),
            "cannot tell: a and 1 more failed, also when repeated"
        );
    }
}
