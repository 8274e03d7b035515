//! What is found wrong with a host, and what would be right.

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
        /// A short interruption, or resources taken from somebody else.
        Medium = "medium",
        /// May cut connections or weaken protection.
        High = "high",
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Waiting {
    /// Id of the rule.
    pub id: String,
    /// Name of the rule.
    pub rule: String,
    /// What it waits for.
    pub needs: String,
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
    /// Findings by rule.
    pub findings: Vec<Finding>,
    /// Rules that could not decide.
    pub waiting: Vec<Waiting>,
}

impl Advice {
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
        Self::of(text)
            .ok_or_else(|| format!("{text:?} is no goal; write throughput, latency or forwarding"))
    }
}
