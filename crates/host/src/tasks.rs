//! CPU time of threads by name: the tester's own, and the kernel threads of a path.

#[cfg(test)]
mod tests;

use std::time::Duration;

use nicety_model::cpu_list::parse_cpu_list;

use crate::roots::{FactError, ProcRoot};

/// `PF_KTHREAD` of include/linux/sched.h: the task is a kernel thread.
pub(crate) const PF_KTHREAD: u64 = 0x0020_0000;

/// Label of software interrupts, `ksoftirqd` included (the kernel books its work as softirq).
pub const SOFTIRQ: &str = "softirq";

/// A thread that is there.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Task {
    /// Thread id.
    pub tid: u32,
    /// Process (thread group) it belongs to.
    pub pid: u32,
    /// Its name (`comm`).
    pub name: String,
}

/// A thread's CPU time up to one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskSample {
    /// CPU time used. From `schedstat` in ns; of a thread that is running it is as old as the
    /// last scheduler tick (on a `nohz_full` CPU up to 1 s). Else from `stat`, in ticks.
    pub cpu_time: Duration,
    /// Start time in ticks since boot: tells a thread from a later one with the same id.
    pub start_ticks: u64,
    /// It has ended and waits for its parent to take note (a zombie).
    pub ended: bool,
    /// CPU it last ran on.
    pub last_cpu: Option<u32>,
    /// CPU it is pinned to, when its affinity mask holds just one.
    pub pinned_cpu: Option<u32>,
}

impl TaskSample {
    /// Reads one thread.
    ///
    /// # Errors
    /// When the thread is gone or hidden, or its `stat` is not understood.
    pub fn read(proc: &ProcRoot, tid: u32) -> Result<Self, FactError> {
        let what = "the CPU time of a thread";
        let file = format!("{tid}/stat");
        let text = proc.require(&file, what)?;
        let stat = TaskStat::parse(&text)
            .ok_or_else(|| FactError::malformed(what, proc.path(&file), &text))?;
        let run_ns = proc
            .text(format!("{tid}/schedstat"))
            .and_then(|text| text.split_ascii_whitespace().next()?.parse().ok());
        let cpu_time = match run_ns {
            Some(ns) => Duration::from_nanos(ns),
            None => ticks_to_time(stat.cpu_ticks),
        };
        Ok(Self {
            cpu_time,
            start_ticks: stat.start_ticks,
            ended: stat.ended,
            last_cpu: stat.last_cpu,
            pinned_cpu: pinned_cpu(proc, tid),
        })
    }

    /// CPU time used since `before`; `None` when that was another thread or the counter went
    /// backwards.
    pub fn cpu_time_since(&self, before: &Self) -> Option<Duration> {
        if self.start_ticks != before.start_ticks {
            return None;
        }
        self.cpu_time.checked_sub(before.cpu_time)
    }

    /// The CPU the thread ran on since `before`: where it is pinned, else the CPU it was on
    /// both times; `None` when it moved.
    pub fn home_since(&self, before: &Self) -> Option<u32> {
        match (self.pinned_cpu, before.pinned_cpu) {
            (Some(now), Some(then)) => (now == then).then_some(now),
            _ => self.last_cpu.filter(|_| self.last_cpu == before.last_cpu),
        }
    }
}

/// The fields of `/proc/<tid>/stat` needed here (proc(5), numbered from 1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TaskStat {
    pub(crate) name: String,
    ended: bool,
    pub(crate) parent: u32,
    /// A thread of the kernel.
    pub(crate) kernel: bool,
    pub(crate) cpu_ticks: u64,
    pub(crate) start_ticks: u64,
    last_cpu: Option<u32>,
}

impl TaskStat {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        // The name may hold blanks and parentheses: it ends with the last one.
        let (head, tail) = text.rsplit_once(')')?;
        let (_, name) = head.split_once('(')?;
        let fields: Vec<&str> = tail.split_ascii_whitespace().collect();
        let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
        Some(Self {
            name: name.to_owned(),
            ended: matches!(fields.first(), Some(&"Z" | &"X")),
            parent: u32::try_from(field(4)?).ok()?,
            kernel: field(9)? & PF_KTHREAD != 0,
            cpu_ticks: field(14)?.saturating_add(field(15)?),
            start_ticks: field(22)?,
            last_cpu: field(39).and_then(|cpu| u32::try_from(cpu).ok()),
        })
    }
}

fn ticks_to_time(ticks: u64) -> Duration {
    let per_second = rustix::param::clock_ticks_per_second().max(1);
    Duration::from_secs_f64(ticks as f64 / per_second as f64)
}

fn pinned_cpu(proc: &ProcRoot, tid: u32) -> Option<u32> {
    let status = proc.text(format!("{tid}/status"))?;
    let list = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    match parse_cpu_list(list)?.as_slice() {
        [cpu] => Some(*cpu),
        _ => None,
    }
}

/// Threads of this process, sorted by id.
pub fn own_threads(proc: &ProcRoot) -> Vec<Task> {
    let pid = proc
        .text("self/stat")
        .and_then(|text| text.split_once(' ')?.0.parse().ok());
    let mut tasks: Vec<Task> = numbers(proc, "self/task")
        .filter_map(|tid| {
            Some(Task {
                tid,
                pid: pid.unwrap_or(tid),
                name: proc.text(format!("self/task/{tid}/comm"))?,
            })
        })
        .collect();
    tasks.sort_unstable();
    tasks
}

/// Kernel threads whose name `matches`, sorted by id; none in a PID namespace of its own,
/// which hides them. Names of kernel threads are whole since Linux 5.17 and cut to 15
/// characters before.
pub fn kernel_threads(proc: &ProcRoot, matches: impl Fn(&str) -> bool) -> Vec<Task> {
    let mut tasks: Vec<Task> = numbers(proc, "")
        .filter_map(|tid| {
            let name = proc.text(format!("{tid}/comm"))?;
            if !matches(&name) {
                return None;
            }
            let stat = TaskStat::parse(&proc.text(format!("{tid}/stat"))?)?;
            stat.kernel.then_some(Task {
                tid,
                pid: tid,
                name,
            })
        })
        .collect();
    tasks.sort_unstable();
    tasks
}

/// Threads of any process whose name `matches`, sorted by id. Needed for `vhost-<pid>`, which
/// since Linux 6.4 is a thread of the process that owns the device (kernel/vhost_task.c).
/// Walks every thread of the machine: for use before a run, not in a trial.
pub fn any_threads(proc: &ProcRoot, matches: impl Fn(&str) -> bool) -> Vec<Task> {
    let mut tasks = Vec::new();
    for pid in numbers(proc, "") {
        for tid in numbers(proc, &format!("{pid}/task")) {
            if let Some(name) = proc.text(format!("{pid}/task/{tid}/comm"))
                && matches(&name)
            {
                tasks.push(Task { tid, pid, name });
            }
        }
    }
    tasks.sort_unstable();
    tasks
}

/// Directory entries below `dir` that are numbers.
pub(crate) fn numbers(proc: &ProcRoot, dir: &str) -> impl Iterator<Item = u32> + use<> {
    let number = |name: &str| name.bytes().all(|byte| byte.is_ascii_digit());
    proc.entries_where(dir, number)
        .into_iter()
        .filter_map(|name| name.parse().ok())
}

/// The name a thread's time is booked under: `napi/d0-8193` (device, NAPI id; net/core/dev.c,
/// `napi_kthread_create`) under `napi/d0`, `ksoftirqd/1` under `softirq`, any other under its
/// own name.
pub fn label_of(name: &str) -> String {
    if name.starts_with("ksoftirqd/") {
        return SOFTIRQ.to_owned();
    }
    if name.starts_with("napi/")
        && let Some((device, id)) = name.rsplit_once('-')
        && id.bytes().all(|byte| byte.is_ascii_digit())
    {
        return device.to_owned();
    }
    name.to_owned()
}

/// Whether a kernel thread polls the device's NAPI contexts. Two network namespaces may have
/// devices of the same name: then both match, and the thread's id must tell them apart.
pub fn is_napi_of(name: &str, device: &str) -> bool {
    label_of(name).strip_prefix("napi/") == Some(device)
}
