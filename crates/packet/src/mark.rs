//! Whose frames they are: bits of the IPv4 identification that all frames of a run have in common.
//!
//! Testers at work at once number their streams, trials and frames alike. Who looks at frames where those of several
//! testers pass tells them apart by this. Test frames are never fragmented, so that nobody else needs the field
//! (RFC 6864 §4.1), and it is the same in every frame, so that sending takes no longer.

/// Bits of the identification below the mark. The kernel counts it up within a frame that GRO had merged when it splits
/// it again, by 64 frames at most (`UDP_GRO_CNT_MAX` in net/ipv4/udp_offload.c).
const COUNTED_BITS: u32 = 7;
/// Marks of runs are 1 to this.
const LAST: u32 = (1 << (u16::BITS - COUNTED_BITS)) - 1;

/// Tells the frames of a run from those of others: one in 511 other runs has the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct RunMark(u16);

impl RunMark {
    /// Of frames that are of no run, and of those that have other headers or sizes than the usual.
    pub const NONE: Self = Self(0);
    /// Bits of the identification that hold it.
    pub const MASK: u16 = u16::MAX << COUNTED_BITS;

    /// A mark by any number: random where runs are to differ. It is never [`Self::NONE`].
    pub fn of(number: u32) -> Self {
        // At most LAST, which fits.
        Self((number % LAST + 1) as u16)
    }

    /// The identification that frames are sent with.
    pub fn identification(self) -> u16 {
        self.0 << COUNTED_BITS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_survives_the_counting_within_a_merged_frame() {
        for number in [0, 1, 510, 511, u32::MAX] {
            let mark = RunMark::of(number);
            let sent = mark.identification();
            assert_ne!(mark, RunMark::NONE);
            for split in [sent, sent + 63] {
                assert_eq!(split & RunMark::MASK, sent, "{number}");
            }
        }
        assert_ne!(RunMark::of(0), RunMark::of(510));
        assert_eq!(RunMark::of(0), RunMark::of(511));
        assert_eq!(RunMark::NONE.identification(), 0);
    }
}
