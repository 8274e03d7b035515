//! Runs of frames with the same fate.

use nicety_model::BurstLengths;

/// Collects run lengths from a walk over frames in order.
#[derive(Debug, Clone, Default)]
pub struct Runs {
    open: u64,
    lengths: BurstLengths,
}

impl Runs {
    /// The open run goes on for `frames` more.
    pub fn extend(&mut self, frames: u64) {
        self.open += frames;
    }

    /// The open run, if any, ends here.
    pub fn end(&mut self) {
        self.lengths.record(self.open);
        self.open = 0;
    }

    /// Walks the low `bits` bits of `seen` from the lowest: zeros extend the run, ones end it.
    pub fn walk_zeros(&mut self, seen: u64, bits: u32) {
        let mut at = 0;
        while at < bits {
            let rest = seen >> at;
            let zeros = rest.trailing_zeros().min(bits - at);
            self.extend(u64::from(zeros));
            at += zeros;
            if at < bits {
                self.end();
                at += (seen >> at).trailing_ones();
            }
        }
    }

    /// Ends the open run and returns the collected runs.
    pub fn take(&mut self) -> BurstLengths {
        self.end();
        std::mem::take(&mut self.lengths)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_form_runs_across_words() {
        let mut runs = Runs::default();
        runs.walk_zeros(0b0001_0111, 8);
        runs.walk_zeros(!0b11, 64);
        runs.walk_zeros(0, 64);
        let lengths = runs.take();
        // 3 zeros run on into the next word's 2; then a whole word; and the lone zero at bit 3.
        assert_eq!(lengths.bursts, 3);
        assert_eq!(lengths.longest, 64);
        assert_eq!(lengths.by_power_of_two, [1, 0, 1, 0, 0, 0, 1]);
    }

    #[test]
    fn whole_words_of_ones_and_zeros() {
        let mut runs = Runs::default();
        runs.walk_zeros(u64::MAX, 64);
        runs.walk_zeros(0, 0);
        assert_eq!(runs.take(), BurstLengths::default());
        runs.walk_zeros(0, 64);
        runs.walk_zeros(0, 6);
        assert_eq!(runs.take().longest, 70);
    }
}
