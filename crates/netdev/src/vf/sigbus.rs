//! Reading registers of a device that may go at any moment. Its mapping stays, and a read of it is then
//! answered with SIGBUS, which ends the process.
//!
//! Nothing reads such a page in another way: the file takes no read(2), and process_vm_readv(2) refuses
//! pages of devices. So the signal is taken. Its handler puts a page of zeros in the place of the mapping,
//! notes that the device is gone, and the read goes on with zeros. systemd does the same for journals that
//! are cut short under it (`src/basic/sigbus.c`).
#![allow(unsafe_code)] // edge: a signal handler

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Mappings at once: NICs with functions that have no other counters.
const MOST: usize = 64;

/// A mapping that may lose its device. The handler reads it, so it takes no lock.
struct Guarded {
    /// Its address; 0 for a free place.
    start: AtomicUsize,
    length: AtomicUsize,
    lost: AtomicBool,
}

static GUARDED: [Guarded; MOST] = [const {
    Guarded {
        start: AtomicUsize::new(0),
        length: AtomicUsize::new(0),
        lost: AtomicBool::new(false),
    }
}; MOST];

/// Held while a place is taken; true when the handler is there.
static TAKEN: Mutex<bool> = Mutex::new(false);

/// A mapping that is guarded until this is dropped, before the mapping goes.
#[derive(Debug)]
pub(super) struct Guard(usize);

impl Guard {
    /// Guards a mapping that nobody writes.
    ///
    /// # Errors
    /// When too many are guarded, or the handler cannot be set.
    pub fn begin(start: usize, length: usize) -> io::Result<Self> {
        let mut is_set = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
        if !*is_set {
            set_handler()?;
            *is_set = true;
        }
        let free = |place: &Guarded| place.start.load(Ordering::Acquire) == 0;
        let Some(at) = GUARDED.iter().position(free) else {
            return Err(io::Error::other(format!(
                "registers of {MOST} NICs are read already"
            )));
        };
        let place = &GUARDED[at];
        place.length.store(length, Ordering::Release);
        place.lost.store(false, Ordering::Release);
        place.start.store(start, Ordering::Release);
        Ok(Self(at))
    }

    /// Whether the device has gone: what was read since then is zeros.
    pub fn lost(&self) -> bool {
        GUARDED[self.0].lost.load(Ordering::Acquire)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        GUARDED[self.0].start.store(0, Ordering::Release);
    }
}

fn set_handler() -> io::Result<()> {
    // SAFETY: an all-zero sigaction is valid, and its mask is empty.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = on_sigbus as *const () as usize;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
    // SAFETY: the handler does what is allowed in one: system calls and atomics.
    match unsafe { libc::sigaction(libc::SIGBUS, &action, std::ptr::null_mut()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

extern "C" fn on_sigbus(
    signal: libc::c_int,
    info: *mut libc::siginfo_t,
    _context: *mut libc::c_void,
) {
    // SAFETY: the kernel passes a siginfo that lives as long as the handler runs.
    let at = unsafe { (*info).si_addr() } as usize;
    for place in &GUARDED {
        let start = place.start.load(Ordering::Acquire);
        let length = place.length.load(Ordering::Acquire);
        if start == 0 || at < start || at - start >= length {
            continue;
        }
        // SAFETY: the range is a mapping of ours that is only read; what is mapped over it can be read
        // too. errno is this thread's, and is put back for the code that was interrupted.
        let mapped = unsafe {
            let errno = libc::__errno_location();
            let before = *errno;
            let mapped = libc::mmap(
                start as *mut libc::c_void,
                length,
                libc::PROT_READ,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED,
                -1,
                0,
            );
            *errno = before;
            mapped
        };
        if mapped != libc::MAP_FAILED {
            place.lost.store(true, Ordering::Release);
            return;
        }
    }
    // Not one of ours: the read comes again and ends the process, as it would have without this handler.
    // SAFETY: only sets the default action.
    unsafe { libc::signal(signal, libc::SIG_DFL) };
}
