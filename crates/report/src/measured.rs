//! Changes measured before and after, as one HTML file with both loss curves.

use std::io::Write;

use maud::{Markup, html};
use nicety_model::measured::{
    CurvePoint, Measured, MeasuredCell, MeasuredDecision, MeasuredUnit, RatePoint,
};

use crate::document::Kind::{Name, Number, Text};
use crate::document::{Block, Cell, Document, Medium, Table, Tone, columns};
use crate::error::ReportError;
use crate::figure::axis::Axis;
use crate::figure::svg::{self, Frame, Ink, Look, Stroke};
use crate::figure::{self, Room};
use crate::json;
use crate::number;

/// Loss that stands for none on the logarithmic axis.
const NO_LOSS: f64 = 1e-6;

/// Writes the page. `verdict` is the decision in a line.
///
/// # Errors
/// [`ReportError::Json`] when the data cannot be embedded, [`ReportError::Write`] when the writer
/// fails.
pub fn render(measured: &Measured, verdict: &str, out: &mut impl Write) -> Result<(), ReportError> {
    let figures = figure::fill(&measured.cells, |cell, room| {
        let drawn = if cell.rates_before.is_empty() {
            losses(cell, room)
        } else {
            rates(cell, room)
        };
        Some(figure::figure(&cell.cell, "", drawn))
    });
    let tone = match measured.decision {
        MeasuredDecision::Kept => Tone::Good,
        MeasuredDecision::NoEffect => Tone::Info,
        MeasuredDecision::Worse | MeasuredDecision::NotMeasured => Tone::Warn,
    };
    let mut doc = Document::new(Medium::Page, "Changes measured before and after");
    doc.opening = vec![Block::Drawn(html! {
        p.lead { span class={ "badge " (tone.class()) } { (verdict) } }
    })];
    doc.main("curves", title(measured), curves(measured, &figures));
    doc.section(
        "numbers",
        "In the order measured",
        vec![Block::Table(numbers(measured))],
    );
    doc.section("changes", "Changes", vec![Block::Table(changes(measured))]);
    doc.page.window = Some("Changes measured");
    doc.page.eyebrow = "nicety tune apply --measure".to_owned();
    doc.page.footer =
        "Kept is what gains at least 2 %, and more than nothing with a confidence of \
                       95 % (Student's interval, in logarithms)."
            .to_owned();
    doc.page.data = json::compact("measured", measured)?;
    doc.page.save = ("Save this as JSON", "nicety-measured.json");
    crate::document::html::write(&doc, out)
}

fn title(measured: &Measured) -> &'static str {
    let sockets = |cell: &MeasuredCell| !cell.rates_before.is_empty();
    if measured.cells.iter().all(sockets) && !measured.cells.is_empty() {
        "Rate against pairs at once"
    } else {
        "Loss against load"
    }
}

fn curves(measured: &Measured, figures: &[Markup]) -> Vec<Block> {
    let any = |sockets: bool| {
        let kinds = measured.cells.iter();
        kinds
            .map(|cell| !cell.rates_before.is_empty())
            .any(|kind| kind == sockets)
    };
    let mut blocks = Vec::new();
    if any(false) || figures.is_empty() {
        blocks.push(Block::text(
            "Every valid trial: load in frames/s against the share of frames lost, on a logarithmic \
             scale whose lowest line stands for no loss.",
        ));
    }
    if any(true) {
        blocks.push(Block::text(
            "Every repeat of a socket test: pairs at once against transactions/s or goodput in Mbit/s.",
        ));
    }
    let keys = [figure::series(0, "before"), figure::series(1, "after")];
    blocks.push(Block::Drawn(
        html! { (figure::legend(&keys)) (figure::grid(figures)) },
    ));
    blocks
}

fn losses(cell: &MeasuredCell, room: Room) -> Markup {
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
    let lowest = loads().fold(highest, f64::min);
    let zero = (NO_LOSS.log10(), "0".to_owned());
    let percent = |decade: i32| {
        let decimals = (-decade - 2).max(0) as usize;
        format!("{:.decimals$} %", 10_f64.powi(decade) * 100.0)
    };
    let decades = (-5..=0).map(|decade| (f64::from(decade), percent(decade)));
    let ticks = std::iter::once(zero).chain(decades).collect();
    let mut y = Axis::linear(NO_LOSS.log10(), 0.15, ticks);
    y.name = "frames lost".to_owned();
    let label = format!("Loss against load of {}, before and after", cell.cell);
    let told = |(load, loss): (f64, f64)| {
        let loss = if loss > NO_LOSS.log10() {
            number::loss(10_f64.powf(loss))
        } else {
            "0 %".to_owned()
        };
        format!("{} frames/s, loss {loss}", number::grouped(load))
    };
    room.draw(240.0, |size| {
        let x = Axis::around(lowest, highest, figure::ticks(size), "").named("load, frames/s");
        let frame = Frame {
            size,
            axes: (&x, &y),
            label: &label,
        };
        two(&frame, &curves, true, told)
    })
}

fn rates(cell: &MeasuredCell, room: Room) -> Markup {
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
    let y = Axis::around(low, high, 5, "").named(unit(cell.unit));
    let label = format!(
        "Rate against pairs at once of {}, before and after",
        cell.cell
    );
    let told = |(pairs, rate): (f64, f64)| {
        let pairs = number::plural(pairs as u64, "pair");
        format!("{pairs}: {} {}", number::rate(rate), unit(cell.unit))
    };
    room.draw(240.0, |size| {
        let x = Axis::around(few, many, 3, "").named("pairs at once");
        let frame = Frame {
            size,
            axes: (&x, &y),
            label: &label,
        };
        two(&frame, &curves, few < many, told)
    })
}

/// Before hollow and dashed, after filled; `joined` by lines.
fn two(
    frame: &Frame<'_>,
    curves: &[Vec<(f64, f64)>; 2],
    joined: bool,
    told: impl Fn((f64, f64)) -> String,
) -> Markup {
    svg::draw(frame, |plot| {
        for (n, points) in curves.iter().enumerate() {
            let (side, stroke) = match n {
                0 => ("before", Stroke::Dashed),
                _ => ("after", Stroke::Thin),
            };
            if joined {
                plot.line(points, Ink::Series(n), stroke);
            }
            for point in points {
                let look = Look::of_series(n, 3.0, n == 0);
                plot.mark(*point, look, &format!("{side}: {}", told(*point)));
            }
        }
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

fn numbers(measured: &Measured) -> Table {
    let pairs = measured.cells.iter().map(|cell| cell.before.len());
    let pairs = pairs.max().unwrap_or(0);
    let mut head = vec![("cell".to_owned(), Name), ("in".to_owned(), Text)];
    for _ in 0..pairs {
        head.extend(["before", "after"].map(|side| (side.to_owned(), Number)));
    }
    let mut table = Table::new("One number per measurement", head);
    for cell in &measured.cells {
        let mut row = vec![Cell::from(&cell.cell), unit(cell.unit).into()];
        for (before, after) in cell.before.iter().zip(&cell.after) {
            row.extend([before, after].map(|value| Cell::from(number::grouped(value.round()))));
        }
        table.push(row);
    }
    table
}

fn changes(measured: &Measured) -> Table {
    Table::of(
        "What differed between before and after",
        &measured.changes,
        columns![|change|
            "setting" Name: &change.knob;
            "before" Wide: &change.from;
            "after" Wide: &change.to;
        ],
    )
}
