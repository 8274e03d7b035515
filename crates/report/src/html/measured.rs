//! Changes measured before and after, as one HTML file with both loss curves.

use std::io::Write;

use maud::{Markup, html};
use nicety_model::measured::{
    CurvePoint, Measured, MeasuredCell, MeasuredDecision, MeasuredTarget,
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
        figures.push(html! { figure { figcaption { strong { (cell.cell) } } (figure(cell)?) } });
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
                (parts::section("curves", "Loss against load", curves(&figures)))
                (parts::section("numbers", "In the order measured", numbers(measured)))
                (parts::section("changes", "Changes", changes(measured)))
            }
            footer {
                p { "Kept is what gains at least 2 % and at least two standard deviations of a single measurement." }
                button #save .download type="button" hidden { "Save this as JSON" }
            }
        },
        data: embeddable(&data),
        data_name: "nicety-measured.json",
    };
    page.write(out)
}

fn curves(figures: &[Markup]) -> Markup {
    html! {
        p { "Every valid trial: load in frames/s against the share of frames lost, on a logarithmic scale whose lowest line stands for no loss." }
        ul.legend {
            li { span.key.s0 aria-hidden="true" { (Shape::of_series(0).glyph()) } "before" }
            li { span.key.s1 aria-hidden="true" { (Shape::of_series(1).glyph()) } "after" }
        }
        div.grid { @for figure in figures { (figure) } }
    }
}

fn figure(cell: &MeasuredCell) -> Result<Markup, ReportError> {
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
    let frame = Frame {
        size: (360, 210),
        left: 66,
        x: &x,
        y: &y,
        label: &label,
        class: "small",
    };
    svg::draw(&frame, |plot| {
        for (n, points) in curves.iter().enumerate() {
            plot.line(points, Ink::Series(n), 1, n == 0)?;
            for point in points {
                plot.mark(*point, Shape::of_series(n), Ink::Series(n), 3, n == 0)?;
            }
        }
        Ok(())
    })
}

fn numbers(measured: &Measured) -> Markup {
    let caption = match measured.target {
        MeasuredTarget::Throughput => "Throughput in frames/s",
        MeasuredTarget::LatencyP99 => "99th percentile of latency in µs",
    };
    let pairs = measured
        .cells
        .iter()
        .map(|cell| cell.before.len())
        .max()
        .unwrap_or(0);
    parts::table(
        caption,
        html! { tr {
            th scope="col" { "cell" }
            @for _ in 0..pairs { th scope="col" { "before" } th scope="col" { "after" } }
        } },
        html! {
            @for cell in &measured.cells {
                tr {
                    th scope="row" { (cell.cell) }
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
