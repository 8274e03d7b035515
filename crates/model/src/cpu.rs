//! Where CPU time went during a trial.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Shares of one CPU's time, each in `0.0..=1.0`, from `/proc/stat`.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct CoreUse {
    /// CPU number.
    pub cpu: u32,
    /// User and nice time.
    pub user: f64,
    /// System time, kernel threads (threaded NAPI among them) included.
    pub system: f64,
    /// Hard interrupts.
    pub irq: f64,
    /// Software interrupts.
    pub softirq: f64,
    /// Time the hypervisor gave to somebody else.
    pub steal: f64,
    /// Idle and I/O wait.
    pub idle: f64,
}

impl CoreUse {
    /// Everything but idle: `1 - idle`.
    pub fn busy(&self) -> f64 {
        (1.0 - self.idle).clamp(0.0, 1.0)
    }
}

/// The busiest CPU and who used most of it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct WhoUse {
    /// CPU number.
    pub cpu: u32,
    /// Its busy share, `0.0..=1.0`.
    pub busy_ratio: f64,
    /// Its greatest user: `tester`, `softirq`, `napi/d0`, `vhost-1234`, …
    pub who: String,
    /// What each of its users took of it, `0.0..=1.0`; empty in older runs.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub users: BTreeMap<String, f64>,
}

/// CPU use of a guest by its own count.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct GuestUse {
    /// Which guest.
    pub guest: String,
    /// Split per virtual CPU. What the host takes from it shows as `steal` under KVM, and not at
    /// all under emulation.
    pub cores: Vec<CoreUse>,
}

/// A thread of the path that never sleeps: its CPU is busy at any load.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct PollUse {
    /// Its name in [`CpuUse::who`].
    pub who: String,
    /// Share of its time in which it had frames to carry, `0.0..=1.0`, by its own count; absent
    /// where its program does not count that.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub useful_ratio: Option<f64>,
}

/// CPU use during one trial.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct CpuUse {
    /// Busy share per CPU in the order of `cores`.
    pub busy_ratio: Vec<f64>,
    /// Full split per CPU.
    pub cores: Vec<CoreUse>,
    /// The CPU that had least left.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub busiest: Option<WhoUse>,
    /// CPUs' worth of time by user: 1.0 is one CPU all the time.
    pub who: BTreeMap<String, f64>,
    /// CPU time of the path (all busy time but the tester's) per frame received, in µs.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub us_per_frame: Option<f64>,
    /// The guests on the path, as they see their own CPUs; their virtual CPUs' threads are part
    /// of the host's figures above.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub guests: Vec<GuestUse>,
    /// Threads of the path that poll: being busy says nothing about them.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub polling: Vec<PollUse>,
}

impl CpuUse {
    /// The thread of this name, if it polls.
    pub fn polls(&self, who: &str) -> Option<&PollUse> {
        self.polling.iter().find(|thread| thread.who == who)
    }

    /// The thread that polls on the busiest CPU, whoever else used more of it: a CPU with such a
    /// thread is busy at any load.
    pub fn polls_on_busiest(&self) -> Option<&PollUse> {
        let busiest = self.busiest.as_ref()?;
        let mut users = std::iter::once(&busiest.who).chain(busiest.users.keys());
        users.find_map(|who| self.polls(who))
    }
}
