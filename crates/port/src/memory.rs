//! Memory that this process and the kernel see.
#![allow(unsafe_code)] // edge: mmap(2)

use std::io;
use std::os::fd::AsFd;
use std::ptr::{NonNull, null_mut};

use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};

/// A piece of memory, gone when dropped.
#[derive(Debug)]
pub(crate) struct Memory {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the memory belongs to this value alone, and is the same from every thread.
unsafe impl Send for Memory {}
// SAFETY: a shared reference gives the address only.
unsafe impl Sync for Memory {}

impl Memory {
    /// `bytes` bytes of zeros that the kernel may read and write as well.
    pub(crate) fn new(bytes: usize) -> io::Result<Self> {
        let prot = ProtFlags::READ | ProtFlags::WRITE;
        // Miri, which `make miri` runs, knows no POPULATE.
        let populate = if cfg!(miri) {
            MapFlags::empty()
        } else {
            MapFlags::POPULATE
        };
        let flags = MapFlags::PRIVATE | populate;
        // SAFETY: a new mapping where the kernel chooses; nothing else is there.
        let start = unsafe { mmap_anonymous(null_mut(), bytes, prot, flags) }?;
        Self::at(start.cast(), bytes)
    }

    /// `bytes` bytes from `offset` of what `file` shares.
    pub(crate) fn shared(
        file: impl AsFd,
        offset: u64,
        bytes: usize,
        flags: MapFlags,
    ) -> io::Result<Self> {
        let prot = ProtFlags::READ | ProtFlags::WRITE;
        let flags = MapFlags::SHARED | flags;
        // SAFETY: as above.
        let start = unsafe { mmap(null_mut(), bytes, prot, flags, file, offset) }?;
        Self::at(start.cast(), bytes)
    }

    fn at(start: *mut u8, bytes: usize) -> io::Result<Self> {
        let start = NonNull::new(start).ok_or_else(|| io::Error::other("no address"))?;
        Ok(Self { start, bytes })
    }

    /// Where it starts.
    pub(crate) fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// `length` bytes from `offset`; nothing where that is beyond the end. The kernel must not
    /// be using them: they are in no ring.
    pub(crate) fn slice(&mut self, offset: usize, length: usize) -> &mut [u8] {
        if offset.saturating_add(length) > self.bytes {
            return &mut [];
        }
        // SAFETY: inside the mapping, which `self` borrows exclusively; the caller sees to it
        // that the kernel does not touch it meanwhile.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr().add(offset), length) }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: nobody holds a reference into the mapping: they borrow from it. The kernel
        // holds the pages of its own accord.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}
