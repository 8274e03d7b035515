//! Loss curve of a cell: what the search's trials lost at which load.

use maud::{Markup, html};
use nicety_model::{Purpose, Run, TrialRecord};

use crate::document::Block;
use crate::document::html::doubt;
use crate::figure::axis::{self, Axis};
use crate::figure::svg::{self, Frame, Ink, Look, Plot, Shape, Stroke};
use crate::figure::{self, Size, key};
use crate::number;
use crate::pick::{self, Group};

/// Lowest decade an axis reaches down to: one frame in 10^9 is beyond any trial here.
const LOWEST_DECADE: f64 = -9.0;
const HEIGHT: f64 = 240.0;

/// The loss curves of the first cells that have one.
pub(super) fn blocks(run: &Run, groups: &[Group<'_>]) -> Vec<Block> {
    let by_cell = pick::trials_by_cell(run);
    let drawn = figure::fill(groups, |group, room| {
        let curve = Curve::new(group, by_cell.get(group.name)?)?;
        let beside = doubt(group.verdict());
        let id = figure::anchor("loss", group.name);
        let drawn = room.draw(HEIGHT, |size| curve.draw(size));
        Some(figure::titled(&id, group.name, beside, drawn))
    });
    if drawn.is_empty() {
        return vec![Block::text(
            "The trials are not at hand, so no curve is drawn.",
        )];
    }
    let words = "Each point is a trial of the search, with its number. The line joins the valid trials in \
                 order of load. The scale of loss is logarithmic, with zero on a line of its own.";
    let rest = not_all(drawn.len(), groups.len());
    vec![
        Block::text(words),
        Block::Drawn(html! { (legend()) (figure::grid(&drawn)) (rest) }),
    ]
}

/// Says that there may be more cells than figures.
pub(super) fn not_all(drawn: usize, cells: usize) -> Markup {
    let all = if drawn == figure::DRAWN { cells } else { 0 };
    figure::not_all(all, "cells")
}

/// What a figure shows of a cell.
struct Curve<'a, 'r> {
    group: &'a Group<'r>,
    /// The confirm trial first: its large mark lies under the search's small ones.
    trials: Vec<&'a TrialRecord>,
    goal: Option<f64>,
    y: Axis,
    /// Lowest and highest load in frames/s.
    loads: (f64, f64),
    label: String,
}

impl<'a, 'r> Curve<'a, 'r> {
    /// `None` when no trial has finite numbers.
    fn new(group: &'a Group<'r>, trials: &'a [&'a TrialRecord]) -> Option<Self> {
        let mut trials: Vec<&TrialRecord> = trials
            .iter()
            .copied()
            .filter(|t| t.load_fps.is_finite() && t.load_fps > 0.0 && t.loss_ratio.0.is_finite())
            .collect();
        trials.first()?;
        trials.sort_by_key(|trial| trial.purpose != Purpose::Confirm);
        let goal = Some(group.shown.loss_goal).filter(|goal| goal.is_finite() && *goal > 0.0);
        let highest = trials.iter().map(|t| t.load_fps).fold(0.0, f64::max);
        let lowest = trials.iter().map(|t| t.load_fps).fold(highest, f64::min);
        Some(Self {
            group,
            goal,
            y: loss_axis(&trials, goal),
            loads: (lowest, highest),
            label: label(group, &trials),
            trials,
        })
    }

    fn draw(&self, size: Size) -> Markup {
        let (low, high) = self.loads;
        let x = Axis::around(low, high, figure::ticks(size), "").named("load, frames/s");
        let frame = Frame {
            size,
            axes: (&x, &self.y),
            label: &self.label,
        };
        svg::draw(&frame, |plot| self.points(plot, &x))
    }

    fn points(&self, plot: &mut Plot<'_>, x: &Axis) {
        let throughput = self.group.throughput_fps();
        if let Some(fps) = throughput.filter(|fps| (x.min..=x.max).contains(fps)) {
            plot.upright(fps, Ink::Muted, Stroke::Dotted);
        }
        if let Some(goal) = self.goal {
            let name = format!("goal {} %", axis::tick(goal * 100.0, goal * 10.0, ""));
            plot.level(goal.log10(), Ink::Goal, Stroke::Dashed, &name);
        }
        let at = |trial: &TrialRecord| (trial.load_fps, coordinate(trial.loss_ratio.0, self.y.min));
        let search =
            |trial: &&&TrialRecord| trial.validity.is_valid() && trial.purpose == Purpose::Search;
        let mut line: Vec<(f64, f64)> = self.trials.iter().filter(search).map(|t| at(t)).collect();
        line.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        plot.line(&line, Ink::Rule, Stroke::Thin);
        let by_windows = self.group.shown.window_s.is_some();
        for trial in &self.trials {
            let look = look(trial, self.goal, by_windows);
            plot.occupied(at(trial), look.radius);
            plot.mark(at(trial), look, &told(trial));
        }
        for trial in &self.trials {
            let radius = look(trial, self.goal, by_windows).radius;
            plot.name(at(trial), &trial.index.to_string(), radius);
        }
    }
}

/// `trial 7, search: 250,000 frames/s, loss 0.31 %`.
fn told(trial: &TrialRecord) -> String {
    let purpose = match trial.purpose {
        Purpose::Confirm => "confirm",
        _ => "search",
    };
    let invalid = if trial.validity.is_valid() {
        ""
    } else {
        ", invalid"
    };
    format!(
        "trial {}, {purpose}{invalid}: {} frames/s, loss {}",
        trial.index,
        number::grouped(trial.load_fps),
        number::loss(trial.loss_ratio.0)
    )
}

/// How a trial is drawn: invalid ones crossed out, those over the goal as triangles, the
/// confirm trial as a large hollow diamond.
fn look(trial: &TrialRecord, goal: Option<f64>, by_windows: bool) -> Look {
    if !trial.validity.is_valid() {
        return Look::new(Shape::Cross, Ink::Muted, 4.0, false);
    }
    if trial.purpose == Purpose::Confirm {
        return Look::new(Shape::Diamond, Ink::Series(2), 7.0, true);
    }
    let windows = trial.windows.as_ref().filter(|_| by_windows);
    let over = |goal: f64| match windows.map(|windows| windows.judged(goal)) {
        Some((good, bad)) => bad >= good,
        None => trial.loss_ratio.0 > goal,
    };
    if goal.is_some_and(over) {
        Look::new(Shape::Triangle, Ink::Bad, 4.0, false)
    } else {
        Look::new(Shape::Circle, Ink::Series(0), 3.0, false)
    }
}

/// What the marks mean, once for all curves.
fn legend() -> Markup {
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
    // Room above the line of 100 %.
    let mut axis = Axis::linear(zero, 0.15, ticks);
    axis.name = "frames lost".to_owned();
    axis
}

/// 10^decade as a percentage without trailing zeros: `0.01 %`.
fn percent(decade: i32) -> String {
    let decimals = (-decade - 2).max(0) as usize;
    format!("{:.decimals$} %", 10_f64.powi(decade) * 100.0)
}

fn label(group: &Group<'_>, trials: &[&TrialRecord]) -> String {
    let invalid = trials.iter().filter(|t| !t.validity.is_valid()).count();
    let mut text = format!(
        "Loss against load for {}: {}, {invalid} of them invalid; throughput {} frames/s, verdict {}",
        group.name,
        number::plural(trials.len(), "trial"),
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
