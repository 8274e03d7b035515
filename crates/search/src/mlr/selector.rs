//! Reaches one goal, target by target.

use std::time::Duration;

use crate::bounds::Bounds;
use crate::grid::Grid;
use crate::mlr::strategy::{self, Grow, Pick, View};
use crate::mlr::trials::{Kept, Trials};
use crate::mlr::{capacity, stretch};
use crate::target::Target;

/// Loss, in widths of the target, from which a forwarding rate says where the capacity is.
const TELLING_LOSS_WIDTHS: f64 = 2.0;
/// Guesses from forwarding rates per goal. On a path that loses the same share at every load
/// they lead nowhere, and growing steps are faster.
const GUESSES: u32 = 3;

/// State shared by all goals.
#[derive(Debug, Clone, Copy)]
pub struct Known<'a> {
    /// The trials so far.
    pub trials: &'a Trials,
    /// The grid.
    pub grid: &'a Grid,
    /// Highest position allowed.
    pub top: usize,
    /// Step of the last winner: no goal steps less far.
    pub shared_step: usize,
    /// Forwarding rate of a warm-up trial under overload.
    pub overload_rate: Option<f64>,
}

/// One goal's state.
#[derive(Debug, Clone)]
pub struct Selector {
    targets: Vec<Target>,
    width: f64,
    current: usize,
    low: Option<usize>,
    high: Option<usize>,
    next_step: usize,
    guesses: u32,
}

impl Selector {
    /// A selector for targets (coarsest first) of a goal with this relative width, starting
    /// from two loads that were measured, not necessarily bounds.
    pub fn new(targets: Vec<Target>, width: f64, loads: (usize, usize)) -> Self {
        let mut selector = Self {
            targets,
            width,
            current: 0,
            low: Some(loads.0.min(loads.1)),
            high: Some(loads.0.max(loads.1)),
            next_step: 1,
            guesses: GUESSES,
        };
        selector.reset_step();
        selector
    }

    /// The target worked on.
    pub fn target(&self) -> &Target {
        &self.targets[self.current]
    }

    /// The goal itself.
    pub fn final_target(&self) -> &Target {
        &self.targets[self.targets.len() - 1]
    }

    /// Targets before the final one that are still to be met.
    pub fn targets_left(&self) -> usize {
        self.targets.len() - 1 - self.current
    }

    fn reset_step(&mut self) {
        let start = match (self.low, self.high) {
            (Some(low), Some(high)) => high - low,
            _ => 0,
        };
        let target = self.target();
        self.next_step = target.width.max(start) * target.expansion;
    }

    /// No load above `top` may be started from any more.
    pub fn cap(&mut self, top: usize) {
        self.low = self.low.map(|low| low.min(top));
        self.high = self.high.map(|high| high.min(top));
    }

    /// The load to measure next, for how long, or `None` when the goal is reached.
    pub fn nominate(&mut self, known: &Known<'_>) -> Option<(Pick, Duration)> {
        let Known {
            trials, grid, top, ..
        } = *known;
        loop {
            let bounds = trials.bounds(&self.target().rule);
            let view = View {
                target: self.target(),
                bounds,
                low: self.low,
                high: self.high,
                top,
                step: self.next_step.max(known.shared_step),
                high_first: self.high.is_some_and(|high| {
                    self.stretched(trials, high, known.overload_rate).is_some()
                }),
                forwarded: self.forwarded(trials, grid, bounds),
            };
            if let Some(pick) = strategy::nominate(&view) {
                if let Some(limit) = pick.limit {
                    let target = self.target();
                    self.next_step = limit.max(target.width) * target.expansion;
                }
                return Some((pick, self.target().trial));
            }
            if self.targets_left() == 0 {
                return None;
            }
            self.current += 1;
            (self.low, self.high) = (bounds.lower, bounds.upper.filter(|upper| *upper <= top));
            self.reset_step();
        }
    }

    /// Length of a trial that settles a plainly overloaded load at once.
    pub fn stretched(
        &self,
        trials: &Trials,
        load: usize,
        overload_rate: Option<f64>,
    ) -> Option<Duration> {
        stretch::stretched(trials, load, self.final_target(), self.width, overload_rate)
    }

    /// Half a width below the capacity that the upper bound's trials name, together with those at
    /// the next higher load.
    fn forwarded(&self, trials: &Trials, grid: &Grid, bounds: Bounds) -> Option<usize> {
        if self.guesses == 0 {
            return None;
        }
        let upper = bounds.upper?;
        let near = self.overloaded(grid, upper, trials.at(upper))?;
        let mut above = trials.above(upper);
        let far = above.find_map(|(load, kept)| self.overloaded(grid, load, kept));
        Some(place(
            grid,
            capacity::estimate(near, far),
            self.target().rule.loss_ratio,
            self.final_target().width,
        ))
    }

    /// Mean forwarding rate at a load, where enough was lost to estimate it.
    fn overloaded(&self, grid: &Grid, load: usize, kept: &[Kept]) -> Option<capacity::LoadRate> {
        let share = 1.0 / kept.len().max(1) as f64;
        let loss: f64 = kept.iter().map(|trial| trial.loss_ratio * share).sum();
        let rate = kept.iter().map(|trial| trial.forwarding * share).sum();
        (loss >= TELLING_LOSS_WIDTHS * self.width).then_some((grid.load(load).0, rate))
    }

    /// The nominated load was measured; returns the step other goals should not undercut.
    pub fn won(&mut self, trials: &Trials, pick: Pick) -> usize {
        let bounds = trials.bounds(&self.target().rule);
        if pick.guided {
            // Settled either way: the guess is used up, and a confirmed one is where to go on.
            if bounds.lower == Some(pick.load) || bounds.upper == Some(pick.load) {
                self.guesses -= 1;
            }
            // Steps begin there and not at a load far away that this target started from.
            if bounds.lower == Some(pick.load) {
                (self.low, self.high) = (Some(pick.load), None);
                self.next_step = self.target().width;
            } else if bounds.upper == Some(pick.load) {
                self.low = self.low.filter(|low| *low < pick.load);
                self.high = Some(pick.load);
            }
        }
        let grow = match pick.grow {
            Grow::Never => false,
            Grow::OnLower => bounds.lower == Some(pick.load),
            Grow::OnUpper => bounds.upper == Some(pick.load),
        };
        if grow {
            self.next_step *= self.target().expansion;
            return self.next_step;
        }
        pick.width
    }
}

/// Where to put the lower bound when the path forwarded `rate`: half a width below, so that
/// lower bound and the load one width above keep the same distance from it. In a short trial
/// the path's own buffers add to the rate; the half width takes that up, too.
pub fn place(grid: &Grid, rate: f64, loss_ratio: f64, width: usize) -> usize {
    let at = grid.floor(nicety_model::Fps(rate / (1.0 - loss_ratio)));
    at.saturating_sub(width / 2)
}
