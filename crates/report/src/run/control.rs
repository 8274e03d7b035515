//! The control cell: the same measurement again and again, so that drift shows.

use maud::Markup;
use nicety_model::run::ControlSummary;

use crate::figure::axis::Axis;
use crate::figure::svg::{self, Frame, Look};
use crate::figure::{self, Room};
use crate::number::{self, plural};

/// The visits of the control cell in one line.
pub(super) fn words(control: &ControlSummary) -> String {
    let visits = control.throughput_fps.iter();
    let visits: Vec<String> = visits.map(|fps| number::short(*fps)).collect();
    let failed = match control.failed {
        0 => String::new(),
        failed => format!("; {} found no throughput", plural(failed, "further visit")),
    };
    format!(
        "{}: {} frames/s{failed}; drift {} (noisy above {})",
        control.cell,
        visits.join(", "),
        number::variation(control.drift),
        number::variation(control.drift_limit)
    )
}

/// Throughput visit by visit; nothing for less than two.
pub(super) fn figure(control: &ControlSummary) -> Option<Markup> {
    let visits = &control.throughput_fps;
    if visits.len() < 2 || !visits.iter().any(|fps| fps.is_finite()) {
        return None;
    }
    let finite = visits.iter().copied().filter(|v| v.is_finite());
    let y = Axis::from_zero(finite.fold(0.0, f64::max), 4, "").named("frames/s");
    let told: Vec<String> = visits.iter().map(|fps| number::short(*fps)).collect();
    let label = format!(
        "Throughput of the control result {} in frames per second, visit by visit: {}",
        control.cell,
        told.join(", ")
    );
    let points: Vec<(f64, f64)> = visits
        .iter()
        .enumerate()
        .map(|(n, fps)| (n as f64 + 1.0, *fps))
        .collect();
    let drawn = Room::Whole.draw(200.0, |size| {
        let numbers = (0..visits.len()).map(|n| (n + 1).to_string());
        let x = Axis::places(numbers, figure::ticks(size) as usize).named("visit");
        let frame = Frame {
            size,
            axes: (&x, &y),
            label: &label,
        };
        svg::draw(&frame, |plot| {
            plot.series(&points, 0);
            for ((n, fps), words) in points.iter().zip(&told) {
                let words = format!("visit {n}: {words} frames/s");
                plot.mark((*n, *fps), Look::of_series(0, 3.5, false), &words);
            }
        })
    });
    Some(figure::figure("Throughput of each visit", "", drawn))
}
