//! The control cell: the same measurement again and again, so that drift shows.

use maud::{Markup, html};
use nicety_model::Verdict;
use nicety_model::run::ControlSummary;

use super::axis::Axis;
use super::parts;
use super::svg::{self, Frame, Ink, Shape};
use crate::error::ReportError;
use crate::number;

/// Drift in words and, from two visits on, drawn.
///
/// # Errors
/// [`ReportError::Draw`] when plotters refuses.
pub fn section(control: &ControlSummary) -> Result<Markup, ReportError> {
    let verdict = if control.drift > control.drift_limit {
        Verdict::Noisy
    } else {
        Verdict::Ok
    };
    let known = control.drift.is_finite() && control.drift_limit.is_finite();
    let figure = figure(control)?;
    Ok(html! {
        p {
            "The control cell " b { (control.cell) } " was measured "
            (crate::words::plural(control.throughput_fps.len(), "time"))
            " through the run. Its largest and smallest throughput differ by "
            b { (number::variation(control.drift)) } "; above "
            (number::variation(control.drift_limit)) " the run counts as noisy. "
            @if control.failed > 0 {
                (crate::words::plural(control.failed as usize, "further visit")) " found no throughput. "
            }
            @if known { (parts::badge(verdict)) }
        }
        @if let Some(figure) = figure {
            figure.single { figcaption { strong { "Throughput of each visit" } span.muted { " frames/s in order of time" } } (figure) }
        }
    })
}

fn figure(control: &ControlSummary) -> Result<Option<Markup>, ReportError> {
    let visits = &control.throughput_fps;
    if visits.len() < 2 || !visits.iter().any(|fps| fps.is_finite()) {
        return Ok(None);
    }
    let max = visits
        .iter()
        .copied()
        .filter(|v| v.is_finite())
        .fold(0.0, f64::max);
    let y = Axis::from_zero(max, 4, number::short);
    let every = visits.len().div_ceil(12);
    let x = Axis {
        min: 0.5,
        max: visits.len() as f64 + 0.5,
        ticks: (1..=visits.len())
            .filter(|n| (n - 1) % every == 0)
            .map(|n| (n as f64, n.to_string()))
            .collect(),
        log: false,
    };
    let told: Vec<String> = visits.iter().map(|fps| number::grouped(*fps)).collect();
    let label = format!(
        "Throughput of the control cell {} in frames per second, visit by visit: {}",
        control.cell,
        told.join(", ")
    );
    let frame = Frame::small(170, 56, (&x, &y), &label);
    let points: Vec<(f64, f64)> = visits
        .iter()
        .enumerate()
        .map(|(n, fps)| (n as f64 + 1.0, *fps))
        .collect();
    svg::draw(&frame, |plot| {
        plot.line(&points, Ink::Series(0), 2, false)?;
        for point in &points {
            plot.mark(*point, Shape::Circle, Ink::Series(0), 3, false)?;
        }
        Ok(())
    })
    .map(Some)
}
