//! Socket workloads: message size and parallel flows against rate and latency, a line per path.

use std::collections::BTreeMap;

use maud::{Markup, html};
use nicety_model::Run;
use nicety_model::sock::{Family, SockResult, SockSeries, SockTest};

use super::axis::Axis;
use super::parts;
use super::svg::{self, Frame, Ink, SERIES, Shape};
use crate::error::ReportError;
use crate::number::{self, ABSENT};
use crate::sock;

/// Above this ratio of the largest to the smallest value the axis is logarithmic.
const LOG_ABOVE: f64 = 12.0;

/// A point of a line: place, value, and the extremes of its repeats.
#[derive(Debug, Clone, Copy)]
struct Point {
    x: f64,
    y: f64,
    extremes: Option<(f64, f64)>,
}

/// What a figure shows of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Value {
    Rate,
    P99,
}

/// One figure: what its axes are, and its lines by name.
struct Figure {
    title: String,
    x: &'static str,
    y: &'static str,
    unit: &'static str,
    lines: BTreeMap<String, Vec<Point>>,
}

/// The section; `None` without socket workloads.
///
/// # Errors
/// [`ReportError::Draw`] when plotters refuses.
pub fn section(run: &Run) -> Result<Option<Markup>, ReportError> {
    if run.sockets.is_empty() {
        return Ok(None);
    }
    let mut drawn = Vec::new();
    for figure in figures(&run.sockets) {
        drawn.push(figure.markup()?);
    }
    Ok(Some(html! {
        p {
            "Two endpoints talk through ordinary sockets over the path. Rates of request/response are transactions per second, those of streams are payload received."
        }
        @if !drawn.is_empty() { div.grid { @for figure in &drawn { (figure) } } }
        (table(&run.sockets))
        @for note in sock::notes(&run.sockets, &[]) { p.muted { (note) } }
    }))
}

/// Message size where there are several, parallel flows where there are several.
fn figures(series: &[SockSeries]) -> Vec<Figure> {
    let mut all = Vec::new();
    for test in SockTest::ALL {
        let of_test: Vec<&SockSeries> = series
            .iter()
            .filter(|series| last(series).is_some_and(|result| result.spec.test == test))
            .collect();
        let values: &[Value] = match test.has_transactions() {
            true => &[Value::Rate, Value::P99],
            false => &[Value::Rate],
        };
        for value in values {
            all.extend(by_size(&of_test, test, *value));
            all.extend(by_parallel(&of_test, test, *value));
        }
    }
    all
}

fn by_size(series: &[&SockSeries], test: SockTest, value: Value) -> Option<Figure> {
    let mut lines: BTreeMap<String, Vec<Point>> = BTreeMap::new();
    for series in series.iter().filter(|series| series.curve.is_empty()) {
        let Some(result) = last(series) else { continue };
        let mut name = who(result);
        if result.spec.parallel > 1 {
            name.push_str(&format!(", {} flows", result.spec.parallel));
        }
        let point = point(series, result, f64::from(result.spec.message_bytes), value);
        lines.entry(name).or_default().extend(point);
    }
    Figure::of(lines, test, "message size in bytes", value)
}

fn by_parallel(series: &[&SockSeries], test: SockTest, value: Value) -> Option<Figure> {
    let mut lines: BTreeMap<String, Vec<Point>> = BTreeMap::new();
    for series in series {
        let Some(result) = last(series) else { continue };
        let name = format!("{}, {} bytes", who(result), result.spec.message_bytes);
        let points = lines.entry(name).or_default();
        if series.curve.is_empty() {
            points.extend(point(
                series,
                result,
                f64::from(result.spec.parallel),
                value,
            ));
        }
        points.extend(series.curve.iter().filter_map(|step| {
            let y = match value {
                Value::Rate => Some(step.rate),
                Value::P99 => step.p99_us,
            };
            y.filter(|y| *y > 0.0).map(|y| Point {
                x: f64::from(step.parallel),
                y,
                extremes: None,
            })
        }));
    }
    Figure::of(lines, test, "parallel flows", value)
}

/// Path and what else makes a line of its own.
fn who(result: &SockResult) -> String {
    let mut name = result.path.clone();
    if result.family == Family::Ipv6 {
        name.push_str(", IPv6");
    }
    if let Some(rate) = result.spec.rate_per_s {
        name.push_str(&format!(", {rate} per second asked"));
    }
    if let Some(neighbours) = result.neighbours {
        name.push_str(&format!(", {} neighbours", neighbours.pairs));
    }
    name
}

fn last(series: &SockSeries) -> Option<&SockResult> {
    series.results.last()
}

fn point(series: &SockSeries, result: &SockResult, x: f64, value: Value) -> Option<Point> {
    let spread = series.headline.filter(|_| value == Value::Rate);
    let y = match value {
        Value::Rate => spread.map(|spread| spread.ave).or(result.headline()),
        Value::P99 => result.latency_us.map(|latency| latency.p99),
    };
    Some(Point {
        x,
        y: y.filter(|y| y.is_finite() && *y > 0.0)?,
        extremes: spread
            .filter(|spread| spread.n > 1)
            .map(|spread| (spread.min, spread.max)),
    })
}

impl Figure {
    /// `None` when no line has two points.
    fn of(
        mut lines: BTreeMap<String, Vec<Point>>,
        test: SockTest,
        x: &'static str,
        value: Value,
    ) -> Option<Self> {
        for points in lines.values_mut() {
            points.sort_by(|a, b| a.x.total_cmp(&b.x));
        }
        lines.retain(|_, points| points.windows(2).any(|pair| pair[0].x < pair[1].x));
        if lines.is_empty() {
            return None;
        }
        let (y, unit) = match (value, test.has_transactions()) {
            (Value::P99, _) => ("99th percentile of the latency", "µs"),
            (Value::Rate, true) => ("transactions per second", ""),
            (Value::Rate, false) => ("goodput", "Mbit/s"),
        };
        Some(Self {
            title: test.to_string(),
            x,
            y,
            unit,
            lines,
        })
    }

    fn markup(&self) -> Result<Markup, ReportError> {
        let y = self.y_axis();
        let shown: Vec<(&String, &Vec<Point>)> = self.lines.iter().take(SERIES).collect();
        let label = self.label();
        let draw = |size: (i32, i32), class| {
            let x = self.x_axis(size.0 - 64);
            let frame = Frame {
                size,
                left: 50,
                x: &x,
                y: &y,
                label: &label,
                class,
            };
            svg::draw(&frame, |plot| {
                for (n, (_, points)) in shown.iter().enumerate() {
                    let line: Vec<(f64, f64)> =
                        points.iter().map(|p| (x.at(p.x), y.at(p.y))).collect();
                    plot.line(&line, Ink::Series(n), 2, false)?;
                    for p in *points {
                        let at = (x.at(p.x), y.at(p.y));
                        if let Some((min, max)) = p.extremes {
                            plot.error_bar(at.0, y.at(min), y.at(max), Ink::Series(n))?;
                        }
                        plot.mark(at, Shape::of_series(n), Ink::Series(n), 4, false)?;
                    }
                }
                Ok(())
            })
        };
        let (wide, narrow) = (draw((520, 280), "wide")?, draw((360, 260), "narrow")?);
        let scale = if y.log { ", logarithmic scale" } else { "" };
        let more = self.lines.len().saturating_sub(SERIES);
        Ok(html! {
            figure {
                figcaption {
                    strong { (self.title) } " "
                    span.muted {
                        (self.y) @if !self.unit.is_empty() { " in " (self.unit) }
                        " against " (self.x) (scale)
                    }
                }
                ul.legend {
                    @for (n, (name, _)) in shown.iter().enumerate() {
                        li { span class={ "key s" (n % SERIES) } aria-hidden="true" { (Shape::of_series(n).glyph()) } (name) }
                    }
                }
                (wide)
                (narrow)
                @if more > 0 { p.muted { (more) " more lines are in the table only." } }
            }
        })
    }

    fn label(&self) -> String {
        let lines: Vec<String> = self
            .lines
            .iter()
            .map(|(name, points)| {
                let values: Vec<String> = points
                    .iter()
                    .map(|p| format!("{}: {}", p.x, number::short(p.y)))
                    .collect();
                format!("{name}: {}", values.join(", "))
            })
            .collect();
        format!(
            "{} {} by {}. {}",
            self.title,
            self.y,
            self.x,
            lines.join(". ")
        )
    }

    fn y_axis(&self) -> Axis {
        let values = || {
            self.lines.values().flatten().flat_map(|p| {
                let (min, max) = p.extremes.unwrap_or((p.y, p.y));
                [min, p.y, max]
            })
        };
        let max = values().fold(0.0, f64::max);
        let min = values().filter(|v| *v > 0.0).fold(f64::INFINITY, f64::min);
        match min.is_finite() && max / min > LOG_ABOVE {
            true => Axis::log(min * 0.85, max, number::short),
            false => Axis::from_zero(max * 1.02, 5, number::short),
        }
    }

    /// Logarithmic, with a tick at every value that has room.
    fn x_axis(&self, width: i32) -> Axis {
        let mut values: Vec<f64> = self.lines.values().flatten().map(|p| p.x).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        let ends = values.first().zip(values.last());
        let (low, high) = ends.map_or((0.0, 1.0), |(low, high)| (low.log10(), high.log10()));
        let marks = values
            .into_iter()
            .map(|value| (value.log10(), value.to_string()));
        Axis::log_at((low, high), marks, width, 42.0)
    }
}

fn table(series: &[SockSeries]) -> Markup {
    let micros = |value: Option<f64>| value.map_or(ABSENT.to_owned(), number::micros);
    parts::table(
        "Socket workloads",
        html! {
            tr {
                th scope="col" { "test" }
                th scope="col" { "per second" }
                th scope="col" { "goodput" }
                th scope="col" { "p50 µs" }
                th scope="col" { "p99 µs" }
                th scope="col" { "p99.9 µs" }
                th scope="col" { "lost" }
                th scope="col" { "CPU" }
                th scope="col" { "neighbours got" }
                th scope="col" { "ended" }
            }
        },
        html! {
            @for series in series {
                @if let Some(result) = last(series) {
                    @let transactions = result.spec.test.has_transactions();
                    @let rate = series.headline.map(|spread| spread.ave).or(result.headline());
                    tr {
                        th scope="row" { (series.name) }
                        td { (number::fps(rate.filter(|_| transactions))) }
                        td { (rate.filter(|_| !transactions).map_or(ABSENT.to_owned(), number::bit_rate)) }
                        td { (micros(result.latency_us.map(|l| l.p50))) }
                        td { (micros(result.latency_us.map(|l| l.p99))) }
                        td { (micros(result.latency_us.map(|l| l.p999))) }
                        td { (result.loss_ratio.map_or(ABSENT.to_owned(), |l| number::loss(l.0))) }
                        td { (sock::service_demand(result)) }
                        td { (result.neighbours.map_or(ABSENT.to_owned(), |n| number::bit_rate(n.goodput_mbps))) }
                        td { (result.ending.word()) }
                    }
                }
            }
        },
    )
}
