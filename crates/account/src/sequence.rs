//! State of every sequence number of one stream.

use nicety_model::BurstLengths;

use crate::runs::Runs;

/// Bits of a bitmap word.
const WORD: u64 = 64;

/// Meaning of the arrival of one sequence number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    /// First arrival, no frame with a higher number came before.
    InOrder,
    /// First arrival, after a frame with a higher number (RFC 4737 §3.3).
    Reordered,
    /// Its number had arrived before.
    Duplicate,
    /// Received and reordered, but so late that its number had been counted into a run of losses.
    TooLate,
    /// A number that the sender cannot have used.
    Impossible,
}

/// Counts of one stream; `received + lost` is the number sent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SequenceCounts {
    /// Distinct numbers below the number sent that arrived.
    pub received: u64,
    /// Numbers that never arrived.
    pub lost: u64,
    /// Arrivals beyond the first of each number.
    pub duplicate: u64,
    /// First arrivals after a higher number; part of `received`.
    pub reordered: u64,
    /// Arrivals after their number had left the window; part of `received` and `reordered`.
    pub too_late: u64,
    /// Arrivals with a number that was never sent.
    pub impossible: u64,
    /// Runs of consecutive numbers that never arrived.
    pub loss_bursts: BurstLengths,
    /// Runs of consecutive first arrivals that were reordered.
    pub reorder_bursts: BurstLengths,
    /// Largest reordering extent in frames (RFC 4737 §4.2): how many arrivals before a
    /// reordered frame the first one with a higher number came.
    pub reorder_extent_max: u64,
}

/// Tracks one stream. Memory is taken once, at construction.
///
/// Numbers from `base` to `base + window` have a bit each; what leaves the window unseen is lost.
/// The window moves only when a number beyond its end arrives, by whole words.
#[derive(Debug, Clone)]
pub struct Tracker {
    /// Numbers that arrived, a ring of `window / 64` words.
    seen: Box<[u64]>,
    /// Numbers that arrived in order behind a gap, same ring.
    jumps: Box<[u64]>,
    /// For every such number its place among the first arrivals, low 32 bits.
    jump_place: Box<[u32]>,
    /// First number of the window, a multiple of 64.
    base: u64,
    /// One more than the highest number that arrived: the next expected.
    next: u64,
    /// Numbers from here on are impossible.
    limit: u64,
    /// First arrivals so far, among them those that `finish` may find impossible.
    arrivals: u64,
    /// Numbers that left the window without having arrived.
    missing_behind: u64,
    counts: SequenceCounts,
    loss: Runs,
    reorder: Runs,
}

impl Tracker {
    /// Default window: frames of 70 ms at the highest rate of a 10 Gbit/s link.
    pub const WINDOW: usize = 1 << 20;

    /// A tracker whose window holds at least `window` numbers, rounded up to a power of two of 64
    /// or more.
    pub fn new(window: usize) -> Self {
        let window = window.max(WORD as usize).next_power_of_two();
        let words = window / WORD as usize;
        Self {
            seen: vec![0; words].into_boxed_slice(),
            jumps: vec![0; words].into_boxed_slice(),
            jump_place: vec![0; window].into_boxed_slice(),
            base: 0,
            next: 0,
            limit: u64::MAX,
            arrivals: 0,
            missing_behind: 0,
            counts: SequenceCounts::default(),
            loss: Runs::default(),
            reorder: Runs::default(),
        }
    }

    /// Forgets everything but the memory and starts at sequence number 0 again.
    pub fn reset(&mut self) {
        self.seen.fill(0);
        self.jumps.fill(0);
        self.base = 0;
        self.next = 0;
        self.limit = u64::MAX;
        self.arrivals = 0;
        self.missing_behind = 0;
        self.counts = SequenceCounts::default();
        self.loss = Runs::default();
        self.reorder = Runs::default();
    }

    /// Says that the sender will use no number from `limit` on, so that a number that cannot be
    /// right is refused at once instead of moving the window away from the real ones.
    pub fn set_limit(&mut self, limit: u64) {
        self.limit = limit;
    }

    /// Counts an arrival. `sequence` is extended to 64 bits by taking the value nearest to the
    /// next expected number.
    #[inline]
    pub fn on_arrival(&mut self, sequence: u32) -> Arrival {
        let ahead = i64::from(sequence.wrapping_sub(self.next as u32) as i32);
        let Some(number) = self
            .next
            .checked_add_signed(ahead)
            .filter(|number| *number < self.limit)
        else {
            self.counts.impossible += 1;
            return Arrival::Impossible;
        };
        if ahead >= 0 {
            self.on_new_highest(number);
            return Arrival::InOrder;
        }
        self.on_behind(number)
    }

    /// First arrivals so far.
    pub fn arrivals(&self) -> u64 {
        self.arrivals
    }

    /// Closes the account of a trial in which `sent` frames were sent, numbered from 0. The
    /// tracker must be reset before it is used again.
    pub fn finish(&mut self, sent: u64) -> SequenceCounts {
        let mut counts = std::mem::take(&mut self.counts);
        let end = self.base + self.window();
        let impossible = if sent < self.base {
            // The window moved past numbers that were never sent; how many of the arrivals they
            // were is forgotten but for the bound that no more than `sent` can be real.
            self.arrivals
                - self
                    .arrivals
                    .min(sent)
                    .min(self.arrivals - self.seen_from(self.base))
        } else {
            for first in (self.base..end.min(sent)).step_by(WORD as usize) {
                let bits = (sent - first).min(WORD) as u32;
                self.loss.walk_zeros(self.seen[self.word(first)], bits);
            }
            self.loss.extend(sent.saturating_sub(end));
            self.seen_from(sent)
        };
        counts.impossible += impossible;
        counts.received = self.arrivals - impossible;
        counts.lost = sent - counts.received;
        counts.reordered = counts.reordered.min(counts.received);
        counts.too_late = counts.too_late.min(counts.reordered);
        counts.loss_bursts = self.loss.take();
        counts.reorder_bursts = self.reorder.take();
        counts
    }

    #[inline]
    fn on_new_highest(&mut self, number: u64) {
        if number >= self.base + self.window() {
            self.slide_to(number);
        }
        let (word, bit) = (self.word(number), 1 << (number % WORD));
        self.seen[word] |= bit;
        if number != self.next {
            self.jumps[word] |= bit;
            let slot = self.slot(number);
            self.jump_place[slot] = self.arrivals as u32;
        }
        self.arrivals += 1;
        self.next = number + 1;
        self.reorder.end();
    }

    #[cold]
    fn on_behind(&mut self, number: u64) -> Arrival {
        if number < self.base {
            // Whether it came before is forgotten; it can only be new while some number behind
            // the window is still missing.
            if self.counts.too_late == self.missing_behind {
                self.counts.duplicate += 1;
                return Arrival::Duplicate;
            }
            self.counts.too_late += 1;
            self.count_reordered();
            return Arrival::TooLate;
        }
        let (word, bit) = (self.word(number), 1 << (number % WORD));
        if self.seen[word] & bit != 0 {
            self.counts.duplicate += 1;
            return Arrival::Duplicate;
        }
        self.seen[word] |= bit;
        let extent =
            u64::from((self.arrivals as u32).wrapping_sub(self.place_of_jump_over(number)));
        self.counts.reorder_extent_max = self.counts.reorder_extent_max.max(extent);
        self.count_reordered();
        Arrival::Reordered
    }

    fn count_reordered(&mut self) {
        self.arrivals += 1;
        self.counts.reordered += 1;
        self.reorder.extend(1);
    }

    /// Place among the first arrivals of the frame that first showed `number` to be missing: the
    /// nearest number above that arrived in order behind a gap. There is one below `next`, or
    /// `number` would have arrived.
    fn place_of_jump_over(&self, number: u64) -> u32 {
        let mut word = number / WORD;
        let mut bits = self.jumps[self.word(number)] & (u64::MAX << (number % WORD));
        while bits == 0 && (word + 1) * WORD < self.next {
            word += 1;
            bits = self.jumps[self.word(word * WORD)];
        }
        let jump = word * WORD + u64::from(bits.trailing_zeros() % WORD as u32);
        self.jump_place[self.slot(jump)]
    }

    /// Moves the window so that `number` is in its last word; counts what leaves it.
    #[cold]
    fn slide_to(&mut self, number: u64) {
        let base = number / WORD * WORD + WORD - self.window();
        let end = base.min(self.base + self.window());
        for first in (self.base..end).step_by(WORD as usize) {
            let word = self.word(first);
            let seen = std::mem::take(&mut self.seen[word]);
            self.jumps[word] = 0;
            self.missing_behind += u64::from(seen.count_zeros());
            self.loss.walk_zeros(seen, WORD as u32);
        }
        // Beyond the old window nothing has arrived.
        self.missing_behind += base - end;
        self.loss.extend(base - end);
        self.base = base;
    }

    /// Arrived numbers of the window from `number` on, which lies in or above it.
    fn seen_from(&self, number: u64) -> u64 {
        let end = self.base + self.window();
        (number / WORD * WORD..end)
            .step_by(WORD as usize)
            .map(|first| {
                let below = number.saturating_sub(first) as u32;
                u64::from((self.seen[self.word(first)] & (u64::MAX << below)).count_ones())
            })
            .sum()
    }

    #[inline]
    fn window(&self) -> u64 {
        self.seen.len() as u64 * WORD
    }

    #[inline]
    fn word(&self, number: u64) -> usize {
        (number / WORD) as usize & (self.seen.len() - 1)
    }

    #[inline]
    fn slot(&self, number: u64) -> usize {
        number as usize & (self.jump_place.len() - 1)
    }
}

#[cfg(test)]
mod tests;
