//! Keeps the sending program in the kernel's dispatcher between two runs.
//!
//! BPF_PROG_RUN enters the program into the XDP dispatcher before it runs, and takes it out
//! afterwards; each change waits for RCU (`bpf_dispatcher_change_prog` in
//! kernel/bpf/dispatcher.c), 30 ms and more on a loaded machine. A program that some interface
//! carries is there already, and a run then starts and ends at once. The interface is the
//! loopback of a network namespace that nobody uses.
#![allow(unsafe_code)] // edge: unshare(2)

use std::fs::File;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

use super::attach::{self, Mode};

/// Interface number of the loopback: the first one of every namespace.
const LOOPBACK: u32 = 1;

/// A program that stays in the dispatcher while this lives.
#[derive(Debug)]
pub(crate) struct Kept {
    _link: OwnedFd,
    /// The namespace goes with its last descriptor.
    _namespace: File,
}

impl Kept {
    /// Attaches `program` to the loopback of a new namespace.
    ///
    /// # Errors
    /// Where namespaces cannot be made. Runs then start later, and nothing else changes.
    pub(crate) fn new(program: BorrowedFd<'_>) -> io::Result<Self> {
        let attach = || {
            // SAFETY: concerns only this thread, which ends below.
            if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
                return Err(io::Error::last_os_error());
            }
            Ok(Self {
                _link: attach::attach(program, LOOPBACK, Mode::Generic)?,
                _namespace: File::open("/proc/thread-self/ns/net")?,
            })
        };
        std::thread::scope(|scope| scope.spawn(attach).join())
            .unwrap_or_else(|_| Err(io::Error::other("the thread panicked")))
    }
}
