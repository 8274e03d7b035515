//! Loss curve of a cell: what the search's trials lost at which load.

use maud::Markup;
use nicety_model::{Purpose, TrialRecord};

use crate::error::ReportError;
use crate::figure::axis::Axis;
use crate::figure::svg::{self, Frame, Ink, Shape};
use crate::figure::{self, key};
use crate::number;
use crate::pick::Group;

/// Lowest decade an axis reaches down to: one frame in 10^9 is beyond any trial here.
const LOWEST_DECADE: f64 = -9.0;

/// Draws a cell's loss curve; `None` when no trial has finite numbers.
///
/// Loss is on a logarithmic axis, with zero on a line of its own below the axis' lowest decade.
pub fn figure(group: &Group<'_>, trials: &[&TrialRecord]) -> Result<Option<Markup>, ReportError> {
    let mut trials: Vec<&TrialRecord> = trials
        .iter()
        .copied()
        .filter(|t| t.load_fps.is_finite() && t.load_fps > 0.0 && t.loss_ratio.0.is_finite())
        .collect();
    if trials.is_empty() {
        return Ok(None);
    }
    // The confirm trial's large mark lies under the search's small ones.
    trials.sort_by_key(|trial| trial.purpose != Purpose::Confirm);
    let goal = Some(group.shown.loss_goal).filter(|goal| goal.is_finite() && *goal > 0.0);
    let highest = trials.iter().map(|t| t.load_fps).fold(0.0, f64::max);
    let lowest = trials.iter().map(|t| t.load_fps).fold(highest, f64::min);
    let x = Axis::around(lowest, highest, 5, tick);
    let y = loss_axis(&trials, goal);
    let label = label(group, &trials);
    let frame = Frame::small(210, 66, (&x, &y), &label);
    let at = |trial: &TrialRecord| (trial.load_fps, coordinate(trial.loss_ratio.0, y.min));
    svg::draw(&frame, |plot| {
        if let Some(fps) = group
            .throughput_fps()
            .filter(|f| (x.min..=x.max).contains(f))
        {
            plot.line(&[(fps, y.min), (fps, y.max)], Ink::Rule, 1, false)?;
        }
        if let Some(goal) = goal {
            let height = goal.log10();
            plot.line(&[(x.min, height), (x.max, height)], Ink::Goal, 1, true)?;
            plot.note((x.max, height), "goal", Ink::Goal)?;
        }
        for trial in &trials {
            let by_windows = group.shown.window_s.is_some();
            let (shape, ink, radius, hollow) = look(trial, goal, by_windows);
            plot.mark(at(trial), shape, ink, radius, hollow)?;
        }
        Ok(())
    })
    .map(Some)
}

/// How a trial is drawn: invalid ones crossed out, those over the goal as triangles, the
/// confirm trial as a large hollow diamond.
fn look(trial: &TrialRecord, goal: Option<f64>, by_windows: bool) -> (Shape, Ink, i32, bool) {
    if !trial.validity.is_valid() {
        return (Shape::Cross, Ink::Muted, 4, false);
    }
    if trial.purpose == Purpose::Confirm {
        return (Shape::Diamond, Ink::Series(2), 7, true);
    }
    let windows = trial.windows.as_ref().filter(|_| by_windows);
    let over = |goal: f64| match windows.map(|windows| windows.judged(goal)) {
        Some((good, bad)) => bad >= good,
        None => trial.loss_ratio.0 > goal,
    };
    if goal.is_some_and(over) {
        (Shape::Triangle, Ink::Bad, 4, false)
    } else {
        (Shape::Circle, Ink::Series(0), 3, false)
    }
}

/// What the marks mean, once for all curves.
pub fn legend() -> Markup {
    figure::legend(&[
        key("s0", Shape::Circle.glyph(), "within the goal"),
        key("bad", Shape::Triangle.glyph(), "over the goal"),
        key("s2", "◇", "confirm trial"),
        key(
            "muted",
            Shape::Cross.glyph(),
            "invalid: not used by the search",
        ),
        key("goal-line", "", "loss goal"),
        key("throughput-line", "", "throughput"),
    ])
}

/// Load on the axis: `250 k`, with as many digits as close ticks need.
fn tick(fps: f64) -> String {
    let (scaled, prefix) = match fps {
        v if v >= 1e6 => (fps / 1e6, " M"),
        v if v >= 1e3 => (fps / 1e3, " k"),
        _ => (fps, ""),
    };
    format!("{}{prefix}", (scaled * 1000.0).round() / 1000.0)
}

fn coordinate(loss: f64, zero: f64) -> f64 {
    if loss > 0.0 {
        loss.log10().max(zero)
    } else {
        zero
    }
}

/// Decades from below the goal and the smallest loss up to 100 %, and zero one step lower.
fn loss_axis(trials: &[&TrialRecord], goal: Option<f64>) -> Axis {
    let smallest = trials
        .iter()
        .map(|t| t.loss_ratio.0)
        .filter(|loss| *loss > 0.0)
        .chain(goal)
        .fold(0.1, f64::min);
    let lowest = smallest.log10().floor().max(LOWEST_DECADE);
    let zero = lowest - 1.0;
    let every = if lowest < -5.0 { 2 } else { 1 };
    let mut ticks = vec![(zero, "0".to_owned())];
    ticks.extend(
        (lowest as i32..=0)
            .filter(|decade| decade % every == 0)
            .map(|decade| (f64::from(decade), percent(decade))),
    );
    Axis {
        // Room below the line of zeros and above that of 100 %.
        min: zero,
        max: 0.15,
        ticks,
        log: true,
    }
}

/// 10^decade as a percentage without trailing zeros: `0.01 %`.
fn percent(decade: i32) -> String {
    let decimals = (-decade - 2).max(0) as usize;
    format!("{:.decimals$} %", 10_f64.powi(decade) * 100.0)
}

fn label(group: &Group<'_>, trials: &[&TrialRecord]) -> String {
    let invalid = trials.iter().filter(|t| !t.validity.is_valid()).count();
    let mut text = format!(
        "Loss against load for {}: {} trials, {invalid} of them invalid; throughput {} frames/s, verdict {}",
        group.name,
        trials.len(),
        group.fps_text(),
        group.verdict()
    );
    if let Some(confirm) = group.shown.confirm {
        text.push_str(&format!(
            "; confirm trial lost {}",
            number::loss(confirm.loss_ratio.0)
        ));
    }
    text
}
