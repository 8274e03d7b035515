//! Who used the CPUs: shares of CPUs and times of threads brought together.
//!
//! A thread's own CPU time includes the software interrupts that ran on its back (the kernel
//! charges them to whoever was running, unless it was built with
//! `CONFIG_IRQ_TIME_ACCOUNTING`). On a path that runs in the sender's system calls that is the
//! path's work, so here it belongs to `softirq`, not to the thread.

use std::collections::BTreeMap;
use std::time::Duration;

use nicety_model::{CoreUse, CpuUse, WhoUse};

use crate::tasks::SOFTIRQ;

/// Label of the tester's own threads.
pub const TESTER: &str = CpuUse::TESTER;
/// Label of hard interrupts.
pub const IRQ: &str = "irq";
/// Label of time the hypervisor gave away.
pub const STEAL: &str = CpuUse::STEAL;
/// Label of user and kernel time of threads nobody watched.
pub const OTHER: &str = CpuUse::OTHER;

/// A thread's time in a window.
#[derive(Debug, Clone, PartialEq)]
pub struct ThreadUse {
    /// Name in [`CpuUse::who`].
    pub label: String,
    /// CPUs' worth of time.
    pub cpus: f64,
    /// The CPU it ran on, when it did not move.
    pub home: Option<u32>,
}

/// Shares of CPUs and times of threads, as the model wants them.
pub(super) fn attribute(cores: Vec<CoreUse>, threads: &[ThreadUse]) -> CpuUse {
    // Time under the label softirq is in the CPUs' softirq shares already.
    let (soft, plain): (Vec<&ThreadUse>, Vec<&ThreadUse>) =
        threads.iter().partition(|thread| thread.label == SOFTIRQ);
    let mut who: BTreeMap<String, f64> = plain
        .iter()
        .map(|thread| (thread.label.clone(), 0.0))
        .collect();
    let mut busiest: Option<(f64, WhoUse)> = None;
    for core in &cores {
        let own = own_time(core, &plain, |home| home == Some(core.cpu));
        // A polling tester keeps its CPU busy at any load, which says nothing about the path.
        let others = core.busy() - own.get(TESTER).copied().unwrap_or(0.0);
        if busiest.as_ref().is_none_or(|(most, _)| others > *most) {
            let users = users(core, &own);
            let greatest = users.iter().max_by(|(_, a), (_, b)| a.total_cmp(b));
            let who = WhoUse {
                cpu: core.cpu,
                busy_ratio: core.busy(),
                who: greatest.map_or("idle", |(label, _)| label).to_owned(),
                users,
            };
            busiest = Some((others, who));
        }
        add(&mut who, own);
    }
    // Threads that moved, or whose CPU has no shares, are bounded by all CPUs together.
    let all = sum(&cores);
    let has_core = |cpu: u32| cores.iter().any(|core| core.cpu == cpu);
    let at_home: f64 = who.values().sum();
    let left = CoreUse {
        user: (all.user + all.system - at_home).max(0.0),
        system: 0.0,
        ..all
    };
    let moved = own_time(&left, &plain, |home| !home.is_some_and(has_core));
    add(&mut who, moved);

    let named: f64 = who.values().sum();
    let soft_threads: f64 = soft.iter().map(|thread| thread.cpus).sum();
    let other = (all.user + all.system - named).max(0.0);
    for (label, cpus) in [
        (SOFTIRQ, all.softirq.max(soft_threads)),
        (IRQ, all.irq),
        (STEAL, all.steal),
        (OTHER, other),
    ] {
        *who.entry(label.to_owned()).or_default() += cpus;
    }
    CpuUse {
        busy_ratio: cores.iter().map(CoreUse::busy).collect(),
        cores,
        busiest: busiest.map(|(_, who)| who),
        who,
        us_per_frame: None,
        guests: Vec::new(),
        polling: Vec::new(),
    }
}

fn add(who: &mut BTreeMap<String, f64>, times: BTreeMap<String, f64>) {
    for (label, cpus) in times {
        *who.entry(label).or_default() += cpus;
    }
}

/// Threads' times on `core` by label, without the interrupts that ran on their backs: what
/// exceeds the core's user and system time can only have been interrupts or steal.
fn own_time(
    core: &CoreUse,
    threads: &[&ThreadUse],
    here: impl Fn(Option<u32>) -> bool,
) -> BTreeMap<String, f64> {
    let mut times = BTreeMap::new();
    for thread in threads.iter().filter(|thread| here(thread.home)) {
        *times.entry(thread.label.clone()).or_default() += thread.cpus;
    }
    let total: f64 = times.values().sum();
    let excess = (total - core.user - core.system).clamp(0.0, core.irq + core.softirq + core.steal);
    if total > 0.0 {
        for cpus in times.values_mut() {
            *cpus *= 1.0 - excess / total;
        }
    }
    times
}

/// The users of one CPU: watched threads, interrupts, steal, and what is left of user and system
/// time.
fn users(core: &CoreUse, own: &BTreeMap<String, f64>) -> BTreeMap<String, f64> {
    let plain = core.user + core.system;
    let named: f64 = own.values().sum();
    let rest = if plain > 0.0 {
        (plain - named).max(0.0) / plain
    } else {
        0.0
    };
    let mut users = own.clone();
    for (label, cpus) in [
        (SOFTIRQ, core.softirq),
        (IRQ, core.irq),
        (STEAL, core.steal),
        ("user", core.user * rest),
        ("system", core.system * rest),
    ] {
        *users.entry(label.to_owned()).or_default() += cpus;
    }
    users.retain(|_, cpus| *cpus > 0.0);
    users
}

fn sum(cores: &[CoreUse]) -> CoreUse {
    cores.iter().fold(CoreUse::default(), |all, core| CoreUse {
        cpu: 0,
        user: all.user + core.user,
        system: all.system + core.system,
        irq: all.irq + core.irq,
        softirq: all.softirq + core.softirq,
        steal: all.steal + core.steal,
        idle: all.idle + core.idle,
    })
}

/// Which labels of [`CpuUse::who`] are the path's work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathLabels<'a> {
    /// These; a trailing `*` stands for any ending: `napi/*`.
    Only(&'a [&'a str]),
    /// All but these, in the same notation.
    AllBut(&'a [&'a str]),
}

impl PathLabels<'_> {
    fn has(self, label: &str) -> bool {
        let any = |patterns: &[&str]| {
            patterns
                .iter()
                .any(|pattern| match pattern.strip_suffix('*') {
                    Some(start) => label.starts_with(start),
                    None => *pattern == label,
                })
        };
        match self {
            Self::Only(patterns) => any(patterns),
            Self::AllBut(patterns) => !any(patterns),
        }
    }
}

/// CPU time of the path per frame received, in µs:
/// `sum of the path's labels * elapsed / frames`. `None` without frames or time.
pub fn us_per_frame(
    cpu: &CpuUse,
    elapsed: Duration,
    frames_received: u64,
    path: PathLabels<'_>,
) -> Option<f64> {
    if frames_received == 0 || elapsed.is_zero() {
        return None;
    }
    let cpus: f64 = cpu
        .who
        .iter()
        .filter(|(label, _)| path.has(label))
        .map(|(_, cpus)| cpus)
        .sum();
    Some(cpus * elapsed.as_secs_f64() * 1e6 / frames_received as f64)
}
