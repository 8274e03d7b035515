//! A comparison in words.

use nicety_model::compare::{ComparedCell, Comparison, Judgement, Metric, Side};

use super::row;
use crate::number::{self, plural};

/// Differences told of in the first sentence.
const NAMED: usize = 3;

/// The answer: what got worse first, then what got better, then the rest. Never empty.
pub fn summary(comparison: &Comparison) -> Vec<String> {
    let counts = comparison.counts;
    let noun = noun(comparison);
    let all = comparison.cells.len();
    let mut sentences = Vec::new();
    if counts.lost > 0 {
        let lost: Vec<&str> = comparison
            .cells
            .iter()
            .filter(|row| row.lost)
            .map(|row| row.cell.as_str())
            .collect();
        sentences.push(format!(
            "{} that had a result {} none now: {}",
            plural(lost.len(), noun),
            if lost.len() == 1 { "has" } else { "have" },
            crate::pick::named(&lost)
        ));
    }
    for (count, judgement) in [
        (counts.worse, Judgement::Worse),
        (counts.better, Judgement::Better),
    ] {
        if let Some(most) = most(comparison, judgement).filter(|_| count > 0) {
            sentences.push(format!(
                "{count} of {} {} {}, {} most: {} ({})",
                plural(all, noun),
                if count == 1 { "is" } else { "are" },
                judgement.words(),
                name(comparison, most),
                row::change(most),
                row::interval(most),
            ));
        }
    }
    let margin = row::percent(comparison.margin);
    if counts.same as usize == all && all > 0 {
        sentences.push(format!(
            "nothing changed: {} the same within {margin}",
            match all {
                1 => format!("the one {noun} is"),
                _ => format!("all {} are", plural(all, noun)),
            }
        ));
    } else if sentences.is_empty() && counts.same == 0 {
        sentences.push(format!(
            "cannot tell: {} could not be judged",
            plural(all, noun)
        ));
    } else {
        let rest: Vec<String> = [
            (counts.same, format!("the same within {margin}")),
            (
                counts.cannot_tell,
                "not to be told apart from chance".to_owned(),
            ),
            (counts.not_judged - counts.lost, "not judged".to_owned()),
        ]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {} {what}", if count == 1 { "is" } else { "are" }))
        .collect();
        if !rest.is_empty() {
            sentences.push(rest.join(", "));
        }
    }
    sentences
}

/// What could explain it, in one sentence; `None` when nothing differs.
pub fn explanation(comparison: &Comparison) -> Option<String> {
    let differences = &comparison.differences;
    if differences.is_empty() {
        return None;
    }
    let named: Vec<String> = differences.iter().map(|d| d.what.clone()).collect();
    Some(format!(
        "before you blame the path: the sides also differ in {}",
        number::first_few(&named, NAMED, ", ")
    ))
}

/// The runs of a side in a line.
pub fn side(side: &Side) -> String {
    let runs: Vec<String> = side
        .runs
        .iter()
        .map(|run| format!("{} ({}, {})", run.source, run.name, run.started))
        .collect();
    runs.join("; ")
}

/// How the numbers came about.
pub fn legend(comparison: &Comparison) -> String {
    let mut text = format!(
        "change is new over old, geometric means; {}judged at {} confidence over {}; differences \
         within {} count as the same",
        if comparison.cells.iter().any(|row| row.key.is_some()) {
            "frames/s are per direction; "
        } else {
            ""
        },
        row::percent(comparison.confidence),
        plural(comparison.cells.len(), "row"),
        row::percent(comparison.margin),
    );
    let throughput = |row: &ComparedCell| row.metric == Metric::Throughput;
    if !comparison.cells.iter().all(throughput) {
        text.push_str("; of latency and CPU time less is better");
    }
    text.push('.');
    text
}

/// A row's name: the cell, and what of it when it is not the throughput alone.
pub fn name(comparison: &Comparison, row: &ComparedCell) -> String {
    if row::several_metrics(comparison) {
        format!("{} {}", row.cell, row.metric.word())
    } else {
        row.cell.clone()
    }
}

fn noun(comparison: &Comparison) -> &'static str {
    if row::several_metrics(comparison) {
        "number"
    } else {
        "cell"
    }
}

/// The row that changed most.
fn most(comparison: &Comparison, judgement: Judgement) -> Option<&ComparedCell> {
    let size = |row: &ComparedCell| row.ratio.map_or(0.0, |ratio| ratio.ratio.ln().abs());
    comparison
        .cells
        .iter()
        .filter(|row| row.judgement == judgement)
        .max_by(|a, b| size(a).total_cmp(&size(b)))
}
