//! A trend as one HTML file.

use std::io::Write;

use maud::{Markup, html};
use nicety_model::compare::Metric;
use nicety_model::history::{Trend, TrendChange, TrendPoint};

use super::{answer, value};
use crate::error::ReportError;
use crate::html::axis::Axis;
use crate::html::page::{Page, embeddable};
use crate::html::parts;
use crate::html::svg::{self, Frame, Ink, Shape};
use crate::number::{self, ABSENT};

/// Writes the trend as one self-contained HTML file.
///
/// # Errors
/// [`ReportError::Draw`] when the figure cannot be drawn, [`ReportError::Json`] when the data
/// cannot be embedded, [`ReportError::Write`] when the writer fails.
pub fn render(trend: &Trend, out: &mut impl Write) -> Result<(), ReportError> {
    let data = serde_json::to_string(trend).map_err(|source| ReportError::Json {
        name: "trend".to_owned(),
        source,
    })?;
    let figure = figures(trend)?;
    let page = Page {
        title: &format!("{} · nicety", trend.cell),
        generator: None,
        body: html! {
            a.skip href="#runs" { "Skip to the runs" }
            header {
                p.eyebrow { "nicety runs trend" }
                h1 { (trend.cell) ", " (trend.metric.word()) }
                p.lead { (answer(trend)) }
            }
            main {
                (figure)
                @if !trend.changes.is_empty() {
                    (parts::section("changes", "Changes", changes(trend)))
                }
                (parts::section("runs", "Runs", runs(trend)))
                @if !trend.notes.is_empty() {
                    (parts::section("notes", "Notes", html! { ul { @for note in &trend.notes { li { (note.to_string()) } } } }))
                }
            }
            footer {
                p {
                    "Preset " (trend.preset) ", loss goal " (number::loss(trend.loss_goal))
                    ". Only runs whose verdict is ok or wide count for changes."
                }
                button #save .download type="button" hidden { "Save this trend as JSON" }
            }
        },
        data: embeddable(&data),
        data_name: "nicety-trend.json",
    };
    page.write(out)
}

fn figures(trend: &Trend) -> Result<Markup, ReportError> {
    let values = trend.points.iter().flat_map(|p| [p.value, p.min, p.max]);
    let finite = values.flatten().filter(|v| v.is_finite());
    let highest = finite.clone().fold(0.0, f64::max);
    if highest <= 0.0 {
        return Ok(html! { p { "No run has a number." } });
    }
    let lowest = finite.fold(highest, f64::min);
    let wide = figure(trend, (lowest, highest), ((760, 300), "wide", 12))?;
    let narrow = figure(trend, (lowest, highest), ((360, 240), "narrow", 6))?;
    Ok(html! {
        figure {
            figcaption {
                strong { "Run by run" }
                " " span.muted { (trend.metric.word()) " in " (trend.metric.unit(&trend.cell)) ", oldest run first; the axis need not begin at 0" }
            }
            ul.legend {
                li { span.key.s0 aria-hidden="true" { "●" } "verdict ok or wide" }
                li { span.key.s0 aria-hidden="true" { "○" } "another verdict" }
                @if !trend.changes.is_empty() {
                    li { span.key.goal-line aria-hidden="true" {} "change, with the level on both sides" }
                }
            }
            (wide)
            (narrow)
        }
    })
}

fn figure(
    trend: &Trend,
    (lowest, highest): (f64, f64),
    (size, class, wanted): ((i32, i32), &'static str, usize),
) -> Result<Markup, ReportError> {
    let points = &trend.points;
    let every = points.len().div_ceil(wanted).max(1);
    let x = Axis {
        min: 0.5,
        max: points.len() as f64 + 0.5,
        ticks: points
            .iter()
            .enumerate()
            .filter(|(n, _)| n % every == 0)
            .map(|(n, point)| (n as f64 + 1.0, point.id.to_string()))
            .collect(),
        log: false,
    };
    let y = Axis::around(lowest, highest, 5, number::short);
    let told: Vec<String> = points
        .iter()
        .map(|point| format!("run {} {}", point.id, value(trend.metric, point)))
        .collect();
    let label = format!(
        "{} of {} run by run: {}",
        trend.metric.word(),
        trend.cell,
        told.join(", ")
    );
    let frame = Frame {
        size,
        left: 60,
        x: &x,
        y: &y,
        label: &label,
        class,
    };
    svg::draw(&frame, |plot| {
        for (change, from, to, until) in stretches(trend) {
            plot.line(&[(to - 0.5, y.min), (to - 0.5, y.max)], Ink::Goal, 1, true)?;
            plot.line(
                &[(from, change.before), (to - 1.0, change.before)],
                Ink::Goal,
                2,
                false,
            )?;
            plot.line(
                &[(to, change.after), (until, change.after)],
                Ink::Goal,
                2,
                false,
            )?;
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

fn changes(trend: &Trend) -> Markup {
    parts::table(
        "Where the level changes",
        html! {
            tr {
                th.num scope="col" { "from run" }
                th scope="col" { "started" }
                th.num scope="col" { "change" }
                th.num scope="col" { "p" }
                th scope="col" { "what else differs" }
            }
        },
        html! {
            @for change in &trend.changes {
                tr {
                    th.num scope="row" { (change.id) }
                    td.nowrap { (change.started) }
                    td.num.strong data-v=(change.ratio) { (number::change(change.ratio)) }
                    td.num { (number::significant(change.p, 1)) }
                    td.wrap {
                        @if change.differences.is_empty() { (ABSENT) } @else {
                            ul.plain { @for d in &change.differences { li { (d.what) ": " (d.old) " → " (d.new) } } }
                        }
                    }
                }
            }
        },
    )
}

fn runs(trend: &Trend) -> Markup {
    parts::table(
        &format!(
            "{} in {}",
            trend.metric.word(),
            trend.metric.unit(&trend.cell)
        ),
        html! {
            tr {
                th.num scope="col" { "run" }
                th scope="col" { "started" }
                th.num scope="col" { (trend.metric.word()) }
                th.num scope="col" { "repeats" }
                th scope="col" { "verdict" }
                th scope="col" { "labels" }
            }
        },
        html! {
            @for point in &trend.points {
                tr {
                    th.num scope="row" { (point.id) }
                    td.nowrap { (point.started) }
                    td.num.strong data-v=[point.value] { (value(trend.metric, point)) (extremes(trend.metric, point)) }
                    td.num { (point.repeats) }
                    td { (parts::badge(point.verdict)) }
                    td { (point.labels.join(", ")) }
                }
            }
        },
    )
}

fn extremes(metric: Metric, point: &TrendPoint) -> Markup {
    match (point.min, point.max) {
        (Some(min), Some(max)) if max > min => html! {
            span.sub { (super::number_of(metric, min)) " to " (super::number_of(metric, max)) }
        },
        _ => html! {},
    }
}
