//! MLRsearch: multiple loss ratio search (RFC 9971).
//!
//! Trials at discrete loads classify each load for each goal; strategies choose loads that
//! bring the relevant bounds of every goal within its width.

mod capacity;
mod initial;
mod interval;
mod selector;
mod strategy;
mod stretch;
mod trials;

use std::time::Duration;

use nicety_model::note::SearchNote;
use nicety_model::{Fps, Note};

use crate::goal::{Goal, GoalError};
use crate::grid::Grid;
use crate::machine::{Left, Outcome, Search, Seen, TrialRequest, out_of_time};
use crate::target::{Target, targets};
use crate::throughput::conditional_loss;

use initial::{Guess, Initial};
use selector::{Known, Selector, place};
use strategy::Pick;
use trials::{Kept, Trials};

/// The trial that is due.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Due {
    load: usize,
    duration: Duration,
    /// Goal that nominated it, and how; absent for the first trials.
    by: Option<(usize, Pick)>,
}

/// The search for one or more goals.
#[derive(Debug, Clone)]
pub struct Mlr {
    goals: Vec<Goal>,
    targets: Vec<Vec<Target>>,
    grid: Grid,
    top: usize,
    timeout: Duration,
    trials: Trials,
    initial: Initial,
    selectors: Vec<Selector>,
    shared_step: usize,
    /// Forwarding rate in a warm-up trial under overload.
    overload_rate: Option<f64>,
    due: Option<Due>,
    count: u32,
    wall: Duration,
    failed: Option<Note>,
    timed_out: bool,
}

impl Mlr {
    /// A search for `goals` with loads from `min` to `max`; it gives up after `timeout` of
    /// wall time. Results are those of the first goal unless asked for otherwise.
    ///
    /// # Errors
    /// A goal out of range, or none at all.
    pub fn new(goals: Vec<Goal>, min: Fps, max: Fps, timeout: Duration) -> Result<Self, GoalError> {
        if goals.is_empty() {
            return Err(GoalError {
                field: "goals",
                value: 0.0,
                must: "at least one",
            });
        }
        for goal in &goals {
            goal.check()?;
        }
        let widths: Vec<f64> = goals.iter().map(|goal| goal.width).collect();
        let grid = Grid::new(min, max, &widths);
        let mut search = Self {
            targets: goals.iter().map(|goal| targets(goal, &grid)).collect(),
            top: grid.top(),
            grid,
            goals,
            timeout,
            trials: Trials::default(),
            initial: Initial::Max { after: None },
            selectors: Vec::new(),
            shared_step: 0,
            overload_rate: None,
            due: None,
            count: 0,
            wall: Duration::ZERO,
            failed: None,
            timed_out: false,
        };
        search.plan();
        Ok(search)
    }

    fn of_goal(&self, goal: usize) -> Outcome {
        let goal = goal.min(self.goals.len() - 1);
        // A search cut short has what its coarser targets settled.
        let settled = |target: &&Target| self.trials.bounds(&target.rule).lower.is_some();
        let target = match self.targets[goal].iter().rev().find(settled) {
            Some(target) if self.timed_out => target,
            _ => self.final_target(goal),
        };
        let bounds = self.trials.bounds(&target.rule);
        let wanted = self.final_target(goal).width;
        let width_met = bounds.width().is_some_and(|width| width <= wanted);
        let loss = bounds.lower.map(|load| {
            let trials: Vec<(f64, f64)> = self
                .trials
                .at(load)
                .iter()
                .map(|t| (t.duration_s, t.loss_ratio))
                .collect();
            conditional_loss(&target.rule, &trials)
        });
        let lower = bounds.lower.map(|load| self.grid.load(load));
        Outcome {
            lower,
            upper: bounds.upper.map(|load| self.grid.load(load)),
            throughput: lower
                .zip(loss)
                .map(|(load, loss)| Fps(load.0 * (1.0 - loss))),
            width_met,
            at_max: !width_met && bounds.lower.is_some_and(|lower| lower >= self.top),
            at_min: bounds.lower.is_none() && bounds.upper == Some(0),
            failed: match &self.failed {
                None if self.timed_out && lower.is_none() => Some(out_of_time(self.timeout)),
                // Of several goals those that are reached have a result.
                Some(_) if self.goals.len() > 1 && lower.is_some() => None,
                failed => failed.clone(),
            },
            timed_out: self.timed_out,
            trials: self.count,
            wall_s: self.wall.as_secs_f64(),
        }
    }

    fn final_target(&self, goal: usize) -> &Target {
        let targets = &self.targets[goal];
        &targets[targets.len() - 1]
    }

    /// Coarsest targets: the shortest way to learn something.
    fn coarsest(&self) -> impl Iterator<Item = &Target> {
        self.targets.iter().filter_map(|targets| targets.first())
    }

    fn guess(&self) -> Guess<'_> {
        let coarse = |a: &&Target, b: &&Target| a.rule.loss_ratio.total_cmp(&b.rule.loss_ratio);
        let strictest = self
            .coarsest()
            .min_by(coarse)
            .unwrap_or(&self.targets[0][0]);
        let width = (0..self.goals.len())
            .map(|goal| self.final_target(goal).width)
            .max();
        Guess {
            grid: &self.grid,
            rule: strictest.rule,
            width: width.unwrap_or(1),
            top: self.top,
            overload_rate: self.overload_rate,
        }
    }

    /// Decides on the next trial. The trial that ends the search may end after the time-out.
    fn plan(&mut self) {
        self.due = None;
        if self.failed.is_some() || self.timed_out {
            return;
        }
        self.decide();
        if self.due.is_some() && self.wall > self.timeout && self.may_stop() {
            self.due = None;
            self.timed_out = true;
        }
    }

    /// Out of time, a search without any lower bound goes on for as long again: bounds far
    /// apart are a result, none is not.
    fn may_stop(&self) -> bool {
        let settled = |targets: &Vec<Target>| {
            targets
                .iter()
                .any(|target| self.trials.bounds(&target.rule).lower.is_some())
        };
        self.wall > 2 * self.timeout || self.targets.iter().all(settled)
    }

    fn decide(&mut self) {
        if let Some(load) = self.initial.load(self.top) {
            let longest = self.coarsest().map(|target| target.trial).max();
            let duration = longest.unwrap_or(self.goals[0].final_trial);
            self.due = Some(Due {
                load,
                duration,
                by: None,
            });
            return;
        }
        self.due = self.nominate();
        if self.due.is_none() {
            self.check_lowest();
        }
    }

    /// The winner among the goals' nominations: the lowest load, of these the longest trial,
    /// of these the widest step.
    fn nominate(&mut self) -> Option<Due> {
        let mut best: Option<Due> = None;
        for (goal, selector) in self.selectors.iter_mut().enumerate() {
            let known = Known {
                trials: &self.trials,
                grid: &self.grid,
                top: self.top,
                shared_step: self.shared_step,
                overload_rate: self.overload_rate,
            };
            let Some((pick, duration)) = selector.nominate(&known) else {
                continue;
            };
            let key = |load: usize, duration: Duration, width: usize| {
                (std::cmp::Reverse(load), duration, width)
            };
            let wins = best.is_none_or(|best| {
                let width = best.by.map_or(0, |(_, pick)| pick.width);
                key(pick.load, duration, pick.width) > key(best.load, best.duration, width)
            });
            if wins {
                best = Some(Due {
                    load: pick.load,
                    duration,
                    by: Some((goal, pick)),
                });
            }
        }
        let mut due = best?;
        if let Some((goal, _)) = due.by
            && let Some(longer) =
                self.selectors[goal].stretched(&self.trials, due.load, self.overload_rate)
        {
            due.duration = due.duration.max(longer);
        }
        Some(due)
    }

    fn check_lowest(&mut self) {
        for goal in 0..self.goals.len() {
            let outcome = self.of_goal(goal);
            if self.goals[goal].fail_fast && outcome.lower.is_none() {
                let lowest = self.grid.load(0);
                self.failed = Some(SearchNote::LowestLoadLost { load_fps: lowest }.into());
            }
        }
    }

    fn start_selectors(&mut self, low: usize, high: usize) {
        self.shared_step = high - low;
        self.selectors = self
            .targets
            .iter()
            .zip(&self.goals)
            .map(|(targets, goal)| Selector::new(targets.clone(), goal.width, (low, high)))
            .collect();
    }
}

impl Search for Mlr {
    fn next_trial(&self) -> Option<TrialRequest> {
        self.due.map(|due| TrialRequest {
            load: self.grid.load(due.load),
            duration: due.duration,
            window: None,
        })
    }

    fn observe(&mut self, seen: &Seen) {
        self.count += 1;
        self.wall += seen.wall;
        let load = self.grid.nearest(seen.load);
        let kept = Kept {
            duration_s: seen.duration.as_secs_f64(),
            loss_ratio: seen.loss_ratio.0,
            forwarding: seen.forwarding.0,
        };
        self.trials.add(load, kept);
        match self.due.filter(|due| due.load == load) {
            Some(Due {
                by: Some((goal, pick)),
                ..
            }) => {
                self.shared_step = self.selectors[goal].won(&self.trials, pick);
            }
            Some(Due { by: None, .. }) => {
                self.initial = self.initial.after(&kept, &self.guess());
                if let Initial::Done(low, high) = self.initial {
                    self.start_selectors(low, high);
                }
            }
            None => {}
        }
        self.plan();
    }

    fn cap(&mut self, max: Fps) {
        if max.0 < self.grid.load(0).0 {
            let load_fps = self.grid.load(0);
            self.failed = Some(SearchNote::LowestLoadUnreachable { load_fps }.into());
        }
        self.top = self.top.min(self.grid.floor(max));
        let running = matches!(self.initial, Initial::Done(..));
        self.initial = self.initial.capped(self.top);
        for selector in &mut self.selectors {
            selector.cap(self.top);
        }
        if let (false, Initial::Done(low, high)) = (running, self.initial) {
            self.start_selectors(low, high);
        }
        self.plan();
    }

    fn expect(&mut self, load: Fps) {
        if self.count > 0 || load.0 >= self.grid.load(self.top).0 {
            return;
        }
        self.initial = Initial::First {
            at: self.grid.floor(load),
            hint: true,
        };
        self.plan();
    }

    fn expect_forwarding(&mut self, rate: Fps) {
        if self.count > 0 {
            return;
        }
        self.overload_rate = Some(rate.0);
        let guess = self.guess();
        let at = place(&self.grid, rate.0, guess.rule.loss_ratio, guess.width);
        // A path that forwarded nearly all of the highest load must be asked at that load.
        if at + guess.width < self.top {
            self.expect(self.grid.load(at));
        }
    }

    fn outcome(&self) -> Outcome {
        self.of_goal(0)
    }

    fn goals(&self) -> usize {
        self.goals.len()
    }

    fn outcome_of(&self, goal: usize) -> Outcome {
        self.of_goal(goal)
    }

    fn left(&self) -> Left {
        let mut left = Left::default();
        if self.due.is_none() {
            return left;
        }
        if !matches!(self.initial, Initial::Done(..)) {
            // Two bounds settled by good and bad time, and what finding them took on paths
            // without noise.
            let rule = &self.final_target(0).rule;
            let good = rule.duration_sum_s * (1.0 - rule.exceed_ratio);
            let bad = rule.duration_sum_s * rule.exceed_ratio;
            left.seconds = good + bad + 2.0 * rule.full_length_s.min(1.0);
            left.trials = (good / rule.full_length_s).ceil() as u32 + 3;
            return left;
        }
        for (goal, selector) in self.selectors.iter().enumerate() {
            let target = self.final_target(goal);
            let rule = &target.rule;
            let near = self.trials.bounds(&selector.target().rule);
            let missing = |load: Option<usize>, lower: bool| {
                let sums = load.map_or_else(Default::default, |load| self.trials.sums(load, rule));
                if lower {
                    sums.good_missing_s(rule)
                } else {
                    sums.bad_missing_s(rule)
                }
            };
            let mut seconds = missing(near.lower, true);
            if near.upper.is_some() || near.lower.is_none_or(|lower| lower < self.top) {
                seconds += missing(near.upper, false);
            }
            let width = near.width().unwrap_or(16 * target.width).max(target.width);
            let splits = (width as f64 / target.width as f64).log2().ceil();
            seconds += splits * selector.target().rule.full_length_s;
            left.seconds += seconds.max(rule.full_length_s.min(1.0));
            left.trials += (seconds / rule.full_length_s).ceil().max(1.0) as u32;
        }
        left
    }

    fn decidable_by(&self, duration: Duration) -> Option<Fps> {
        let due = self.due?;
        let (0, _) = due.by? else { return None };
        let rule = &self.final_target(0).rule;
        // Would one good trial there leave nothing to be asked? Try it on a copy.
        let mut copy = self.clone();
        let load = self.grid.load(due.load);
        if self.trials.class(due.load, rule) != crate::classify::Class::Undecided
            || self.trials.sums(due.load, rule).good_long <= 0.0
        {
            return None;
        }
        copy.observe(&Seen {
            load,
            carried: load,
            duration,
            wall: duration,
            loss_ratio: nicety_model::LossRatio(0.0),
            single: None,
            clean: 1.0,
            windows: None,
            forwarding: load,
        });
        let outcome = copy.outcome();
        let ended = copy.due.is_none() && outcome.failed.is_none() && !outcome.timed_out;
        (ended && outcome.lower == Some(load)).then_some(load)
    }
}

#[cfg(test)]
mod tests;
