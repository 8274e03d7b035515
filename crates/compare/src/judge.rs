//! Better, same, worse, or none of these.

use nicety_model::Verdict;
use nicety_model::compare::{ComparedCell, Judgement, Metric, SpreadOf};

use crate::interval::Interval;

/// The levels a judgement is made at.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Levels {
    /// Confidence, `0.5..1.0`.
    pub confidence: f64,
    /// Logarithm of the ratio from which a difference matters.
    pub margin: f64,
    /// Rows that are judged together.
    pub rows: usize,
}

/// Why the verdicts forbid a judgement; `None` when they do not. A wide interval does not: the
/// visits behind it say how much they differ.
pub fn forbidden(old: Verdict, new: Verdict) -> Option<String> {
    match (old.is_own(), new.is_own()) {
        (true, true) => None,
        (true, false) => Some(format!("{new} now")),
        (false, true) => Some(format!("{old} before")),
        (false, false) if old == new => Some(format!("{old} before and now")),
        (false, false) => Some(format!("{old} before, {new} now")),
    }
}

/// What an interval says, and why when it says nothing.
///
/// *Same* when the whole interval lies within the margin (the two one-sided tests of
/// Schuirmann 1987); *better* or *worse* when chance is unlikely to have made the difference,
/// all rows considered, and the difference is larger than the margin.
pub fn judge(
    metric: Metric,
    interval: Interval,
    p_adjusted: f64,
    levels: Levels,
) -> (Judgement, Option<String>) {
    let size = interval.difference.abs();
    if size + interval.half_width <= levels.margin {
        return (Judgement::Same, None);
    }
    let level = 1.0 - levels.confidence;
    if p_adjusted < level && size > levels.margin {
        let better = (interval.difference > 0.0) == metric.more_is_better();
        let judgement = if better {
            Judgement::Better
        } else {
            Judgement::Worse
        };
        return (judgement, None);
    }
    let why = if p_adjusted < level {
        "there is a difference, and it may be below the margin or above it".to_owned()
    } else if interval.p < level {
        format!(
            "alone it would be a difference; of {} rows one may look so by chance",
            levels.rows
        )
    } else {
        "the numbers spread too much".to_owned()
    };
    (Judgement::CannotTell, Some(why))
}

/// How many numbers on each side would make an interval as narrow as the margin: its width
/// shrinks with the square root of their number. At least one more than there are.
pub fn needed(row: &ComparedCell, interval: Interval, margin: f64) -> Option<u32> {
    let spread_of = row.ratio?.spread_of?;
    let n = match spread_of {
        SpreadOf::Repeats => row.old.repeats.min(row.new.repeats),
        SpreadOf::Runs => row.old.runs.min(row.new.runs),
        SpreadOf::ControlCell => return None,
    };
    let factor = (interval.half_width / margin).powi(2);
    let needed = (f64::from(n) * factor).ceil();
    // Beyond this the advice would be to measure differently, not longer.
    (needed.is_finite() && needed <= 100.0).then(|| (needed as u32).max(n + 1))
}
