//! Which frames left when, in slots of 8.4 ms: enough to tell the frames of a bad moment from the
//! others, and nothing to a sender of millions per second.

use std::ops::Range;

use nicety_account::slots::{SLOT_BITS, SLOTS, place};

use crate::slots::reach;

/// When the frames of one stream were made in one trial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Marks {
    /// For every slot the number of the first frame made in it, plus one; 0 if there was none.
    first: Vec<u32>,
}

impl Marks {
    /// Nothing made yet.
    pub(crate) fn new() -> Self {
        Self::of(vec![0; SLOTS])
    }

    /// As the sending program left them.
    pub(crate) fn of(first: Vec<u32>) -> Self {
        Self { first }
    }

    /// Frame `number` was made at `now_ns`.
    pub(crate) fn made(&mut self, now_ns: u64, number: u64) {
        if let Some(first) = self
            .first
            .get_mut(place(now_ns >> SLOT_BITS))
            .filter(|n| **n == 0)
        {
            *first = u32::try_from(number + 1).unwrap_or(u32::MAX);
        }
    }

    /// Numbers of the frames made in the slots that `spans` touch, of `count` frames of which the
    /// first and the last were made at `ends`; ranges in order and apart. `None` when the sending
    /// took longer than the slots reach.
    pub(crate) fn numbers(
        &self,
        spans: &[Range<u64>],
        ends: [u64; 2],
        count: u64,
    ) -> Option<Vec<Range<u64>>> {
        let slots = reach(ends)?;
        // The first frame made in `slot` or later.
        let from = |slot: u64| {
            let later = slot.max(slots.start)..slots.end;
            let mut marks = later.filter_map(|slot| self.first_of(slot));
            marks.next().unwrap_or(count)
        };
        let touched = |span: &Range<u64>| {
            let (first, last) = (span.start >> SLOT_BITS, span.end >> SLOT_BITS);
            from(first)..from(last + 1)
        };
        Some(merge(spans.iter().map(touched)))
    }

    /// Numbers of the frames made in each slot from that of the first frame to that of the last one,
    /// made at `ends`, of `count` frames; an empty range where the sender stood still. With the number
    /// of the first slot. `None` when nothing was made, or for longer than the slots reach.
    pub(crate) fn by_slot(&self, ends: [u64; 2], count: u64) -> Option<(u64, Vec<Range<u64>>)> {
        let slots = reach(ends).filter(|_| count > 0)?;
        let first = slots.start;
        let mut end = count;
        let mut numbers: Vec<_> = slots
            .rev()
            .map(|slot| {
                let from = self.first_of(slot).unwrap_or(end);
                from..std::mem::replace(&mut end, from)
            })
            .collect();
        numbers.reverse();
        Some((first, numbers))
    }

    /// Number of the first frame made in `slot`.
    fn first_of(&self, slot: u64) -> Option<u64> {
        let mark = self.first.get(place(slot)).copied()?;
        u64::from(mark).checked_sub(1)
    }
}

/// When the frames of one stream were made in one trial, the first and the last at `ends`.
#[derive(Debug, Clone)]
pub struct Made {
    pub(crate) marks: Marks,
    pub(crate) ends: [u64; 2],
    pub(crate) count: u64,
}

impl Made {
    /// Numbers of the frames made within `spans`, see [`crate::Engine::part`].
    pub(crate) fn numbers(&self, spans: &[Range<u64>]) -> Option<Vec<Range<u64>>> {
        self.marks.numbers(spans, self.ends, self.count)
    }

    /// The first slot, and the numbers of the frames made in it and those after it.
    pub(crate) fn by_slot(&self) -> Option<(u64, Vec<Range<u64>>)> {
        self.marks.by_slot(self.ends, self.count)
    }
}

/// Ranges in order, those that touch or overlap made one, empty ones left out.
pub(crate) fn merge(ranges: impl Iterator<Item = Range<u64>>) -> Vec<Range<u64>> {
    let mut ranges: Vec<_> = ranges.filter(|range| range.start < range.end).collect();
    ranges.sort_by_key(|range| range.start);
    let mut merged: Vec<Range<u64>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOT: u64 = 1 << SLOT_BITS;
    /// Start of the sending; not at the start of a slot, and the slots wrap soon after.
    const BEGIN: u64 = (SLOTS as u64 * 3 - 2) * SLOT + SLOT / 2;

    /// Ten frames per slot, none in the fifth.
    fn marks(slots: u64) -> (Marks, [u64; 2], u64) {
        let mut marks = Marks::new();
        let (mut number, mut last) = (0, 0);
        for n in (0..slots * 10).filter(|n| n / 10 != 4) {
            last = BEGIN + n * SLOT / 10;
            marks.made(last, number);
            number += 1;
        }
        (marks, [BEGIN, last], number)
    }

    #[test]
    fn a_span_takes_the_slots_it_touches() {
        let (marks, ends, count) = marks(8);
        let of = |spans: &[(u64, u64)]| {
            let spans: Vec<_> = spans.iter().map(|(from, to)| *from..*to).collect();
            let numbers = marks.numbers(&spans, ends, count).unwrap();
            numbers.iter().map(|n| (n.start, n.end)).collect::<Vec<_>>()
        };
        // Half a slot of frames, then a whole one.
        assert_eq!(of(&[(BEGIN, BEGIN + 1)]), [(0, 5)]);
        assert_eq!(of(&[(BEGIN + SLOT, BEGIN + SLOT + 1)]), [(5, 15)]);
        assert_eq!(of(&[(BEGIN, BEGIN + SLOT)]), [(0, 15)]);
        // Before and after the sending.
        assert_eq!(of(&[(0, BEGIN - 2 * SLOT)]), []);
        assert_eq!(of(&[(BEGIN - 2 * SLOT, BEGIN)]), [(0, 5)]);
        assert_eq!(of(&[(BEGIN + 20 * SLOT, BEGIN + 21 * SLOT)]), []);
        assert_eq!(of(&[(0, u64::MAX - SLOT)]), [(0, 70)]);
        // Two spans in one slot, out of order.
        let (a, b) = (BEGIN + 2 * SLOT, BEGIN + SLOT);
        assert_eq!(of(&[(a, a + 1), (b, b + 1), (b + 2, b + 3)]), [(5, 25)]);
    }

    #[test]
    fn every_slot_has_its_frames() {
        let (marks, ends, count) = marks(8);
        let (first, numbers) = marks.by_slot(ends, count).unwrap();
        assert_eq!(first, BEGIN / SLOT);
        let numbers: Vec<_> = numbers.iter().map(|n| (n.start, n.end)).collect();
        let wanted = [
            (0, 5),
            (5, 15),
            (15, 25),
            (25, 35),
            // Half of the fifth ten and half of the sixth: the fifth were left out.
            (35, 40),
            (40, 45),
            (45, 55),
            (55, 65),
            (65, 70),
        ];
        assert_eq!(numbers, wanted);
        // As asked for one by one.
        for (slot, range) in (first..).zip(&wanted) {
            let span = slot * SLOT..slot * SLOT + 1;
            let part = marks.numbers(std::slice::from_ref(&span), ends, count);
            let part: Vec<_> = part.unwrap().iter().map(|n| (n.start, n.end)).collect();
            assert_eq!(part, [*range]);
        }
    }

    #[test]
    fn a_slot_in_which_the_sender_stood_still_is_empty() {
        let mut marks = Marks::new();
        for (number, slot) in [1, 2, 5].into_iter().enumerate() {
            marks.made(slot * SLOT, number as u64);
        }
        let by_slot = marks.by_slot([SLOT, 5 * SLOT], 3);
        assert_eq!(by_slot, Some((1, vec![0..1, 1..2, 2..2, 2..2, 2..3])));
        assert_eq!(Marks::new().by_slot([0, 0], 0), None);
    }

    #[test]
    fn a_sending_longer_than_the_slots_cannot_be_told() {
        let (marks, ends, count) = marks(8);
        let long = [ends[0], ends[0] + SLOTS as u64 * SLOT];
        assert_eq!(marks.numbers(&[], long, count), None);
        assert_eq!(marks.by_slot(long, count), None);
        assert_eq!(marks.numbers(&[], ends, count), Some(vec![]));
    }
}
