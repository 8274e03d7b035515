//! A trend drawn, with its changes.

use maud::{Markup, html};
use nicety_model::history::{Trend, TrendChange};

use super::value;
use crate::figure::axis::Axis;
use crate::figure::svg::{self, Frame, Ink, Look, Shape, Stroke};
use crate::figure::{self, Room, Size, key};

/// The figure for windows of any width.
pub(super) fn figures(trend: &Trend) -> Markup {
    let values = trend.points.iter().flat_map(|p| [p.value, p.min, p.max]);
    let finite = values.flatten().filter(|v| v.is_finite());
    let highest = finite.clone().fold(0.0, f64::max);
    if highest <= 0.0 {
        return html! { p { "No run has a number." } };
    }
    let lowest = finite.fold(highest, f64::min);
    let drawn = Room::Whole.draw(300.0, |size| figure(trend, (lowest, highest), size));
    let mut keys = vec![
        key("s0", "●", "verdict ok or wide"),
        key("s0", "○", "another verdict"),
    ];
    if !trend.changes.is_empty() {
        keys.push(key("goal-line", "", "change, with the level on both sides"));
    }
    let about = "oldest run first; the scale need not begin at 0";
    figure::figure(
        "Run by run",
        about,
        html! { (figure::legend(&keys)) (drawn) },
    )
}

fn figure(trend: &Trend, (lowest, highest): (f64, f64), size: Size) -> Markup {
    let points = &trend.points;
    let ids = points.iter().map(|point| point.id.to_string());
    let x = Axis::places(ids, figure::ticks(size) as usize).named("run");
    let what = format!(
        "{}, {}",
        trend.metric.word(),
        trend.metric.unit(&trend.cell)
    );
    let y = Axis::around(lowest, highest, 5, "").named(&what);
    let told: Vec<String> = points
        .iter()
        .map(|point| {
            let unit = trend.metric.unit(&trend.cell);
            let (value, verdict) = (value(trend, point), point.verdict);
            format!("run {}: {value} {unit}, {verdict}", point.id)
        })
        .collect();
    let label = format!(
        "{} of {} run by run: {}",
        trend.metric.word(),
        super::followed(trend),
        told.join(", ")
    );
    let frame = Frame {
        size,
        axes: (&x, &y),
        label: &label,
    };
    svg::draw(&frame, |plot| {
        for (change, from, to, until) in stretches(trend) {
            plot.upright(to - 0.5, Ink::Goal, Stroke::Dashed);
            let before = [(from, change.before), (to - 1.0, change.before)];
            let after = [(to, change.after), (until, change.after)];
            plot.line(&before, Ink::Goal, Stroke::Thick);
            plot.line(&after, Ink::Goal, Stroke::Thick);
        }
        for (n, (point, words)) in points.iter().zip(&told).enumerate() {
            let Some(value) = point.value else { continue };
            let at = n as f64 + 1.0;
            if let (Some(min), Some(max)) = (point.min, point.max)
                && max > min
            {
                plot.error_bar(at, min, max, Ink::Series(0));
            }
            let hollow = !point.verdict.is_own();
            let look = Look::new(Shape::Circle, Ink::Series(0), 3.5, hollow);
            plot.mark((at, value), look, words);
        }
    })
}

/// Each change with the first place of the stretch before, its own, and the last of the one after.
fn stretches(trend: &Trend) -> Vec<(&TrendChange, f64, f64, f64)> {
    let place = |change: &TrendChange| {
        let at = trend.points.iter().position(|point| point.id == change.id);
        at.map(|at| at as f64 + 1.0)
    };
    let mut from = 1.0;
    let mut all = Vec::new();
    for (n, change) in trend.changes.iter().enumerate() {
        let Some(at) = place(change) else { continue };
        let next = trend.changes.get(n + 1).and_then(place);
        let until = next.map_or(trend.points.len() as f64, |next| next - 1.0);
        all.push((change, from, at, until));
        from = at;
    }
    all
}
