//! Whether a limit holds a port.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::tuning::Tuning;

/// Least share that an unenforced limit is lowered to.
const LEAST: f64 = 0.25;
/// A limit that was lowered is raised by at most this much at once.
const STEP: f64 = 2.0;

/// Whether a limit holds, by the counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Enforcement {
    /// The port has not tried to exceed it.
    #[default]
    Untested,
    /// The port sends as much as the limit lets it.
    Holds,
    /// The port sends more for several periods.
    NotEnforced,
}

/// How much of its limit a port exceeds, and what is set instead.
#[derive(Debug, Clone, Copy)]
pub(super) struct Leak {
    /// Factor that makes a limit hold; 1 when it holds.
    correction: f64,
    /// What the last one was multiplied with: not as little where that is below a guarantee.
    pub(super) factor: f64,
    /// Periods in a row beyond the limit.
    beyond: u32,
    /// Periods in a row that speak for a higher correction, and the least that one of them did.
    within: u32,
    found: f64,
}

impl Default for Leak {
    fn default() -> Self {
        Self {
            correction: 1.0,
            factor: 1.0,
            beyond: 0,
            within: 0,
            found: 1.0,
        }
    }
}

impl Leak {
    /// There is no limit to compare with.
    pub(super) fn pause(&mut self) {
        (self.beyond, self.within, self.found) = (0, 0, 1.0);
    }

    /// Compares a rate with the limit meant, `now` and at most in this period and the last; none
    /// when that says nothing new. A `frame` that was let pass counts as a whole in the period in which it ends.
    pub(super) fn judge(
        &mut self,
        rate: f64,
        now: f64,
        (limit, frame): (f64, f64),
        tuning: &Tuning,
    ) -> Option<Enforcement> {
        if rate > tuning.beyond * limit + frame {
            self.within = 0;
            self.found = 1.0;
            self.beyond += 1;
            if self.beyond < tuning.beyond_periods {
                return None;
            }
            self.beyond = 0;
            self.correction = (self.factor * limit / rate).clamp(LEAST, 1.0);
            return Some(Enforcement::NotEnforced);
        }
        self.beyond = 0;
        if self.correction < 1.0 {
            return self.relax(rate, (now * self.factor, frame), tuning);
        }
        let reached = rate >= (1.0 - tuning.near_limit) * now;
        reached.then_some(Enforcement::Holds)
    }

    /// Raises what was lowered, in steps, once the limit that is really `set` was kept for some
    /// periods: sooner when the port reaches it than when it does not try.
    fn relax(
        &mut self,
        rate: f64,
        (set, frame): (f64, f64),
        tuning: &Tuning,
    ) -> Option<Enforcement> {
        let needed = if rate <= tuning.beyond * set + frame {
            1.0
        } else {
            set / rate
        };
        // What is found is what was found before: two queues, each with the whole rate.
        if needed < 1.0 && needed <= tuning.beyond * self.correction {
            self.pause();
            return None;
        }
        let reached = rate >= (1.0 - tuning.near_limit) * set;
        let quick = tuning.quiet_periods.div_ceil(tuning.beyond_periods.max(1));
        self.within += if reached { quick } else { 1 };
        self.found = self.found.min(needed);
        if self.within < tuning.quiet_periods {
            return None;
        }
        self.correction = self.found.min(STEP * self.correction);
        self.pause();
        (self.correction == 1.0).then_some(if reached {
            Enforcement::Holds
        } else {
            Enforcement::Untested
        })
    }

    /// Limit to set so that `wanted` is kept; not below its `guaranteed` share.
    pub(super) fn lower(&mut self, wanted: f64, guaranteed: f64) -> f64 {
        self.factor = self.correction.max(guaranteed.min(1.0));
        wanted * self.factor
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_long_frame_in_a_period_is_no_breach() {
        let tuning = Tuning::default();
        // 64 kbit/s, and frames of 9,022 bytes that take 1.13 s each: one in most periods of 1 s, two in none.
        let limit = (64e3, 72.4e3);
        let mut leak = Leak::default();
        for _ in 0..20 {
            let judged = leak.judge(72.4e3, 64e3, limit, &tuning);
            assert_eq!(judged, Some(Enforcement::Holds));
        }
        let leaks: Vec<_> = (0..3)
            .map(|_| leak.judge(144.8e3, 64e3, limit, &tuning))
            .collect();
        assert_eq!(leaks, [None, None, Some(Enforcement::NotEnforced)]);
        // Where the frames are not known, only the rate counts.
        let mut leak = Leak::default();
        let leaks: Vec<_> = (0..3)
            .map(|_| leak.judge(72.4e3, 64e3, (64e3, 0.0), &tuning))
            .collect();
        assert_eq!(leaks[2], Some(Enforcement::NotEnforced));
    }
}
