//! Combines the visits of a cell: one number, its interval and its verdict.
//!
//! An interval from inside one visit is too narrow, because the machine's speed changes from visit to
//! visit. The number is the median of visits apart in time. The range of `n` independent visits
//! covers the median of all possible visits with probability `1 - 2^(1-n)`: 93.75 % for five (order
//! statistics; David and Nagaraja 2003, §7.1). That of fewer is widened to hold as often. Of eight or more the lowest and the highest are left
//! out, so that one slow moment of the machine widens nothing. Visits of one run share its minutes
//! and its path, so the interval is a little wider than they are.
//!
//! A visit that ended because CPUs were taken away says only what the path carries at least. Where most did, so does the
//! cell: no number, and no interval. Else the others stand for it.
//!
//! A confirm trial at the result that lost too much is a visit as well: the load that held instead is
//! one more value.

mod apart;
mod more;
mod why;

use std::collections::HashMap;

use nicety_model::{CellResult, Disturbance, Estimate, Note, Program, Verdict};

pub use apart::FAR;
pub use more::{MOST, next as next_more};

use crate::stats::median;

/// Confidence of the range of five visits, and of fewer widened to hold as often.
const CONFIDENCE: f64 = 0.9375;
/// Least confidence of an interval that leaves out visits: that of eight without both ends.
const ENOUGH: f64 = 0.929;
/// How much wider an interval is on either side, as a share of the number, than its visits: as much as
/// the medians of runs lay outside, a third of a percent in three of 35 cells and one percent in one.
const BETWEEN_RUNS: f64 = 0.005;
/// Half the interval over the number up to which a result is `ok`.
pub const CLOSE: f64 = 0.05;
/// What the range of two, three and four visits is widened by to hold as often as that of five:
/// Student's t over the mean range of as many normal values.
const WIDER: [f64; 3] = [10.0, 2.7, 1.44];
/// How far, as a ratio, an interval widened so may reach beyond its visits: two of them hardly say
/// how much a machine varies, but not that it may stand still.
const FURTHEST: f64 = 2.0;
/// Least distance, as a ratio, of two groups of visits that contradict each other.
const TWO_SPEEDS: f64 = 1.10;
/// Programs named.
const PROGRAMS: usize = 3;

/// What a visit found, in frames per second: a load that the path carries, and one that it does not
/// or that is not known to be too much.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VisitBounds {
    /// The visit's throughput.
    pub fps: f64,
    /// As high as its throughput may be: the same where the two were close.
    pub high_fps: f64,
}

/// Distance below the forwarding rate of a confirm trial at which a load would have held.
const BELOW_FORWARDED: f64 = 0.98;

impl VisitBounds {
    /// What a confirm trial that lost too much says of the path: the load that held
    /// instead, or one a little below what they forwarded.
    fn of_confirm(visit: &CellResult) -> Option<Self> {
        let confirm = visit.confirm.filter(|confirm| !confirm.met)?;
        let forwarded = confirm.load_fps * (1.0 - confirm.loss_ratio.0) * BELOW_FORWARDED;
        let fps = visit.held.map_or(forwarded, |held| held.load_fps);
        Some(Self { fps, high_fps: fps })
    }

    fn of(visit: &CellResult) -> Option<Self> {
        let fps = visit.throughput_fps?;
        let upper = visit
            .bounds
            .upper_fps
            .filter(|upper| *upper > fps * (1.0 + CLOSE));
        Some(Self {
            fps,
            high_fps: upper.unwrap_or(fps),
        })
    }
}

/// The number of `visits` with its interval; `None` with fewer than two.
pub fn estimate(visits: &[VisitBounds]) -> Option<Estimate> {
    let sorted = |of: fn(&VisitBounds) -> f64| {
        let mut values: Vec<f64> = visits.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        values
    };
    let (lows, highs) = (sorted(|visit| visit.fps), sorted(|visit| visit.high_fps));
    let count = lows.len();
    let fps = median(&lows).filter(|_| count > 1)?;
    let skipped = skipped(count);
    let (low, high) = (lows[skipped], highs[count - 1 - skipped]);
    let widened = WIDER.get(count - 2);
    let wider = widened.copied().unwrap_or(1.0);
    let sure = confidence(count, skipped);
    let runs = fps * BETWEEN_RUNS;
    Some(Estimate {
        fps,
        low_fps: (fps - (fps - low) * wider).max(low / FURTHEST) - runs,
        high_fps: (fps + (high - fps) * wider).min(high * FURTHEST) + runs,
        confidence: Some(widened.map_or(sure, |_| CONFIDENCE)),
        visits: u32::try_from(count).unwrap_or(u32::MAX),
    })
}

/// How many visits at either end the interval leaves out and still holds.
fn skipped(count: usize) -> usize {
    let holds = |skipped: &usize| confidence(count, *skipped) >= ENOUGH;
    (1..count / 2).take_while(holds).last().unwrap_or(0)
}

/// Probability that the median lies between the values that are `skipped` places from either end.
fn confidence(count: usize, skipped: usize) -> f64 {
    let (mut term, mut sum) = (0.5_f64.powi(count as i32), 0.0);
    for n in 0..=skipped {
        sum += term;
        term *= (count - n) as f64 / (n + 1) as f64;
    }
    1.0 - 2.0 * sum
}

/// Result of the visits of one cell, judged by windows.
#[derive(Debug, Clone, PartialEq)]
pub struct Together {
    /// The number; `None` when no visit has one, and where it is a bound.
    pub estimate: Option<Estimate>,
    /// What the path carries at least, where that is all that is known.
    pub bound_fps: Option<f64>,
    /// Median of their capacities.
    pub capacity_fps: Option<f64>,
    /// Other users of the CPUs, on average.
    pub disturbance: Option<Disturbance>,
    /// Verdict.
    pub verdict: Verdict,
    /// Why it is not `ok`, the most important reason first.
    pub why: Vec<Note>,
}

/// Puts the visits of one cell together: those during which tester and path were near each other,
/// where they were so often enough.
pub fn together(all: &[&CellResult]) -> Together {
    let (near, far) = apart::split(all);
    let mut together = near_together(&near);
    let others = apart::note(&near, &far).into_iter();
    let others = others.chain(why::bucket(&near));
    together.why.extend(others.map(Note::from));
    together
}

fn near_together(all: &[&CellResult]) -> Together {
    let is_bound = |visit: &&CellResult| visit.verdict == Verdict::Bound;
    let (bounds, others): (Vec<_>, Vec<_>) = all.iter().copied().partition(is_bound);
    if 2 * bounds.len() >= all.len() && !bounds.is_empty() {
        bound(all)
    } else {
        measured(&others)
    }
}

/// What most visits found as a bound: what two of them found, for one may have met a queue that was empty.
fn bound(visits: &[&CellResult]) -> Together {
    let mut numbers: Vec<f64> = visits.iter().filter_map(|v| v.throughput_fps).collect();
    numbers.sort_by(|a, b| b.total_cmp(a));
    let disturbance = disturbance(visits);
    Together {
        estimate: None,
        bound_fps: numbers.get(1).or(numbers.first()).copied(),
        capacity_fps: capacity(visits),
        why: why::disturbed(disturbance.as_ref())
            .into_iter()
            .map(Note::from)
            .collect(),
        disturbance,
        verdict: Verdict::Bound,
    }
}

fn capacity(visits: &[&CellResult]) -> Option<f64> {
    median(
        &visits
            .iter()
            .filter_map(|v| v.capacity_fps)
            .collect::<Vec<_>>(),
    )
}

fn measured(visits: &[&CellResult]) -> Together {
    let numbers: Vec<f64> = visits.iter().filter_map(|v| v.throughput_fps).collect();
    let single = || visits.iter().find_map(|visit| visit.estimate);
    let throughputs = visits.iter().filter_map(|visit| VisitBounds::of(visit));
    let confirmed = visits
        .iter()
        .filter_map(|visit| VisitBounds::of_confirm(visit));
    let bounds: Vec<VisitBounds> = throughputs.chain(confirmed).collect();
    let estimate = estimate(&bounds).or_else(single);
    let disturbance = disturbance(visits);
    let (verdict, why) = judge(visits, &numbers, estimate.as_ref(), disturbance.as_ref());
    Together {
        estimate,
        bound_fps: None,
        capacity_fps: capacity(visits),
        disturbance,
        verdict,
        why,
    }
}

fn judge(
    visits: &[&CellResult],
    numbers: &[f64],
    estimate: Option<&Estimate>,
    disturbance: Option<&Disturbance>,
) -> (Verdict, Vec<Note>) {
    let most = |verdict: Verdict| {
        let said = visits.iter().filter(|visit| visit.verdict == verdict);
        2 * said.count() > visits.len()
    };
    let Some(estimate) = estimate else {
        let first = visits.iter().find_map(|visit| visit.notes.first());
        return (Verdict::Failed, first.cloned().into_iter().collect());
    };
    for verdict in [
        Verdict::Faulty,
        Verdict::Coupled,
        Verdict::Late,
        Verdict::TesterLimited,
    ] {
        if most(verdict) {
            return (verdict, Vec::new());
        }
    }
    if let Some(why) = why::two_speeds(numbers, TWO_SPEEDS) {
        return (Verdict::Unstable, vec![why.into()]);
    }
    if let Some(why) = visits.iter().find_map(|visit| why::pauses(visit)) {
        return (Verdict::Unstable, vec![why.into()]);
    }
    let apart = (estimate.high_fps / estimate.fps - 1.0).max(1.0 - estimate.low_fps / estimate.fps);
    if apart <= CLOSE {
        return (Verdict::Ok, Vec::new());
    }
    (
        Verdict::Wide,
        why::wide(estimate, visits.len(), disturbance),
    )
}

/// Disturbances of the visits, on average over those with a measurement.
fn disturbance(visits: &[&CellResult]) -> Option<Disturbance> {
    let all: Vec<&Disturbance> = visits
        .iter()
        .filter_map(|v| v.disturbance.as_ref())
        .collect();
    let count = all.len() as f64;
    let stalls: Vec<f64> = all.iter().filter_map(|one| one.stalls_ms_per_s).collect();
    let mut programs: HashMap<(&str, u32), f64> = HashMap::new();
    for program in all.iter().flat_map(|one| &one.programs) {
        *programs.entry((&program.name, program.pid)).or_default() += program.cpus / count;
    }
    let mut programs: Vec<Program> = programs
        .into_iter()
        .map(|((name, pid), cpus)| Program {
            name: name.to_owned(),
            pid,
            cpus,
        })
        .collect();
    programs.sort_by(|a, b| b.cpus.total_cmp(&a.cpus).then(a.pid.cmp(&b.pid)));
    programs.truncate(PROGRAMS);
    (!all.is_empty()).then(|| Disturbance {
        stalls_ms_per_s: (!stalls.is_empty())
            .then(|| stalls.iter().sum::<f64>() / stalls.len() as f64),
        programs,
    })
}

#[cfg(test)]
mod tests;
