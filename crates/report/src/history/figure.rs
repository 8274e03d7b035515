//! A trend drawn, with its changes.

use maud::{Markup, html};
use nicety_model::history::{Trend, TrendChange};

use super::value;
use crate::error::ReportError;
use crate::figure::axis::Axis;
use crate::figure::svg::{self, Frame, Ink, Shape};
use crate::figure::{self, key};
use crate::number;

/// The figure for a wide and a narrow window.
pub(super) fn figures(trend: &Trend) -> Result<Markup, ReportError> {
    let values = trend.points.iter().flat_map(|p| [p.value, p.min, p.max]);
    let finite = values.flatten().filter(|v| v.is_finite());
    let highest = finite.clone().fold(0.0, f64::max);
    if highest <= 0.0 {
        return Ok(html! { p { "No run has a number." } });
    }
    let lowest = finite.fold(highest, f64::min);
    let drawn = figure::both(
        [((760, 300), 12), ((360, 240), 6)],
        |(size, ticks), class| figure(trend, (lowest, highest), (size, class, ticks)),
    )?;
    let mut keys = vec![
        key("s0", "●", "verdict ok or wide"),
        key("s0", "○", "another verdict"),
    ];
    if !trend.changes.is_empty() {
        keys.push(key("goal-line", "", "change, with the level on both sides"));
    }
    let about = format!(
        "{} in {}, oldest run first; the axis need not begin at 0",
        trend.metric.word(),
        trend.metric.unit(&trend.cell)
    );
    Ok(figure::figure(
        "Run by run",
        &about,
        html! { (figure::legend(&keys)) (drawn) },
    ))
}

fn figure(
    trend: &Trend,
    (lowest, highest): (f64, f64),
    (size, class, wanted): ((i32, i32), &'static str, usize),
) -> Result<Markup, ReportError> {
    let points = &trend.points;
    let x = Axis::places(points.iter().map(|point| point.id.to_string()), wanted);
    let y = Axis::around(lowest, highest, 5, number::short);
    let told: Vec<String> = points
        .iter()
        .map(|point| format!("run {} {}", point.id, value(trend, point)))
        .collect();
    let label = format!(
        "{} of {} run by run: {}",
        trend.metric.word(),
        trend.cell,
        told.join(", ")
    );
    let frame = Frame::new((size, class), 60, (&x, &y), &label);
    svg::draw(&frame, |plot| {
        for (change, from, to, until) in stretches(trend) {
            plot.line(&[(to - 0.5, y.min), (to - 0.5, y.max)], Ink::Goal, 1, true)?;
            let before = [(from, change.before), (to - 1.0, change.before)];
            let after = [(to, change.after), (until, change.after)];
            plot.line(&before, Ink::Goal, 2, false)?;
            plot.line(&after, Ink::Goal, 2, false)?;
        }
        for (n, point) in points.iter().enumerate() {
            let Some(value) = point.value else { continue };
            let at = n as f64 + 1.0;
            if let (Some(min), Some(max)) = (point.min, point.max)
                && max > min
            {
                plot.error_bar(at, min, max, Ink::Series(0))?;
            }
            let hollow = !point.verdict.is_own();
            plot.mark((at, value), Shape::Circle, Ink::Series(0), 3, hollow)?;
        }
        Ok(())
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
