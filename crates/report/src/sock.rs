//! Results of socket workloads: a section of a run's report, or a report of their own.

pub mod csv;
mod figure;

use std::collections::BTreeSet;

use maud::html;
use nicety_model::LatencySummary;
use nicety_model::counted::plural;
use nicety_model::sock::{
    CurvePoint, EndReport, Ending, ServiceDemand, SockReport, SockResult, SockSeries, TcpSample,
};

use crate::Report;
use crate::document::{Block, Cell, Document, Medium, Table, columns};
use crate::error::ReportError;
use crate::figure::grid;
use crate::note;
use crate::number::{self, ABSENT};
use crate::pick;

/// Tables, saturation curves and what is to be known about them.
impl Report for SockReport {
    fn document(&self, medium: Medium) -> Result<Document, ReportError> {
        let mut doc = Document::new(medium, "nicety sock");
        section(&mut doc, &self.series, note::lines(&self.notes))?;
        Ok(doc)
    }
}

/// Adds figures, tables, curves, and the notes of the series before `more` of them; nothing without
/// any.
pub(crate) fn section(
    doc: &mut Document,
    series: &[SockSeries],
    more: Vec<String>,
) -> Result<(), ReportError> {
    let mut blocks = Vec::new();
    if doc.on_page() && !series.is_empty() {
        blocks.push(Block::text(
            "Two endpoints talk through ordinary sockets over the path. Rates of request/response are \
             transactions per second, those of streams are payload received.",
        ));
        let figures = figure::figures(series);
        if !figures.is_empty() {
            blocks.push(Block::Drawn(html! { (grid(&figures)) }));
        }
    }
    let measured = series
        .iter()
        .filter_map(|series| Some((series, series.results.last()?)));
    let (transactions, streams): (Vec<Row<'_>>, Vec<Row<'_>>) =
        measured.partition(|(series, _)| series.results[0].spec.test.has_transactions());
    let tables = [self::transactions(&transactions), self::streams(&streams)];
    for table in tables.into_iter().filter(|table| table.total > 0) {
        // Without a column that says nothing the table is narrower.
        blocks.push(Block::Table(table.speaking(|_, cell| {
            !cell.is_absent() && cell.text != Ending::Complete.word()
        })));
    }
    for series in series.iter().filter(|series| !series.curve.is_empty()) {
        let end = match series.saturated_at {
            Some(pairs) => format!("saturated with {}", plural(pairs, "pair")),
            None => "the rate still grew with the most pairs tried".to_owned(),
        };
        blocks.push(Block::Text(format!("{}: {end}", series.name)));
        blocks.push(Block::Table(curve(series)));
    }
    let notes = notes(series, more);
    if !notes.is_empty() {
        blocks.push(Block::List(notes));
    }
    doc.main("sockets", "Socket workloads", blocks);
    Ok(())
}

/// A series with its last repeat, which tells most.
type Row<'s> = (&'s SockSeries, &'s SockResult);

/// Mean of the repeats, else what the last one has.
fn headline(series: &SockSeries, last: Option<f64>) -> Option<f64> {
    series.headline.map(|spread| spread.ave).or(last)
}

fn transactions(rows: &[Row<'_>]) -> Table {
    let latency = |r: &SockResult, of: fn(&LatencySummary) -> f64| {
        Cell::number(r.latency_us.as_ref().map(of), number::micros)
    };
    // The largest of a few values is no percentile.
    let beyond = |r: &SockResult, share: f64, of: fn(&LatencySummary) -> f64| {
        let known = r.latency_us.as_ref().filter(|latency| latency.knows(share));
        Cell::number(known.map(of), number::micros)
    };
    Table::of(
        "Socket workloads: transactions",
        rows.iter().copied(),
        columns![|(series, r)|
            "test" Name: series.name.as_str();
            "per second" Number: Cell::number(headline(series, r.transactions_per_s), number::grouped);
            "min µs" Number: latency(r, |l| l.min);
            "mean" Number: latency(r, |l| l.mean);
            "p50" Number: beyond(r, 0.5, |l| l.p50);
            "p90" Number: beyond(r, 0.1, |l| l.p90);
            "p99" Number: beyond(r, 0.01, |l| l.p99);
            "p99.9" Number: beyond(r, 0.001, |l| l.p999);
            "max" Number: latency(r, |l| l.max);
            "lost" Number: loss(r);
            "neighbours" Number: neighbours(r);
            "CPU µs/trans" Number: demand(r, |d| (d.client_us_per_transaction, d.server_us_per_transaction));
            "ended" Text: r.ending.word();
        ],
    )
}

fn streams(rows: &[Row<'_>]) -> Table {
    let count = |value: Option<u64>| value.map(Cell::count);
    Table::of(
        "Socket workloads: streams",
        rows.iter().copied(),
        columns![|(series, r)|
            "test" Name: series.name.as_str();
            "goodput" Number: Cell::sorted(headline(series, r.goodput_mbps), number::bit_rate);
            "offered" Number: Cell::sorted(r.offered_mbps, number::bit_rate);
            "lost" Number: loss(r);
            "dup" Number: count(r.datagrams.and_then(|d| d.duplicate));
            "reord" Number: count(r.datagrams.and_then(|d| d.reordered));
            "retrans" Number: count(sender(r).map(|tcp| tcp.retransmits));
            "rtt µs" Number: Cell::number(sender(r).map(|tcp| tcp.rtt_us), number::micros);
            "neighbours" Number: neighbours(r);
            "CPU µs/KB" Number: demand(r, |d| (d.client_us_per_kb, d.server_us_per_kb));
            "ended" Text: r.ending.word();
        ],
    )
}

fn loss(result: &SockResult) -> Cell {
    Cell::number(result.loss_ratio.map(|ratio| ratio.0), number::loss)
}

/// What the neighbours got through.
fn neighbours(result: &SockResult) -> Cell {
    let goodput = result.neighbours.map(|n| n.goodput_mbps);
    Cell::sorted(goodput, number::bit_rate)
}

/// The end that sent a stream, where it has the kernel's account of it.
fn sender(result: &SockResult) -> Option<&TcpSample> {
    let mut sent = ends(result).filter(|end| end.sent_bytes > 0);
    sent.find_map(|end| Some(&end.tcp.as_ref()?.last))
}

fn ends(result: &SockResult) -> impl Iterator<Item = &EndReport> {
    std::iter::once(&result.client).chain(&result.server)
}

/// One line per path: what it gave, first tests first.
pub(crate) fn sentences(series: &[SockSeries]) -> Vec<String> {
    let figures = series.iter().filter_map(|series| {
        let path = series.results.last()?.path.as_str();
        let test = series.name.strip_prefix(&format!("{path}/"));
        let test = test.unwrap_or(&series.name);
        let (rate, p99) = rate(series)?;
        let p99 = p99.map_or(String::new(), |p99| format!(", {p99}"));
        Some((path, format!("{rate} in {test}{p99}")))
    });
    let sentence = |(path, figures): (&str, Vec<String>)| {
        let told = figures[..figures.len().min(TOLD)].join("; ");
        match figures.len().saturating_sub(TOLD) {
            0 => format!("{path}: {told}"),
            more => format!("{path}: {told}; and {more} more"),
        }
    };
    pick::together(figures).into_iter().map(sentence).collect()
}

/// What a series came to: rate, and the 99th percentile of a transaction.
fn rate(series: &SockSeries) -> Option<(String, Option<String>)> {
    let result = series.results.last()?;
    let rate = headline(series, result.headline())?;
    if !result.spec.test.has_transactions() {
        return Some((number::bit_rate(rate), None));
    }
    let known = result.latency_us.filter(|latency| latency.knows(0.01));
    let p99 = known.map(|l| number::micros(l.p99));
    Some((
        format!("{} transactions/s", number::grouped(rate)),
        p99.map(|p99| format!("p99 {p99} µs")),
    ))
}

/// What a series came to, in one line.
pub(crate) fn figure(series: &SockSeries) -> Option<String> {
    let (rate, p99) = rate(series)?;
    Some(match p99 {
        Some(p99) => format!("{rate}, {p99}"),
        None => rate,
    })
}

/// Tests of a path told of in words.
const TOLD: usize = 3;

/// Both hosts' figures, or the one of the host they share.
fn demand(result: &SockResult, of: fn(&ServiceDemand) -> (Option<f64>, Option<f64>)) -> String {
    // Time below the kernel's tick is not measured, not nothing.
    let measured = |value: &f64| *value > 0.0;
    let three = |value: Option<f64>| {
        let value = value.filter(measured);
        value.map_or(ABSENT.to_owned(), |value| number::significant(value, 3))
    };
    match result.service_demand.as_ref() {
        None => ABSENT.to_owned(),
        Some(demand) if demand.shared_host => three(of(demand).0),
        Some(demand) => {
            let (client, server) = of(demand);
            format!("{} + {}", three(client), three(server))
        }
    }
}

/// Busy CPUs of both hosts, or of the one that they share.
fn busy(point: &CurvePoint) -> String {
    let two = |cpus| number::significant(cpus, 2);
    match (point.client_busy_cpus, point.server_busy_cpus) {
        (Some(client), Some(server)) => format!("{} + {}", two(client), two(server)),
        (Some(cpus), None) | (None, Some(cpus)) => two(cpus),
        (None, None) => ABSENT.to_owned(),
    }
}

fn curve(series: &SockSeries) -> Table {
    Table::of(
        format!("Saturation of {}", series.name),
        &series.curve,
        columns![|point|
            "pairs" Place: point.parallel;
            "rate" Number: Cell::number(point.rate, number::grouped);
            "p99 µs" Number: Cell::number(point.p99_us, number::micros);
            "busy CPUs" Number: busy(point);
        ],
    )
}

/// What is to be known about the figures, nothing twice.
fn notes(series: &[SockSeries], more: Vec<String>) -> Vec<String> {
    let mut notes = Vec::new();
    for series in series {
        if let Some(c) = series.confidence {
            let width = c
                .width_percent
                .map_or(ABSENT.to_owned(), |w| format!("{w:.1} %"));
            let word = if c.reached { "reached" } else { "not reached" };
            notes.push(format!(
                "{}: {}, the {} % interval is {width} of the mean wide; {} % asked, {word}",
                series.name,
                plural(series.results.len(), "repeat"),
                c.level_percent,
                c.asked_width_percent,
            ));
        } else if let Some(spread) = series.headline.filter(|spread| spread.n > 1) {
            notes.push(format!(
                "{}: {}, {} to {}",
                series.name,
                plural(spread.n, "repeat"),
                number::grouped(spread.min),
                number::grouped(spread.max)
            ));
        }
        if let Some(result) = series.results.last() {
            let mut features: Vec<&str> = Vec::new();
            for feature in ends(result).flat_map(|end| &end.features) {
                if !features.contains(&feature.as_str()) {
                    features.push(feature);
                }
            }
            if !features.is_empty() {
                notes.push(format!("{}: {}", series.name, features.join(", ")));
            }
            let own = note::lines(&result.notes).into_iter();
            notes.extend(own.map(|note| format!("{}: {note}", series.name)));
        }
    }
    notes.extend(more);
    let mut seen = BTreeSet::new();
    notes.retain(|note| seen.insert(note.clone()));
    notes
}

#[cfg(test)]
mod tests {
    use nicety_model::sock::{EndReport, Family, SockSpec, SockTest};
    use nicety_model::{LatencySummary, Note, SCHEMA};

    use super::*;

    fn result(test: SockTest) -> SockResult {
        SockResult {
            schema: SCHEMA,
            path: "veth".to_owned(),
            family: Family::Ipv4,
            spec: SockSpec::new(test, std::time::Duration::from_secs(1)),
            cell: String::new(),
            repeat: 1,
            neighbours: None,
            ending: Ending::Complete,
            elapsed_s: 1.0,
            transactions_per_s: test.has_transactions().then_some(12_345.0),
            goodput_mbps: (!test.has_transactions()).then_some(9_410.0),
            offered_mbps: None,
            latency_us: test.has_transactions().then_some(LatencySummary {
                p50: 7.25,
                p99: 31.0,
                samples: 12_345,
                ..LatencySummary::default()
            }),
            requests: None,
            datagrams: None,
            loss_ratio: None,
            service_demand: None,
            tcp_efficiency_ratio: None,
            buffer_delay_ratio: None,
            client: EndReport::default(),
            server: None,
            notes: Vec::new(),
        }
    }

    fn text(results: Vec<SockResult>) -> String {
        let series = results.into_iter().map(|result| SockSeries {
            name: format!("veth/{}", result.spec.name()),
            results: vec![result],
            headline: None,
            confidence: None,
            curve: Vec::new(),
            saturated_at: None,
        });
        let report = SockReport {
            schema: SCHEMA,
            version: "0".to_owned(),
            series: series.collect(),
            notes: Vec::new(),
        };
        crate::document::terminal::shown(&report, 120, false)
    }

    #[test]
    fn only_what_was_measured_has_a_column() {
        let text = text(vec![result(SockTest::TcpRr), result(SockTest::TcpStream)]);
        assert!(text.contains("veth/tcp_rr/1"), "{text}");
        assert!(text.contains("12,345") && text.contains("7.2") && text.contains("9.41 Gbit/s"));
        for absent in ["lost", "retrans", "ended", "CPU"] {
            assert!(!text.contains(absent), "{absent}: {text}");
        }
    }

    #[test]
    fn the_largest_of_501_samples_is_no_percentile() {
        let mut few = result(SockTest::TcpRr);
        few.latency_us = Some(LatencySummary {
            p50: 4.5,
            p90: 75.0,
            p99: 88.0,
            p999: 93.0,
            max: 93.5,
            samples: 501,
            ..LatencySummary::default()
        });
        few.service_demand = Some(ServiceDemand {
            client_us_per_transaction: Some(0.0),
            shared_host: true,
            ..ServiceDemand::default()
        });
        let text = text(vec![few]);
        assert!(text.contains(" 75 ") && text.contains("94"), "{text}");
        for unknown in ["p99", " 93 ", "CPU"] {
            assert!(!text.contains(unknown), "{unknown}: {text}");
        }
    }

    #[test]
    fn an_early_end_is_said() {
        let mut lost = result(SockTest::TcpRr);
        lost.ending = Ending::PeerLost;
        lost.notes
            .push(Note::Recorded("client: \u{1b}[2Jgone".to_owned()));
        let text = text(vec![lost]);
        assert!(
            text.contains("peer lost") && !text.contains('\u{1b}'),
            "{text}"
        );
    }
}
