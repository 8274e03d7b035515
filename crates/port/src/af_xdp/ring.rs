//! Memory shared with the kernel: the frames, and the rings that say whose they are. Layout as
//! in linux/if_xdp.h, meaning as in Documentation/networking/af_xdp.rst.
#![allow(unsafe_code)] // edge: shared memory

use std::io;
use std::os::fd::BorrowedFd;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};

/// A piece of memory, gone when dropped.
#[derive(Debug)]
pub(super) struct Memory {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the memory belongs to this value alone, and is the same from every thread.
unsafe impl Send for Memory {}

impl Memory {
    /// `bytes` bytes of zeros that the kernel may read and write as well.
    pub(super) fn new(bytes: usize) -> io::Result<Self> {
        let prot = ProtFlags::READ | ProtFlags::WRITE;
        let flags = MapFlags::PRIVATE | MapFlags::POPULATE;
        // SAFETY: a new mapping where the kernel chooses; nothing else is there.
        let start = unsafe { mmap_anonymous(null_mut(), bytes, prot, flags) }?;
        Self::at(start.cast(), bytes)
    }

    /// The ring of a socket at `offset`, `bytes` bytes of it.
    fn shared(socket: BorrowedFd<'_>, offset: u64, bytes: usize) -> io::Result<Self> {
        let prot = ProtFlags::READ | ProtFlags::WRITE;
        let flags = MapFlags::SHARED | MapFlags::POPULATE;
        // SAFETY: as above.
        let start = unsafe { mmap(null_mut(), bytes, prot, flags, socket, offset) }?;
        Self::at(start.cast(), bytes)
    }

    fn at(start: *mut u8, bytes: usize) -> io::Result<Self> {
        let start = NonNull::new(start).ok_or_else(|| io::Error::other("no address"))?;
        Ok(Self { start, bytes })
    }

    /// Where it starts.
    pub(super) fn address(&self) -> u64 {
        self.start.as_ptr() as u64
    }

    /// `length` bytes from `offset`; nothing where that is beyond the end. The kernel must not
    /// be using them: they are in no ring.
    pub(super) fn slice(&mut self, offset: usize, length: usize) -> &mut [u8] {
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
        layout: &libc::xdp_ring_offset,
        entries: u32,
    ) -> io::Result<Self> {
        let bytes = layout.desc as usize + entries as usize * size_of::<T>();
        let memory = Memory::shared(socket, offset, bytes)?;
        let fits = |at: u64| {
            let at = at as usize;
            (at + size_of::<u32>() <= bytes && at.is_multiple_of(align_of::<u32>())).then_some(at)
        };
        let places = (
            fits(layout.producer),
            fits(layout.consumer),
            fits(layout.flags),
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
            self.memory
                .start
                .as_ptr()
                .add(self.entries)
                .cast::<T>()
                .add(index)
        }
    }

    fn word(&self, offset: usize) -> &AtomicU32 {
        // SAFETY: `map` has checked that the word is inside and aligned; the kernel changes it
        // atomically.
        unsafe { AtomicU32::from_ptr(self.memory.start.as_ptr().add(offset).cast()) }
    }
}
