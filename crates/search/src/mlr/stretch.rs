//! One long trial instead of many where the path is plainly overloaded.

use std::time::Duration;

use crate::mlr::trials::Trials;
use crate::target::Target;

/// Loss that is no accident: this many times the goal's loss ratio …
const TIMES_GOAL: f64 = 10.0;
/// … and at least this share of the goal's width.
const SHARE_OF_WIDTH: f64 = 0.25;
/// How far two forwarding rates may differ, as a share of the loss they show, and still be the
/// same capacity.
const SAME: f64 = 0.1;
/// Longest trial made this way, in seconds.
const LONGEST_S: f64 = 10.0;

/// Length of the next trial at `load` for the final target `target`, when every trial there
/// will surely be bad: none was good, one lost far more than the goal allows, and a second
/// trial, there or at a higher load, forwarded the same rate. Two trials that agree on the
/// rate name the path's capacity; a stall or a burst does not repeat itself so exactly. The
/// trial is as long as all trials that are still missing for the upper bound.
///
/// `overload_rate` is what a warm-up trial at the highest load forwarded: one more witness.
pub fn stretched(
    trials: &Trials,
    load: usize,
    target: &Target,
    width: f64,
    overload_rate: Option<f64>,
) -> Option<Duration> {
    let rule = &target.rule;
    let here = trials.at(load);
    let sums = trials.sums(load, rule);
    if sums.good_long > 0.0 || sums.good_short > 0.0 {
        return None;
    }
    let telling = (TIMES_GOAL * rule.loss_ratio).max(SHARE_OF_WIDTH * width);
    let first = here.iter().find(|trial| trial.loss_ratio >= telling)?;
    let offered = first.forwarding / (1.0 - first.loss_ratio).max(f64::MIN_POSITIVE);
    let same = SAME * first.loss_ratio * offered;
    let agreeing = trials
        .from(load)
        .map(|other| other.forwarding)
        .chain(overload_rate)
        .filter(|other| (other - first.forwarding).abs() <= same)
        .count();
    // `first` agrees with itself.
    if agreeing < 2 {
        return None;
    }
    let single = rule.full_length_s;
    let missing = (sums.bad_missing_s(rule) / single + 1e-9).floor() + 1.0;
    let most = (LONGEST_S / single).floor();
    let count = missing.min(most);
    (count >= 2.0).then(|| Duration::from_secs_f64(count * single))
}
