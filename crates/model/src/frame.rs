//! Frame sizes and directions, and what a frame costs on the wire.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::Fps;

/// Bytes of the frame check sequence, part of the frame size but never seen by a packet socket.
pub const FCS_BYTES: u16 = 4;
/// Bytes a frame occupies on the wire beside itself: preamble and start delimiter 8, gap 12
/// (IEEE 802.3).
pub const L1_OVERHEAD_BYTES: u32 = 20;
/// The seven sizes of RFC 2544 §9.1 for Ethernet.
pub const RFC2544_SIZES: [u16; 7] = [64, 128, 256, 512, 1024, 1280, 1518];

/// Bytes of an Ethernet frame, FCS included: 64 means 60 bytes on AF_PACKET.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(try_from = "u16", into = "u16")]
pub struct FrameSize(u16);

impl FrameSize {
    /// Smallest Ethernet frame (IEEE 802.3).
    pub const MIN: u16 = 64;
    /// The smallest frame as a size.
    pub const SMALLEST: Self = Self(Self::MIN);
    /// Largest frame nicety sends: a jumbo frame of MTU 9000 with header and FCS.
    pub const MAX: u16 = 9018;

    /// A size in bytes with FCS, within [`Self::MIN`] and [`Self::MAX`].
    pub fn new(bytes: u16) -> Result<Self, FrameSizeError> {
        if (Self::MIN..=Self::MAX).contains(&bytes) {
            Ok(Self(bytes))
        } else {
            Err(FrameSizeError(bytes))
        }
    }

    /// Bytes with FCS.
    pub fn bytes(self) -> u16 {
        self.0
    }

    /// Bytes handed to a packet socket: without FCS.
    pub fn bytes_without_fcs(self) -> usize {
        usize::from(self.0 - FCS_BYTES)
    }

    /// Smallest interface MTU that carries this frame untagged: without FCS and the
    /// 14 byte Ethernet header.
    pub fn mtu_needed(self) -> u32 {
        u32::from(self.0 - FCS_BYTES) - 14
    }

    /// Bits on the wire, preamble and gap included.
    pub fn l1_bits(self) -> f64 {
        f64::from((u32::from(self.0) + L1_OVERHEAD_BYTES) * 8)
    }

    /// Rate at L1 in Mbit/s: `fps * (size + 20) * 8 / 10^6`.
    pub fn l1_mbps(self, rate: Fps) -> f64 {
        rate.0 * self.l1_bits() / 1e6
    }

    /// Rate at L2 in Mbit/s: frame bytes with FCS only.
    pub fn l2_mbps(self, rate: Fps) -> f64 {
        rate.0 * f64::from(self.0) * 8.0 / 1e6
    }

    /// Highest rate of a link of `mbps` Mbit/s: `Mpps = Gbps / ((size + 20) * 8) * 1000`.
    pub fn line_rate(self, mbps: f64) -> Fps {
        Fps(mbps * 1e6 / self.l1_bits())
    }
}

impl std::fmt::Display for FrameSize {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl TryFrom<u16> for FrameSize {
    type Error = FrameSizeError;
    fn try_from(bytes: u16) -> Result<Self, Self::Error> {
        Self::new(bytes)
    }
}

impl From<FrameSize> for u16 {
    fn from(size: FrameSize) -> u16 {
        size.0
    }
}

/// A frame size outside 64 to 9018 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("frame size {0} is outside {min} to {max} bytes (with FCS)", min = FrameSize::MIN, max = FrameSize::MAX)]
pub struct FrameSizeError(pub u16);

crate::keywords::keywords! {
    /// Which ports send.
    Direction {
        /// Port A sends, port B receives.
        Uni = "uni",
        /// Both ports send the same load at the same time; rates are per direction.
        Bi = "bi",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_gigabit_line_rate_of_64_bytes_is_14_88_mpps() {
        let size = FrameSize::new(64).unwrap();
        assert!((size.line_rate(10_000.0).0 - 14_880_952.38).abs() < 0.01);
    }

    #[test]
    fn seed_table_converts_gbps_to_mpps() {
        // A blog's table of Linux bridge and testpmd: Mpps = Gbps / ((size + 20) * 8) * 1000.
        for (bytes, gbps, mpps) in [
            (64, 2.98, 4.43),
            (64, 15.2, 22.6),
            (128, 5.61, 4.74),
            (128, 19.4, 16.4),
            (256, 9.16, 4.15),
            (256, 20.0, 9.06),
            (512, 16.4, 3.85),
            (1024, 20.0, 2.39),
        ] {
            let size = FrameSize::new(bytes).unwrap();
            let rate = size.line_rate(gbps * 1000.0).0 / 1e6;
            // Three digits are printed.
            let half = if mpps < 10.0 { 0.005 } else { 0.05 };
            assert!((rate - mpps).abs() <= half, "{bytes}: {rate}");
            assert!((size.l1_mbps(Fps(rate * 1e6)) / 1000.0 - gbps).abs() < 1e-9);
        }
    }

    #[test]
    fn sizes_out_of_range_are_refused() {
        assert!(FrameSize::new(63).is_err());
        assert!(FrameSize::new(9019).is_err());
        assert_eq!(FrameSize::new(1518).unwrap().mtu_needed(), 1500);
    }
}
