//! Throughput against frame size, with the link's line rate and the tester's own limit.

use std::collections::BTreeMap;

use maud::{Markup, html};
use nicety_model::units::Fps;
use nicety_model::{FrameSize, Run, Verdict};

use crate::error::ReportError;
use crate::figure::axis::Axis;
use crate::figure::svg::{self, Frame, Ink, SERIES, Shape};
use crate::figure::{self, Key, key};
use crate::number;
use crate::pick::{self, Group, SeriesKey};

/// Samples of the line rate, which is a curve over frame size.
const LINE_SAMPLES: u32 = 48;

/// What the vertical axis shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Frames per second.
    Fps,
    /// Mbit/s at L1.
    L1,
}

impl Unit {
    fn of(self, size: FrameSize, fps: f64) -> f64 {
        match self {
            Self::Fps => fps,
            Self::L1 => size.l1_mbps(Fps(fps)),
        }
    }

    fn label(self, value: f64) -> String {
        match self {
            Self::Fps => tick(value, ""),
            Self::L1 => tick(value * 1e6, "bit/s"),
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Fps => "Frames per second",
            Self::L1 => "Bits per second on the wire (L1)",
        }
    }
}

/// `250 k`, `1.5 M`: as few digits as the tick needs.
fn tick(value: f64, unit: &str) -> String {
    let (scaled, prefix) = match value.abs() {
        v if v >= 1e9 => (value / 1e9, "G"),
        v if v >= 1e6 => (value / 1e6, "M"),
        v if v >= 1e3 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    // Rounding takes off what the logarithm's round trip added.
    let digits = (scaled * 1000.0).round() / 1000.0;
    format!("{digits} {prefix}{unit}").trim_end().to_owned()
}

/// What a cell of a line came to at its frame size.
struct SizePoint {
    size: FrameSize,
    fps: f64,
    /// Ends of the interval, in older runs smallest and largest of several repeats.
    bar: Option<(f64, f64)>,
    /// Throughput of each repeat where there are several.
    repeats: Vec<f64>,
    verdict: Verdict,
}

/// The tester's limits between two frame sizes, by direction and engine.
fn limit_lines(run: &Run, (low, high): (FrameSize, FrameSize)) -> Vec<Vec<(FrameSize, f64)>> {
    let mut lines: BTreeMap<_, Vec<(FrameSize, f64)>> = BTreeMap::new();
    for (key, fps) in &run.tester_limit_fps {
        if fps.is_finite() && *fps > 0.0 && (low..=high).contains(&key.frame_size) {
            let line = lines.entry((key.direction, key.engine)).or_default();
            line.push((key.frame_size, *fps));
        }
    }
    lines.into_values().collect()
}

/// Everything both figures show.
pub struct Throughput {
    series: Vec<(SeriesKey, Vec<SizePoint>)>,
    /// Frame sizes at which a cell of these lines has no number.
    missing: Vec<FrameSize>,
    /// Whether bars are intervals.
    intervals: bool,
    more: usize,
    /// The tester's limits, a line for each direction and engine.
    tester: Vec<Vec<(FrameSize, f64)>>,
    link: Option<(f64, String)>,
    span: (FrameSize, FrameSize),
}

impl Throughput {
    /// Picks the lines of the figures; `None` when no cell has a throughput.
    pub fn new(run: &Run, groups: &[Group<'_>]) -> Option<Self> {
        let has_number = |group: &&Group<'_>| group.throughput_fps().is_some();
        let mut shown = pick::series(groups);
        shown.retain(|(_, cells)| cells.iter().any(has_number));
        let more = shown.len().saturating_sub(SERIES);
        shown.truncate(SERIES);
        let cells = || shown.iter().flat_map(|(_, cells)| cells.iter().copied());
        let without = cells().filter(|group| group.throughput_fps().is_none());
        let missing = without.map(|group| group.key.frame_size_bytes).collect();
        let intervals = cells().any(|group| group.estimate().is_some());
        let sizes = || cells().map(|group| group.key.frame_size_bytes);
        let (low, high) = sizes().min().zip(sizes().max())?;
        let series: Vec<(SeriesKey, Vec<SizePoint>)> = shown
            .into_iter()
            .map(|(key, cells)| (key, cells.into_iter().filter_map(point).collect()))
            .collect();
        let tester = limit_lines(run, (low, high));
        let link = pick::link_speed(run).map(|(mbps, names)| (mbps, pick::named(&names)));
        Some(Self {
            series,
            missing,
            intervals,
            more,
            tester,
            link,
            span: (low, high),
        })
    }

    /// The figure in a wide and in a narrow form (the style sheet shows one), with its legend.
    pub fn figure(&self, unit: Unit, title: &str) -> Result<Markup, ReportError> {
        let y = self.y_axis(unit);
        let label = self.label(unit);
        let drawn = figure::both([(760, 330), (360, 280)], |size, class| {
            self.draw(unit, &y, &label, (size, class))
        })?;
        let scale = if y.log { ", logarithmic scale" } else { "" };
        let about = format!(
            "{} per direction against frame size in bytes{scale}",
            unit.words()
        );
        Ok(figure::figure(
            title,
            &about,
            html! { (self.legend()) (drawn) },
        ))
    }

    /// What to know about the lines of the link and the tester.
    pub fn remarks(&self) -> String {
        let link = match &self.link {
            Some((mbps, names)) => format!(
                "The line of the link is the highest rate Ethernet allows at the {} that the slowest \
                 interface ({names}) reports: speed / ((frame size + 20 bytes) × 8 bits). Virtual \
                 interfaces report a nominal speed that binds nothing.",
                number::bit_rate(*mbps)
            ),
            None => {
                "No interface reports its speed, so the theoretical line of the link is left out."
                    .to_owned()
            }
        };
        let tester = match self.tester.is_empty() {
            true => "The tester’s own limit was not measured.",
            false => {
                "The tester’s limit was measured without a path; a throughput near it says nothing \
                 about the path."
            }
        };
        let bars = match self.intervals {
            true => "Small dots are the visits; bars are the intervals.",
            false => "Small dots are the repeats; bars reach from the smallest to the largest.",
        };
        let more = match self.more {
            0 => String::new(),
            more => format!(" {more} more paths are in the table only."),
        };
        format!("{link} {tester} {bars} Hollow points carry a verdict other than ok.{more}")
    }

    fn label(&self, unit: Unit) -> String {
        let lines: Vec<String> = self
            .series
            .iter()
            .map(|(key, points)| {
                let values: Vec<String> = points
                    .iter()
                    .map(|p| {
                        format!(
                            "{} bytes {} ({})",
                            p.size,
                            unit.label(unit.of(p.size, p.fps)),
                            p.verdict
                        )
                    })
                    .collect();
                format!("{key}: {}", values.join(", "))
            })
            .collect();
        let mut text = format!("{} by frame size. {}", unit.words(), lines.join(". "));
        if !self.missing.is_empty() {
            let sizes: Vec<String> = self.missing.iter().map(FrameSize::to_string).collect();
            text.push_str(&format!(". No number at {} bytes", sizes.join(", ")));
        }
        text
    }

    fn legend(&self) -> Markup {
        let series = self.series.iter().enumerate();
        let mut keys: Vec<Key> = series
            .map(|(n, (of, _))| figure::series(n, of.to_string()))
            .collect();
        if !self.missing.is_empty() {
            keys.push(key("bad", Shape::Cross.glyph(), "no number"));
        }
        if let Some((mbps, _)) = &self.link {
            let link = format!("link, {}", number::bit_rate(*mbps));
            keys.push(key("rule-line", "", link));
        }
        if !self.tester.is_empty() {
            keys.push(key("dash-line", "", "tester alone"));
        }
        figure::legend(&keys)
    }

    fn y_axis(&self, unit: Unit) -> Axis {
        let (low, high) = self.span;
        let own = || {
            self.series
                .iter()
                .flat_map(|(_, points)| points)
                .flat_map(|p| {
                    let (min, max) = p.bar.unwrap_or((p.fps, p.fps));
                    [min, max, p.fps].map(|fps| unit.of(p.size, fps))
                })
        };
        let others = self
            .tester
            .iter()
            .flatten()
            .map(|(size, fps)| unit.of(*size, *fps))
            .chain(self.link.iter().flat_map(|(mbps, _)| {
                [low, high].map(|size| unit.of(size, size.line_rate(*mbps).0))
            }));
        let max = own().chain(others).fold(0.0, f64::max);
        let min = own().filter(|v| *v > 0.0).fold(f64::INFINITY, f64::min);
        Axis::fitting(min, max, |v| unit.label(v))
    }

    fn x_axis(&self, width: i32) -> Axis {
        let at = |size: FrameSize| f64::from(size.bytes()).log10();
        let (low, high) = self.span;
        let mut sizes: Vec<FrameSize> = self
            .series
            .iter()
            .flat_map(|(_, points)| points.iter().map(|p| p.size))
            .chain(self.missing.iter().copied())
            .collect();
        sizes.sort();
        sizes.dedup();
        let marks = sizes.into_iter().map(|size| (at(size), size.to_string()));
        Axis::log_at((at(low), at(high)), marks, width, 34.0)
    }

    fn draw(
        &self,
        unit: Unit,
        y: &Axis,
        label: &str,
        (size, class): ((i32, i32), &'static str),
    ) -> Result<Markup, ReportError> {
        let left = if unit == Unit::L1 { 70 } else { 50 };
        let x = self.x_axis(size.0 - left - 14);
        let frame = Frame::new((size, class), left, (&x, y), label);
        let place = |bytes: FrameSize, fps: f64| {
            (x.at(f64::from(bytes.bytes())), y.at(unit.of(bytes, fps)))
        };
        svg::draw(&frame, |plot| {
            if let Some((mbps, _)) = &self.link {
                plot.line(&self.line_rate(*mbps, unit, (&x, y)), Ink::Muted, 1, false)?;
            }
            for limits in &self.tester {
                let mut line: Vec<(f64, f64)> = limits
                    .iter()
                    .map(|(size, fps)| place(*size, *fps))
                    .collect();
                if let [(_, only)] = line[..] {
                    // One frame size makes no line; a level across the figure shows it as well.
                    line = vec![(x.min, only), (x.max, only)];
                }
                plot.line(&line, Ink::Muted, 1, true)?;
            }
            for (n, (_, points)) in self.series.iter().enumerate() {
                let line: Vec<(f64, f64)> = points.iter().map(|p| place(p.size, p.fps)).collect();
                plot.line(&line, Ink::Series(n), 2, false)?;
            }
            for (n, (_, points)) in self.series.iter().enumerate() {
                for p in points {
                    let at = place(p.size, p.fps);
                    if let Some((min, max)) = p.bar {
                        let (low, high) = (place(p.size, min).1, place(p.size, max).1);
                        plot.error_bar(at.0, low, high, Ink::Series(n))?;
                    }
                    for fps in &p.repeats {
                        let repeat = place(p.size, *fps);
                        plot.mark(repeat, Shape::Circle, Ink::Series(n), 2, false)?;
                    }
                    let hollow = p.verdict != Verdict::Ok;
                    plot.mark(at, Shape::of_series(n), Ink::Series(n), 4, hollow)?;
                }
            }
            // On the axis of sizes, as far up as a mark needs.
            let foot = y.min + (y.max - y.min) * 0.02;
            for size in &self.missing {
                let at = (x.at(f64::from(size.bytes())), foot);
                plot.mark(at, Shape::Cross, Ink::Bad, 5, false)?;
            }
            Ok(())
        })
    }

    fn line_rate(&self, mbps: f64, unit: Unit, (x, y): (&Axis, &Axis)) -> Vec<(f64, f64)> {
        (0..=LINE_SAMPLES)
            .filter_map(|n| {
                let share = f64::from(n) / f64::from(LINE_SAMPLES);
                let at = x.min + (x.max - x.min) * share;
                let bytes = 10_f64.powf(at).round();
                let size = FrameSize::new(bytes as u16).ok()?;
                let value = y.at(unit.of(size, size.line_rate(mbps).0));
                Some((x.at(f64::from(size.bytes())), value))
            })
            .filter(|(_, value)| (y.min..=y.max).contains(value))
            .collect()
    }
}

fn point(group: &Group<'_>) -> Option<SizePoint> {
    let extremes = group.extremes_fps();
    Some(SizePoint {
        size: group.key.frame_size_bytes,
        fps: group.throughput_fps()?,
        bar: group.interval().or(extremes),
        repeats: match extremes {
            Some(_) => group.visits().collect(),
            None => Vec::new(),
        },
        verdict: group.verdict(),
    })
}
