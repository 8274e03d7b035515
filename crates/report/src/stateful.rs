//! Tables of connections: the answers in a line each, the figures, and the counts of everybody.

mod words;

use nicety_model::number;
use nicety_model::stateful::{
    EntryState, Figure, Setback, StatefulReport, TableCounts, TableStage, TableVerdict,
};

use crate::document::{Badge, Tone, columns};
use crate::page::Page;

pub use words::{event_setback, meaning};

/// One figure of the table.
struct Row {
    what: String,
    entries: Option<u64>,
    figure: Option<Figure>,
    unit: &'static str,
    trials: Option<u32>,
    verdict: TableVerdict,
    stopped_by: Option<Setback>,
    counts: Option<TableCounts>,
}

/// The answers, the figures, the counts, and what to know.
pub fn page(report: &StatefulReport) -> Page {
    let mut page = Page::default();
    for line in words::answers(report) {
        page.line(&line);
    }
    let rows = rows(report);
    page.rows(
        "figures",
        rows.iter(),
        columns![|row|
            "of" Text: row.what.clone();
            "connections" Number: row.entries.map(number::count);
            "median" Number: row.figure.map(|figure| value(figure.median, row.unit));
            "interval" Number: row.figure.filter(|figure| figure.n > 1).map(|figure| number::interval((figure.low, figure.high)));
            "unit" Text: row.figure.map(|_| row.unit);
            "trials" Number: row.trials;
            "verdict" Text: badge(row.verdict);
            "stopped by" Text: row.stopped_by.map(Setback::word);
        ],
    );
    page.rows(
        "connections as everybody counts them",
        rows.iter()
            .filter_map(|row| Some((row, row.counts?)))
            .filter(|(_, counts)| counts.sent > 0),
        columns![|(row, counts)|
            "of" Text: row.what.clone();
            "opened" Number: number::count(counts.sent);
            "responder" Number: number::count(counts.responder);
            "kernel" Number: number::count(counts.kernel);
            "listed" Number: counts.listed.map(number::count);
            "answered" Number: counts.answered.map(number::count);
            "equal" Text: if counts.equal() { "yes" } else { "no" };
        ],
    );
    page.line("");
    for line in words::notes(report) {
        page.line(&line);
    }
    for note in &report.notes {
        page.line(&format!("Note: {note}"));
    }
    page
}

/// Whole numbers as they are, rates in three digits.
fn value(value: f64, unit: &str) -> String {
    match unit {
        ENTRIES => number::grouped(value),
        _ => number::short(value),
    }
}

const PER_S: &str = "connections/s";
const ENTRIES: &str = "connections";
const FRAMES: &str = "frames/s";

fn rows(report: &StatefulReport) -> Vec<Row> {
    let mut rows = Vec::new();
    if let Some(setup) = &report.setup {
        rows.push(Row {
            what: TableStage::Setup.to_string(),
            entries: None,
            figure: setup.per_s,
            unit: PER_S,
            trials: Some(setup.trials),
            verdict: setup.verdict,
            stopped_by: setup.stopped_by,
            counts: Some(setup.counts),
        });
    }
    if let Some(capacity) = &report.capacity {
        let figure = capacity.entries.map(|entries| Figure {
            median: entries as f64,
            low: entries as f64,
            high: entries as f64,
            n: 1,
            confidence: None,
        });
        rows.push(Row {
            what: TableStage::Capacity.to_string(),
            entries: None,
            figure,
            unit: ENTRIES,
            trials: Some(capacity.fills),
            verdict: capacity.verdict,
            stopped_by: capacity.stopped_by,
            counts: Some(capacity.counts),
        });
    }
    rows.extend(report.teardown.iter().map(|of| Row {
        what: TableStage::Teardown.to_string(),
        entries: Some(of.entries),
        figure: of.per_s,
        unit: PER_S,
        trials: of.per_s.map(|figure| figure.n),
        verdict: of.verdict,
        stopped_by: of.stopped_by,
        counts: None,
    }));
    rows.extend(report.goodput.iter().map(|of| Row {
        what: match of.state {
            EntryState::Unreplied => "goodput, one way".to_owned(),
            EntryState::Replied => "goodput, both ways".to_owned(),
        },
        entries: Some(of.entries),
        figure: of.fps,
        unit: FRAMES,
        trials: Some(of.trials),
        verdict: of.verdict,
        stopped_by: of.stopped_by,
        counts: Some(of.counts),
    }));
    rows
}

fn badge(verdict: TableVerdict) -> Badge {
    let tone = match verdict {
        TableVerdict::Ok => Tone::Good,
        TableVerdict::AtLeast => Tone::Info,
        TableVerdict::NotValid | TableVerdict::Failed => Tone::Fail,
    };
    Badge::new(verdict.word(), tone)
}

#[cfg(test)]
mod tests;
