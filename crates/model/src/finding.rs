//! Findings: what is wrong with a host, and what would be right.

use std::cmp::Reverse;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::knob::Change;

crate::keywords::keywords! {
    /// What the host is to be good at.
    #[derive(Default)]
    Goal {
        /// Much data in few connections.
        #[default]
        Throughput = "throughput",
        /// Short and even response times.
        Latency = "latency",
        /// Many frames per second from one interface to another.
        Forwarding = "forwarding",
    }
}

crate::keywords::keywords! {
    /// How much can go wrong.
    Risk {
        /// At worst it does not help.
        Low = "low",
        /// A short interruption, or resources taken from other programs.
        Medium = "medium",
        /// May cut connections or weaken protection.
        High = "high",
    }
}

crate::keywords::keywords! {
    /// What a change usually brings where its rule fires. It ranks findings and is no measurement.
    Gain {
        /// A few per cent, or safety for later.
        Small = "small",
        /// Plainly measurable.
        Medium = "medium",
        /// Often the bottleneck itself.
        Large = "large",
    }
}

/// How sure the rule is that the change helps.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Certainty {
    /// A rule of thumb: measure before and after.
    Guess,
    /// Usually so.
    Likely,
    /// Follows from how the kernel works.
    Certain,
}

/// When a change takes effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// At once.
    Now,
    /// After the host has booted again.
    Reboot,
    /// After the virtual machine has been started again.
    VmRestart,
    /// After a kernel module has been loaded again.
    ModuleReload,
    /// The kernel does not let it be changed.
    Never,
    /// Nothing to change: good to know.
    Nothing,
}

/// One thing found.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// Id of the rule: `T04`.
    pub id: String,
    /// Name of the rule: `irq-affinity`.
    pub rule: String,
    /// Interface, virtual machine or other thing it is about.
    pub subject: String,
    /// What is.
    pub is: String,
    /// What should be.
    pub should: String,
    /// The formula with its numbers, where there is one.
    pub formula: Option<String>,
    /// Why.
    pub why: String,
    /// Where that is written.
    pub source: String,
    /// What it costs and whom it may hit.
    pub cost: String,
    /// How much can go wrong.
    pub risk: Risk,
    /// How sure.
    pub certainty: Certainty,
    /// What the change usually brings; absent in plans of older versions.
    #[serde(default)]
    pub gain: Option<Gain>,
    /// When it takes effect.
    pub effect: Effect,
    /// What can be changed now, in no order.
    pub changes: Vec<Change>,
    /// What a person has to do: command lines, files, boot parameters.
    pub advice: Vec<String>,
    /// Others that set the same.
    #[serde(default)]
    pub conflicts: Vec<String>,
}

/// A rule that could not decide.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Waiting {
    /// Id of the rule.
    pub id: String,
    /// Name of the rule.
    pub rule: String,
    /// What it lacks and what to do, in sentences.
    pub needs: String,
    /// The option of `nicety tune plan` that lets it decide.
    #[serde(default)]
    pub option: Option<String>,
}

/// What the rules looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct LookedAt {
    /// CPUs online.
    pub cpus: usize,
    /// Physical ports and paravirtual NICs that are up.
    pub nics: usize,
    /// Virtual machines.
    pub guests: usize,
}

/// What the rules say about a host.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Advice {
    /// Schema version.
    pub schema: u32,
    /// What the host is to be good at.
    pub goal: Goal,
    /// The boot the facts were read in; numbers of interrupts and threads hold no longer.
    pub boot_id: Option<String>,
    /// Who has to answer packets of a larger MTU for it to stay.
    pub peer: Option<std::net::IpAddr>,
    /// Number of rules that were asked; 0 in plans of older versions.
    #[serde(default)]
    pub checked: usize,
    /// What they looked at; absent in plans of older versions.
    #[serde(default)]
    pub looked_at: Option<LookedAt>,
    /// Findings left out because they are riskier than asked for.
    #[serde(default)]
    pub riskier: usize,
    /// Findings by rule.
    pub findings: Vec<Finding>,
    /// Rules that could not decide.
    pub waiting: Vec<Waiting>,
}

impl Finding {
    /// Whether a change of it has an effect at all.
    pub fn is_actionable(&self) -> bool {
        !matches!(self.effect, Effect::Nothing)
    }
}

impl Advice {
    /// All findings, those that bring most first, then those of least risk.
    pub fn ranked(&self) -> Vec<&Finding> {
        let mut ranked: Vec<&Finding> = self.findings.iter().collect();
        ranked.sort_by_key(|finding| {
            let brings = (finding.is_actionable(), finding.gain);
            (Reverse(brings), finding.risk, Reverse(finding.certainty))
        });
        ranked
    }

    /// All changes in the order in which they are made, each setting once.
    pub fn changes(&self) -> Vec<&Change> {
        let mut changes: Vec<&Change> = self.findings.iter().flat_map(|f| &f.changes).collect();
        changes.sort_by_key(|change| change.knob.rank());
        let mut seen = std::collections::BTreeSet::new();
        changes.retain(|change| seen.insert(&change.knob));
        changes
    }
}

impl std::str::FromStr for Goal {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::of(text).ok_or_else(|| {
            format!("{text:?} is not a goal; write throughput, latency or forwarding")
        })
    }
}

impl std::str::FromStr for Risk {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::of(text).ok_or_else(|| format!("{text:?} is not a risk; write low, medium or high"))
    }
}

/// A rule, as `nicety explain` tells what it is about.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RuleReport {
    /// Id: `T04`.
    pub id: String,
    /// Name: `irq-affinity`.
    pub name: String,
    /// What is so on a host that needs no change.
    pub checks: String,
    /// When it finds something.
    pub fires: String,
    /// The settings that nicety changes; absent where a person has to act.
    pub writes: Option<String>,
    /// What a change usually brings.
    pub gain: Gain,
    /// Why: one for each kind of finding.
    pub reasons: Vec<RuleReason>,
    /// How a change is undone.
    pub undo: String,
}

/// Why a rule wants something otherwise.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RuleReason {
    /// Why.
    pub why: String,
    /// Where that is written.
    pub source: String,
    /// What it costs and whom it may hit.
    pub cost: String,
    /// How much can go wrong.
    pub risk: Risk,
}
