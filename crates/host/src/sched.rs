//! Real-time priority of threads.

use std::io;

/// Lowest real-time priority: just above ordinary threads.
const PRIORITY: libc::c_int = 1;

/// Lets a thread run before every ordinary one (SCHED_FIFO, lowest priority); 0 is the calling one.
///
/// # Errors
/// EPERM without CAP_SYS_NICE in the initial user namespace, ESRCH when the thread is gone.
pub fn before_programs(thread: libc::pid_t) -> io::Result<()> {
    // The system call itself, whose `struct sched_param` is this one number: musl's function of
    // the same name refuses always, because Linux sets threads where POSIX means processes.
    let priority = PRIORITY;
    #[allow(unsafe_code)] // no safe wrapper among our crates
    // SAFETY: the number lives for the call, which only reads it.
    let done = unsafe {
        libc::syscall(
            libc::SYS_sched_setscheduler,
            thread,
            libc::SCHED_FIFO,
            &raw const priority,
        )
    };
    match done {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
