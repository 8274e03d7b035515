//! Ends a system call of another thread. A trial is one call of the kernel, which looks for a
//! waiting signal after every batch (`bpf_test_timer_continue` in net/bpf/test_run.c) and then
//! returns EINTR with every frame of the batch sent and counted.
#![allow(unsafe_code)] // edge: signals

use std::sync::Once;
use std::sync::atomic::{AtomicI32, Ordering};

/// Ignored unless somebody asks for it, so a stray one harms nobody.
const SIGNAL: libc::c_int = libc::SIGURG;

/// A thread that can be interrupted while it is inside [`Interruptible::run`].
#[derive(Debug, Default)]
pub(crate) struct Interruptible(AtomicI32);

extern "C" fn nothing(_: libc::c_int) {}

impl Interruptible {
    /// Runs `work` on the calling thread, which [`Self::interrupt`] reaches meanwhile.
    pub(crate) fn run<T>(&self, work: impl FnOnce() -> T) -> T {
        static HANDLER: Once = Once::new();
        // An ignored signal would not end the call.
        HANDLER.call_once(|| {
            // SAFETY: an all-zero sigaction is valid; the handler does nothing.
            unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = nothing as extern "C" fn(libc::c_int) as usize;
                action.sa_flags = libc::SA_RESTART;
                libc::sigaction(SIGNAL, &raw const action, std::ptr::null_mut());
            }
        });
        // SAFETY: no arguments, cannot fail.
        self.0.store(unsafe { libc::gettid() }, Ordering::Release);
        let value = work();
        self.0.store(0, Ordering::Release);
        value
    }

    /// Interrupts the thread once, if it is there. It may be just before its call, which then
    /// runs on: whoever wants it to end repeats this until it has ended.
    pub(crate) fn interrupt(&self) {
        let thread = self.0.load(Ordering::Acquire);
        if thread != 0 {
            // SAFETY: plain numbers. A thread of ours that got the number of one that ended
            // meanwhile only runs an empty handler.
            unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), thread, SIGNAL) };
        }
    }
}

/// Puts the calling thread, which mostly sleeps, before all ordinary ones, so that it wakes in
/// time on busy CPUs. Only root may; without it trials end later.
pub(crate) fn wake_in_time() {
    let _ = nicety_netdev::schedule::before_programs(None);
}
