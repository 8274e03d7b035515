//! Results of socket workloads as terminal table and JSON.

pub mod csv;

use std::io::Write;

use comfy_table::presets::NOTHING;
use comfy_table::{Cell, CellAlignment, ContentArrangement, Table};
use nicety_model::sock::{CurvePoint, Ending, ServiceDemand, SockReport, SockResult, SockSeries};

use crate::error::{ReportError, write_text};
use crate::number::{self, ABSENT};
use crate::table::Options;

/// Writes the table, the saturation curves and what is to be known about them.
///
/// # Errors
/// [`ReportError::Write`] when the writer fails.
pub fn render(
    report: &SockReport,
    out: &mut impl Write,
    options: Options,
) -> Result<(), ReportError> {
    let text = text(&report.series, &report.notes, options);
    write_text(out, "table", &text)
}

/// The tables, the curves, and the notes of the series before `more` of them.
pub(crate) fn text(series: &[SockSeries], more: &[String], options: Options) -> String {
    let mut text = String::new();
    let (transactions, streams): (Vec<&SockSeries>, Vec<&SockSeries>) = series
        .iter()
        .filter(|series| !series.results.is_empty())
        .partition(|series| series.results[0].spec.test.has_transactions());
    for (rows, columns) in [(transactions, TRANSACTIONS), (streams, STREAMS)] {
        if !rows.is_empty() {
            text.push_str(&table(&rows, columns, options));
            text.push('\n');
        }
    }
    for series in series.iter().filter(|series| !series.curve.is_empty()) {
        text.push_str(&curve(series));
        text.push('\n');
    }
    for note in notes(series, more) {
        text.push_str(&visible(&note));
        text.push('\n');
    }
    text
}

/// Writes the report as JSON, ended by a newline.
///
/// # Errors
/// [`ReportError::Json`], [`ReportError::Write`].
pub fn json(report: &SockReport, out: &mut impl Write) -> Result<(), ReportError> {
    let mut text = serde_json::to_string_pretty(report).map_err(|source| ReportError::Json {
        name: "sock".to_owned(),
        source,
    })?;
    text.push('\n');
    write_text(out, "JSON", &text)
}

/// Heading and content of a column.
type Column = (&'static str, fn(&SockSeries, &SockResult) -> String);

const TRANSACTIONS: &[Column] = &[
    ("test", |series, _| series.name.clone()),
    ("per second", |series, result| {
        number::fps(series.headline.map(|h| h.ave).or(result.transactions_per_s))
    }),
    ("min µs", |_, r| latency(r, |l| l.min)),
    ("mean", |_, r| latency(r, |l| l.mean)),
    ("p50", |_, r| latency(r, |l| l.p50)),
    ("p90", |_, r| latency(r, |l| l.p90)),
    ("p99", |_, r| latency(r, |l| l.p99)),
    ("p99.9", |_, r| latency(r, |l| l.p999)),
    ("max", |_, r| latency(r, |l| l.max)),
    ("lost", |_, r| loss(r)),
    ("neighbours", |_, r| neighbours(r)),
    ("CPU µs/trans", |_, r| {
        demand(r, |d| {
            (d.client_us_per_transaction, d.server_us_per_transaction)
        })
    }),
    ("ended", |_, r| r.ending.word().to_owned()),
];

const STREAMS: &[Column] = &[
    ("test", |series, _| series.name.clone()),
    ("goodput", |series, r| {
        let mbps = series.headline.map(|h| h.ave).or(r.goodput_mbps);
        mbps.map_or(ABSENT.to_owned(), number::bit_rate)
    }),
    ("offered", |_, r| {
        r.offered_mbps.map_or(ABSENT.to_owned(), number::bit_rate)
    }),
    ("lost", |_, r| loss(r)),
    ("dup", |_, r| count(r.datagrams.and_then(|d| d.duplicate))),
    ("reord", |_, r| count(r.datagrams.and_then(|d| d.reordered))),
    ("retrans", |_, r| {
        let tcp = [Some(&r.client), r.server.as_ref()].into_iter().flatten();
        let tcp = tcp.filter(|end| end.sent_bytes > 0);
        count(
            tcp.filter_map(|end| Some(end.tcp.as_ref()?.last.retransmits))
                .next(),
        )
    }),
    ("rtt µs", |_, r| {
        let tcp = [Some(&r.client), r.server.as_ref()].into_iter().flatten();
        let mut tcp = tcp.filter(|end| end.sent_bytes > 0);
        let rtt = tcp.find_map(|end| Some(end.tcp.as_ref()?.last.rtt_us));
        rtt.map_or(ABSENT.to_owned(), number::micros)
    }),
    ("neighbours", |_, r| neighbours(r)),
    ("CPU µs/KB", |_, r| {
        demand(r, |d| (d.client_us_per_kb, d.server_us_per_kb))
    }),
    ("ended", |_, r| r.ending.word().to_owned()),
];

fn latency(result: &SockResult, of: fn(&nicety_model::LatencySummary) -> f64) -> String {
    let value = result.latency_us.as_ref().map(of);
    value.map_or(ABSENT.to_owned(), number::micros)
}

fn loss(result: &SockResult) -> String {
    result
        .loss_ratio
        .map_or(ABSENT.to_owned(), |ratio| number::loss(ratio.0))
}

fn count(value: Option<u64>) -> String {
    value.map_or(ABSENT.to_owned(), number::count)
}

/// What the neighbours got through.
fn neighbours(result: &SockResult) -> String {
    result
        .neighbours
        .map_or(ABSENT.to_owned(), |n| number::bit_rate(n.goodput_mbps))
}

/// CPU time per unit of work with its unit.
pub(crate) fn service_demand(result: &SockResult) -> String {
    let (text, unit) = match result.spec.test.has_transactions() {
        true => (
            demand(result, |d| {
                (d.client_us_per_transaction, d.server_us_per_transaction)
            }),
            "µs each",
        ),
        false => (
            demand(result, |d| (d.client_us_per_kb, d.server_us_per_kb)),
            "µs/KB",
        ),
    };
    match text == ABSENT {
        true => text,
        false => format!("{text} {unit}"),
    }
}

/// One line per path: what it gave, first tests first.
pub(crate) fn sentences(series: &[SockSeries]) -> Vec<String> {
    let mut paths: Vec<(&str, Vec<String>)> = Vec::new();
    for series in series {
        let Some(result) = series.results.last() else {
            continue;
        };
        let test = series.name.strip_prefix(&format!("{}/", result.path));
        let test = test.unwrap_or(&series.name);
        let Some((rate, p99)) = rate(series) else {
            continue;
        };
        let p99 = p99.map_or(String::new(), |p99| format!(", {p99}"));
        let figure = format!("{rate} in {test}{p99}");
        match paths.iter_mut().find(|(path, _)| *path == result.path) {
            Some((_, figures)) => figures.push(figure),
            None => paths.push((&result.path, vec![figure])),
        }
    }
    let sentence = |(path, figures): (&str, Vec<String>)| {
        let more = figures.len().saturating_sub(TOLD);
        let mut text = format!("{path}: {}", figures[..figures.len().min(TOLD)].join("; "));
        if more > 0 {
            text.push_str(&format!("; and {more} more"));
        }
        text
    };
    paths.into_iter().map(sentence).collect()
}

/// What a series came to: rate, and the 99th percentile of a transaction.
fn rate(series: &SockSeries) -> Option<(String, Option<String>)> {
    let result = series.results.last()?;
    let rate = series.headline.map(|h| h.ave).or(result.headline())?;
    if !result.spec.test.has_transactions() {
        return Some((number::bit_rate(rate), None));
    }
    let p99 = result.latency_us.map(|l| number::micros(l.p99));
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
    let three =
        |value: Option<f64>| value.map_or(ABSENT.to_owned(), |value| number::significant(value, 3));
    match result.service_demand.as_ref() {
        None => ABSENT.to_owned(),
        Some(demand) if demand.shared_host => three(of(demand).0),
        Some(demand) => {
            let (client, server) = of(demand);
            format!("{} + {}", three(client), three(server))
        }
    }
}

/// Whether a column says anything; without it the table is narrower.
fn speaks(series: &[&SockSeries], column: &Column) -> bool {
    let cells = series
        .iter()
        .filter_map(|s| Some((column.1)(s, s.results.last()?)));
    let silent = |text: &String| text == ABSENT || text == Ending::Complete.word();
    !cells.into_iter().all(|text| silent(&text))
}

/// Headings and rows of the table of transactions and of that of streams.
pub(crate) fn tables(series: &[SockSeries]) -> Vec<(Vec<&'static str>, Vec<Vec<String>>)> {
    let (transactions, streams): (Vec<&SockSeries>, Vec<&SockSeries>) = series
        .iter()
        .filter(|series| !series.results.is_empty())
        .partition(|series| series.results[0].spec.test.has_transactions());
    let both = [(transactions, TRANSACTIONS), (streams, STREAMS)];
    both.into_iter()
        .filter(|(series, _)| !series.is_empty())
        .map(|(series, columns)| {
            let columns: Vec<&Column> = columns.iter().filter(|c| speaks(&series, c)).collect();
            let rows = series.iter().filter_map(|series| {
                let last = series.results.last()?;
                Some(columns.iter().map(|c| (c.1)(series, last)).collect())
            });
            (columns.iter().map(|c| c.0).collect(), rows.collect())
        })
        .collect()
}

fn table(series: &[&SockSeries], columns: &[Column], options: Options) -> String {
    let columns: Vec<&Column> = columns.iter().filter(|c| speaks(series, c)).collect();
    let mut table = Table::new();
    table
        .load_style(NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(options.width.max(20))
        .set_header(columns.iter().map(|(heading, _)| *heading));
    for series in series {
        // Repeats end with the one that tells most: the last.
        if let Some(result) = series.results.last() {
            table.add_row(
                columns
                    .iter()
                    .map(|column| Cell::new(visible(&(column.1)(series, result)))),
            );
        }
    }
    for (place, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        if place > 0 {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    lines(&table)
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

fn curve(series: &SockSeries) -> String {
    let mut table = Table::new();
    table
        .load_style(NOTHING)
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(["pairs", "rate", "p99 µs", "busy CPUs"]);
    for point in &series.curve {
        table.add_row([
            point.parallel.to_string(),
            number::grouped(point.rate),
            point.p99_us.map_or(ABSENT.to_owned(), number::micros),
            busy(point),
        ]);
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
        column.set_cell_alignment(CellAlignment::Right);
    }
    let end = match series.saturated_at {
        Some(pairs) => format!("saturated with {pairs} pairs"),
        None => "the rate still grew with the most pairs tried".to_owned(),
    };
    format!("{}: {end}\n{}", visible(&series.name), lines(&table))
}

fn lines(table: &Table) -> String {
    let lines = table.lines().map(|line| line.trim_end().to_owned() + "\n");
    lines.collect()
}

/// What is to be known about the figures, nothing twice.
pub(crate) fn notes(series: &[SockSeries], more: &[String]) -> Vec<String> {
    let mut notes = Vec::new();
    for series in series {
        if let Some(c) = series.confidence {
            let width = c
                .width_percent
                .map_or(ABSENT.to_owned(), |w| format!("{w:.1} %"));
            let word = if c.reached { "reached" } else { "not reached" };
            notes.push(format!(
                "{}: {} repeats, the {} % interval is {width} of the mean wide; {} % asked, {word}",
                series.name,
                series.results.len(),
                c.level_percent,
                c.asked_width_percent,
            ));
        } else if let Some(spread) = series.headline.filter(|spread| spread.n > 1) {
            notes.push(format!(
                "{}: {} repeats, {} to {}",
                series.name,
                spread.n,
                number::grouped(spread.min),
                number::grouped(spread.max)
            ));
        }
        if let Some(result) = series.results.last() {
            let both = [Some(&result.client), result.server.as_ref()];
            let mut features: Vec<&str> = Vec::new();
            for feature in both.into_iter().flatten().flat_map(|end| &end.features) {
                if !features.contains(&feature.as_str()) {
                    features.push(feature);
                }
            }
            if !features.is_empty() {
                notes.push(format!("{}: {}", series.name, features.join(", ")));
            }
            notes.extend(
                result
                    .notes
                    .iter()
                    .map(|note| format!("{}: {note}", series.name)),
            );
        }
    }
    notes.extend(more.iter().cloned());
    let mut seen = Vec::new();
    notes.retain(|note| {
        let new = !seen.contains(note);
        seen.push(note.clone());
        new
    });
    notes
}

/// Text without characters that move the cursor or turn the direction of writing: a peer's words
/// are in it.
fn visible(text: &str) -> String {
    let odd =
        |c: char| c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    text.chars()
        .map(|c| {
            if odd(c) {
                char::REPLACEMENT_CHARACTER
            } else {
                c
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use nicety_model::sock::{EndReport, Family, SockSpec, SockTest};
    use nicety_model::{LatencySummary, SCHEMA};

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
        let mut out = Vec::new();
        let options = Options {
            width: 120,
            colour: false,
        };
        render(&report, &mut out, options).unwrap();
        String::from_utf8(out).unwrap()
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
    fn an_early_end_is_said() {
        let mut lost = result(SockTest::TcpRr);
        lost.ending = Ending::PeerLost;
        lost.notes.push("client: \u{1b}[2Jgone".to_owned());
        let text = text(vec![lost]);
        assert!(
            text.contains("peer lost") && !text.contains('\u{1b}'),
            "{text}"
        );
    }
}
