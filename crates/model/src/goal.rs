//! Several loss goals of one search (RFC 9971), and what it found for each.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::cell::{CellResult, SearchBounds};
use crate::estimate::Estimate;
use crate::note::Note;
use crate::run::{CellSummary, Run};
use crate::stats::Spread;
use crate::units::Fps;
use crate::verdict::Verdict;

/// Most goals of one search.
pub const MAX_GOALS: usize = 8;

/// One of several goals of a search.
#[derive(Debug, Clone, PartialEq)]
pub struct LossGoal {
    /// What the plan calls it; see [`Self::called`] where it has no name.
    pub name: Option<String>,
    /// Highest share of frames that may be lost, `0.0..1.0`.
    pub loss_ratio: f64,
}

impl LossGoal {
    /// Its name, or its loss in words: `0.01 %`.
    pub fn called(&self) -> String {
        self.name
            .clone()
            .unwrap_or_else(|| per_cent(self.loss_ratio))
    }
}

/// A share in per cent with all its digits, and none that binary fractions add: `0.01 %`.
fn per_cent(share: f64) -> String {
    let digits = format!("{:.8e}", share * 100.0);
    format!("{} %", digits.parse().unwrap_or(share))
}

/// What a search under way knows for one of several goals.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GoalBounds {
    /// Name of the goal, or its loss in words.
    pub goal: String,
    /// Bounds so far.
    #[serde(flatten)]
    pub bounds: SearchBounds,
}

/// What one visit found for one of several goals.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GoalResult {
    /// Name of the goal, or its loss in words.
    pub goal: String,
    /// Highest allowed loss ratio.
    pub loss_goal: f64,
    /// Conditional throughput (RFC 9971), per direction; absent where no load met the goal.
    pub throughput_fps: Option<f64>,
    /// Bounds of the search.
    #[serde(flatten)]
    pub bounds: SearchBounds,
    /// Interval of the throughput from this visit alone.
    pub estimate: Option<Estimate>,
    /// Length of the windows by which loads were judged, in seconds; absent where whole trials were.
    pub window_s: Option<f64>,
    /// How far to trust the number. Only the strictest goal has a confirm trial.
    pub verdict: Verdict,
    /// Explanations, most important first.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub notes: Vec<Note>,
}

/// What all visits of a cell found for one of several goals.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GoalSummary {
    /// Name of the goal, or its loss in words.
    pub goal: String,
    /// Highest allowed loss ratio.
    pub loss_goal: f64,
    /// The result in frames per second and direction, as that of a cell.
    #[serialize_always]
    pub throughput_fps: Option<f64>,
    /// Throughput of the visits that have one.
    pub spread_fps: Option<Spread>,
    /// Median of the visits with its interval.
    pub estimate: Option<Estimate>,
    /// Verdict of the visits together.
    pub verdict: Verdict,
    /// Why the verdict is not `ok`, the most important reason first.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub why: Vec<Note>,
}

impl CellResult {
    /// The same visit as one with only the goal of this number, as the plan lists them: its numbers,
    /// verdict and notes. Its confirm trial and what followed it are the strictest goal's and stay
    /// with that.
    pub fn of_goal(&self, number: usize) -> Option<Self> {
        let goal = self.goals.get(number)?;
        if number == 0 {
            return Some(Self {
                goals: Vec::new(),
                ..self.clone()
            });
        }
        let key = &self.key;
        let throughput = goal.throughput_fps.map(Fps);
        Some(Self {
            cell: cell_of(&self.cell, &goal.goal, goal.loss_goal),
            loss_goal: goal.loss_goal,
            throughput_fps: goal.throughput_fps,
            throughput_l1_mbps: throughput.map(|fps| key.l1_mbps(fps)),
            throughput_l2_mbps: throughput.map(|fps| key.l2_mbps(fps)),
            bounds: goal.bounds,
            estimate: goal.estimate,
            window_s: goal.window_s,
            confirm: None,
            held: None,
            latency_us: None,
            latency_by_load_us: Vec::new(),
            curve: Vec::new(),
            back_to_back: None,
            recovery: None,
            reset: None,
            hardware_latency: Vec::new(),
            cpu: None,
            loss_ledger: Vec::new(),
            fates: Vec::new(),
            frames: None,
            guests: Vec::new(),
            sizes: Vec::new(),
            verdict: goal.verdict,
            notes: goal.notes.clone(),
            goals: Vec::new(),
            ..self.clone()
        })
    }
}

impl Run {
    /// The run with a cell of its own for every goal but the strictest, named after it; `None` where
    /// it has one goal only. A goal of the same name with another loss is another cell.
    pub fn by_goal(&self) -> Option<Self> {
        let more = |cell: &CellResult| cell.goals.len() > 1;
        if !self.visits.iter().any(more) {
            return None;
        }
        let mut run = self.clone();
        run.visits.clear();
        for cell in &self.visits {
            run.visits.push(cell.clone());
            run.visits
                .extend((1..cell.goals.len()).filter_map(|number| cell.of_goal(number)));
        }
        run.cells.clear();
        for summary in &self.cells {
            run.cells.push(summary.clone());
            let goals = summary.goals.iter().skip(1);
            run.cells.extend(goals.map(|goal| CellSummary {
                cell: cell_of(&summary.cell, &goal.goal, goal.loss_goal),
                throughput_fps: goal.throughput_fps,
                spread_fps: goal.spread_fps,
                estimate: goal.estimate,
                verdict: goal.verdict,
                why: goal.why.clone(),
                goals: Vec::new(),
                ..summary.clone()
            }));
        }
        Some(run)
    }
}

/// Stands behind a cell's name where it is that of one of its goals.
const OF_GOAL: &str = "/goal=";

/// Name of a cell for one of its goals: `bridge/64/uni/goal=PDR:0.005`.
pub fn cell_of(cell: &str, goal: &str, loss: f64) -> String {
    if goal == per_cent(loss) {
        format!("{cell}{OF_GOAL}{loss}")
    } else {
        format!("{cell}{OF_GOAL}{goal}:{loss}")
    }
}

/// What a name that [`cell_of`] makes says.
#[derive(Debug, Clone, PartialEq)]
pub struct OfGoal<'n> {
    /// The cell.
    pub cell: &'n str,
    /// Name of the goal, or its loss in words.
    pub goal: String,
    /// Highest allowed loss ratio.
    pub loss_goal: f64,
}

impl<'n> OfGoal<'n> {
    /// Reads a name; `None` where it is that of a cell itself.
    pub fn read(name: &'n str) -> Option<Self> {
        let (cell, of) = name.split_once(OF_GOAL)?;
        let (goal, loss) = match of.rsplit_once(':') {
            Some((goal, loss)) => (Some(goal), loss),
            None => (None, of),
        };
        let loss_goal = loss.parse().ok()?;
        Some(Self {
            cell,
            goal: goal.map_or_else(|| per_cent(loss_goal), str::to_owned),
            loss_goal,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goals_are_called_by_their_name_or_loss() {
        for (loss, words) in [
            (0.0, "0 %"),
            (1e-4, "0.01 %"),
            (1.1e-4, "0.011 %"),
            (5e-3, "0.5 %"),
            (1e-9, "0.0000001 %"),
        ] {
            let mut goal = LossGoal {
                name: None,
                loss_ratio: loss,
            };
            assert_eq!(goal.called(), words);
            let cell = cell_of("a/64/uni", &goal.called(), loss);
            assert_eq!(cell, format!("a/64/uni/goal={loss}"));
            let read = OfGoal::read(&cell).unwrap();
            assert_eq!((read.cell, read.goal.as_str()), ("a/64/uni", words));
            assert_eq!(read.loss_goal, loss);
            goal.name = Some("NDR".to_owned());
            assert_eq!(goal.called(), "NDR");
        }
        assert_eq!(cell_of("a/64/uni", "PDR", 0.005), "a/64/uni/goal=PDR:0.005");
        let read = OfGoal::read("a/64/uni/goal=PDR:0.005").unwrap();
        assert_eq!((read.goal.as_str(), read.loss_goal), ("PDR", 0.005));
        assert_eq!(OfGoal::read("a/64/uni"), None);
    }
}
