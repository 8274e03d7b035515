//! Changes measured before and after, as one HTML file with both loss curves.

use std::io::Write;

use maud::{Markup, html};
use nicety_model::measured::{
    CurvePoint, Measured, MeasuredCell, MeasuredDecision, MeasuredUnit, RatePoint,
};

use super::axis::Axis;
use super::page::{Page, embeddable};
use super::parts;
use super::svg::{self, Frame, Ink, Shape};
use crate::error::ReportError;

/// Loss that stands for none on the logarithmic axis.
const NO_LOSS: f64 = 1e-6;
/// Cells with figures of their own.
const DRAWN: usize = 24;

/// Writes the page. `verdict` is the decision in a line.
///
/// # Errors
/// [`ReportError::Draw`] when a figure cannot be drawn, [`ReportError::Write`] when the writer
/// fails.
pub fn render(measured: &Measured, verdict: &str, out: &mut impl Write) -> Result<(), ReportError> {
    let mut figures = Vec::new();
    for cell in measured.cells.iter().take(DRAWN) {
        let drawn = match cell.rates_before.is_empty() {
            true => losses(cell)?,
            false => rates(cell)?,
        };
        figures.push(html! { figure { figcaption { strong { (cell.cell) } } (drawn) } });
    }
    let kind = match measured.decision {
        MeasuredDecision::Kept => "good",
        MeasuredDecision::NoEffect => "info",
        MeasuredDecision::Worse | MeasuredDecision::NotMeasured => "warn",
    };
    let data = serde_json::to_string(measured).map_err(|source| ReportError::Json {
        name: "measured".to_owned(),
        source,
    })?;
    let page = Page {
        title: "Changes measured · nicety",
        generator: None,
        body: html! {
            a.skip href="#curves" { "Skip to the curves" }
            header {
                p.eyebrow { "nicety tune apply --measure" }
                h1 { "Changes measured before and after" }
                p.lead { span class={ "badge " (kind) } { (verdict) } }
            }
            main {
                (parts::section("curves", title(measured), curves(measured, &figures)))
                (parts::section("numbers", "In the order measured", numbers(measured)))
                (parts::section("changes", "Changes", changes(measured)))
            }
            footer {
                p { "Kept is what gains at least 2 % and at least two standard deviations of a single measurement, in logarithms." }
                button #save .download type="button" hidden { "Save this as JSON" }
            }
        },
        data: embeddable(&data),
        data_name: "nicety-measured.json",
    };
    page.write(out)
}

fn title(measured: &Measured) -> &'static str {
    let sockets = |cell: &MeasuredCell| !cell.rates_before.is_empty();
    match measured.cells.iter().all(sockets) && !measured.cells.is_empty() {
        true => "Rate against pairs at once",
        false => "Loss against load",
    }
}

fn curves(measured: &Measured, figures: &[Markup]) -> Markup {
    let any = |sockets: bool| {
        let kinds = measured.cells.iter();
        kinds
            .map(|cell| !cell.rates_before.is_empty())
            .any(|kind| kind == sockets)
    };
    html! {
        @if any(false) || figures.is_empty() {
            p { "Every valid trial: load in frames/s against the share of frames lost, on a logarithmic scale whose lowest line stands for no loss." }
        }
        @if any(true) {
            p { "Every repeat of a socket test: pairs at once against transactions/s or goodput in Mbit/s." }
        }
        ul.legend {
            li { span.key.s0 aria-hidden="true" { (Shape::of_series(0).glyph()) } "before" }
            li { span.key.s1 aria-hidden="true" { (Shape::of_series(1).glyph()) } "after" }
        }
        div.grid { @for figure in figures { (figure) } }
    }
}

fn losses(cell: &MeasuredCell) -> Result<Markup, ReportError> {
    let points = |curve: &[CurvePoint]| -> Vec<(f64, f64)> {
        let usable = curve
            .iter()
            .filter(|p| p.load_fps.is_finite() && p.loss_ratio.is_finite());
        usable
            .map(|p| (p.load_fps, p.loss_ratio.max(NO_LOSS).log10()))
            .collect()
    };
    let curves = [points(&cell.curve_before), points(&cell.curve_after)];
    let loads = || curves.iter().flatten().map(|(load, _)| *load);
    let highest = loads().fold(0.0, f64::max);
    let x = Axis::around(loads().fold(highest, f64::min), highest, 5, |fps| {
        format!("{} k", (fps / 10.0).round() / 100.0)
    });
    let y = Axis::log(NO_LOSS, 1.0, |loss| match loss <= NO_LOSS {
        true => "0".to_owned(),
        false => format!("{} %", loss * 100.0),
    });
    let label = format!("Loss against load of {}, before and after", cell.cell);
    let frame = Frame::small(210, 66, (&x, &y), &label);
    two(&frame, &curves, true)
}

fn rates(cell: &MeasuredCell) -> Result<Markup, ReportError> {
    let points = |rates: &[RatePoint]| -> Vec<(f64, f64)> {
        let usable = rates.iter().filter(|point| point.rate.is_finite());
        usable
            .map(|point| (f64::from(point.parallel), point.rate))
            .collect()
    };
    let curves = [points(&cell.rates_before), points(&cell.rates_after)];
    let all = || curves.iter().flatten();
    let span = |of: fn(&(f64, f64)) -> f64| {
        let highest = all().map(of).fold(0.0, f64::max);
        (all().map(of).fold(highest, f64::min), highest)
    };
    let (few, many) = span(|point| point.0);
    let (low, high) = span(|point| point.1);
    let x = Axis::around(few, many, 3, |pairs| format!("{pairs:.0}"));
    let y = Axis::around(low, high, 5, crate::number::grouped);
    let label = format!(
        "Rate against pairs at once of {}, before and after",
        cell.cell
    );
    let frame = Frame::small(210, 66, (&x, &y), &label);
    two(&frame, &curves, few < many)
}

/// Before hollow and dashed, after filled; `joined` by lines.
fn two(
    frame: &Frame<'_>,
    curves: &[Vec<(f64, f64)>; 2],
    joined: bool,
) -> Result<Markup, ReportError> {
    svg::draw(frame, |plot| {
        for (n, points) in curves.iter().enumerate() {
            if joined {
                plot.line(points, Ink::Series(n), 1, n == 0)?;
            }
            for point in points {
                plot.mark(*point, Shape::of_series(n), Ink::Series(n), 3, n == 0)?;
            }
        }
        Ok(())
    })
}

fn unit(unit: MeasuredUnit) -> &'static str {
    match unit {
        MeasuredUnit::FramesPerS => "frames/s",
        MeasuredUnit::TransactionsPerS => "transactions/s",
        MeasuredUnit::GoodputMbps => "Mbit/s",
        MeasuredUnit::P99Us => "µs, 99th percentile",
    }
}

fn numbers(measured: &Measured) -> Markup {
    let pairs = measured
        .cells
        .iter()
        .map(|cell| cell.before.len())
        .max()
        .unwrap_or(0);
    parts::table(
        "One number per measurement",
        html! { tr {
            th scope="col" { "cell" }
            th scope="col" { "in" }
            @for _ in 0..pairs { th scope="col" { "before" } th scope="col" { "after" } }
        } },
        html! {
            @for cell in &measured.cells {
                tr {
                    th scope="row" { (cell.cell) }
                    td { (unit(cell.unit)) }
                    @for (before, after) in cell.before.iter().zip(&cell.after) {
                        td { (crate::number::grouped(before.round())) }
                        td { (crate::number::grouped(after.round())) }
                    }
                }
            }
        },
    )
}

fn changes(measured: &Measured) -> Markup {
    parts::table(
        "What differed between before and after",
        html! { tr { th scope="col" { "setting" } th scope="col" { "before" } th scope="col" { "after" } } },
        html! {
            @for change in &measured.changes {
                tr { th scope="row" { (change.knob) } td.wrap { (change.from) } td.wrap { (change.to) } }
            }
        },
    )
}
