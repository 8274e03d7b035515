//! Which programs use the CPUs: the CPU time of every process, twice.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use nicety_model::Program;

use crate::roots::ProcRoot;
use crate::tasks::{SOFTIRQ, TaskStat, label_of, numbers};

/// CPUs' worth of time below which a program is not named.
const LEAST: f64 = 0.01;

/// CPU time of all processes at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Programs(BTreeMap<u32, TaskStat>);

impl Programs {
    /// Reads every process that can be seen; those that end meanwhile are left out.
    pub fn read(proc: &ProcRoot) -> Self {
        let process = |pid| {
            let process = TaskStat::parse(&proc.text(format!("{pid}/stat"))?)?;
            Some((pid, process))
        };
        Self(numbers(proc, "").filter_map(process).collect())
    }

    /// Programs that used CPU time in the `elapsed` time since `before`, most first, without the
    /// process `own`, what it started, and the kernel's threads that carry frames (`path` and those
    /// that every path has).
    pub fn since(
        &self,
        before: &Self,
        elapsed: Duration,
        own: u32,
        path: &BTreeSet<u32>,
    ) -> Vec<Program> {
        let seconds = elapsed.as_secs_f64();
        if seconds <= 0.0 {
            return Vec::new();
        }
        let per_second = rustix::param::clock_ticks_per_second().max(1) as f64;
        let used = |pid: &u32, process: &TaskStat| {
            let known = before.0.get(pid);
            let then = known.filter(|then| then.start_ticks == process.start_ticks);
            let ticks = match then {
                Some(then) => process.cpu_ticks.saturating_sub(then.cpu_ticks),
                // Began meanwhile.
                None => process.cpu_ticks,
            };
            ticks as f64 / per_second / seconds
        };
        let mut programs: Vec<Program> = self
            .0
            .iter()
            .filter(|(pid, process)| {
                let carries = process.kernel && carries_frames(&process.name);
                !carries && !path.contains(pid) && !self.is_of(**pid, own)
            })
            .map(|(pid, process)| Program {
                name: process.name.clone(),
                pid: *pid,
                cpus: used(pid, process),
            })
            .filter(|program| program.cpus >= LEAST)
            .collect();
        programs.sort_by(|a, b| b.cpus.total_cmp(&a.cpus).then(a.pid.cmp(&b.pid)));
        programs
    }

    /// Whether `pid` is `own` or was started by it.
    fn is_of(&self, pid: u32, own: u32) -> bool {
        // A recorded or racing list may have a circle: as many steps as processes are enough.
        let mut at = pid;
        for _ in 0..=self.0.len() {
            if at == own {
                return true;
            }
            match self.0.get(&at) {
                Some(process) if process.parent != 0 => at = process.parent,
                _ => return false,
            }
        }
        false
    }
}

/// Threads of the kernel that work for every path.
fn carries_frames(name: &str) -> bool {
    let label = label_of(name);
    label == SOFTIRQ || label.starts_with("napi/") || name.starts_with("vhost-")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tasks::PF_KTHREAD;

    fn process(name: &str, parent: u32, flags: u64, ticks: u64, start: u64) -> TaskStat {
        let text = format!(
            "7 ({name}) R {parent} 0 0 0 0 {flags} 0 0 0 0 {ticks} 0 0 0 20 0 1 0 {start} 0 0"
        );
        TaskStat::parse(&text).unwrap()
    }

    #[test]
    fn programs_are_named_by_their_time_without_those_of_the_run() {
        let list = |ticks: u64| {
            Programs(BTreeMap::from([
                (1, process("init", 0, 0, 0, 1)),
                (10, process("nicety", 1, 0, 40 * ticks, 5)),
                (11, process("qemu", 10, 0, 40 * ticks, 5)),
                (20, process("a (b) c", 1, 0, 50 * ticks, 5)),
                (21, process("cc1", 20, 0, 90 * ticks, 5 + ticks)),
                (30, process("napi/d0-8193", 2, PF_KTHREAD, 80 * ticks, 1)),
                (31, process("kworker/0:1", 2, PF_KTHREAD, 30 * ticks, 1)),
                (32, process("taken", 1, 0, 30 * ticks, 1)),
            ]))
        };
        let second = Duration::from_secs_f64(1.0);
        let ticks = rustix::param::clock_ticks_per_second() as f64;
        let programs = list(2).since(&list(1), second, 10, &BTreeSet::from([32]));
        let said: Vec<(&str, u32, f64)> = programs
            .iter()
            .map(|p| (p.name.as_str(), p.pid, (p.cpus * ticks).round()))
            .collect();
        // The compiler is another one each time, so all of its time is new.
        let expected = [
            ("cc1", 21, 180.0),
            ("a (b) c", 20, 50.0),
            ("kworker/0:1", 31, 30.0),
        ];
        assert_eq!(said, expected);
        assert!(
            list(2)
                .since(&list(2), second, 10, &BTreeSet::new())
                .is_empty()
        );
        assert!(
            list(2)
                .since(&list(1), Duration::ZERO, 10, &BTreeSet::new())
                .is_empty()
        );
    }

    #[test]
    fn the_running_system_has_this_process_as_any_user() {
        let programs = Programs::read(&ProcRoot::live());
        assert!(programs.0.contains_key(&std::process::id()));
        assert!(programs.is_of(std::process::id(), std::process::id()));
        assert!(!programs.is_of(1, std::process::id()));
    }
}
