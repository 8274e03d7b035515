//! Several goals in one search, where each has a machine of its own: what one asks for, the others
//! learn from as well (RFC 9971's purpose; MLRsearch itself has [`crate::mlr`]).
//!
//! The loosest goal that is not settled asks. Its loads lie highest, and what was good there is good
//! for it and often for a stricter one; the strictest comes last, when the others have told it where
//! its edge cannot be.

mod bisections;
#[cfg(test)]
mod tests;

use std::time::Duration;

use nicety_model::Fps;
use nicety_model::windows::SLOT_NS;

use crate::edge::{EdgeSearch, window};
use crate::machine::{Left, Outcome, Search, Seen, TrialRequest};

pub use bisections::Bisections;

/// Searches by windows, one for each goal, strictest first.
#[derive(Debug, Clone)]
pub struct Edges {
    goals: Vec<f64>,
    edges: Vec<EdgeSearch>,
    trials: u32,
    wall: Duration,
}

impl Edges {
    /// Searches between `min` and `max` for each of `goals`, strictest first.
    pub fn new(goals: &[f64], min: Fps, max: Fps, timeout: Duration) -> Self {
        let edge = |goal: &f64| EdgeSearch::new(*goal, min, max, timeout);
        Self {
            goals: goals.to_vec(),
            edges: goals.iter().map(edge).collect(),
            trials: 0,
            wall: Duration::ZERO,
        }
    }

    /// The goal that asks.
    fn asking(&self) -> Option<usize> {
        self.edges
            .iter()
            .rposition(|edge| edge.next_trial().is_some())
    }

    /// Goals other than the one that asks that a trial tells something.
    fn listening(&self, asking: usize) -> impl Iterator<Item = usize> + '_ {
        // A look at whole windows has windows of its own.
        let none = self.edges[asking].is_checking();
        let all = self.edges.iter().enumerate();
        all.filter(move |(goal, edge)| !none && *goal != asking && edge.listens())
            .map(|(goal, _)| goal)
    }
}

impl Search for Edges {
    fn next_trial(&self) -> Option<TrialRequest> {
        let asking = self.asking()?;
        let mut request = self.edges[asking].next_trial()?;
        let load = request.load.0;
        for goal in self.listening(asking) {
            let own = window::of(load, self.goals[goal]);
            let wanted = self.edges[goal].length(own);
            request.duration = request.duration.max(wanted);
            // Slots can be put together to windows of any goal.
            if request.window != Some(own) {
                request.window = Some(Duration::from_nanos(SLOT_NS));
            }
        }
        Some(request)
    }

    fn window_of(&self, goal: usize) -> Option<Duration> {
        let asking = self.asking()?;
        let request = self.edges[asking].next_trial()?;
        if goal == asking {
            return request.window;
        }
        self.listening(asking)
            .find(|listening| *listening == goal)
            .map(|goal| window::of(request.load.0, self.goals[goal]))
    }

    fn observe(&mut self, seen: &Seen) {
        self.observe_goals(&vec![*seen; self.goals.len()]);
    }

    fn observe_goals(&mut self, seen: &[Seen]) {
        let Some(asking) = self.asking() else { return };
        let listening: Vec<usize> = self.listening(asking).collect();
        if let Some(seen) = seen.get(asking) {
            self.trials += 1;
            self.wall += seen.wall;
            self.edges[asking].observe(seen);
        }
        for goal in listening {
            if let Some(seen) = seen.get(goal) {
                self.edges[goal].overhear(seen);
            }
        }
    }

    fn cap(&mut self, max: Fps) {
        self.edges.iter_mut().for_each(|edge| edge.cap(max));
    }

    fn skip(&mut self) {
        if let Some(asking) = self.asking() {
            self.edges[asking].skip();
        }
    }

    fn expect(&mut self, load: Fps) {
        self.edges.iter_mut().for_each(|edge| edge.expect(load));
    }

    fn expect_of(&mut self, goal: usize, load: Fps) {
        if let Some(edge) = self.edges.get_mut(goal) {
            edge.expect(load);
        }
    }

    fn expect_forwarding(&mut self, rate: Fps) {
        let edges = self.edges.iter_mut();
        edges.for_each(|edge| edge.expect_forwarding(rate));
    }

    fn outcome(&self) -> Outcome {
        self.outcome_of(0)
    }

    fn goals(&self) -> usize {
        self.goals.len()
    }

    fn outcome_of(&self, goal: usize) -> Outcome {
        let goal = goal.min(self.goals.len().saturating_sub(1));
        let mut outcome = self
            .edges
            .get(goal)
            .map_or_else(Outcome::default, Search::outcome);
        // A load that meets a stricter goal meets this one.
        let stricter = self.edges.iter().take(goal).map(Search::outcome);
        let carried = stricter
            .filter(|outcome| outcome.failed.is_none())
            .filter_map(|outcome| Some(outcome.lower?.0))
            .fold(0.0, f64::max);
        if outcome.lower.is_some_and(|lower| lower.0 < carried) {
            outcome.lower = Some(Fps(carried));
            outcome.throughput = outcome.lower;
            outcome.upper = outcome.upper.map(|upper| Fps(upper.0.max(carried)));
        }
        outcome.trials = self.trials;
        outcome.wall_s = self.wall.as_secs_f64();
        outcome
    }

    fn left(&self) -> Left {
        let left = self.edges.iter().map(Search::left);
        // What one goal asks for, the others learn from.
        left.max_by(|a, b| a.seconds.total_cmp(&b.seconds))
            .unwrap_or_default()
    }
}
