//! Whether measured changes are worth keeping.
//!
//! Kept is what gains at least 2 %, and more than nothing with a confidence of 95 %, in logarithms.
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
use statrs::distribution::{ContinuousCDF, StudentsT};

pub use failed::{failed, mend};

/// Smallest gain that is kept, however quiet the machine.
const LEAST: f64 = 0.02;
/// Of the interval of the gain, both sides together.
const CONFIDENCE: f64 = 0.95;
/// Half of an interval above which more measurements are advised.
const WIDE: f64 = 0.05;

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
    let decision = if failed.is_empty() {
        decide(gain)
    } else {
        MeasuredDecision::NotMeasured
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
    let mut names: Vec<String> = run.visits.iter().map(|cell| cell.cell.clone()).collect();
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
        .visits
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
/// scatters ten times as much, which says nothing against the gain. The interval is Student's, of two
/// samples with the same variance: two measurements a side tell their own scatter so badly that it takes
/// 4.3 standard deviations.
fn gain(before: &[f64], after: &[f64]) -> Option<MeasuredGain> {
    // A single measurement says nothing about noise.
    if before.len() < 2 || after.len() < 2 {
        return None;
    }
    let logs = |values: &[f64]| -> Vec<f64> { values.iter().map(|value| value.ln()).collect() };
    let (before, after) = (logs(before), logs(after));
    let squares = |values: &[f64]| -> f64 {
        let mean = mean(values);
        values.iter().map(|value| (value - mean).powi(2)).sum()
    };
    let freedom = (before.len() + after.len() - 2) as f64;
    let sigma = ((squares(&before) + squares(&after)) / freedom).sqrt();
    let t = StudentsT::new(0.0, 1.0, freedom).ok()?;
    let error = sigma * (1.0 / before.len() as f64 + 1.0 / after.len() as f64).sqrt();
    let half = t.inverse_cdf(0.5 + CONFIDENCE / 2.0) * error;
    let gained = mean(&after) - mean(&before);
    let result = MeasuredGain {
        gain: gained.exp_m1(),
        sigma: sigma.exp_m1(),
        interval_95: Some([(gained - half).exp_m1(), (gained + half).exp_m1()]),
    };
    (result.gain.is_finite() && result.sigma.is_finite()).then_some(result)
}

fn decide(gain: Option<MeasuredGain>) -> MeasuredDecision {
    let Some(MeasuredGain {
        gain,
        interval_95: Some([low, high]),
        ..
    }) = gain
    else {
        return MeasuredDecision::NotMeasured;
    };
    // What there was before, seen from after.
    let lost = 1.0 / (1.0 + gain) - 1.0;
    if gain >= LEAST && low > 0.0 {
        MeasuredDecision::Kept
    } else if lost >= LEAST && high < 0.0 {
        MeasuredDecision::Worse
    } else {
        MeasuredDecision::NoEffect
    }
}

/// The decision in a line: `no effect here: +0.4 %, 95 % interval −0.8 to +1.6 %`.
pub fn words(measured: &Measured) -> String {
    let decision = match measured.decision {
        MeasuredDecision::Kept => "better here",
        MeasuredDecision::NoEffect => "no effect here",
        MeasuredDecision::Worse => "worse here",
        MeasuredDecision::NotMeasured => return cannot_tell(measured),
    };
    let percent = |share: f64| format!("{:+.1}", share * 100.0).replace('-', "−");
    let Some(gain) = measured.gain else {
        return decision.to_owned();
    };
    let Some([low, high]) = gain.interval_95 else {
        return format!("{decision}: {} %", percent(gain.gain));
    };
    let unsure = measured.decision == MeasuredDecision::NoEffect && (high - low) / 2.0 > WIDE;
    format!(
        "{decision}: {} %, 95 % interval {} to {} %{}",
        percent(gain.gain),
        percent(low),
        percent(high),
        if unsure { WIDEN } else { "" }
    )
}

/// What to do about an interval that says little.
const WIDEN: &str = "; more --repeats or a quieter machine make it narrower";

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
            // Two measurements a side tell their scatter badly: three times of it is too little.
            (&[100.0, 101.0], &[102.5, 103.5], NoEffect),
            (&[100.0, 101.0, 100.5], &[102.5, 103.5, 103.0], Kept),
            // Disturbed by half, but five times as much at the least.
            (&[10.0, 12.0, 11.0], &[60.0, 120.0, 90.0], Kept),
            (&[60.0, 120.0, 90.0], &[10.0, 12.0, 11.0], Worse),
            (&[10.0, 12.0], &[11.0, 60.0], NoEffect),
            (&[100.0, 100.0], &[90.0, 90.0], Worse),
            (&[100.0, 120.0], &[90.0, 110.0], NoEffect),
            (&[100.0], &[200.0], NotMeasured),
            (&[], &[], NotMeasured),
        ] {
            assert_eq!(decision(before, after), expected, "{before:?} {after:?}");
        }
    }

    /// Of changes without effect about one in twenty is judged to have one.
    #[test]
    fn noise_is_seldom_taken_for_a_gain() {
        // Sums of uniform numbers, of a linear congruential generator (Knuth, MMIX).
        let mut state = 1_u64;
        let mut noise = || -> f64 {
            let sum: f64 = (0..12)
                .map(|_| {
                    state = state
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1_442_695_040_888_963_407);
                    (state >> 11) as f64 / (1_u64 << 53) as f64
                })
                .sum();
            ((sum - 6.0) * 0.1).exp()
        };
        for pairs in [2, 3, 5] {
            let wrong = (0..4000)
                .filter(|_| {
                    let mut side = || -> Vec<f64> { (0..pairs).map(|_| noise()).collect() };
                    decision(&side(), &side()) != MeasuredDecision::NoEffect
                })
                .count();
            let share = wrong as f64 / 4000.0;
            assert!((0.03..0.07).contains(&share), "{pairs} pairs: {share}");
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
    fn a_forwarding_rate_is_that_of_the_best_trial_of_its_cell() {
        use serde_json::json;
        let trial = |cell: &str, fps: f64, control: Option<u32>| {
            json!({
                "schema": 1, "cell": cell, "repeat": 1, "index": 1, "purpose": {"kind": "search"},
                "control": control, "load_fps": 9.0, "duration_s": 1.0, "wall_s": 1.0, "started_unix_s": 1.0,
                "validity": {"is": "valid"}, "loss_ratio": 0.0, "forwarding_fps": fps, "streams": [],
                "frames": nicety_model::FrameCounts::default(), "loss_ledger": [],
                "pacing": nicety_model::pacing::PacingReport::default(),
            })
        };
        let run: Run = serde_json::from_value(json!({
            "schema": 1, "visits": [], "cells": [], "tester_limit_fps": {},
            "run": {
                "name": "a", "started": "", "elapsed_s": 1.0, "seed": 1, "preset": "quick", "loss_goal": 0.0,
                "command": "", "complete": true, "host": nicety_model::Fingerprint::default(), "notes": [],
            },
            "trials": [
                trial("a", 2.0, None), trial("a", 3.0, None), trial("a", 8.0, Some(1)),
                trial("b", 5.0, None),
            ],
        }))
        .unwrap();
        let rate = |cell: &str| value(MeasuredTarget::ForwardingRate, &run, cell);
        assert_eq!(
            (rate("a"), rate("b"), rate("c")),
            (Some(3.0), Some(5.0), None)
        );
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
                interval_95: Some([-0.0081, 0.0164]),
            }),
            decision: MeasuredDecision::NoEffect,
        };
        assert_eq!(
            words(&measured),
            "no effect here: +0.4 %, 95 % interval −0.8 to +1.6 %"
        );
        let wide = MeasuredGain {
            gain: 0.04,
            sigma: 0.06,
            interval_95: Some([-0.1, 0.2]),
        };
        let noisy = Measured {
            gain: Some(wide),
            ..measured.clone()
        };
        assert_eq!(
            words(&noisy),
            "no effect here: +4.0 %, 95 % interval −10.0 to +20.0 %; more --repeats or a quieter \
             machine make it narrower"
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
