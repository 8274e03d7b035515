//! What a running process has used.

use std::fs;
use std::io;

use anyhow::{Context, Result};

/// Seconds on a CPU of all threads of a process, also of those that have ended, to the nanosecond.
#[allow(unsafe_code, reason = "std knows no clocks of processes")]
pub fn cpu_seconds(id: u32) -> Result<f64> {
    let mut clock = 0;
    // SAFETY: the pointer is to a living value of the type clock_getcpuclockid(3) writes.
    let failed = unsafe { libc::clock_getcpuclockid(id.cast_signed(), &raw mut clock) };
    if failed != 0 {
        return Err(io::Error::from_raw_os_error(failed)).context("no clock of a process");
    }
    // SAFETY: a structure of integers, for which zero is a value.
    let mut time: libc::timespec = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a living value of the type clock_gettime(2) writes.
    if unsafe { libc::clock_gettime(clock, &raw mut time) } < 0 {
        return Err(io::Error::last_os_error()).context("a process has ended");
    }
    Ok(time.tv_sec as f64 + time.tv_nsec as f64 / 1e9)
}

/// A figure of memory in proc_pid_status(5), as `VmRSS` and `VmHWM`, in MB.
pub fn memory_mb(id: u32, name: &str) -> Result<f64> {
    let status = fs::read_to_string(format!("/proc/{id}/status"))?;
    let value = |line: &str| {
        let kib = line.strip_prefix(name)?.strip_prefix(':')?.trim();
        kib.strip_suffix(" kB")?.parse::<f64>().ok()
    };
    let kib = status.lines().find_map(value);
    let kib = kib.with_context(|| format!("no {name} of process {id}"))?;
    Ok(kib * 1024.0 / 1e6)
}

/// A process with all its children and theirs.
pub fn family(id: u32) -> Vec<u32> {
    let mut all = vec![id];
    let mut at = 0;
    while let Some(id) = all.get(at) {
        let tasks = fs::read_dir(format!("/proc/{id}/task"));
        for task in tasks.into_iter().flatten().flatten() {
            let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
            all.extend(
                children
                    .split_whitespace()
                    .filter_map(|id| id.parse::<u32>().ok()),
            );
        }
        at += 1;
    }
    all
}
