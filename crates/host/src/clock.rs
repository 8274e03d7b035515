//! Clocks: readings that show a step, resolution and cost, and time stamps in words.

#[cfg(test)]
mod tests;

use std::time::Duration;

use rustix::time::{ClockId, Timespec, clock_getres, clock_gettime};

pub use nicety_model::utc::rfc3339;

const NANOS_PER_S: i128 = 1_000_000_000;

fn nanos(time: Timespec) -> i128 {
    i128::from(time.tv_sec) * NANOS_PER_S + i128::from(time.tv_nsec)
}

fn duration(time: Timespec) -> Duration {
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let nanos = u32::try_from(time.tv_nsec).unwrap_or(0);
    Duration::new(seconds, nanos)
}

/// `CLOCK_MONOTONIC` now.
pub fn monotonic() -> Duration {
    duration(clock_gettime(ClockId::Monotonic))
}

/// `CLOCK_REALTIME` now, since the Unix epoch.
pub fn unix_time() -> Duration {
    duration(clock_gettime(ClockId::Realtime))
}

/// How far `CLOCK_REALTIME` is ahead of `CLOCK_MONOTONIC`, at one moment.
///
/// The kernel slews both clocks alike, so that the distance changes only when somebody steps
/// the real-time clock, at a leap second, or when the machine was suspended (kernel/time/
/// timekeeping.c, `wall_to_monotonic`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockPair {
    /// `CLOCK_REALTIME - CLOCK_MONOTONIC` in ns.
    pub offset_ns: i128,
    /// How long the reading took, in ns: the offset is known to half of this.
    pub width_ns: u64,
}

impl ClockPair {
    /// Reads the two clocks, the tightest of several attempts.
    pub fn now() -> Self {
        let mut best = Self::once();
        for _ in 0..7 {
            let next = Self::once();
            if next.width_ns < best.width_ns {
                best = next;
            }
        }
        best
    }

    fn once() -> Self {
        let before = nanos(clock_gettime(ClockId::Monotonic));
        let real = nanos(clock_gettime(ClockId::Realtime));
        let after = nanos(clock_gettime(ClockId::Monotonic));
        Self {
            offset_ns: real - (before + after) / 2,
            width_ns: u64::try_from(after - before).unwrap_or(0),
        }
    }

    /// How far the real-time clock was stepped since `before`, in ns, forwards positive; `None`
    /// when the offsets agree within their uncertainty and 1 µs.
    pub fn step_since(&self, before: &Self) -> Option<i128> {
        let step = self.offset_ns - before.offset_ns;
        let uncertainty = u128::from(self.width_ns / 2 + before.width_ns / 2 + 1_000);
        (step.unsigned_abs() > uncertainty).then_some(step)
    }
}

/// What a reading of `CLOCK_MONOTONIC` is worth and costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockFacts {
    /// Resolution in ns, by `clock_getres(2)`.
    pub resolution_ns: u64,
    /// Cost of one reading in ns, the cheapest of several rounds: some 20 with a vDSO clock
    /// source, hundreds when every reading is a system call.
    pub cost_ns: u64,
}

impl ClockFacts {
    /// Measures for some tens of µs.
    pub fn measure() -> Self {
        const CALLS: u64 = 256;
        let mut cheapest = u64::MAX;
        for _ in 0..4 {
            let start = nanos(clock_gettime(ClockId::Monotonic));
            let mut end = start;
            for _ in 0..CALLS {
                end = nanos(clock_gettime(ClockId::Monotonic));
            }
            cheapest = cheapest.min(u64::try_from(end - start).unwrap_or(0));
        }
        Self {
            resolution_ns: u64::try_from(nanos(clock_getres(ClockId::Monotonic))).unwrap_or(0),
            cost_ns: cheapest / CALLS,
        }
    }
}
