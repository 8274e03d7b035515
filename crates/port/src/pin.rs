//! Keeps a worker on its CPU.

use rustix::thread::{CpuSet, sched_setaffinity};

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
