//! The rings that say whose frames are. Layout as in linux/if_xdp.h, meaning as in
//! Documentation/networking/af_xdp.rst.
#![allow(unsafe_code)] // edge: shared memory

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::mm::MapFlags;
use rustix::net::xdp::XdpRingOffset;

use crate::memory::Memory;

/// A ring of entries `T` with one producer and one consumer, of which one is the kernel.
#[derive(Debug)]
pub(super) struct Ring<T> {
    memory: Memory,
    producer: usize,
    consumer: usize,
    flags: usize,
    entries: usize,
    mask: u32,
    kind: std::marker::PhantomData<T>,
}

impl<T: Copy> Ring<T> {
    /// Maps a ring of `entries` entries, a power of two, that `socket` has at `offset`.
    pub(super) fn map(
        socket: BorrowedFd<'_>,
        offset: u64,
        layout: &XdpRingOffset,
        entries: u32,
    ) -> io::Result<Self> {
        let bytes = layout.desc as usize + entries as usize * size_of::<T>();
        let memory = Memory::shared(socket, offset, bytes, MapFlags::POPULATE)?;
        Self::over(memory, bytes, layout, entries)
    }

    /// A ring in `memory`, which has room for `entries` entries.
    fn over(
        memory: Memory,
        bytes: usize,
        layout: &XdpRingOffset,
        entries: u32,
    ) -> io::Result<Self> {
        let fits = |at: u64| {
            let at = at as usize;
            (at + size_of::<u32>() <= bytes && at.is_multiple_of(align_of::<u32>())).then_some(at)
        };
        let places = (
            fits(layout.producer),
            fits(layout.consumer),
            layout.flags.and_then(fits),
        );
        let (Some(producer), Some(consumer), Some(flags)) = places else {
            return Err(io::Error::other(
                "a layout of rings this program does not know",
            ));
        };
        Ok(Self {
            memory,
            producer,
            consumer,
            flags,
            entries: layout.desc as usize,
            mask: entries - 1,
            kind: std::marker::PhantomData,
        })
    }

    /// Entries put in so far, modulo 2^32.
    pub(super) fn produced(&self) -> u32 {
        self.word(self.producer).load(Ordering::Acquire)
    }

    /// Entries taken out so far, modulo 2^32.
    pub(super) fn consumed(&self) -> u32 {
        self.word(self.consumer).load(Ordering::Acquire)
    }

    /// Hands over all entries before number `number` to the consumer.
    pub(super) fn produce(&self, number: u32) {
        self.word(self.producer).store(number, Ordering::Release);
    }

    /// Gives back all entries before number `number` to the producer.
    pub(super) fn consume(&self, number: u32) {
        self.word(self.consumer).store(number, Ordering::Release);
    }

    /// Whether the kernel waits for a call before it looks at the ring.
    pub(super) fn needs_wakeup(&self) -> bool {
        self.word(self.flags).load(Ordering::Relaxed) & libc::XDP_RING_NEED_WAKEUP != 0
    }

    /// Writes entry `number`, which must be the producer's.
    pub(super) fn write(&mut self, number: u32, entry: T) {
        // SAFETY: the entry is inside the ring; until it is produced the kernel does not read it.
        unsafe { self.entry(number).write(entry) }
    }

    /// Reads entry `number`, which must be the consumer's.
    pub(super) fn read(&self, number: u32) -> T {
        // SAFETY: the entry is inside the ring; until it is consumed the kernel does not write
        // it. Entries are plain numbers.
        unsafe { self.entry(number).read() }
    }

    fn entry(&self, number: u32) -> *mut T {
        let index = (number & self.mask) as usize;
        // SAFETY: `map` made room for mask + 1 entries behind this offset.
        unsafe {
            let start = self.memory.start().as_ptr();
            start.add(self.entries).cast::<T>().add(index)
        }
    }

    fn word(&self, offset: usize) -> &AtomicU32 {
        // SAFETY: `map` has checked that the word is inside and aligned; the kernel changes it
        // atomically.
        unsafe { AtomicU32::from_ptr(self.memory.start().as_ptr().add(offset).cast()) }
    }
}

#[cfg(test)]
mod tests;
