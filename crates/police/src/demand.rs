//! Demand: what a port would send without a limit, estimated from what it sends.

use crate::tuning::Tuning;

/// Demand of a port.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Want {
    /// As much as it gets: it is held back, or was until just now.
    Unknown,
    /// This much, in bits per second.
    Bps(f64),
}

/// Observation of a port in one period.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Held {
    /// Rate on the wire in bits per second.
    pub rate: f64,
    /// Limit it had, in bits per second.
    pub limit: f64,
    /// Its limiter dropped frames or has a queue.
    pub at_limiter: bool,
    /// Its limiter counts what it drops.
    pub counts_drops: bool,
    /// The shared link was full, and the port sends enough to be part of it.
    pub at_link: bool,
    /// All that is shared was used, and the port sends enough to be part of it: when it sends less
    /// than before, another port may have taken its place.
    pub crowded: bool,
}

/// The demand of one port from period to period.
#[derive(Debug, Clone, Default)]
pub struct Demand {
    guess: f64,
    /// Periods for which a port that was held counts as held.
    patience: u32,
    held: bool,
    /// What it wants for sure, in bits per second; none when it is held for sure: a rate near the limit alone is no
    /// sign where the limiter would tell.
    shown: Option<f64>,
    unknown_for: u32,
    /// Its rate, and whether all that is shared was used, in the last period.
    rate: f64,
    crowded: bool,
    /// Its rate when its limit last held it, and periods since then, those left out in which it was
    /// coming back.
    best: f64,
    since: u32,
    /// Others have pushed it aside: TCP gives way at once to a sender that does not, and needs time
    /// to come back.
    aside: bool,
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
        let was_crowded = std::mem::replace(&mut self.crowded, seen.crowded);
        let last = std::mem::replace(&mut self.rate, seen.rate);
        let fell = seen.rate < (1.0 - tuning.moves) * last;
        let grew = seen.rate > (1.0 + tuning.moves) * last;
        let by_limit = at_limit || seen.at_limiter;
        if by_limit {
            (self.best, self.since, self.aside) = (seen.rate, 0, false);
        } else {
            self.since = self.since.saturating_add(u32::from(!(self.aside && grew)));
            let less = seen.rate < (1.0 - tuning.moves) * self.best;
            // One that is down to nothing has stopped.
            if less && (seen.crowded || was_crowded && seen.rate > spare) {
                self.aside = true;
            } else if !(fell || grew) {
                // There is room, and it does not take it: this is what it wants.
                self.aside = false;
            }
            self.aside &= self.since <= tuning.grace_periods;
        }
        self.held = by_limit || seen.at_link;
        if self.held {
            self.unknown_for = self.patience;
        } else if self.unknown_for > 0 {
            self.unknown_for -= 1;
            self.held = true;
        }
        self.held |= self.aside;
        let (is_short, growth) = if seen.counts_drops {
            let reached = seen.rate >= seen.limit;
            let short = reached || seen.at_limiter || seen.at_link || self.aside;
            (short, tuning.shown)
        } else {
            (self.held, tuning.growth)
        };
        self.shown = (!is_short).then_some((1.0 + growth) * seen.rate);
        self.last()
    }

    /// The last observation, when a period brought no new sample.
    pub fn last(&self) -> Want {
        if self.held {
            Want::Unknown
        } else {
            Want::Bps(self.guess)
        }
    }

    /// What it wants for sure, in bits per second; none when it is held for sure. A port that sends a little less than
    /// its limit lets it, and of whose frames none was dropped or waits, may have all it wants. On one link it costs
    /// nothing to give it more, but of a total over many hosts that would be taken from others.
    pub fn shown(&self) -> Option<f64> {
        self.shown
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
                counts_drops: false,
                at_link: false,
                crowded: false,
            };
            demand.observe(seen, &tuning, 1.0)
        };
        assert_eq!(see(20.0), Want::Bps(22.0));
        assert_eq!(see(96.0), Want::Unknown);
        assert_eq!(see(20.0), Want::Unknown);
        assert_eq!(see(20.0), Want::Unknown);
        assert_eq!(see(20.0), Want::Bps(22.0));
    }

    #[test]
    fn a_limiter_that_drops_nothing_holds_nobody() {
        let tuning = Tuning::default();
        let mut demand = Demand::new(0);
        assert_eq!(demand.shown(), None);
        let mut see = |rate, at_limiter, counts_drops| {
            let seen = Held {
                rate,
                limit: 100.0,
                at_limiter,
                counts_drops,
                at_link: false,
                crowded: false,
            };
            let want = demand.observe(seen, &tuning, 1.0);
            (want, demand.shown())
        };
        // On its own link it may have more at once; of a total only what it shows.
        assert_eq!(see(97.0, false, true), (Want::Unknown, Some(98.94)));
        assert_eq!(see(97.0, true, true), (Want::Unknown, None));
        assert_eq!(see(100.0, false, true), (Want::Unknown, None));
        // Where nothing is counted, a rate near the limit is the only sign.
        assert_eq!(see(97.0, false, false), (Want::Unknown, None));
        assert_eq!(see(80.0, false, false), (Want::Bps(85.0), Some(84.0)));
    }

    fn see(demand: &mut Demand, rate: f64, link: Link) -> Want {
        let seen = Held {
            rate,
            limit: 100.0,
            at_limiter: false,
            counts_drops: false,
            at_link: link == Link::Full,
            crowded: link != Link::Room,
        };
        demand.observe(seen, &Tuning::default(), 0.0)
    }

    #[derive(Clone, Copy, PartialEq)]
    enum Link {
        Room,
        Crowded,
        Full,
    }

    #[test]
    fn a_port_that_is_pushed_aside_has_time_to_come_back() {
        let mut demand = Demand::new(0);
        assert_eq!(see(&mut demand, 99.0, Link::Crowded), Want::Unknown);
        // Somebody floods: the port loses at once, and comes back slowly.
        for (rate, link) in [(50.0, Link::Full), (2.0, Link::Room), (3.0, Link::Room)] {
            assert_eq!(see(&mut demand, rate, link), Want::Unknown, "{rate}");
        }
    }

    #[test]
    fn nobody_has_for_ever_to_come_back() {
        let mut demand = Demand::new(0);
        see(&mut demand, 99.0, Link::Crowded);
        for rate in [50.0, 40.0, 40.0] {
            assert_eq!(see(&mut demand, rate, Link::Crowded), Want::Unknown);
        }
        assert_eq!(see(&mut demand, 40.0, Link::Crowded), Want::Bps(42.0));
    }

    #[test]
    fn a_port_that_stops_of_its_own_accord_lends_at_once() {
        let mut demand = Demand::new(0);
        see(&mut demand, 99.0, Link::Room);
        // Nobody has taken its place.
        assert_eq!(see(&mut demand, 40.0, Link::Room), Want::Bps(42.0));
        // Somebody has; it then has room, and does not take it.
        see(&mut demand, 99.0, Link::Crowded);
        assert_eq!(see(&mut demand, 40.0, Link::Crowded), Want::Unknown);
        assert_eq!(see(&mut demand, 40.0, Link::Room), Want::Unknown);
        assert_eq!(see(&mut demand, 40.0, Link::Room), Want::Bps(42.0));
        // It sends nothing any more.
        see(&mut demand, 99.0, Link::Crowded);
        assert_eq!(see(&mut demand, 0.0, Link::Room), Want::Bps(0.0));
    }
}
