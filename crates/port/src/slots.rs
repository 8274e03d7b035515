//! What became of frames by the slots of time in which they were sent, over all directions.

use std::ops::Range;
use std::time::Duration;

use nicety_account::SlotCounts;
use nicety_account::slots::{SLOT_BITS, SLOTS};

use crate::engine::{Part, Slots};

/// The frames of one direction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stretch {
    /// Number of the slot in which the first frame was sent: its time shifted by [`SLOT_BITS`].
    pub(crate) first: u64,
    /// From there to the slot of the last frame, those without frames among them.
    pub(crate) parts: Vec<Part>,
}

/// Slots from that of the first frame to that of the last one, sent at `ends`. `None` when these are
/// more than are kept apart.
pub(crate) fn reach(ends: [u64; 2]) -> Option<Range<u64>> {
    let [first, last] = ends.map(|ns| ns >> SLOT_BITS);
    (last.saturating_sub(first) < SLOTS as u64).then_some(first..last + 1)
}

/// All directions together: the slots in which each of them sent from begin to end, one beside the
/// other by the clock.
pub(crate) fn together(stretches: &[Stretch]) -> Option<Slots> {
    // Sending begins and ends somewhere within a slot.
    let first = stretches.iter().map(|s| s.first + 1).max()?;
    let ends = stretches.iter().map(|s| s.first + s.parts.len() as u64);
    let end = ends.min()?.saturating_sub(1);
    let sum_of_slot = |slot: u64| {
        let parts = stretches.iter().map(|s| s.parts[(slot - s.first) as usize]);
        parts.fold(Part::default(), |sum, part| Part {
            sent: sum.sent + part.sent,
            lost: sum.lost + part.lost,
        })
    };
    Some(Slots {
        length: Duration::from_nanos(1 << SLOT_BITS),
        first,
        parts: (first..end).map(sum_of_slot).collect(),
    })
}

/// When the frames of one direction were sent, counted as they leave.
#[derive(Debug, Clone, Default)]
pub(crate) struct SentTimes {
    counts: SlotCounts,
    /// Times of the first and of the last frame.
    ends: Option<[u64; 2]>,
}

impl SentTimes {
    /// Forgets everything but the memory.
    pub(crate) fn reset(&mut self) {
        self.counts.reset();
        self.ends = None;
    }

    /// `frames` frames were sent with `tx_ns` in their stamps.
    pub(crate) fn sent(&mut self, tx_ns: u64, frames: usize) {
        if frames > 0 {
            self.counts.add(tx_ns, frames as u32);
            let first = self.ends.map_or(tx_ns, |[first, _]| first);
            self.ends = Some([first, tx_ns]);
        }
    }

    /// With those that arrived, by the same clock. `None` when nothing was sent, or for longer than
    /// slots are kept apart.
    pub(crate) fn stretch(&self, arrived: &SlotCounts) -> Option<Stretch> {
        let slots = reach(self.ends?)?;
        let part = |slot| Part {
            sent: self.counts.of(slot),
            lost: self.counts.of(slot).saturating_sub(arrived.of(slot)),
        };
        Some(Stretch {
            first: slots.start,
            parts: slots.map(part).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SLOT: u64 = 1 << SLOT_BITS;

    fn stretch(first: u64, parts: &[(u64, u64)]) -> Stretch {
        let parts = parts.iter().map(|&(sent, lost)| Part { sent, lost });
        Stretch {
            first,
            parts: parts.collect(),
        }
    }

    fn sums(stretches: &[Stretch]) -> Option<Vec<(u64, u64)>> {
        let parts = together(stretches)?.parts;
        Some(parts.iter().map(|part| (part.sent, part.lost)).collect())
    }

    #[test]
    fn the_first_and_the_last_slot_are_left_out() {
        let one = stretch(7, &[(3, 1), (10, 2), (0, 0), (10, 0), (4, 0)]);
        assert_eq!(
            sums(std::slice::from_ref(&one)),
            Some(vec![(10, 2), (0, 0), (10, 0)])
        );
        // The other one begins a slot later and ends a slot earlier.
        let other = stretch(8, &[(1, 0), (5, 5), (1, 1)]);
        assert_eq!(sums(&[one.clone(), other]), Some(vec![(5, 5)]));
        // Nothing in common.
        assert_eq!(sums(&[one, stretch(20, &[(1, 0); 9])]), Some(vec![]));
        assert_eq!(sums(&[stretch(3, &[(5, 0)])]), Some(vec![]));
        assert_eq!(sums(&[]), None);
    }

    #[test]
    fn more_slots_than_are_kept_cannot_be_told() {
        let last = |slots: u64| [SLOT / 2, slots * SLOT];
        assert_eq!(reach(last(SLOTS as u64 - 1)), Some(0..SLOTS as u64));
        assert_eq!(reach(last(SLOTS as u64)), None);
        let mut times = SentTimes::default();
        assert_eq!(times.stretch(&SlotCounts::default()), None);
        times.sent(5, 0);
        assert_eq!(times.stretch(&SlotCounts::default()), None);
        for at in last(SLOTS as u64) {
            times.sent(at, 1);
        }
        assert_eq!(times.stretch(&SlotCounts::default()), None);
        times.reset();
        times.sent(SLOT, 3);
        let slots = times.stretch(&SlotCounts::default());
        assert_eq!(slots, Some(stretch(1, &[(3, 3)])));
    }

    proptest! {
        /// Whatever is sent when, every frame of a whole slot is counted once.
        #[test]
        fn every_frame_is_in_one_slot(
            start in 0..20 * SLOTS as u64 * SLOT,
            gaps in prop::collection::vec((0..3 * SLOT, 1..20_usize, 0..20_u32), 1..60),
        ) {
            let mut times = SentTimes::default();
            let mut arrived = SlotCounts::default();
            let (mut now, mut all) = (start, Vec::new());
            for (gap, sent, lost) in gaps {
                now += gap;
                let lost = lost.min(sent as u32);
                times.sent(now, sent);
                // The stamp carries 48 bits.
                arrived.add(now & ((1 << 48) - 1), sent as u32 - lost);
                all.push((now / SLOT, sent as u64, u64::from(lost)));
            }
            let stretch = times.stretch(&arrived).unwrap();
            let (first, last) = (all[0].0, all[all.len() - 1].0);
            prop_assert_eq!(stretch.parts.len() as u64, last - first + 1);
            let slots = together(&[stretch]).unwrap();
            let inside = all.iter().filter(|(slot, ..)| *slot > first && *slot < last);
            let (sent, lost) = inside.fold((0, 0), |sum, (_, s, l)| (sum.0 + s, sum.1 + l));
            prop_assert_eq!(slots.parts.iter().map(|part| part.sent).sum::<u64>(), sent);
            prop_assert_eq!(slots.parts.iter().map(|part| part.lost).sum::<u64>(), lost);
        }
    }
}
