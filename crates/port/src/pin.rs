//! Keeps a worker on its CPU, and other programs off it as far as that can be had.

use std::sync::OnceLock;

use rustix::process::setpriority_process;
use rustix::thread::{CpuSet, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};

/// Pins the calling thread to `cpu`. Returns whether the kernel agreed: a cpuset may forbid it,
/// and then the worker runs where it is put.
pub fn to_cpu(cpu: Option<u32>) -> bool {
    let Some(cpu) = cpu.and_then(|cpu| usize::try_from(cpu).ok()) else {
        return false;
    };
    if cpu >= CpuSet::MAX_CPU {
        return false;
    }
    let mut set = CpuSet::new();
    set.set(cpu);
    sched_setaffinity(None, &set).is_ok()
}

/// Highest weight among ordinary threads: where a real-time thread is not to be had. Against
/// programs of other sessions it does nothing on kernels that share CPUs among sessions
/// (`kernel.sched_autogroup_enabled`).
const NICE: i32 = -20;
/// First kernel that takes time from real-time threads only where others wait for it
/// (`fair_server` in kernel/sched/deadline.c). Older ones take 5 % of every second from a thread that
/// polls without end, needed or not (`kernel.sched_rt_runtime_us`).
const FAIR_SERVER: (u32, u32) = (6, 12);

/// Puts the calling thread before ordinary ones. Only root may; without it the schedule slips
/// more often, and the report says so.
pub fn prefer() {
    static FAIR: OnceLock<bool> = OnceLock::new();
    let release = || {
        rustix::system::uname()
            .release()
            .to_string_lossy()
            .into_owned()
    };
    let fair = *FAIR.get_or_init(|| is_at_least(&release(), FAIR_SERVER));
    if !(fair && nicety_host::sched::before_programs(0).is_ok()) {
        let _ = setpriority_process(None, NICE);
    }
}

/// Whether a kernel's release is that version or a later one; not where it cannot be read.
fn is_at_least(release: &str, version: (u32, u32)) -> bool {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit());
    let mut number = || numbers.next()?.parse::<u32>().ok();
    number()
        .zip(number())
        .is_some_and(|release| release >= version)
}

/// CPU time of the calling thread, user and system, in nanoseconds.
pub(crate) fn thread_cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    (time.tv_sec * 1_000_000_000 + time.tv_nsec) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_compared_by_their_numbers() {
        for (release, newer) in [
            ("6.12.0", true),
            ("6.18.44-fc-v669", true),
            ("7.0", true),
            ("6.9.3", false),
            ("5.15.0-113-generic", false),
            ("unknown", false),
        ] {
            assert_eq!(is_at_least(release, FAIR_SERVER), newer, "{release}");
        }
    }
}
