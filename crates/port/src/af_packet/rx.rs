//! Receive ring: the kernel writes frames into memory shared with us, so that no system call is
//! made per frame (Documentation/networking/packet_mmap.rst, TPACKET_V2).
#![allow(unsafe_code)] // edge: a memory-mapped ring written by the kernel

use std::mem::size_of;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::mm::MapFlags;

use super::socket::{ON, Socket};
use crate::error::PortError;
use crate::memory::Memory;

/// Bytes of one block of the ring; every block is one allocation of the kernel.
const BLOCK_BYTES: u32 = 1 << 20;
/// Memory of one ring. At 64 bytes this is room for 170,000 frames: a third of a second of half
/// a million frames per second, longer than the tester is ever kept from its CPU.
const RING_BYTES: u32 = 32 << 20;

/// `PACKET_VNET_HDR` of linux/if_packet.h.
const PACKET_VNET_HDR: libc::c_int = 15;

/// One received frame.
pub(crate) struct Received<'a> {
    /// Bytes without FCS, VLAN tag stripped by the kernel.
    pub(crate) bytes: &'a [u8],
    /// When the kernel delivered it, CLOCK_REALTIME in nanoseconds.
    pub(crate) realtime_ns: i64,
    /// Length without FCS, also where `bytes` are cut off.
    pub(crate) length: u32,
    /// This host sends it: PACKET_OUTGOING.
    pub(crate) outgoing: bool,
    /// The [`OFFLOADS`] bytes before the frame: a virtio_net_hdr, where asked for.
    pub(crate) offloads: &'a [u8],
}

/// Bytes of struct virtio_net_hdr (include/uapi/linux/virtio_net.h).
pub(crate) const OFFLOADS: usize = 10;
/// Where sll_pkttype is in a slot: struct sockaddr_ll follows the aligned header.
const PACKET_TYPE: usize = size_of::<libc::tpacket2_hdr>().next_multiple_of(16) + 10;

/// A mapped ring and its socket.
#[derive(Debug)]
pub(crate) struct RxRing {
    socket: Socket,
    slots: Slots,
}

/// The ring: slots in blocks, taken one after the other.
#[derive(Debug)]
struct Slots {
    memory: Memory,
    block_bytes: usize,
    slot_bytes: usize,
    slots_per_block: usize,
    slots: usize,
    next: usize,
}

impl RxRing {
    /// Opens a ring on `interface` for frames of up to `frame_bytes` (without FCS). Must be
    /// called in the interface's network namespace.
    pub(crate) fn open(
        interface: &str,
        frame_bytes: usize,
        promiscuous: bool,
    ) -> Result<Self, PortError> {
        Self::with(interface, frame_bytes, RING_BYTES, |socket| {
            socket.ignore_outgoing()?;
            if promiscuous {
                socket.promiscuous()
            } else {
                Ok(())
            }
        })
    }

    /// Opens a ring that sees what passes both ways, the first `frame_bytes` of each frame, with what
    /// is left to hardware to do.
    pub(crate) fn open_capture(interface: &str, frame_bytes: usize) -> Result<Self, PortError> {
        Self::with(interface, frame_bytes, RING_BYTES / 2, |socket| {
            socket.promiscuous()?;
            socket.set(PACKET_VNET_HDR, &ON, "see what is left to hardware")
        })
    }

    fn with(
        interface: &str,
        frame_bytes: usize,
        length: u32,
        prepare: impl FnOnce(&Socket) -> Result<(), PortError>,
    ) -> Result<Self, PortError> {
        let socket = Socket::open(interface)?;
        prepare(&socket)?;
        let version = libc::tpacket_versions::TPACKET_V2 as libc::c_int;
        socket.set(libc::PACKET_VERSION, &version, "choose ring version 2")?;
        // Header, link-layer address and headroom stand before the frame; a tag that the kernel
        // puts back takes 4 bytes more.
        let slot_bytes = (libc::TPACKET2_HDRLEN + 16 + frame_bytes + 4).next_multiple_of(64);
        let blocks = length / BLOCK_BYTES;
        let slots_per_block = BLOCK_BYTES as usize / slot_bytes;
        let slots = slots_per_block * blocks as usize;
        let request = libc::tpacket_req {
            tp_block_size: BLOCK_BYTES,
            tp_block_nr: blocks,
            tp_frame_size: slot_bytes as u32,
            tp_frame_nr: slots as u32,
        };
        socket.set(libc::PACKET_RX_RING, &request, "make a receive ring")?;
        let memory = Memory::shared(&socket, 0, length as usize, MapFlags::POPULATE)
            .map_err(|error| PortError::system(interface, "map the receive ring", error))?;
        let slots = Slots {
            memory,
            block_bytes: BLOCK_BYTES as usize,
            slot_bytes,
            slots_per_block,
            slots,
            next: 0,
        };
        let ring = Self { socket, slots };
        // Only now may frames flow: a socket bound earlier would queue them outside the ring.
        ring.socket.bind(libc::ETH_P_ALL)?;
        Ok(ring)
    }

    /// Hands up to `max` waiting frames to `each`; returns how many there were.
    pub(crate) fn poll(&mut self, max: usize, each: impl FnMut(Received<'_>)) -> usize {
        self.slots.poll(max, each)
    }

    /// Frames dropped because the ring was full, since the last call.
    pub(crate) fn take_drops(&self) -> Result<u64, PortError> {
        self.socket.take_drops()
    }

    /// Fails when the interface went down.
    pub(crate) fn check_up(&self) -> Result<(), PortError> {
        self.socket.check_up()
    }
}

impl Slots {
    fn poll(&mut self, max: usize, mut each: impl FnMut(Received<'_>)) -> usize {
        for count in 0..max {
            let block = self.next / self.slots_per_block;
            let slot = self.next % self.slots_per_block;
            let offset = block * self.block_bytes + slot * self.slot_bytes;
            // SAFETY: `next < slots`, so the slot lies inside the mapping; the kernel aligned it.
            let header = unsafe { self.memory.start().add(offset) };
            // SAFETY: tp_status is the first, aligned u32 of the slot; the kernel and we hand
            // the slot over through it, so it is accessed atomically.
            let status = unsafe { AtomicU32::from_ptr(header.as_ptr().cast::<u32>()) };
            if status.load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
                return count;
            }
            // SAFETY: the slot is ours until we give it back; the header is plain data.
            let fields = unsafe { header.cast::<libc::tpacket2_hdr>().as_ptr().read() };
            let place = place(
                usize::from(fields.tp_mac),
                fields.tp_snaplen as usize,
                self.slot_bytes,
            );
            let (start, length) = (place.start, place.len());
            // SAFETY: the place is within the slot, whatever the header says.
            let bytes = unsafe { std::slice::from_raw_parts(header.add(start).as_ptr(), length) };
            let realtime_ns = i64::from(fields.tp_sec) * 1_000_000_000 + i64::from(fields.tp_nsec);
            let before = start.saturating_sub(OFFLOADS);
            // SAFETY: what stands before a place within the slot is too.
            let offloads =
                unsafe { std::slice::from_raw_parts(header.add(before).as_ptr(), start - before) };
            // SAFETY: the address that the kernel writes behind its header is within the slot.
            let kind = unsafe { header.add(PACKET_TYPE).read() };
            each(Received {
                bytes,
                realtime_ns,
                length: fields.tp_len,
                outgoing: kind == libc::PACKET_OUTGOING,
                offloads,
            });
            status.store(libc::TP_STATUS_KERNEL, Ordering::Release);
            self.next = (self.next + 1) % self.slots;
        }
        max
    }
}

/// Where a frame of `length` bytes from `start` on lies in its slot, cut off at the slot's end. One that
/// would begin in the header or beyond the slot has no bytes, as no frame of ours.
fn place(start: usize, length: usize, slot_bytes: usize) -> Range<usize> {
    if start < size_of::<libc::tpacket2_hdr>() || start > slot_bytes {
        return 0..0;
    }
    start..start + length.min(slot_bytes - start)
}

// The kernel places the header at the start of each slot; keep the sizes we rely on checked.
const _: () = assert!(size_of::<libc::tpacket2_hdr>() <= libc::TPACKET2_HDRLEN);

#[cfg(test)]
mod ring_tests;

#[cfg(test)]
mod tests {
    use nicety_model::FrameSize;
    use nicety_packet::{CheckCorruption, Expect, Seen};
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_frame_is_cut_off_at_the_end_of_its_slot() {
        assert_eq!(place(66, 60, 256), 66..126);
        assert_eq!(place(66, 1000, 256), 66..256);
        assert_eq!(place(256, 60, 256), 256..256);
        for start in [0, 31, 257, 65_535] {
            assert_eq!(place(start, 60, 256), 0..0);
        }
        let expect = Expect::new(FrameSize::new(64).unwrap(), false);
        let seen = expect.classify(&[], CheckCorruption::Full);
        assert!(matches!(seen, Seen::Foreign), "{seen:?}");
    }

    proptest! {
        #[test]
        fn a_frame_is_within_its_slot(
            start: u16, length: u32, slot_bytes in 64..20_000_usize,
        ) {
            let place = place(usize::from(start), length as usize, slot_bytes);
            prop_assert!(place.start <= place.end && place.end <= slot_bytes);
        }
    }
}
