//! Latency drawn: percentiles against the load, and every load against the percentiles.

use maud::{Markup, html};
use nicety_model::LatencySummary;

use super::{percentiles, share_words, shares};
use crate::document::Block;
use crate::document::html::doubt;
use crate::figure::axis::Axis;
use crate::figure::svg::{self, Frame, Look};
use crate::figure::{self, Key, Size};
use crate::number;
use crate::pick::Group;
use crate::run::loss::not_all;

const HEIGHT: f64 = 240.0;
/// Percentiles drawn against the load, by their place in [`percentiles`].
const GROWING: [usize; 3] = [0, 2, 3];
/// A point of a line: place, value in µs, what it says.
type LatencyPoint = (f64, f64, String);

/// Growth with the load where a cell has several loads, then the percentiles; nothing where no cell
/// has any.
pub(super) fn blocks(groups: &[Group<'_>]) -> Vec<Block> {
    let known = load_shares(groups);
    let by_percentile = drawn("percentiles", groups, |group| {
        percentile_lines(group, &known)
    });
    if by_percentile.is_empty() {
        return Vec::new();
    }
    let growing = drawn("latency", groups, |group| load_lines(group));
    let mut blocks = Vec::new();
    if growing.is_empty() {
        blocks.push(Block::Remark(
            "Latency was measured at one load, so there is no curve against load. A run without a time \
             box measures at 10, 50 and 90 % of the throughput."
                .to_owned(),
        ));
    } else {
        let names = GROWING.into_iter().zip(["p50", "p99", "p99.9"]);
        let keys: Vec<Key> = names.map(|(n, name)| figure::series(n, name)).collect();
        let rest = not_all(growing.len(), groups.len());
        blocks.push(Block::Drawn(html! {
            h3 { "Latency against load" }
            (figure::legend(&keys)) (figure::grid(&growing)) (rest)
        }));
    }
    let keys = known.iter().enumerate();
    let keys: Vec<Key> = keys
        .map(|(n, name)| figure::series(n, format!("at {name} of the throughput")))
        .collect();
    let rest = not_all(by_percentile.len(), groups.len());
    blocks.push(Block::Drawn(html! {
        h3 { "Percentiles" }
        (figure::legend(&keys)) (figure::grid(&by_percentile)) (rest)
        p.muted { "Each step to the right leaves a tenth of the frames: the tail that few frames see." }
    }));
    blocks
}

/// A figure of each cell that has lines.
fn drawn<'g>(
    kind: &str,
    groups: &'g [Group<'g>],
    lines: impl Fn(&'g Group<'g>) -> Option<Lines>,
) -> Vec<Markup> {
    figure::fill(groups, |group, room| {
        let lines = lines(group)?;
        let drawn = room.draw(HEIGHT, |size| lines.draw(size));
        let id = figure::anchor(kind, group.name);
        Some(figure::titled(
            &id,
            group.name,
            doubt(group.verdict()),
            drawn,
        ))
    })
}

/// The load shares that occur, lowest first: each has the same line in every figure.
fn load_shares(groups: &[Group<'_>]) -> Vec<String> {
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

/// Lines of a figure, each with its place among those of all figures.
struct Lines {
    x: Axis,
    lines: Vec<(usize, Vec<LatencyPoint>)>,
    label: String,
}

/// A percentile of a summary that may be drawn.
fn usable(latency: &LatencySummary, n: usize) -> Option<(&'static str, f64, f64)> {
    let (name, beyond, value) = percentiles(latency)[n];
    let usable = value.is_finite() && value > 0.0 && latency.knows(beyond);
    usable.then_some((name, beyond, value))
}

fn told(latency: &LatencySummary, name: &str, value: f64) -> String {
    format!(
        "{name} at {} load: {} µs",
        share_words(latency),
        number::micros(value)
    )
}

/// A line per percentile over the load; `None` with less than two loads.
fn load_lines(group: &Group<'_>) -> Option<Lines> {
    let shares = shares(group);
    let with = |latency: &&LatencySummary| latency.load_ratio.filter(|ratio| ratio.is_finite());
    let line = |n: usize| -> Vec<LatencyPoint> {
        let points = shares.iter().filter_map(|latency| {
            let (name, _, value) = usable(latency, n)?;
            let words = told(latency, name, value);
            Some((with(latency)? * 100.0, value, words))
        });
        points.collect()
    };
    let lines: Vec<_> = GROWING.into_iter().map(|n| (n, line(n))).collect();
    if lines.iter().all(|(_, points)| points.len() < 2) {
        return None;
    }
    let highest = shares.iter().filter_map(with).fold(1.0, f64::max) * 100.0;
    let ticks = (0..=10).map(|n| (f64::from(n) * 20.0, format!("{} %", n * 20)));
    let ticks = ticks.filter(|(at, _)| *at <= highest);
    Some(Lines {
        x: Axis::linear(0.0, highest + 5.0, ticks.collect()).named("load, share of the throughput"),
        label: format!("Latency against load of {}: {}", group.name, words(&lines)),
        lines,
    })
}

/// A line per load over the percentiles; `None` where none is known.
fn percentile_lines(group: &Group<'_>, known: &[String]) -> Option<Lines> {
    let lines = shares(group).into_iter().map(|latency| {
        let name = share_words(latency);
        let n = known.iter().position(|k| *k == name);
        let points = (0..4).filter_map(|n| {
            let (name, beyond, value) = usable(latency, n)?;
            Some((-beyond.log10(), value, told(latency, name, value)))
        });
        (n.unwrap_or(known.len()), points.collect::<Vec<_>>())
    });
    let lines: Vec<_> = lines.filter(|(_, points)| !points.is_empty()).collect();
    let furthest = lines.iter().flat_map(|(_, points)| points).map(|p| p.0);
    let furthest = furthest.fold(f64::NAN, f64::max);
    if !furthest.is_finite() {
        return None;
    }
    let ticks = percentiles(&LatencySummary::default());
    let ticks = ticks.map(|(name, beyond, _)| (-beyond.log10(), name.replacen('p', "", 1) + " %"));
    let ticks = ticks.into_iter().filter(|(at, _)| *at <= furthest);
    Some(Lines {
        x: Axis::linear(0.15, furthest + 0.15, ticks.collect())
            .named("share of the frames that were as fast"),
        label: format!("Latency percentiles of {}: {}", group.name, words(&lines)),
        lines,
    })
}

fn words(lines: &[(usize, Vec<LatencyPoint>)]) -> String {
    let points = lines.iter().flat_map(|(_, points)| points);
    let words: Vec<&str> = points.map(|(_, _, words)| words.as_str()).collect();
    words.join("; ")
}

impl Lines {
    fn draw(&self, size: Size) -> Markup {
        let values = || {
            self.lines
                .iter()
                .flat_map(|(_, points)| points)
                .map(|p| p.1)
        };
        let (min, max) = (
            values().fold(f64::INFINITY, f64::min),
            values().fold(0.0, f64::max),
        );
        let mut y = Axis::log(min * 1e-6, max * 1e-6, "s");
        y.name = "latency".to_owned();
        let frame = Frame {
            size,
            axes: (&self.x, &y),
            label: &self.label,
        };
        svg::draw(&frame, |plot| {
            for (n, points) in &self.lines {
                let at = |(x, micros, _): &LatencyPoint| (*x, y.at(micros * 1e-6));
                plot.series(&points.iter().map(at).collect::<Vec<_>>(), *n);
                for point in points {
                    plot.mark(at(point), Look::of_series(*n, 3.5, false), &point.2);
                }
            }
        })
    }
}
