//! The stamp: who sent a frame, which one it is, and when it left.
//!
//! Fourteen bytes at the start of the UDP payload, so that the shortest Ethernet frame holds
//! them even with a VLAN tag: 14 + 4 + 20 + 8 + 14 = 60 bytes without FCS.

/// Bytes of a stamp.
pub const STAMP_BYTES: usize = 14;
/// First two bytes of every stamp.
pub const MAGIC: u16 = 0x9e1c;
/// Stream of learning frames, which are never counted.
pub const STREAM_LEARNING: u8 = 255;
/// Bits of the transmit time: it wraps after 2^48 ns, 78 hours.
pub const TIME_BITS: u32 = 48;

const STREAM: usize = 2;
const TRIAL: usize = 3;
const SEQUENCE: usize = 4;
const TIME: usize = 8;

/// What a stamp says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Stamp {
    /// Stream; [`STREAM_LEARNING`] is reserved.
    pub stream: u8,
    /// Low byte of the trial counter, so that stale frames of an earlier trial show.
    pub trial: u8,
    /// Low 32 bits of the frame's number within its stream and trial, from 0.
    pub sequence: u32,
    /// Transmit time in ns of the monotonic clock; the stamp carries the low 48 bits.
    pub tx_ns: u64,
}

impl Stamp {
    /// The stamp of a learning frame.
    pub fn learning(trial: u8) -> Self {
        Self {
            stream: STREAM_LEARNING,
            trial,
            ..Self::default()
        }
    }

    /// Reads a stamp; nothing if the magic is wrong. `tx_ns` holds 48 bits.
    pub fn read(bytes: &[u8; STAMP_BYTES]) -> Option<Self> {
        let [
            m0,
            m1,
            stream,
            trial,
            s0,
            s1,
            s2,
            s3,
            t0,
            t1,
            t2,
            t3,
            t4,
            t5,
        ] = *bytes;
        (u16::from_be_bytes([m0, m1]) == MAGIC).then(|| Self {
            stream,
            trial,
            sequence: u32::from_be_bytes([s0, s1, s2, s3]),
            tx_ns: u64::from_be_bytes([0, 0, t0, t1, t2, t3, t4, t5]),
        })
    }

    /// Writes the stamp, magic included.
    pub fn write(&self, bytes: &mut [u8; STAMP_BYTES]) {
        bytes[..STREAM].copy_from_slice(&MAGIC.to_be_bytes());
        bytes[STREAM] = self.stream;
        bytes[TRIAL] = self.trial;
        bytes[SEQUENCE..TIME].copy_from_slice(&self.sequence.to_be_bytes());
        bytes[TIME..].copy_from_slice(&self.tx_ns.to_be_bytes()[2..]);
    }

    /// Nanoseconds from the transmit time to `now_ns` of the same clock, see [`elapsed_ns`].
    pub fn elapsed_ns(&self, now_ns: u64) -> i64 {
        elapsed_ns(self.tx_ns, now_ns)
    }
}

/// Nanoseconds from `tx_ns` to `now_ns`, of which only the low 48 bits count. Right for
/// differences of less than 39 hours either way; negative when `now_ns` lies before `tx_ns`,
/// which on one clock means that the clock is broken.
pub fn elapsed_ns(tx_ns: u64, now_ns: u64) -> i64 {
    // Shifting the 48-bit difference up to bit 63 and back extends its sign.
    let spare = u64::BITS - TIME_BITS;
    ((now_ns.wrapping_sub(tx_ns) << spare) as i64) >> spare
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn layout() {
        let mut bytes = [0; STAMP_BYTES];
        let stamp = Stamp {
            stream: 0x11,
            trial: 0x22,
            sequence: 0x3344_5566,
            tx_ns: 0xffff_7788_99aa_bbcc,
        };
        stamp.write(&mut bytes);
        assert_eq!(
            bytes,
            [
                0x9e, 0x1c, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc
            ]
        );
        let read = Stamp::read(&bytes).unwrap();
        assert_eq!(read.tx_ns, 0x7788_99aa_bbcc);
        assert_eq!(Stamp { tx_ns: 0, ..read }, Stamp { tx_ns: 0, ..stamp });
    }

    #[test]
    fn wrong_magic_is_no_stamp() {
        let mut bytes = [0; STAMP_BYTES];
        Stamp::default().write(&mut bytes);
        bytes[0] ^= 1;
        assert_eq!(Stamp::read(&bytes), None);
    }

    #[test]
    fn elapsed_crosses_the_wrap_and_keeps_its_sign() {
        let wrap = 1_u64 << TIME_BITS;
        for (tx, now, elapsed) in [
            (1000, 1500, 500),
            (1500, 1000, -500),
            (wrap - 1, wrap + 9, 10),
            ((wrap - 1) & 0xffff, 0xffff + 3, 3),
            (0, wrap / 2 - 1, (wrap / 2 - 1) as i64),
            (0, wrap / 2, -((wrap / 2) as i64)),
        ] {
            assert_eq!(elapsed_ns(tx, now), elapsed, "{tx} to {now}");
        }
    }

    proptest! {
        #[test]
        fn elapsed_survives_truncation(now in any::<u64>(), back in -1_000_000_000_000_i64..1_000_000_000_000) {
            let tx = now.wrapping_sub(back as u64) & ((1 << TIME_BITS) - 1);
            prop_assert_eq!(elapsed_ns(tx, now), back);
        }
    }
}
