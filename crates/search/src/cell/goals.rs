//! What a cell found for each of several goals.

use nicety_model::goal::GoalBounds;
use nicety_model::note::SearchNote;
use nicety_model::{GoalResult, LossGoal};

use super::Cell;
use crate::machine::Outcome;
use crate::verdict::{Evidence, judge};

impl Cell {
    /// Where the search stands for the goal of this number, from 0 for the strictest.
    pub fn outcome_of(&self, goal: usize) -> Outcome {
        self.search.outcome_of(goal)
    }

    /// Bounds so far for each of several goals, strictest first; none where there is one.
    pub fn goal_bounds(&self) -> Vec<GoalBounds> {
        let goals = self.plan.goals.iter().enumerate();
        let of = |(number, goal): (usize, &LossGoal)| GoalBounds {
            goal: goal.called(),
            bounds: self.search.outcome_of(number).bounds(),
        };
        goals.map(of).collect()
    }

    /// The results, strictest goal first; none where there is one goal. `evidence` is that of the
    /// strictest one, which alone has a confirm trial.
    pub(super) fn goal_results(&self, evidence: &Evidence) -> Vec<GoalResult> {
        let goals = self.plan.goals.iter().enumerate();
        let of = |(number, goal)| self.goal_result(number, goal, evidence);
        goals.map(of).collect()
    }

    fn goal_result(&self, number: usize, goal: &LossGoal, strictest: &Evidence) -> GoalResult {
        let outcome = self.search.outcome_of(number);
        let evidence = match number {
            0 => strictest.clone(),
            _ => self.evidence_of(number, goal, strictest),
        };
        let throughput = outcome.throughput.filter(|_| evidence.failed.is_none());
        let (verdict, notes) = judge(&evidence);
        GoalResult {
            goal: goal.called(),
            loss_goal: goal.loss_ratio,
            throughput_fps: throughput.map(|fps| fps.0),
            bounds: outcome.bounds(),
            estimate: throughput.map(|fps| self.estimate(fps, &outcome)),
            window_s: self.window_s(throughput, goal.loss_ratio),
            verdict,
            notes,
        }
    }

    /// What is known of a goal that has no confirm trial: of that, nothing is.
    fn evidence_of(&self, number: usize, goal: &LossGoal, strictest: &Evidence) -> Evidence {
        let outcome = self.search.outcome_of(number);
        let apart = self.left_apart(&outcome);
        let above = self.above(&outcome, goal.loss_ratio);
        let ended = self.search.next_trial().is_none();
        // What stopped the whole cell stopped this goal, unless the strictest one only was not met.
        let none = || SearchNote::NoLoadInGoal.into();
        let failed = match (outcome.failed, outcome.lower) {
            _ if !ended => strictest.failed.clone(),
            (None, Some(_)) => None,
            (failed, _) => failed.or_else(|| Some(none())),
        };
        Evidence {
            failed,
            throughput: outcome.throughput,
            loss_goal: goal.loss_ratio,
            at_max: outcome.at_max,
            above,
            apart,
            late: None,
            confirm: None,
            held: None,
            steal: None,
            stalled: None,
            others: None,
            ..strictest.clone()
        }
    }
}
