//! How the scheduler treats a thread: sched_setattr(2).

use std::io::{Error, Result};
use std::time::Duration;

use rustix::process::{Pid, getpriority_process};

/// Highest weight among ordinary threads. Not a real-time priority: kernels with real-time groups
/// (`CONFIG_RT_GROUP_SCHED`) take 50 ms of every second from real-time threads that are always busy, whoever else
/// wants the CPU (`kernel.sched_rt_runtime_us`), and an engine is, and a path under overload.
const NICE: i32 = -20;
/// Shortest slice that Linux has (`sched_setattr` in kernel/sched/syscalls.c, since 6.12). A thread that wakes takes
/// the CPU at once from one with a longer slice, whose turn it would be for milliseconds (`PREEMPT_SHORT` in
/// kernel/sched/features.h).
const SLICE: Duration = Duration::from_micros(100);

/// Puts a thread before ordinary ones; `None` is the calling one. At the highest weight a program that never sleeps
/// gets one part in 88 beside it (`sched_prio_to_weight` in kernel/sched/core.c).
///
/// # Errors
/// `EPERM` without CAP_SYS_NICE in the initial user namespace: the calling thread has a short slice then, and its
/// weight as before. `ESRCH` for a thread that has ended.
pub fn prefer(thread: Option<Pid>) -> Result<()> {
    let preferred = set(thread, NICE);
    if preferred.is_err() {
        let nice = getpriority_process(thread)?;
        set(thread, nice)?;
    }
    preferred
}

/// Lets a thread run before every ordinary one (SCHED_FIFO at the lowest priority); `None` is the calling one. Threads
/// that it starts are ordinary.
///
/// # Errors
/// `EPERM` without CAP_SYS_NICE in the initial user namespace, and in a control group without real-time CPU time.
pub fn before_programs(thread: Option<Pid>) -> Result<()> {
    apply(
        thread,
        libc::sched_attr {
            sched_policy: libc::SCHED_FIFO as u32,
            sched_flags: libc::SCHED_FLAG_RESET_ON_FORK as u64,
            sched_priority: 1,
            ..ORDINARY
        },
    )
}

/// An ordinary thread of this weight, with a short slice. Older kernels pass the slice by.
fn set(thread: Option<Pid>, nice: i32) -> Result<()> {
    apply(
        thread,
        libc::sched_attr {
            sched_nice: nice,
            sched_runtime: SLICE.as_nanos() as u64,
            ..ORDINARY
        },
    )
}

const ORDINARY: libc::sched_attr = libc::sched_attr {
    size: size_of::<libc::sched_attr>() as u32,
    sched_policy: libc::SCHED_OTHER as u32,
    sched_flags: 0,
    sched_nice: 0,
    sched_priority: 0,
    sched_runtime: 0,
    sched_deadline: 0,
    sched_period: 0,
};

fn apply(thread: Option<Pid>, attributes: libc::sched_attr) -> Result<()> {
    let thread = Pid::as_raw(thread);
    #[allow(unsafe_code)] // edge: no safe wrapper among our crates
    // SAFETY: the kernel reads `size` bytes from a value that lives for the call.
    let done = unsafe { libc::syscall(libc::SYS_sched_setattr, thread, &raw const attributes, 0) };
    match done {
        0 => Ok(()),
        _ => Err(Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_has_a_short_slice_whoever_starts_it() {
        std::thread::spawn(|| {
            let preferred = prefer(None);
            let nice = getpriority_process(None).unwrap();
            assert_eq!(preferred.is_ok(), nice == NICE, "{preferred:?}");
            let slice = slice_ns();
            // Kernels before 6.12 know none.
            assert!(
                slice == 0 || u128::from(slice) == SLICE.as_nanos(),
                "{slice}"
            );
        })
        .join()
        .unwrap();
    }

    /// The slice of the calling thread, as the kernel has it.
    fn slice_ns() -> u64 {
        let mut words = [0_u32; 12];
        #[allow(unsafe_code)] // edge
        // SAFETY: the kernel writes at most as many bytes as it is told of, which live for the call.
        let done = unsafe {
            let size = size_of_val(&words);
            libc::syscall(libc::SYS_sched_getattr, 0, words.as_mut_ptr(), size, 0)
        };
        assert_eq!(done, 0, "{}", Error::last_os_error());
        u64::from(words[6]) | u64::from(words[7]) << 32
    }
}
