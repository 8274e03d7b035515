//! A constant load over hours: so many frames, so many lost, when and where.

mod csv;
mod figure;
pub mod line;

use nicety_model::LossEntry;
use nicety_model::interval::{Gap, Interval, LoadLine, LoadSummary};
use nicety_model::soak::{LoadWish, SoakHead, Soaked};

pub use csv::render as csv;

use crate::Report;
use crate::document::{Block, Cell, Document, Medium, Table, columns};
use crate::error::ReportError;
use crate::fate;
use crate::json;
use crate::note;
use crate::number::{self, plural};
use crate::run::machine::{facts_table, host_facts};

/// Places of loss in a sentence.
const NAMED: usize = 3;

/// What it comes to, in sentences.
pub fn sentences(summary: &LoadSummary) -> Vec<String> {
    let sent = number::count(summary.frames.sent);
    let time = number::seconds(summary.sending_s);
    let lost = summary.lost();
    let mut all = Vec::new();
    all.extend(summary.sent_share().map(|share| short_of(summary, share)));
    if summary.frames.sent == 0 {
        all.push("no frame was sent".to_owned());
    } else if lost == 0 {
        all.push(format!("{sent} frames in {time}, none lost"));
    } else {
        all.push(format!(
            "{sent} frames in {time}, {} lost ({})",
            number::count(lost),
            number::loss(summary.loss_ratio)
        ));
        all.extend(when(summary));
        all.extend(places(&summary.loss_ledger).map(|places| format!("lost: {places}")));
    }
    if summary.set_apart > 0 {
        all.push(format!(
            "{} were lost while a CPU stood still or by the tester itself, and say nothing about the path",
            plural(summary.set_apart, "more frame")
        ));
    }
    if summary.gap_count > 0 {
        all.push(format!(
            "{}, {} in all, of which nothing is known",
            plural(summary.gap_count, "gap"),
            number::seconds(summary.gap_s)
        ));
    }
    if summary.invalid_intervals > 0 {
        all.push(format!(
            "{} of {} are invalid: too little was sent, or nicety lost count",
            summary.invalid_intervals,
            plural(summary.intervals, "interval")
        ));
    }
    all
}

/// How much of the load was sent: `sent 35 % of the load: 6.96 k of 20.0 k frames/s`.
fn short_of(summary: &LoadSummary, share: f64) -> String {
    format!(
        "sent {} of the load: {} of {}",
        number::share(share),
        number::short(summary.offered_fps),
        number::frames_per_s(nicety_model::Fps(summary.load_fps))
    )
}

/// When frames were lost.
fn when(summary: &LoadSummary) -> Option<String> {
    let first = summary.losses.first()?.at_unix_s;
    let last = summary.last_loss_unix_s.unwrap_or(first);
    Some(if last - first < 1.0 {
        format!("at {}", line::utc(first))
    } else {
        format!(
            "first at {}, last at {}, in {}",
            line::utc(first),
            line::utc(last),
            plural(summary.lossy_intervals, "interval")
        )
    })
}

/// Where most frames were lost.
fn places(ledger: &[LossEntry]) -> Option<String> {
    let all: Vec<String> = ledger.iter().map(frames).collect();
    (!all.is_empty()).then(|| number::first_few(&all, NAMED, ", "))
}

/// How many frames were lost where: `7 in nft_do_chain at q1`, `17 at d1 rx_dropped`.
fn frames(entry: &LossEntry) -> String {
    let count = number::count(entry.frames);
    match entry.cause {
        Some(_) => format!("{count} {}", place(entry)),
        None => format!("{count} at {}", place(entry)),
    }
}

/// A place of the ledger in words.
fn place(entry: &LossEntry) -> String {
    match &entry.cause {
        Some(cause) => fate::place(cause),
        None => entry.place.clone(),
    }
}

/// The load in words: `80 % of 245 k frames/s`.
fn load(head: &SoakHead) -> String {
    let fps = number::frames_per_s(nicety_model::Fps(head.load_fps));
    let of = |ratio: f64, what: &str| match head.found {
        Some(found) => format!(
            "{fps}: {} of {what}, {}",
            number::share(ratio),
            number::frames_per_s(nicety_model::Fps(found.whole_fps))
        ),
        None => fps.clone(),
    };
    match head.wish {
        LoadWish::Rate { .. } => fps.clone(),
        LoadWish::Throughput { ratio } => of(ratio, "the throughput"),
        LoadWish::Maximum { ratio } => of(ratio, "the highest load"),
    }
}

/// The answer, the places and times of loss, the gaps; figures over time on a page.
impl Report for Soaked {
    fn document(&self, medium: Medium) -> Result<Document, ReportError> {
        let (head, summary) = (&self.run, &self.summary);
        let mut doc = Document::new(medium, format!("Soak of {}", head.cell));
        doc.host = self.host.called();
        let ended = if summary.complete {
            String::new()
        } else {
            format!(
                "; it ended after {} of {}",
                number::seconds(summary.wall_s),
                number::seconds(head.for_s)
            )
        };
        let asked = summary.sent_share().is_none().then(|| load(head));
        let mut lines: Vec<String> = asked.into_iter().chain(sentences(summary)).collect();
        lines[0] += &ended;
        doc.answer = lines.into_iter().map(|line| vec![line]).collect();
        doc.main("soak", "Soak", vec![Block::Table(totals(summary))]);
        let tables = [ledger(summary), losses(summary), gaps(&summary.gaps)];
        let tables = tables.into_iter().flatten().map(Block::Table);
        doc.section("loss", "Where and when frames were lost", tables.collect());
        if medium == Medium::Page {
            page(&mut doc, self)?;
        }
        let mut notes = head.notes.clone();
        notes.extend(summary.notes.iter().cloned());
        doc.list("notes", "Notes", note::lines(&notes));
        if medium != Medium::Terminal {
            let mut facts = host_facts(&self.host).to_vec();
            facts.extend([
                ("engine", head.engine_name.clone()),
                ("started", head.started.clone()),
                ("interval", number::seconds(head.every_s)),
            ]);
            let table = facts_table("The machine and the soak", &facts);
            doc.section("machine", "Machine", vec![Block::Table(table)]);
            let command = vec![Block::Code(head.command.clone())];
            doc.section("repeat", "Repeat it", command);
        }
        Ok(doc)
    }
}

/// Figures and tables that only a page has room for.
fn page(doc: &mut Document, soaked: &Soaked) -> Result<(), ReportError> {
    let intervals: Vec<&Interval> = soaked
        .lines
        .iter()
        .filter_map(|line| match line {
            LoadLine::Interval(interval) => Some(interval.as_ref()),
            _ => None,
        })
        .collect();
    doc.page.generator = Some(format!("nicety {}", soaked.host.nicety));
    doc.page.eyebrow = "nicety load".to_owned();
    doc.page.footer = format!(
        "Written by nicety {}. Times are UTC; latency is one way.",
        soaked.host.nicety
    );
    doc.page.data = json::compact(&soaked.run.name, soaked)?;
    doc.page.save = ("Save this soak as JSON", "nicety-soak.json");
    if intervals.is_empty() {
        return Ok(());
    }
    doc.page.figure = Some(figure::loss(&soaked.summary, &intervals));
    doc.section(
        "latency",
        "Latency",
        vec![Block::Drawn(figure::latency(&soaked.summary, &intervals))],
    );
    let table = over_time(&soaked.summary, &intervals);
    let folded = Block::Folded("Intervals as numbers".to_owned(), vec![Block::Table(table)]);
    doc.section("intervals", "Over time", vec![folded]);
    Ok(())
}

fn totals(summary: &LoadSummary) -> Table {
    Table::of(
        "All intervals",
        [summary],
        columns![|one|
            "intervals" Number: number::count(one.intervals);
            "sent" Number: number::count(one.frames.sent);
            "lost" Number: number::count(one.lost());
            "loss" Number: number::loss(one.loss_ratio);
            "reordered" Number: number::count(one.frames.reordered);
            "duplicate" Number: number::count(one.frames.duplicate);
            "p50 µs" Number: one.latency_us.map_or_else(String::new, |of| number::micros(of.p50));
            "p99 µs" Number: one.latency_us.map_or_else(String::new, |of| number::micros(of.p99));
            "max µs" Number: one.latency_us.map_or_else(String::new, |of| number::micros(of.max));
        ],
    )
}

fn ledger(summary: &LoadSummary) -> Option<Table> {
    (!summary.loss_ledger.is_empty()).then(|| {
        Table::of(
            "Where frames were lost",
            &summary.loss_ledger,
            columns![|entry|
                "where" Name: place(entry);
                "frames" Number: number::count(entry.frames);
                "meaning" Text: entry.cause.as_ref().and_then(fate::meaning).unwrap_or_default();
            ],
        )
    })
}

fn losses(summary: &LoadSummary) -> Option<Table> {
    (!summary.losses.is_empty()).then(|| {
        let listed = summary.losses.len() as u64;
        let caption = if listed < summary.lossy_intervals {
            format!("When: the first {listed} of {} intervals with loss", summary.lossy_intervals)
        } else {
            "When frames were lost".to_owned()
        };
        Table::of(
            &caption,
            &summary.losses,
            columns![|loss|
                "UTC" Name: line::utc(loss.at_unix_s);
                "after" Number: Cell::sorted(loss.at_unix_s - summary.started_unix_s, number::seconds);
                "frames" Number: number::count(loss.lost);
                "most of them" Text: &loss.place;
            ],
        )
    })
}

fn gaps(gaps: &[Gap]) -> Option<Table> {
    (!gaps.is_empty()).then(|| {
        Table::of(
            "Gaps, of which nothing is known",
            gaps,
            columns![|gap|
                "UTC" Name: line::utc(gap.from_unix_s);
                "length" Number: Cell::sorted(gap.to_unix_s - gap.from_unix_s, number::seconds);
                "why" Text: line::why(&gap.why);
            ],
        )
    })
}

fn over_time(summary: &LoadSummary, intervals: &[&Interval]) -> Table {
    Table::of(
        "Intervals",
        intervals,
        columns![|one|
            "UTC" Name: line::utc(one.started_unix_s);
            "after" Number: Cell::sorted(one.started_unix_s - summary.started_unix_s, number::seconds);
            "sent" Number: number::count(one.frames.sent);
            "lost" Number: number::count(one.lost());
            "p50 µs" Number: one.latency_us.map_or_else(String::new, |of| number::micros(of.p50));
            "p99 µs" Number: one.latency_us.map_or_else(String::new, |of| number::micros(of.p99));
            "max µs" Number: one.latency_us.map_or_else(String::new, |of| number::micros(of.max));
            "mostly lost at" Text: one.loss_ledger.first().map_or_else(String::new, place);
        ],
    )
}

#[cfg(test)]
mod tests;
