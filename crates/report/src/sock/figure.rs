//! Socket workloads: message size and parallel flows against rate and latency, a line per path.

use std::collections::BTreeMap;

use maud::{Markup, html};
use nicety_model::sock::{Family, SockResult, SockSeries, SockTest};

use crate::figure::axis::Axis;
use crate::figure::svg::{self, Frame, Ink, Look, SERIES};
use crate::figure::{self, Key, Room};
use crate::number;

/// A point of a line: place, value, and the extremes of its repeats.
#[derive(Debug, Clone, Copy)]
struct WorkloadPoint {
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
    lines: BTreeMap<String, Vec<WorkloadPoint>>,
}

/// Message size and parallel flows against rate and latency, where there are several.
pub(super) fn figures(series: &[SockSeries]) -> Vec<Markup> {
    figure::fill(&planned(series), |figure, room| Some(figure.markup(room)))
}

/// Message size where there are several, parallel flows where there are several.
fn planned(series: &[SockSeries]) -> Vec<Figure> {
    let mut all = Vec::new();
    for test in SockTest::ALL {
        let of_test: Vec<&SockSeries> = series
            .iter()
            .filter(|series| last(series).is_some_and(|result| result.spec.test == test))
            .collect();
        let values: &[Value] = if test.has_transactions() {
            &[Value::Rate, Value::P99]
        } else {
            &[Value::Rate]
        };
        for value in values {
            all.extend(by_size(&of_test, test, *value));
            all.extend(by_parallel(&of_test, test, *value));
        }
    }
    all
}

fn by_size(series: &[&SockSeries], test: SockTest, value: Value) -> Option<Figure> {
    let mut lines: BTreeMap<String, Vec<WorkloadPoint>> = BTreeMap::new();
    for series in series.iter().filter(|series| series.curve.is_empty()) {
        let Some(result) = last(series) else { continue };
        let mut name = who(result);
        if result.spec.parallel > 1 {
            name.push_str(&format!(", {} flows", result.spec.parallel));
        }
        let point = point(series, result, f64::from(result.spec.message_bytes), value);
        lines.entry(name).or_default().extend(point);
    }
    Figure::of(lines, test, "message size, bytes", value)
}

fn by_parallel(series: &[&SockSeries], test: SockTest, value: Value) -> Option<Figure> {
    let mut lines: BTreeMap<String, Vec<WorkloadPoint>> = BTreeMap::new();
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
            y.filter(|y| *y > 0.0).map(|y| WorkloadPoint {
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

fn point(series: &SockSeries, result: &SockResult, x: f64, value: Value) -> Option<WorkloadPoint> {
    let spread = series.headline.filter(|_| value == Value::Rate);
    let y = match value {
        Value::Rate => spread.map(|spread| spread.ave).or(result.headline()),
        Value::P99 => result.latency_us.map(|latency| latency.p99),
    };
    Some(WorkloadPoint {
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
        mut lines: BTreeMap<String, Vec<WorkloadPoint>>,
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

    fn markup(&self, room: Room) -> Markup {
        let shown: Vec<(&String, &Vec<WorkloadPoint>)> = self.lines.iter().take(SERIES).collect();
        let (x, y, label) = (self.x_axis(), self.y_axis(), self.label());
        let drawn = room.draw(280.0, |size| {
            let frame = Frame {
                size,
                axes: (&x, &y),
                label: &label,
            };
            svg::draw(&frame, |plot| {
                for (n, (name, points)) in shown.iter().enumerate() {
                    let at = |p: &WorkloadPoint| (x.at(p.x), y.at(self.on_axis(p.y)));
                    plot.series(&points.iter().map(at).collect::<Vec<_>>(), n);
                    for p in *points {
                        if let Some((min, max)) = p.extremes {
                            let [low, high] = [min, max].map(|end| y.at(self.on_axis(end)));
                            plot.error_bar(x.at(p.x), low, high, Ink::Series(n));
                        }
                        let told = format!("{name}: {}", self.told(p));
                        plot.mark(at(p), Look::of_series(n, 4.0, false), &told);
                    }
                }
            })
        });
        let more = self.lines.len().saturating_sub(SERIES);
        let keys = shown.iter().enumerate();
        let keys: Vec<Key> = keys
            .map(|(n, (name, _))| figure::series(n, *name))
            .collect();
        let about = format!("{} by {}", self.y, self.x);
        let id = figure::anchor("sock", &format!("{} {about}", self.title).replace(' ', "-"));
        let body = html! {
            (figure::legend(&keys))
            (drawn)
            @if more > 0 { p.muted { (more) " more lines are in the table only." } }
        };
        let beside = html! { " " span.muted { (about) } };
        figure::titled(&id, &self.title, beside, body)
    }

    /// The value in the unit of the axis, which takes its own prefix.
    fn on_axis(&self, value: f64) -> f64 {
        match self.unit {
            "µs" => value * 1e-6,
            "Mbit/s" => value * 1e6,
            _ => value,
        }
    }

    /// `64 bytes: 25.3 k transactions per second`.
    fn told(&self, point: &WorkloadPoint) -> String {
        let value = number::short(point.y);
        let value = match self.unit {
            "" => format!("{value} {}", self.y),
            unit => format!("{} {value} {unit}", self.y),
        };
        format!("{} {}: {value}", self.x, point.x)
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
        let unit = match self.unit {
            "µs" => "s",
            "Mbit/s" => "bit/s",
            other => other,
        };
        Axis::fitting(self.on_axis(min), self.on_axis(max), unit).named(self.y)
    }

    /// Logarithmic, with a tick at every value.
    fn x_axis(&self) -> Axis {
        let mut values: Vec<f64> = self.lines.values().flatten().map(|p| p.x).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        let ends = values.first().zip(values.last());
        let (low, high) = ends.map_or((0.0, 1.0), |(low, high)| (low.log10(), high.log10()));
        let marks = values
            .into_iter()
            .map(|value| (value.log10(), value.to_string()));
        let mut axis = Axis::log_at((low, high), marks);
        axis.name = self.x.to_owned();
        axis
    }
}
