//! Loss and latency over time.

use maud::{Markup, html};
use nicety_model::LatencySummary;
use nicety_model::interval::{Interval, LoadSummary};

use crate::figure::axis::Axis;
use crate::figure::svg::{self, Frame, Ink, Plot, Stroke};
use crate::figure::{Room, key, legend, ticks};
use crate::number;

/// Columns of a drawing that say their values.
const TOLD: usize = 60;

/// What a drawing over time shows.
struct OverTime<'a> {
    summary: &'a LoadSummary,
    intervals: &'a [&'a Interval],
    label: String,
}

impl OverTime<'_> {
    fn at(&self, unix_s: f64) -> f64 {
        (unix_s - self.summary.started_unix_s).max(0.0)
    }

    fn draw(
        &self,
        y: &Axis,
        told: impl Fn(&Interval) -> String,
        body: impl Fn(&mut Plot<'_>),
    ) -> Markup {
        let end = self.at(self.summary.ended_unix_s);
        Room::Whole.draw(260.0, |size| {
            let x = Axis::time(end, ticks(size));
            let frame = Frame {
                size,
                axes: (&x, y),
                label: &self.label,
            };
            svg::draw(&frame, |plot| {
                for gap in &self.summary.gaps {
                    plot.upright(self.at(gap.from_unix_s), Ink::Muted, Stroke::Dashed);
                    plot.upright(self.at(gap.to_unix_s), Ink::Muted, Stroke::Dashed);
                }
                body(plot);
                let step = self.intervals.len().div_ceil(TOLD).max(1);
                for part in self.intervals.chunks(step) {
                    let ends = part.first().zip(part.last());
                    if let Some((first, last)) = ends {
                        let from = self.at(first.started_unix_s);
                        let to = self.at(last.ended_unix_s());
                        let worst = part.iter().max_by_key(|one| one.lost()).unwrap_or(first);
                        let told = told(worst);
                        plot.column((from, to), &format!("{}: {told}", number::seconds(from)));
                    }
                }
            })
        })
    }
}

/// Frames lost in each interval.
pub fn loss(summary: &LoadSummary, intervals: &[&Interval]) -> Markup {
    let most = intervals.iter().map(|one| one.lost()).max().unwrap_or(0);
    let drawing = OverTime {
        summary,
        intervals,
        label: format!(
            "Lost frames over {}: {} of {} sent",
            number::seconds(summary.ended_unix_s - summary.started_unix_s),
            number::count(summary.lost()),
            number::count(summary.frames.sent)
        ),
    };
    let y = Axis::from_zero(most as f64, 4, "").named("frames lost");
    let told = |one: &Interval| {
        format!(
            "{} of {} lost",
            number::count(one.lost()),
            number::count(one.frames.sent)
        )
    };
    let drawn = drawing.draw(&y, told, |plot| {
        for one in intervals.iter().filter(|one| one.lost() > 0) {
            let (from, to) = (
                drawing.at(one.started_unix_s),
                drawing.at(one.ended_unix_s()),
            );
            plot.bar((from, 0.0), (to, one.lost() as f64), Ink::Goal, "");
        }
    });
    let keys = [
        key("goal-line", "", "frames lost in an interval"),
        key("dash-line", "", "begin and end of a gap"),
    ];
    let body = html! {
        (legend(&keys))
        (drawn)
        @if most == 0 { p.muted { "No frame was lost." } }
    };
    crate::figure::figure("Loss over time", "each bar is an interval", body)
}

/// A value of a distribution, and its name.
type Percentile = (fn(&LatencySummary) -> f64, &'static str);

/// Latency of each interval.
pub fn latency(summary: &LoadSummary, intervals: &[&Interval]) -> Markup {
    let all = || intervals.iter().filter_map(|one| one.latency_us.as_ref());
    let least = all().map(|of| of.p50).fold(f64::INFINITY, f64::min);
    let most = all().map(|of| of.max).fold(0.0, f64::max);
    if most <= 0.0 {
        return html! { p { "No latency was measured, so nothing is drawn." } };
    }
    let drawing = OverTime {
        summary,
        intervals,
        label: format!(
            "Latency over time: median from {} µs, largest {} µs",
            number::micros(least),
            number::micros(most)
        ),
    };
    let y = Axis::log(least, most, "").named("µs");
    let told = |one: &Interval| match &one.latency_us {
        Some(of) => format!(
            "p50 {} µs, p99 {} µs, max {} µs",
            number::micros(of.p50),
            number::micros(of.p99),
            number::micros(of.max)
        ),
        None => "no latency".to_owned(),
    };
    let figures: [Percentile; 4] = [
        (|of| of.p50, "median"),
        (|of| of.p99, "99th percentile"),
        (|of| of.p999, "99.9th percentile"),
        (|of| of.max, "largest"),
    ];
    let drawn = drawing.draw(&y, told, |plot| {
        for (n, (of, _)) in figures.iter().enumerate() {
            let point = |one: &&Interval| {
                let at = drawing.at((one.started_unix_s + one.ended_unix_s()) / 2.0);
                Some((at, of(one.latency_us.as_ref()?)))
            };
            let points: Vec<Option<(f64, f64)>> = intervals.iter().map(point).collect();
            for part in points.split(Option::is_none) {
                let part: Vec<(f64, f64)> = part.iter().copied().flatten().collect();
                plot.line(&part, Ink::Series(n), Stroke::Thick);
            }
        }
    });
    let keys: Vec<_> = figures
        .iter()
        .enumerate()
        .map(|(n, (_, name))| crate::figure::series(n, *name))
        .collect();
    let body = html! { (legend(&keys)) (drawn) };
    crate::figure::figure("Latency over time", "one way, of every frame", body)
}
