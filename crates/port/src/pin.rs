//! Keeps a worker on its CPU, and other programs off it as far as that can be had.

use std::num::NonZeroU64;

use nicety_host::cpu_share;
use nicety_host::roots::{ProcRoot, SysRoot};
use nicety_netdev::{cpu_set, schedule};
use rustix::time::{ClockId, clock_gettime};

use crate::clock::monotonic_ns;
use crate::engine::WorkerUse;

/// Pins the calling thread to `cpu`. Returns whether the kernel agreed: a cpuset may forbid it,
/// and then the worker runs where it is put.
pub fn to_cpu(cpu: Option<u32>) -> bool {
    cpu.is_some_and(|cpu| cpu_set::pin(None, &[cpu]).is_ok())
}

/// Puts the calling thread before ordinary ones. Only root may; without it the schedule slips more often, and the
/// report says so. Other sessions are another matter: see `nicety_paths::RaisedSession`. Where the kernel shares CPUs
/// among control groups, only real-time threads come before those of other groups.
pub fn prefer() {
    let _ = schedule::prefer(None);
    if cpu_share::in_control_group(&ProcRoot::live(), &SysRoot::live()) {
        let _ = schedule::before_programs(None);
    }
}

/// Lets the calling thread wake when it asked to: the kernel may be late by 50 µs otherwise
/// (`PR_SET_TIMERSLACK`), a quarter of a short rest.
pub fn wake_in_time() {
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
}

/// Does the work of one of an engine's threads, on `cpu` and before other programs as far as that can be
/// had, and says what it took.
pub(crate) fn measured<T>(cpu: Option<u32>, work: impl FnOnce() -> T) -> (T, WorkerUse) {
    let pinned = to_cpu(cpu);
    prefer();
    wake_in_time();
    let (wall, used) = (monotonic_ns(), thread_cpu_ns());
    let done = work();
    let used = WorkerUse {
        cpu: cpu.filter(|_| pinned),
        cpu_s: (thread_cpu_ns() - used) as f64 * 1e-9,
        wall_s: (monotonic_ns() - wall) as f64 * 1e-9,
    };
    (done, used)
}

/// CPU time of the calling thread, user and system, in nanoseconds.
fn thread_cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    (time.tv_sec * 1_000_000_000 + time.tv_nsec) as u64
}
