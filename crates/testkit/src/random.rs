//! Numbers that only the seed decides, whatever version of a library makes others.

use nicety_packet::splitmix;

/// SplitMix64.
#[derive(Debug, Clone)]
pub struct Rng {
    seed: u64,
    drawn: u64,
}

impl Rng {
    /// The sequence of this seed.
    pub fn new(seed: u64) -> Self {
        Self { seed, drawn: 0 }
    }

    /// The next number.
    #[expect(
        clippy::should_implement_trait,
        reason = "a sequence without an end is no iterator to loop over"
    )]
    pub fn next(&mut self) -> u64 {
        let number = splitmix::nth(self.seed, self.drawn);
        self.drawn += 1;
        number
    }

    /// One of the numbers below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    /// From 0 to 1.
    pub fn part(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}
