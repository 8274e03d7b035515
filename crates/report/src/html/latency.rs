//! Latency percentiles of a cell at every load share.

use maud::{Markup, html};
use nicety_model::LatencySummary;

use super::axis::Axis;
use super::parts;
use super::svg::{self, Frame, Ink, Shape};
use crate::error::ReportError;
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
pub fn share(latency: &LatencySummary) -> String {
    latency
        .load_ratio
        .map_or_else(|| "unknown".to_owned(), number::share)
}

/// The load shares that occur, lowest first: each has the same line in every figure.
pub fn load_shares(groups: &[Group<'_>]) -> Vec<String> {
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
///
/// # Errors
/// [`ReportError::Draw`] when plotters refuses.
pub fn figure(group: &Group<'_>, known: &[String]) -> Result<Option<Markup>, ReportError> {
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
    let x = Axis {
        min: -0.3,
        max: PERCENTILES.len() as f64 - 0.7,
        ticks: PERCENTILES
            .iter()
            .enumerate()
            .map(|(n, name)| (n as f64, (*name).to_owned()))
            .collect(),
        log: false,
    };
    let label = label(group, &lines);
    let frame = Frame::small(200, 66, (&x, &y), &label);
    svg::draw(&frame, |plot| {
        for latency in &lines {
            let name = share(latency);
            let n = known.iter().position(|k| *k == name).unwrap_or(known.len());
            let points: Vec<(f64, f64)> = values(latency)
                .iter()
                .enumerate()
                .map(|(at, value)| (at as f64, y.at(*value)))
                .collect();
            plot.line(&points, Ink::Series(n), 2, false)?;
            for point in points {
                plot.mark(point, Shape::of_series(n), Ink::Series(n), 3, false)?;
            }
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
pub fn legend(known: &[String]) -> Markup {
    html! {
        ul.legend {
            @for (n, name) in known.iter().enumerate() {
                li {
                    span class={ "key s" (n % svg::SERIES) } aria-hidden="true" { (Shape::of_series(n).glyph()) }
                    (name) " of the throughput"
                }
            }
        }
    }
}

/// Table of every cell and load share.
pub fn table(groups: &[Group<'_>]) -> Markup {
    let rows = || {
        groups
            .iter()
            .flat_map(|group| shares(group).into_iter().map(move |l| (group, l)))
    };
    let row = |(group, latency): (&Group<'_>, &LatencySummary)| {
        html! {
            tr {
                th scope="row" { (group.name) }
                td.num data-v=[latency.load_ratio] { (share(latency)) }
                @for value in values(latency) {
                    td.num data-v=(parts::sorted_by(value)) { (number::micros(value)) }
                }
                td.num data-v=(parts::sorted_by(latency.mean)) { (number::micros(latency.mean)) }
                td.num data-v=(latency.samples) { (number::count(latency.samples)) }
                td { (parts::badge(group.verdict())) }
            }
        }
    };
    let listed = parts::long_table(
        "One-way latency in µs of every frame received",
        &html! {
            tr {
                th scope="col" { "cell" }
                th.num scope="col" { "load" }
                @for name in PERCENTILES { th.num scope="col" { (name) } }
                th.num scope="col" { "mean" }
                th.num scope="col" { "frames" }
                th scope="col" { "verdict" }
            }
        },
        &rows().take(parts::ROWS).map(row).collect::<Vec<_>>(),
    );
    html! { (listed) (parts::cut_off(rows().count())) }
}

fn label(group: &Group<'_>, lines: &[&LatencySummary]) -> String {
    let told: Vec<String> = lines
        .iter()
        .map(|l| {
            format!(
                "at {} load p50 {} µs, p99 {} µs, max {} µs",
                share(l),
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
