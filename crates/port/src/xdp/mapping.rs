//! A BPF array shared with this process, so that reading and clearing it takes no system call.
#![allow(unsafe_code)] // edge: shared memory

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::atomic::AtomicU64;

use rustix::mm::MapFlags;
use rustix::param::page_size;

use crate::memory::Memory;

/// The words of an array map. Whoever reads them while the program runs sees each word as it
/// was at some moment.
#[derive(Debug)]
pub struct Mapping {
    memory: Memory,
    words: usize,
}

impl Mapping {
    /// Maps the first `words` words of the array `map`, which must have as many.
    ///
    /// # Errors
    /// When the kernel does not share it.
    pub fn new(map: BorrowedFd<'_>, words: usize) -> io::Result<Self> {
        // The kernel maps whole pages and refuses what lies behind the last one of the array.
        let bytes = (words * size_of::<u64>()).next_multiple_of(page_size());
        let memory = Memory::shared(map, 0, bytes, MapFlags::empty())?;
        Ok(Self { memory, words })
    }

    /// All words.
    pub fn words(&self) -> &[AtomicU64] {
        // SAFETY: the mapping holds that many words, page aligned, until it is dropped; atomics
        // may be changed by others.
        unsafe { std::slice::from_raw_parts(self.memory.start().cast().as_ptr(), self.words) }
    }
}
