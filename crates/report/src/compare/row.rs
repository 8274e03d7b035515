//! One row of a comparison as texts, the same in every format.

use nicety_model::Verdict;
use nicety_model::compare::{ComparedCell, Comparison, Judgement, Metric, Sample};

use crate::document::{Badge, Cell, Tone};
use crate::number::{self, ABSENT};
use crate::pick;

/// The rows as a reader wants them: what changed first, in the plan's order otherwise.
pub fn ordered(comparison: &Comparison) -> Vec<&ComparedCell> {
    let mut rows: Vec<&ComparedCell> = comparison.cells.iter().collect();
    rows.sort_by_key(|row| match row.judgement {
        _ if row.lost => 0,
        Judgement::Worse => 1,
        Judgement::Better => 2,
        Judgement::CannotTell => 3,
        Judgement::NotJudged => 4,
        Judgement::Same => 5,
    });
    rows
}

/// Whether more than throughput in frames is compared, so that a row has to say of what it is.
pub fn several_metrics(comparison: &Comparison) -> bool {
    let frames = Metric::Throughput.unit("");
    comparison.cells.iter().any(|row| row.unit != frames)
}

/// A number of a side with its verdict when that is not `ok`.
pub fn value(row: &ComparedCell, sample: &Sample) -> Cell {
    let noisy = sample.verdict == Verdict::Noisy && row.metric == Metric::Throughput;
    let words = |mean| {
        if noisy {
            format!("about {}", number::short(number::rounded(mean, 2)))
        } else {
            number::of_metric(row.metric, mean)
        }
    };
    Cell::sorted(sample.mean, words)
        .unit(&row.unit)
        .with(sample.verdict)
}

/// New over old as a change.
pub fn change(row: &ComparedCell) -> String {
    row.ratio
        .map_or_else(|| ABSENT.to_owned(), |ratio| number::change(ratio.ratio))
}

/// The interval of the change.
pub fn interval(row: &ComparedCell) -> String {
    let ends = row.ratio.and_then(|ratio| Some((ratio.low?, ratio.high?)));
    ends.map_or_else(
        || ABSENT.to_owned(),
        |(low, high)| format!("{} to {}", number::change(low), number::change(high)),
    )
}

/// The judgement; a lost result says so.
pub fn judgement(row: &ComparedCell) -> Badge {
    let tone = match row.judgement {
        _ if row.lost => Tone::Fail,
        Judgement::Worse => Tone::Fail,
        Judgement::Better => Tone::Good,
        Judgement::Same => Tone::Same,
        Judgement::CannotTell | Judgement::NotJudged => Tone::Warn,
    };
    let word = if row.lost {
        "lost"
    } else {
        row.judgement.words()
    };
    Badge {
        loud: changed(row),
        ..Badge::new(word, tone)
    }
}

/// Whether the row got better, worse or lost.
pub fn changed(row: &ComparedCell) -> bool {
    row.lost || matches!(row.judgement, Judgement::Worse | Judgement::Better)
}

/// Heading of the interval's column: `95 % interval`.
pub fn interval_heading(comparison: &Comparison) -> String {
    format!("{} interval", percent(comparison.confidence))
}

/// A level in per cent: `95 %`, `99.9 %`.
pub fn percent(share: f64) -> String {
    // Rounded where binary fractions show, not where users do.
    let percent = (share * 1e8).round() / 1e6;
    format!("{percent} %")
}

/// Reasons in order of first appearance, each once with the cells that have it.
pub fn reasons<'a>(rows: &[&'a ComparedCell]) -> Vec<(&'a str, Vec<&'a str>)> {
    let reasons = rows
        .iter()
        .filter_map(|row| Some((row.reason.as_deref()?, &*row.cell)));
    let mut all = pick::together(reasons);
    all.iter_mut().for_each(|(_, cells)| cells.dedup());
    all
}
