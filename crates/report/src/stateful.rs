//! Tables of connections: the answers in a line each, the figures, and the counts of everybody.

mod figure;
mod words;

use std::io::Write;

use nicety_model::Transport;
use nicety_model::sock::Family;
use nicety_model::stateful::{
    EntryState, Figure, Setback, StatefulReport, TableCounts, TableStage, TableVerdict,
};

use crate::Report;
use crate::document::csv::{self, Field, fields};
use crate::document::{Badge, Block, Document, Medium, Table, Tone, columns};
use crate::error::ReportError;
use crate::json;
use crate::note;
use crate::number;
use crate::run::machine::{facts_table, host_facts};

pub use words::{event_setback, meaning};

/// One figure of the table.
struct Row {
    what: String,
    entries: Option<u64>,
    figure: Option<Figure>,
    unit: &'static str,
    payload_mbps: Option<f64>,
    trials: Option<u32>,
    spoiled: Option<u32>,
    verdict: TableVerdict,
    stopped_by: Option<Setback>,
    counts: Option<TableCounts>,
}

/// The answers, the figures, the counts of everybody, and what to know; drawings on a page.
impl Report for StatefulReport {
    fn document(&self, medium: Medium) -> Result<Document, ReportError> {
        let mut doc = Document::new(medium, format!("Table of connections of {}", self.path));
        doc.host = self.host.called();
        let answers = words::answers(self).into_iter();
        doc.answer = answers.map(|line| vec![line]).collect();
        let rows = rows(self);
        doc.main("figures", "Figures", vec![Block::Table(figures(&rows))]);
        if medium == Medium::Page {
            page(&mut doc, self)?;
        }
        let counts = counts(&rows);
        let counts = (!counts.rows.is_empty()).then_some(Block::Table(counts));
        doc.section(
            "counts",
            "Connection counts by source",
            counts.into_iter().collect(),
        );
        doc.list("table", "The table", words::notes(self));
        doc.list("notes", "Notes", note::lines(&self.notes));
        if medium != Medium::Terminal {
            let mut facts = host_facts(&self.host).to_vec();
            facts.extend([
                ("started", self.started.clone()),
                ("path", self.path.clone()),
                ("headers", headers(self)),
                ("frame size", format!("{} B", self.frame_size_bytes)),
                ("trial", number::seconds(self.trial_s)),
            ]);
            let table = facts_table("The machine and the measurement", &facts);
            doc.section("machine", "Machine", vec![Block::Table(table)]);
        }
        Ok(doc)
    }
}

/// IP version and protocol of the connections.
fn headers(report: &StatefulReport) -> String {
    let family = report.family.unwrap_or(Family::Ipv4);
    let protocol = report.protocol.unwrap_or(Transport::Udp);
    format!("{family}, {protocol}")
}

/// Drawings, and what is around them.
fn page(doc: &mut Document, report: &StatefulReport) -> Result<(), ReportError> {
    doc.page.generator = Some(format!("nicety {}", report.host.nicety));
    doc.page.eyebrow = "nicety stateful".to_owned();
    doc.page.footer = format!(
        "Written by nicety {}. Measured after RFC 9693.",
        report.host.nicety
    );
    doc.page.data = json::compact("stateful", report)?;
    doc.page.save = ("Save these figures as JSON", "nicety-stateful.json");
    let mut drawn = [figure::filling(report), figure::goodput(report)]
        .into_iter()
        .flatten();
    doc.page.figure = drawn.next();
    let more = drawn.next().map(Block::Drawn);
    doc.section("goodput", "Goodput", more.into_iter().collect());
    Ok(())
}

fn figures(rows: &[Row]) -> Table {
    Table::of(
        "Figures",
        rows,
        columns![|row|
            "of" Name: row.what.clone();
            "connections" Number: row.entries.map(number::count);
            "median" Main: row.figure.map(|figure| value(figure.median, row.unit));
            "interval" Number: row.figure.filter(|figure| figure.n > 1).map(|figure| number::interval((figure.low, figure.high)));
            "unit" Text: row.figure.map(|_| row.unit);
            "trials" Number: row.trials;
            "spoiled" Number: row.spoiled.filter(|count| *count > 0);
            "verdict" Text: badge(row.verdict);
            "stopped by" Text: row.stopped_by.map(Setback::word);
        ],
    )
    .speaking(|_, cell| !cell.is_absent())
}

fn counts(rows: &[Row]) -> Table {
    let counted = rows.iter().filter_map(|row| Some((row, row.counts?)));
    Table::of(
        "Connection counts by source",
        counted.filter(|(_, counts)| counts.sent > 0),
        columns![|(row, counts)|
            "of" Name: row.what.clone();
            "opened" Number: number::count(counts.sent);
            "responder" Number: number::count(counts.responder);
            "kernel" Number: number::count(counts.kernel);
            "listed" Number: counts.listed.map(number::count);
            "answered" Number: counts.answered.map(number::count);
            "equal" Text: if counts.equal() { "yes" } else { "no" };
        ],
    )
}

/// Writes a row for each figure with what everybody counted, numbers as they are and units in words.
///
/// # Errors
/// [`ReportError::Csv`] when a row cannot be formed, [`ReportError::Write`] when the writer fails.
pub fn csv(report: &StatefulReport, out: &mut impl Write) -> Result<(), ReportError> {
    let columns: [Field<Row>; 17] = fields![|row|
        "of": &row.what;
        "connections": row.entries;
        "median": row.figure.map(|figure| figure.median);
        "low": row.figure.map(|figure| figure.low);
        "high": row.figure.map(|figure| figure.high);
        "repeats": row.figure.map(|figure| figure.n);
        "unit": row.unit;
        "payload_mbps": row.payload_mbps;
        "trials": row.trials;
        "spoiled": row.spoiled;
        "verdict": row.verdict.word();
        "stopped_by": row.stopped_by.map(Setback::word);
        "opened": row.counts.map(|counts| counts.sent);
        "responder": row.counts.map(|counts| counts.responder);
        "kernel": row.counts.map(|counts| counts.kernel);
        "listed": row.counts.and_then(|counts| counts.listed);
        "answered": row.counts.and_then(|counts| counts.answered);
    ];
    csv::write(out, &columns, rows(report))
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
            payload_mbps: None,
            trials: Some(setup.trials),
            spoiled: setup.spoiled,
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
            payload_mbps: None,
            trials: Some(capacity.fills),
            spoiled: None,
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
        payload_mbps: None,
        trials: of.per_s.map(|figure| figure.n),
        spoiled: None,
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
        payload_mbps: of.payload_mbps,
        trials: Some(of.trials),
        spoiled: of.spoiled,
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
