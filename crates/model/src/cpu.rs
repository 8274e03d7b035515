//! Where CPU time went during a trial.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

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
    /// Time that the hypervisor gave to another machine.
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
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct PollUse {
    /// Its name in [`CpuUse::who`].
    pub who: String,
    /// Share of its time in which it had frames to carry, `0.0..=1.0`, by its own count; absent
    /// where its program does not count that.
    pub useful_ratio: Option<f64>,
}

/// CPU use during one trial.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct CpuUse {
    /// Busy share per CPU in the order of `cores`.
    pub busy_ratio: Vec<f64>,
    /// Full split per CPU.
    pub cores: Vec<CoreUse>,
    /// The CPU that had least left.
    pub busiest: Option<WhoUse>,
    /// CPUs' worth of time by user: 1.0 is one CPU all the time.
    pub who: BTreeMap<String, f64>,
    /// CPU time of the path (all busy time but the tester's) per frame received, in µs.
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
    /// Label in [`CpuUse::who`] of the tester's own threads.
    pub const TESTER: &'static str = "tester";
    /// Label of time the hypervisor gave away.
    pub const STEAL: &'static str = "steal";
    /// Label of user and kernel time of threads that were not watched.
    pub const OTHER: &'static str = "other";

    /// CPU time of one user per frame received, in µs: the path's, divided by the time that each of
    /// its users took; the tester's in the same way. For a thread that polls, only time with frames
    /// counts. Absent where the path's is absent, where that time is not known, and for users outside
    /// path and tester.
    pub fn us_per_frame_of(&self, who: &str) -> Option<f64> {
        let not_path = [Self::TESTER, Self::STEAL, Self::OTHER];
        let path = self
            .who
            .iter()
            .filter(|(label, _)| !not_path.contains(&label.as_str()));
        let path: f64 = path.map(|(_, cpus)| cpus).sum();
        if path <= 0.0 || [Self::STEAL, Self::OTHER].contains(&who) {
            return None;
        }
        let useful = match self.polls(who) {
            Some(thread) => thread.useful_ratio?,
            None => 1.0,
        };
        let us = self.us_per_frame? * self.who.get(who)? / path * useful;
        us.is_finite().then_some(us)
    }

    /// The thread of this name, if it polls.
    pub fn polls(&self, who: &str) -> Option<&PollUse> {
        self.polling.iter().find(|thread| thread.who == who)
    }

    /// The thread that polls on the busiest CPU, even if another used more of it: a CPU with such a
    /// thread is busy at any load.
    pub fn polls_on_busiest(&self) -> Option<&PollUse> {
        let busiest = self.busiest.as_ref()?;
        let mut users = std::iter::once(&busiest.who).chain(busiest.users.keys());
        users.find_map(|who| self.polls(who))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_paths_time_per_frame_is_shared_out_by_user() {
        let who = [
            ("vhost0", 0.75),
            ("pmd", 1.0),
            ("softirq", 0.25),
            ("tester", 0.5),
            ("steal", 0.1),
        ];
        let mut cpu = CpuUse {
            who: who.map(|(who, cpus)| (who.to_owned(), cpus)).into(),
            // A million frames in two seconds.
            us_per_frame: Some(4.0),
            polling: vec![PollUse {
                who: "pmd".to_owned(),
                useful_ratio: Some(0.25),
            }],
            ..CpuUse::default()
        };
        let of = |cpu: &CpuUse, who| cpu.us_per_frame_of(who);
        assert_eq!(of(&cpu, "vhost0"), Some(1.5));
        assert_eq!(of(&cpu, "softirq"), Some(0.5));
        assert_eq!(of(&cpu, "tester"), Some(1.0));
        assert_eq!(of(&cpu, "pmd"), Some(0.5));
        assert_eq!((of(&cpu, "steal"), of(&cpu, "nobody")), (None, None));
        cpu.polling[0].useful_ratio = None;
        assert_eq!(of(&cpu, "pmd"), None);
        cpu.us_per_frame = None;
        assert_eq!(of(&cpu, "vhost0"), None);
        assert_eq!(of(&CpuUse::default(), "tester"), None);
    }
}
