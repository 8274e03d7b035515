//! CPUs of threads: sched_setaffinity(2) and sched_getaffinity(2).

use rustix::io::{Errno, Result};
use rustix::process::Pid;
use rustix::thread::CpuSet;

/// Lets a thread run on these CPUs only; `None` is the calling one.
///
/// # Errors
/// `EINVAL` for no CPU, one that a set cannot hold (1024 and above), and where the thread's cpuset has
/// none of them; `EPERM` for a kernel thread that must stay where it is; `ESRCH` for one that has ended.
pub fn pin(thread: Option<Pid>, cpus: &[u32]) -> Result<()> {
    rustix::thread::sched_setaffinity(thread, &set(cpus)?)
}

/// CPUs on which a thread may run, ascending; `None` is the calling one.
///
/// # Errors
/// `ESRCH` for a thread that has ended.
pub fn allowed(thread: Option<Pid>) -> Result<Vec<u32>> {
    let set = rustix::thread::sched_getaffinity(thread)?;
    let cpus = (0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu));
    Ok(cpus.map(|cpu| cpu as u32).collect())
}

/// CPUs as the kernel takes them.
///
/// # Errors
/// `EINVAL` for no CPU, and for one that a set cannot hold (1024 and above).
pub fn set(cpus: &[u32]) -> Result<CpuSet> {
    let mut set = CpuSet::new();
    for cpu in cpus {
        let cpu = *cpu as usize;
        // `CpuSet::set` panics beyond.
        if cpu >= CpuSet::MAX_CPU {
            return Err(Errno::INVAL);
        }
        set.set(cpu);
    }
    match set.count() {
        0 => Err(Errno::INVAL),
        _ => Ok(set),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_hold_what_the_kernel_can_name() {
        assert_eq!(set(&[0, 3, 3]).unwrap().count(), 2);
        for bad in [&[][..], &[1024], &[0, u32::MAX]] {
            assert_eq!(set(bad).err(), Some(Errno::INVAL), "{bad:?}");
        }
    }

    #[test]
    fn a_thread_stays_where_it_was_put() {
        let here = allowed(None).unwrap();
        let last = *here.last().unwrap();
        pin(None, &[last]).unwrap();
        assert_eq!(allowed(None).unwrap(), [last]);
        pin(None, &here).unwrap();
        assert_eq!(allowed(None).unwrap(), here);
    }
}
