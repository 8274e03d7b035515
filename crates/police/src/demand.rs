//! What a port would send if nobody limited it, guessed from what it sends.

use crate::controller::Tuning;

/// What a port wants.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Want {
    /// As much as it gets: it is held back, or was until just now.
    Unknown,
    /// This much, in bits per second.
    Bps(f64),
}

/// What was seen of a port in one period.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Held {
    /// Rate on the wire in bits per second.
    pub rate: f64,
    /// Limit it had, in bits per second.
    pub limit: f64,
    /// Its limiter dropped frames or has a queue.
    pub at_limiter: bool,
    /// The shared link was full, and the port sends enough to be part of it.
    pub at_link: bool,
}

/// The demand of one port from period to period.
#[derive(Debug, Clone, Default)]
pub struct Demand {
    guess: f64,
    /// Periods for which a port that was held counts as held.
    patience: u32,
    held: bool,
    unknown_for: u32,
}

impl Demand {
    /// A port that may want everything, until it is seen. After it was held it counts as held
    /// for `patience` periods more: those that its counters are behind.
    pub fn new(patience: u32) -> Self {
        Self {
            patience,
            held: true,
            ..Self::default()
        }
    }

    /// Takes what was seen in a period. `spare` is what is added to a rate so that it may grow,
    /// in bits per second.
    pub fn observe(&mut self, seen: Held, tuning: &Tuning, spare: f64) -> Want {
        let at_limit = seen.rate >= (1.0 - tuning.near_limit) * seen.limit;
        self.guess = (1.0 + tuning.growth) * seen.rate + spare;
        self.held = at_limit || seen.at_limiter || seen.at_link;
        if self.held {
            self.unknown_for = self.patience;
        } else if self.unknown_for > 0 {
            self.unknown_for -= 1;
            self.held = true;
        }
        self.last()
    }

    /// What was known last, when a period brought no new sample.
    pub fn last(&self) -> Want {
        match self.held {
            true => Want::Unknown,
            false => Want::Bps(self.guess),
        }
    }

    /// Starts anew.
    pub fn reset(&mut self) {
        *self = Self::new(self.patience);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_at_its_limit_wants_more_for_a_while() {
        let tuning = Tuning::default();
        let mut demand = Demand::new(2);
        assert_eq!(demand.last(), Want::Unknown);
        let mut see = |rate| {
            let seen = Held {
                rate,
                limit: 100.0,
                at_limiter: false,
                at_link: false,
            };
            demand.observe(seen, &tuning, 1.0)
        };
        assert_eq!(see(20.0), Want::Bps(22.0));
        assert_eq!(see(96.0), Want::Unknown);
        assert_eq!(see(20.0), Want::Unknown);
        assert_eq!(see(20.0), Want::Unknown);
        assert_eq!(see(20.0), Want::Bps(22.0));
    }
}
