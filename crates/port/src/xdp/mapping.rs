//! A BPF array shared with this process, so that reading and clearing it takes no system call.
#![allow(unsafe_code)] // edge: shared memory

use std::io;
use std::os::fd::BorrowedFd;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::AtomicU64;

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use rustix::param::page_size;

/// The words of an array map. Whoever reads them while the program runs sees each word as it
/// was at some moment.
#[derive(Debug)]
pub(crate) struct Mapping {
    start: NonNull<AtomicU64>,
    words: usize,
    bytes: usize,
}

// SAFETY: the memory belongs to the mapping alone, is the same from every thread, and is only
// touched through atomics.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps the first `words` words of the array `map`, which must have as many.
    pub(crate) fn new(map: BorrowedFd<'_>, words: usize) -> io::Result<Self> {
        // The kernel maps whole pages and refuses what lies behind the last one of the array.
        let bytes = (words * size_of::<u64>()).next_multiple_of(page_size());
        let prot = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping where the kernel chooses; nothing else is there.
        let start = unsafe { mmap(null_mut(), bytes, prot, MapFlags::SHARED, map, 0) }?;
        let start = NonNull::new(start.cast()).ok_or_else(|| io::Error::other("no address"))?;
        Ok(Self {
            start,
            words,
            bytes,
        })
    }

    /// All words.
    pub(crate) fn words(&self) -> &[AtomicU64] {
        // SAFETY: the mapping holds that many words, page aligned, until it is dropped; atomics
        // may be changed by others.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.words) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: nobody holds a reference into the mapping: they borrow from it.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}
