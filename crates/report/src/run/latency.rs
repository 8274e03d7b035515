//! Latency percentiles of a cell at every load share.

use maud::Markup;
use nicety_model::LatencySummary;

use crate::document::{Cell, Table, columns};
use crate::error::ReportError;
use crate::figure::axis::Axis;
use crate::figure::svg::{self, Frame};
use crate::figure::{self, Key};
use crate::number;
use crate::pick::Group;

const PERCENTILES: [&str; 6] = ["min", "p50", "p90", "p99", "p99.9", "max"];

fn values(latency: &LatencySummary) -> [f64; 6] {
    [
        latency.min,
        latency.p50,
        latency.p90,
        latency.p99,
        latency.p999,
        latency.max,
    ]
}

/// Every load share of a cell, lowest first.
fn shares<'a>(group: &'a Group<'_>) -> Vec<&'a LatencySummary> {
    let all = &group.shown.latency_by_load_us;
    if all.is_empty() {
        group.shown.latency_us.iter().collect()
    } else {
        all.iter().collect()
    }
}

/// Load share in words: `90 %`, or that it is unknown.
fn share_words(latency: &LatencySummary) -> String {
    latency
        .load_ratio
        .map_or_else(|| "unknown".to_owned(), number::share)
}

pub(super) fn share(latency: &LatencySummary) -> Cell {
    Cell::from(share_words(latency)).by(latency.load_ratio)
}

/// The load shares that occur, lowest first: each has the same line in every figure.
pub(super) fn load_shares(groups: &[Group<'_>]) -> Vec<String> {
    let mut ratios: Vec<f64> = groups
        .iter()
        .flat_map(shares)
        .filter_map(|latency| latency.load_ratio)
        .filter(|ratio| ratio.is_finite())
        .collect();
    ratios.sort_by(f64::total_cmp);
    let mut names: Vec<String> = ratios.into_iter().map(number::share).collect();
    names.dedup();
    names
}

/// Draws a cell's percentiles, a line per load share; `None` without a finite positive value.
pub(super) fn figure(group: &Group<'_>, known: &[String]) -> Result<Option<Markup>, ReportError> {
    let lines = shares(group);
    let usable = || {
        lines
            .iter()
            .flat_map(|latency| values(latency))
            .filter(|value| value.is_finite() && *value > 0.0)
    };
    let (min, max) = (
        usable().fold(f64::INFINITY, f64::min),
        usable().fold(0.0, f64::max),
    );
    if !min.is_finite() {
        return Ok(None);
    }
    let y = Axis::log(min, max, |v| format!("{} µs", short(v)));
    let names = PERCENTILES.iter().enumerate();
    let names = names.map(|(n, name)| (n as f64, (*name).to_owned()));
    let x = Axis::linear(-0.3, PERCENTILES.len() as f64 - 0.7, names.collect());
    let label = label(group, &lines);
    let frame = Frame::small(200, 66, (&x, &y), &label);
    svg::draw(&frame, |plot| {
        for latency in &lines {
            let name = share_words(latency);
            let n = known.iter().position(|k| *k == name).unwrap_or(known.len());
            let points: Vec<(f64, f64)> = values(latency)
                .iter()
                .enumerate()
                .map(|(at, value)| (at as f64, y.at(*value)))
                .collect();
            plot.series(&points, n, 3)?;
        }
        Ok(())
    })
    .map(Some)
}

fn short(micros: f64) -> String {
    let digits = (micros * 1000.0).round() / 1000.0;
    if digits >= 1000.0 {
        number::grouped(digits)
    } else {
        format!("{digits}")
    }
}

/// The lines' meaning, once for all figures.
pub(super) fn legend(known: &[String]) -> Markup {
    let keys = known.iter().enumerate();
    let keys: Vec<Key> = keys
        .map(|(n, name)| figure::series(n, format!("{name} of the throughput")))
        .collect();
    figure::legend(&keys)
}

/// Table of every cell and load share.
pub(super) fn table(groups: &[Group<'_>]) -> Table {
    let rows = groups.iter().flat_map(|group| {
        shares(group)
            .into_iter()
            .map(move |latency| (group, latency))
    });
    let micros = |value: f64| Cell::sorted(value, number::micros);
    let at = |latency: &LatencySummary, n: usize| micros(values(latency)[n]);
    Table::first(
        "One-way latency in µs of every frame received",
        rows,
        columns![|(group, latency)|
            "cell" Name: group.name;
            "load" Number: share(latency);
            "min" Number: at(latency, 0);
            "p50" Number: at(latency, 1);
            "p90" Number: at(latency, 2);
            "p99" Number: at(latency, 3);
            "p99.9" Number: at(latency, 4);
            "max" Number: at(latency, 5);
            "mean" Number: micros(latency.mean);
            "frames" Number: Cell::count(latency.samples);
            "verdict" Text: group.verdict();
        ],
    )
}

fn label(group: &Group<'_>, lines: &[&LatencySummary]) -> String {
    let told: Vec<String> = lines
        .iter()
        .map(|l| {
            format!(
                "at {} load p50 {} µs, p99 {} µs, max {} µs",
                share_words(l),
                number::micros(l.p50),
                number::micros(l.p99),
                number::micros(l.max)
            )
        })
        .collect();
    format!(
        "Latency percentiles of {}: {}; verdict {}",
        group.name,
        told.join("; "),
        group.verdict()
    )
}
