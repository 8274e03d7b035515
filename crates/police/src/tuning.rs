//! The constants of the controller.

/// Constants, with the values that the simulation and real packets were measured to like best;
/// see `docs/methodology/police.md`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tuning {
    /// A port within this share of its limit is held by it.
    pub near_limit: f64,
    /// Share of its rate by which what a port wants of a total over many hosts is above that rate, where the limiter
    /// counts what it drops.
    pub shown: f64,
    /// Share of its rate that a port may grow in a period without being held.
    pub growth: f64,
    /// Share of the capacity that any port may grow in a period.
    pub spare: f64,
    /// Share of the capacity from which a port on a full link counts as held by it.
    pub matters: f64,
    /// From this share of what is shared on all of it counts as used.
    pub crowded: f64,
    /// A rate that falls or grows by less than this share in a period stays.
    pub moves: f64,
    /// Periods for which a port that others have pushed aside counts as held, at most.
    pub grace_periods: u32,
    /// Changes of a limit by less than this share are not written.
    pub hysteresis: f64,
    /// A rate this many times the limit is beyond it.
    pub beyond: f64,
    /// Periods in a row beyond the limit until it counts as not enforced.
    pub beyond_periods: u32,
    /// Periods without an attempt at a limit that did not hold until a higher one is tried; as many as
    /// `beyond_periods` when it is reached and holds.
    pub quiet_periods: u32,
}

impl Default for Tuning {
    fn default() -> Self {
        Self {
            near_limit: 0.05,
            shown: 0.02,
            growth: 0.05,
            spare: 0.001,
            matters: 0.002,
            crowded: 0.98,
            moves: 0.1,
            grace_periods: 3,
            hysteresis: 0.01,
            beyond: 1.1,
            beyond_periods: 3,
            quiet_periods: 30,
        }
    }
}
