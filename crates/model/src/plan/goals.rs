//! `goals` of `[search]`: several loss goals in one search, strictest first.

use std::hash::{Hash, Hasher};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::goal::{LossGoal, MAX_GOALS};
use crate::kind;
use crate::plan::file::{LossShare, SearchFile};
use crate::source::{Diagnostic, Wrong};

/// Longest name of a goal, in characters.
const NAME_CHARS: usize = 16;

/// One goal: `{ name = "NDR", loss_ratio = 0 }`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    expecting = "goals in braces, as in goals = [{ name = \"NDR\", loss_ratio = 0 }]"
)]
#[schemars(extend("required" = ["loss_ratio"]))]
pub(super) struct GoalFile {
    /// What results call it; its loss in per cent when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<GoalName>,
    /// Highest share of frames that may be lost, 0 up to but without 1.
    #[schemars(with = "LossShare")]
    loss_ratio: Option<LossShare>,
}

/// A goal's name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
struct GoalName(String);

kind!(
    GoalName,
    "a name in quotes, as in { name = \"NDR\", loss_ratio = 0 }",
    |raw| {
        let text = raw.text()?;
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if text.chars().all(fits) && (1..=NAME_CHARS).contains(&text.len()) {
            Ok(Self(text.to_owned()))
        } else {
            Err(Wrong::value(
                "name = {value} is not a name of a goal",
                format!("write 1 to {NAME_CHARS} of A-Z, a-z, 0-9, \"-\", \"_\" and \".\""),
            ))
        }
    }
);

impl GoalFile {
    /// Bits of the loss; those of no number where there is none.
    fn bits(&self) -> u64 {
        self.loss_ratio.map_or(u64::MAX, |share| share.0.to_bits())
    }
}

// Lists refuse what stands in them twice: the same name and loss.
impl PartialEq for GoalFile {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.bits() == other.bits()
    }
}

impl Eq for GoalFile {}

impl Hash for GoalFile {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.bits().hash(state);
    }
}

impl From<LossGoal> for GoalFile {
    fn from(goal: LossGoal) -> Self {
        Self {
            name: goal.name.map(GoalName),
            loss_ratio: Some(LossShare(goal.loss_ratio)),
        }
    }
}

impl From<&GoalFile> for LossGoal {
    fn from(goal: &GoalFile) -> Self {
        Self {
            name: goal.name.as_ref().map(|name| name.0.clone()),
            loss_ratio: goal.loss_ratio.map_or(0.0, |share| share.0),
        }
    }
}

impl SearchFile {
    /// The goals of the plan; none where it has one loss ratio only.
    pub(super) fn loss_goals(&self) -> Vec<LossGoal> {
        let goals = self.goals.iter().flat_map(|list| list.iter());
        goals.map(LossGoal::from).collect()
    }

    /// What is wrong with the goals.
    pub(super) fn goal_problems(&self) -> Vec<Diagnostic> {
        let Some(goals) = &self.goals else {
            return Vec::new();
        };
        if self.loss_ratio.is_some() {
            let what = "goals and loss_ratio are both there";
            let remedy = "write loss_ratio as one of the goals";
            return vec![Diagnostic::new(goals.at(), what, remedy)];
        }
        if goals.len() > MAX_GOALS {
            let what = format!("goals has {} of them, more than {MAX_GOALS}", goals.len());
            return vec![Diagnostic::new(goals.at(), what, "remove some of them")];
        }
        let mut before: Vec<LossGoal> = Vec::new();
        for (file, at) in goals.placed() {
            let goal = LossGoal::from(file);
            if let Some((what, remedy)) = problem(file, &goal, &before) {
                return vec![Diagnostic::new(at, what, remedy)];
            }
            before.push(goal);
        }
        Vec::new()
    }
}

/// What is wrong with a goal behind those `before`, and what to do.
fn problem(file: &GoalFile, goal: &LossGoal, before: &[LossGoal]) -> Option<(String, String)> {
    if file.loss_ratio.is_none() {
        let remedy = "write one, as in { name = \"NDR\", loss_ratio = 0 }".to_owned();
        return Some(("a goal has no loss_ratio".to_owned(), remedy));
    }
    let name = goal.called();
    if before
        .iter()
        .any(|other| other.loss_ratio == goal.loss_ratio)
    {
        let loss = goal.loss_ratio;
        let what = format!("goals has loss_ratio = {loss} twice");
        return Some((what, "remove one of them".to_owned()));
    }
    if before.iter().any(|other| other.called() == name) {
        let what = format!("goals has the name {name:?} twice");
        return Some((what, "give one of them another name".to_owned()));
    }
    let last = before
        .last()
        .filter(|last| last.loss_ratio > goal.loss_ratio)?;
    let (stricter, looser) = (goal.loss_ratio, last.loss_ratio);
    Some((
        format!("loss_ratio = {stricter} stands behind loss_ratio = {looser} in goals"),
        "write the strictest goal first".to_owned(),
    ))
}
