//! CPU time of each CPU since the boot, by `/proc/stat`.

use std::collections::BTreeMap;

use nicety_model::CoreUse;

use crate::roots::{FactError, ProcRoot};

/// Counters of one CPU, in ticks (proc(5), `/proc/stat`). Guest time is part of user and nice
/// time already (kernel/sched/cputime.c, `account_guest_time`), so it has no field here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CpuTicks {
    /// User.
    pub user: u64,
    /// User, niced.
    pub nice: u64,
    /// Kernel.
    pub system: u64,
    /// Idle.
    pub idle: u64,
    /// Idle with I/O outstanding; may go backwards.
    pub iowait: u64,
    /// Hard interrupts.
    pub irq: u64,
    /// Software interrupts.
    pub softirq: u64,
    /// Taken by the hypervisor; may go backwards.
    pub steal: u64,
}

/// The counters of all online CPUs at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StatSample {
    /// By CPU number.
    pub cpus: BTreeMap<u32, CpuTicks>,
}

impl StatSample {
    /// Reads `/proc/stat`.
    ///
    /// # Errors
    /// When the file cannot be read or has no line of a CPU.
    pub fn read(proc: &ProcRoot) -> Result<Self, FactError> {
        let what = "CPU time per CPU";
        let text = proc.require("stat", what)?;
        let sample = Self::parse(&text);
        if sample.cpus.is_empty() {
            return Err(FactError::malformed(what, proc.path("stat"), &text));
        }
        Ok(sample)
    }

    /// The `cpuN` lines of `/proc/stat`; lines that are not understood are left out.
    pub fn parse(text: &str) -> Self {
        let cpus = text.lines().filter_map(parse_line).collect();
        Self { cpus }
    }

    /// Shares of each CPU's time since `before`, by CPU number.
    ///
    /// A counter that went backwards counts as not having moved. A CPU that is in only one of
    /// the samples (hotplug), or whose counters all stood still, has no shares and is left out.
    pub fn shares_since(&self, before: &Self) -> Vec<CoreUse> {
        self.cpus
            .iter()
            .filter_map(|(&cpu, after)| shares(cpu, before.cpus.get(&cpu)?, after))
            .collect()
    }
}

/// `cpu3 1 2 3 …`; old kernels print fewer columns, the missing ones count as zero.
fn parse_line(line: &str) -> Option<(u32, CpuTicks)> {
    let mut words = line.split_ascii_whitespace();
    let cpu: u32 = words.next()?.strip_prefix("cpu")?.parse().ok()?;
    let mut column = [0_u64; 8];
    let mut filled = 0;
    for (slot, word) in column.iter_mut().zip(words) {
        *slot = word.parse().ok()?;
        filled += 1;
    }
    let [user, nice, system, idle, iowait, irq, softirq, steal] = column;
    // User to idle have been there since Linux 2.4.
    (filled >= 4).then_some((
        cpu,
        CpuTicks {
            user,
            nice,
            system,
            idle,
            iowait,
            irq,
            softirq,
            steal,
        },
    ))
}

fn shares(cpu: u32, before: &CpuTicks, after: &CpuTicks) -> Option<CoreUse> {
    let moved = |field: fn(&CpuTicks) -> u64| field(after).saturating_sub(field(before)) as f64;
    let user = moved(|t| t.user) + moved(|t| t.nice);
    let system = moved(|t| t.system);
    let idle = moved(|t| t.idle) + moved(|t| t.iowait);
    let (irq, softirq, steal) = (moved(|t| t.irq), moved(|t| t.softirq), moved(|t| t.steal));
    let total = user + system + idle + irq + softirq + steal;
    (total > 0.0).then(|| CoreUse {
        cpu,
        user: user / total,
        system: system / total,
        irq: irq / total,
        softirq: softirq / total,
        steal: steal / total,
        idle: idle / total,
    })
}
