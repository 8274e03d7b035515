//! Counters read twice, and the time in between.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::{NetFacts, SoftnetFacts};
use crate::driver::{Meaning, Tally, tallies, tally};

/// What the kernel counted between two readings. Counters that went backwards, as after a reset
/// of the port, are left out.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct WindowFacts {
    /// Time between the readings, in s; more than 0.
    pub seconds: f64,
    /// Frames per CPU, all interfaces together.
    pub softnet: Vec<SoftnetFacts>,
    /// By interface, its counters that moved: the kernel's by their names.
    pub counters: BTreeMap<String, BTreeMap<String, u64>>,
    /// By interface, the driver's own counters that moved: of drops, and those nicety knows.
    pub driver_drops: BTreeMap<String, BTreeMap<String, u64>>,
    /// By interface, frames received by each queue, where the driver counts them.
    pub queue_frames: BTreeMap<String, BTreeMap<u32, u64>>,
    /// Interrupts of interfaces by CPU; CPUs that had none left out.
    pub interrupts: BTreeMap<u32, u64>,
    /// Share of the time that a CPU was not idle, 0 to 1.
    pub busy: BTreeMap<u32, f64>,
    /// Share of the time that a CPU spent in soft interrupts, 0 to 1; empty when not counted.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub softirq: BTreeMap<u32, f64>,
    /// Share of one CPU's time that a vhost thread used, 0 to 1, by thread id.
    pub vhost_busy: BTreeMap<u32, f64>,
    /// Times a CPU entered an idle state, by the state's name; states not entered left out.
    pub slept: BTreeMap<u32, BTreeMap<String, u64>>,
    /// Datagrams dropped because a socket's buffer was full; absent when not counted.
    pub udp_rcvbuf_errors: Option<u64>,
    /// Counters of connection tracking that moved, as [`ConntrackFacts`](super::ConntrackFacts) has them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub conntrack: BTreeMap<String, u64>,
}

impl WindowFacts {
    /// A counter of an interface, 0 when it did not move.
    pub fn counter(&self, interface: &str, name: &str) -> u64 {
        let counters = self.counters.get(interface);
        counters.and_then(|c| c.get(name)).copied().unwrap_or(0)
    }

    /// Share of all CPUs' time that was not idle; 0 when not known.
    pub fn host_busy(&self) -> f64 {
        self.busy.values().sum::<f64>() / self.busy.len().max(1) as f64
    }

    /// What an interface counted of one kind; `None` when nothing did.
    pub fn tally(&self, net: &NetFacts, meaning: Meaning) -> Option<Tally> {
        self.tallies(net, meaning).into_iter().next()
    }

    /// All that an interface counted of one kind, by counter, the largest first.
    pub fn tallies(&self, net: &NetFacts, meaning: Meaning) -> Vec<Tally> {
        let kernel = self.counters.get(net.name()).into_iter().flatten();
        let own = self.driver_drops.get(net.name()).into_iter().flatten();
        tallies(net.link.driver.as_deref(), meaning, kernel, own)
    }
}

impl NetFacts {
    /// What it counted of one kind since it was made; `None` when nothing did.
    pub fn tally(&self, meaning: Meaning) -> Option<Tally> {
        let link = &self.link;
        let driver = link.driver.as_deref();
        tally(driver, meaning, &link.counters, &link.driver_drops)
    }

    /// Frames dropped without a free descriptor since the interface was made.
    pub fn ring_drops(&self) -> u64 {
        self.tally(Meaning::FullRing).map_or(0, |drops| drops.count)
    }
}
