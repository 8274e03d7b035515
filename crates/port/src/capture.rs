//! What passes an interface and when, by the kernel's time stamps; nothing is changed.

use crate::af_packet::rx::{OFFLOADS, RxRing};
use crate::error::PortError;

/// Of each frame: its addresses, and room for the kernel's alignment.
const HEAD: usize = 64;
/// FCS, preamble and gap of a frame on the wire in bytes (IEEE 802.3).
const WIRE: u32 = 24;
/// VIRTIO_NET_HDR_GSO_ECN is no part of the kind.
const GSO_KIND: u8 = 0x7f;

/// Which way frames go that are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// What this host sends through the interface, after its queueing discipline.
    Sent,
    /// What comes in through it, before anything is done to it.
    Received,
}

/// A capture that goes on.
#[derive(Debug)]
pub struct Capture {
    ring: RxRing,
    way: Way,
    source: Option<[u8; 6]>,
}

/// A frame, or a packet that becomes several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Captured {
    /// CLOCK_REALTIME in nanoseconds.
    pub realtime_ns: i64,
    /// Bytes on the wire of all its frames, with FCS, preamble and gap.
    pub wire_bytes: u32,
    /// Frames it becomes.
    pub frames: u32,
}

impl Capture {
    /// Begins. Must be called in the interface's network namespace. Only frames from `source` count
    /// when that is given.
    ///
    /// # Errors
    /// [`PortFault::System`](crate::PortFault::System) without the interface or CAP_NET_RAW.
    pub fn open(interface: &str, way: Way, source: Option<[u8; 6]>) -> Result<Self, PortError> {
        Ok(Self {
            ring: RxRing::open_capture(interface, HEAD)?,
            way,
            source,
        })
    }

    /// Hands what has come to `each`, at most `most`; returns how much that was, with what was not
    /// meant.
    pub fn poll(&mut self, most: usize, mut each: impl FnMut(Captured)) -> usize {
        let (way, source) = (self.way, self.source);
        self.ring.poll(most, |frame| {
            let from = frame.bytes.get(6..12);
            let meant = frame.outgoing == (way == Way::Sent)
                && source.is_none_or(|source| from == Some(&source[..]));
            if meant {
                let (frames, wire_bytes) = on_the_wire(frame.length, frame.offloads);
                each(Captured {
                    realtime_ns: frame.realtime_ns,
                    wire_bytes,
                    frames,
                });
            }
        })
    }

    /// Frames that there was no room for, since the last call.
    ///
    /// # Errors
    /// When the kernel does not tell.
    pub fn take_drops(&self) -> Result<u64, PortError> {
        self.ring.take_drops()
    }

    /// Fails when the interface went down.
    ///
    /// # Errors
    /// [`PortFault::Down`](crate::PortFault::Down).
    pub fn check_up(&self) -> Result<(), PortError> {
        self.ring.check_up()
    }
}

/// Frames and bytes on the wire of a packet of `length` bytes without FCS. A virtio_net_hdr says
/// into what it is to be segmented: flags, kind, bytes of headers, bytes of a segment.
fn on_the_wire(length: u32, offloads: &[u8]) -> (u32, u32) {
    let word = |at: usize| {
        let bytes = offloads.get(at..at + 2).and_then(|b| b.try_into().ok());
        u32::from(bytes.map_or(0, u16::from_ne_bytes))
    };
    let kind = offloads.get(1).copied().unwrap_or(0) & GSO_KIND;
    let (headers, segment) = (word(2), word(4));
    let segmented = offloads.len() == OFFLOADS && kind != 0 && segment > 0 && headers < length;
    if !segmented {
        return (1, length + WIRE);
    }
    let frames = (length - headers).div_ceil(segment);
    (frames, length + (frames - 1) * headers + frames * WIRE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_are_counted() {
        assert_eq!(on_the_wire(1514, &[0; 10]), (1, 1538));
        assert_eq!(on_the_wire(60, &[]), (1, 84));
        let mut offloads = [0u8; 10];
        offloads[1] = 1;
        offloads[2..4].copy_from_slice(&66u16.to_ne_bytes());
        offloads[4..6].copy_from_slice(&1448u16.to_ne_bytes());
        let (frames, bytes) = on_the_wire(66 + 3 * 1448 + 1, &offloads);
        assert_eq!((frames, bytes), (4, 3 * 1538 + 66 + 1 + 24));
        // Headers longer than the packet are nobody's.
        offloads[2..4].copy_from_slice(&9000u16.to_ne_bytes());
        assert_eq!(on_the_wire(100, &offloads), (1, 124));
    }
}
