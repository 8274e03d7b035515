//! Throughput against frame size, with the link's line rate and the tester's own limit.

use std::collections::BTreeMap;

use maud::{Markup, html};
use nicety_model::units::Fps;
use nicety_model::{FrameSize, Run, Verdict};

use crate::figure::axis::{self, Axis};
use crate::figure::svg::{self, Frame, Ink, Look, Plot, SERIES, Shape, Stroke};
use crate::figure::{self, Key, Room, Size, key};
use crate::number;
use crate::pick::{self, Group, SeriesKey};

/// Samples of the line rate, which is a curve over frame size.
const LINE_SAMPLES: u32 = 48;
/// A limit more than this many times above the results would squeeze them.
const SQUEEZES: f64 = 2.5;
const HEIGHT: f64 = 320.0;

/// What the vertical axis shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Frames per second.
    Fps,
    /// Bits per second at L1.
    L1,
}

impl Unit {
    /// The value on the axis, in frames/s or bit/s.
    fn of(self, size: FrameSize, fps: f64) -> f64 {
        match self {
            Self::Fps => fps,
            Self::L1 => size.l1_mbps(Fps(fps)) * 1e6,
        }
    }

    /// The unit on ticks: of frames the name of the axis says it.
    fn tick(self) -> &'static str {
        match self {
            Self::Fps => "",
            Self::L1 => "bit/s",
        }
    }

    fn told(self, value: f64) -> String {
        match self {
            Self::Fps => format!("{} frames/s", number::short(value)),
            Self::L1 => number::bit_rate(value / 1e6),
        }
    }

    fn axis(self) -> &'static str {
        match self {
            Self::Fps => "frames/s per direction",
            Self::L1 => "bit/s on the wire (L1) per direction",
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Fps => "Frames per second",
            Self::L1 => "Bits per second on the wire (L1)",
        }
    }
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

/// A frame size at which a cell has no number.
struct MissingPoint {
    size: FrameSize,
    /// Which cell, and why.
    told: String,
}

/// The tester's limits between two frame sizes, by direction and engine.
fn limit_lines(run: &Run, (low, high): (FrameSize, FrameSize)) -> Vec<Vec<(FrameSize, f64)>> {
    let mut lines: BTreeMap<_, Vec<(FrameSize, f64)>> = BTreeMap::new();
    for (key, fps) in &run.tester_limit_fps {
        if fps.is_finite()
            && *fps > 0.0
            && key.shape.is_plain()
            && (low..=high).contains(&key.frame_size)
        {
            let line = lines.entry((key.direction, key.engine)).or_default();
            line.push((key.frame_size, *fps));
        }
    }
    lines.into_values().collect()
}

/// Everything both figures show.
pub struct Throughput {
    series: Vec<(SeriesKey, Vec<SizePoint>)>,
    /// Every cell without a number, in order of size.
    missing: Vec<MissingPoint>,
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
        cells().next()?;
        let intervals = cells().any(|group| group.estimate().is_some());
        // A size at which everything failed stays on the axis, also where its path has no line.
        let mut missing: Vec<MissingPoint> = groups.iter().filter_map(missing).collect();
        missing.sort_by_key(|point| point.size);
        let sizes = || {
            let shown = cells().map(|group| group.key.mean_size());
            shown.chain(missing.iter().map(|point| point.size))
        };
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

    /// The figure with its legend, and a second drawing with the limits that would squeeze it.
    pub fn figure(&self, unit: Unit, title: &str) -> Markup {
        let link = self.link.is_some();
        let squeezed = link && self.highest_link(unit) > SQUEEZES * self.highest(unit);
        let tester = !self.tester.is_empty();
        let drawn = |limits| Room::Whole.draw(HEIGHT, |size| self.draw(unit, size, limits));
        let plain = Limits {
            link: link && !squeezed,
            tester: false,
        };
        let all = Limits { link, tester };
        let words = match (tester, squeezed) {
            (true, true) => "tester’s own limit and line rate",
            (true, false) => "tester’s own limit",
            (false, _) => "line rate",
        };
        let id = figure::anchor("limits-of", &title.replace(' ', "-"));
        let body = html! {
            @if plain == all {
                (self.legend(plain)) (drawn(plain))
            } @else {
                input.toggle type="checkbox" id=(id);
                label for=(id) { "Show the " (words) }
                div.off { (self.legend(plain)) (drawn(plain)) }
                div.on { (self.legend(all)) (drawn(all)) }
            }
        };
        figure::figure(title, "by frame size", body)
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
        let tester = if self.tester.is_empty() {
            "The tester’s own limit was not measured."
        } else {
            "The tester’s limit was measured without a path; a throughput near it says nothing \
             about the path."
        };
        let bars = if self.intervals {
            "Small dots are the visits; bars are the intervals."
        } else {
            "Small dots are the repeats; bars reach from the smallest to the largest."
        };
        let more = match self.more {
            0 => String::new(),
            more => format!(" {more} more paths are in the table only."),
        };
        format!("{link} {tester} {bars} Hollow points carry a verdict other than ok.{more}")
    }

    fn label(&self, unit: Unit) -> String {
        let lines = self.series.iter().map(|(key, points)| {
            let values = points.iter().map(|point| told(point, unit));
            format!("{key}: {}", values.collect::<Vec<_>>().join("; "))
        });
        let lines: Vec<String> = lines.collect();
        let mut text = format!("{} by frame size. {}", unit.words(), lines.join(". "));
        if !self.missing.is_empty() {
            let mut sizes: Vec<String> = self.missing.iter().map(|p| p.size.to_string()).collect();
            sizes.dedup();
            text.push_str(&format!(". No number at {} bytes", sizes.join(", ")));
        }
        text
    }

    fn legend(&self, limits: Limits) -> Markup {
        let series = self.series.iter().enumerate();
        let mut keys: Vec<Key> = series
            .map(|(n, (of, _))| figure::series(n, of.to_string()))
            .collect();
        if !self.missing.is_empty() {
            keys.push(key("bad", Shape::Cross.glyph(), "no number"));
        }
        if let Some((mbps, _)) = self.link.as_ref().filter(|_| limits.link) {
            let link = format!("line rate, {}", number::bit_rate(*mbps));
            keys.push(key("rule-line", "", link));
        }
        if limits.tester {
            keys.push(key("dash-line", "", "tester alone"));
        }
        figure::legend(&keys)
    }

    /// Every value of a line and of its bars.
    fn own(&self, unit: Unit) -> impl Iterator<Item = f64> {
        let points = self.series.iter().flat_map(|(_, points)| points);
        points.flat_map(move |p| {
            let (min, max) = p.bar.unwrap_or((p.fps, p.fps));
            [min, max, p.fps].map(|fps| unit.of(p.size, fps))
        })
    }

    fn highest(&self, unit: Unit) -> f64 {
        self.own(unit).fold(0.0, f64::max)
    }

    fn highest_link(&self, unit: Unit) -> f64 {
        let (low, high) = self.span;
        let link = self.link.iter();
        let ends = link.flat_map(|(mbps, _)| [low, high].map(|size| (size, size.line_rate(*mbps))));
        ends.map(|(size, rate)| unit.of(size, rate.0))
            .fold(0.0, f64::max)
    }

    fn y_axis(&self, unit: Unit, limits: Limits) -> Axis {
        let tester = self.tester.iter().flatten().filter(|_| limits.tester);
        let tester = tester.map(|(size, fps)| unit.of(*size, *fps));
        let link = limits.link.then(|| self.highest_link(unit));
        let max = tester.chain(link).fold(self.highest(unit), f64::max);
        let above = self.own(unit).filter(|v| *v > 0.0);
        let axis = Axis::fitting(above.fold(f64::INFINITY, f64::min), max, unit.tick());
        axis.named(unit.axis())
    }

    fn x_axis(&self) -> Axis {
        let at = |size: FrameSize| f64::from(size.bytes()).log10();
        let (low, high) = self.span;
        let points = self.series.iter().flat_map(|(_, points)| points);
        let missing = self.missing.iter().map(|point| point.size);
        let mut sizes: Vec<FrameSize> = points.map(|p| p.size).chain(missing).collect();
        sizes.sort();
        sizes.dedup();
        let marks = sizes.into_iter().map(|size| (at(size), size.to_string()));
        let mut axis = Axis::log_at((at(low), at(high)), marks);
        axis.name = "frame size, bytes".to_owned();
        axis
    }

    fn draw(&self, unit: Unit, size: Size, limits: Limits) -> Markup {
        let (x, y) = (self.x_axis(), self.y_axis(unit, limits));
        let label = self.label(unit);
        let frame = Frame {
            size,
            axes: (&x, &y),
            label: &label,
        };
        svg::draw(&frame, |plot| {
            if let Some((mbps, _)) = self.link.as_ref().filter(|_| limits.link) {
                let line = self.line_rate(*mbps, unit, (&x, &y));
                plot.line(&line, Ink::Muted, Stroke::Thin);
            }
            if limits.tester {
                self.draw_tester(plot, unit, (&x, &y));
            }
            for (n, (key, points)) in self.series.iter().enumerate() {
                let place = |p: &SizePoint, fps: f64| (at(&x, p.size), y.at(unit.of(p.size, fps)));
                let line: Vec<(f64, f64)> = points.iter().map(|p| place(p, p.fps)).collect();
                plot.line(&line, Ink::Series(n), Stroke::Thick);
                for p in points {
                    if let Some((min, max)) = p.bar {
                        let (low, high) = (place(p, min).1, place(p, max).1);
                        plot.error_bar(at(&x, p.size), low, high, Ink::Series(n));
                    }
                    for fps in &p.repeats {
                        let dot = Look::new(Shape::Circle, Ink::Series(n), 2.0, false);
                        plot.mark(place(p, *fps), dot, "");
                    }
                    let look = Look::of_series(n, 4.0, p.verdict != Verdict::Ok);
                    plot.mark(place(p, p.fps), look, &format!("{key}: {}", told(p, unit)));
                }
            }
            // On the axis of sizes, as far up as a mark needs.
            let foot = y.min + (y.max - y.min) * 0.02;
            for point in &self.missing {
                let look = Look::new(Shape::Cross, Ink::Bad, 5.0, false);
                plot.mark((at(&x, point.size), foot), look, &point.told);
            }
        })
    }

    fn draw_tester(&self, plot: &mut Plot<'_>, unit: Unit, (x, y): (&Axis, &Axis)) {
        for limits in &self.tester {
            let point = |(size, fps): &(FrameSize, f64)| (at(x, *size), y.at(unit.of(*size, *fps)));
            let mut line: Vec<(f64, f64)> = limits.iter().map(point).collect();
            if let [(_, only)] = line[..] {
                // One frame size makes no line; a level across the figure shows it as well.
                line = vec![(x.min, only), (x.max, only)];
            }
            plot.line(&line, Ink::Muted, Stroke::Dashed);
            for (size, fps) in limits {
                let told = unit.told(unit.of(*size, *fps));
                let dot = Look::new(Shape::Circle, Ink::Muted, 2.0, false);
                let told = format!("tester alone: {size} bytes, {told}");
                plot.mark(point(&(*size, *fps)), dot, &told);
            }
        }
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

/// Which limits a drawing shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Limits {
    link: bool,
    tester: bool,
}

fn at(x: &Axis, size: FrameSize) -> f64 {
    x.at(f64::from(size.bytes()))
}

/// `64 bytes, 785 k frames/s (762–811 k), ok`.
fn told(point: &SizePoint, unit: Unit) -> String {
    let value = |fps| unit.of(point.size, fps);
    let bar = point.bar.filter(|(low, high)| low < high);
    let bar = bar.map_or_else(String::new, |(low, high)| {
        let (low, high) = (value(low), value(high));
        let step = (high - low) / 10.0;
        let [low, high] = [low, high].map(|end| axis::tick(end, step, unit.tick()));
        format!(" ({low} to {high})")
    });
    let fps = unit.told(value(point.fps));
    format!("{} bytes, {fps}{bar}, {}", point.size, point.verdict)
}

fn missing(group: &Group<'_>) -> Option<MissingPoint> {
    if group.throughput_fps().is_some() {
        return None;
    }
    let reason = group.notes().into_iter().next();
    let reason = reason.map_or_else(String::new, |reason| format!(": {reason}"));
    Some(MissingPoint {
        size: group.key.mean_size(),
        told: format!("{}: no number, {}{reason}", group.name, group.verdict()),
    })
}

fn point(group: &Group<'_>) -> Option<SizePoint> {
    let extremes = group.extremes_fps();
    Some(SizePoint {
        size: group.key.mean_size(),
        fps: group.throughput_fps()?,
        bar: group.interval().or(extremes),
        repeats: match extremes {
            Some(_) => group.visits().collect(),
            None => Vec::new(),
        },
        verdict: group.verdict(),
    })
}
