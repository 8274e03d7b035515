//! Keeps a worker on its CPU, and other programs off it as far as that can be had.

use std::num::NonZeroU64;

use nicety_netdev::cpu_set;
use rustix::process::setpriority_process;
use rustix::time::{ClockId, clock_gettime};

/// Pins the calling thread to `cpu`. Returns whether the kernel agreed: a cpuset may forbid it,
/// and then the worker runs where it is put.
pub fn to_cpu(cpu: Option<u32>) -> bool {
    cpu.is_some_and(|cpu| cpu_set::pin(None, &[cpu]).is_ok())
}

/// Highest weight among ordinary threads. The worker must not be a real-time thread: it polls
/// without end, and kernels with real-time groups (`CONFIG_RT_GROUP_SCHED`) take 50 ms of every
/// second from such threads whoever else wants the CPU (`kernel.sched_rt_runtime_us`).
const NICE: i32 = -20;

/// Puts the calling thread before ordinary ones. Only root may; without it the schedule slips
/// more often, and the report says so. Against programs of other sessions it does nothing where the
/// kernel shares CPUs among sessions (`kernel.sched_autogroup_enabled`).
pub fn prefer() {
    let _ = setpriority_process(None, NICE);
}

/// Lets the calling thread wake when it asked to: the kernel may be late by 50 µs otherwise
/// (`PR_SET_TIMERSLACK`), a quarter of a short rest.
pub fn wake_in_time() {
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
}

/// CPU time of the calling thread, user and system, in nanoseconds.
pub(crate) fn thread_cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    (time.tv_sec * 1_000_000_000 + time.tv_nsec) as u64
}
