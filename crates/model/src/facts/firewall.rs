//! Number of firewall rules, by table.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One chain of nftables, or of the older tables, by the hook from which its rules are reached.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct FirewallChain {
    /// Family: `ip`, `ip6`, `inet`, `arp`.
    pub family: String,
    /// Table.
    pub table: String,
    /// Chain.
    pub chain: String,
    /// `prerouting`, `forward`, `postrouting`, …
    pub hook: String,
    /// Rules, those of the chains it jumps to included, each chain once.
    pub rules: u32,
    /// Rules among them that ask for the port of a bridge (`physdev`).
    pub physdev: u32,
}

impl FirewallChain {
    /// Whether a bridged frame is shown to it when bridge netfilter calls this family's hooks.
    pub fn sees_bridged(&self) -> bool {
        matches!(
            self.hook.as_str(),
            "prerouting" | "forward" | "postrouting" | "input"
        ) && matches!(self.family.as_str(), "ip" | "ip6" | "inet" | "arp")
    }
}
