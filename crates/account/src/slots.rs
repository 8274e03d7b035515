//! Frames counted by the time of sending.

/// Length of a slot, as a power of two of ns: 8.4 ms.
pub const SLOT_BITS: u32 = 23;
/// Slots that are kept apart: 69 s. Times that are as far apart fall into the same one.
pub const SLOTS: usize = 8192;

/// How many frames were sent in which slot. Memory, 32 KiB, is taken once.
///
/// Times may be cut to the 48 bits that a stamp carries: the place of a slot is in fewer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlotCounts(Box<[u32]>);

impl Default for SlotCounts {
    fn default() -> Self {
        Self(vec![0; SLOTS].into_boxed_slice())
    }
}

impl SlotCounts {
    /// Forgets everything but the memory.
    pub fn reset(&mut self) {
        self.0.fill(0);
    }

    /// Counts `frames` frames sent at `sent_ns` of the monotonic clock.
    #[inline]
    pub fn add(&mut self, sent_ns: u64, frames: u32) {
        let count = &mut self.0[place(sent_ns >> SLOT_BITS)];
        *count = count.saturating_add(frames);
    }

    /// Frames sent in slot number `slot`: that of the time `t` is `t >> SLOT_BITS`.
    pub fn of(&self, slot: u64) -> u64 {
        u64::from(self.0[place(slot)])
    }
}

/// Where a slot is kept: always below [`SLOTS`].
#[inline]
pub fn place(slot: u64) -> usize {
    (slot % SLOTS as u64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOT: u64 = 1 << SLOT_BITS;

    #[test]
    fn frames_are_counted_in_their_slots() {
        let mut counts = SlotCounts::default();
        let slot = 3 * SLOTS as u64 - 1;
        counts.add(slot * SLOT, 2);
        counts.add((slot + 1) * SLOT - 1, 1);
        counts.add((slot + 1) * SLOT, 5);
        assert_eq!([slot - 1, slot, slot + 1].map(|n| counts.of(n)), [0, 3, 5]);
        counts.reset();
        assert_eq!(counts, SlotCounts::default());
    }

    #[test]
    fn the_48_bits_of_a_stamp_are_enough() {
        let mut counts = SlotCounts::default();
        let sent_ns = (7 << 48) + 123 * SLOT;
        counts.add(sent_ns & ((1 << 48) - 1), 1);
        assert_eq!(counts.of(sent_ns >> SLOT_BITS), 1);
    }

    #[test]
    fn a_count_that_is_full_stays() {
        let mut counts = SlotCounts::default();
        counts.add(0, u32::MAX);
        counts.add(0, 1);
        assert_eq!(counts.of(0), u64::from(u32::MAX));
    }
}
