//! Rests: a sender that polls without end takes a whole CPU, and in a virtual machine all of
//! them together may be more than the hypervisor grants. It then stops the CPUs for milliseconds
//! where it likes, and a path whose CPU stands still loses what its rings cannot hold. A sender
//! that rests at times of its own choice leaves the hypervisor no reason; nothing is due meanwhile,
//! so a rest costs the path nothing.

use std::time::Duration;

use nicety_model::Fps;

use crate::clock::monotonic_ns;

/// When senders rest, and how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rest {
    /// From one rest's begin to the next.
    pub period: Duration,
    /// Length of a rest that is asked for, shorter than the period.
    pub length: Duration,
    /// What a rest takes, with falling asleep and waking: at least its length, at most half the period.
    pub takes: Duration,
}

impl Rest {
    /// 0.2 ms in every 5 ms: so short that a path with a rate of its own, like a policer, hardly sees
    /// it. KVM polls up to 200 µs for a CPU that halts (`halt_poll_ns`), which counts as used, so
    /// there it may free nothing.
    pub const SHORT: Self = Self {
        period: Duration::from_millis(5),
        length: Duration::from_micros(200),
        takes: Duration::from_micros(200),
    };

    /// 0.5 ms in every 10 ms. Linux grants CPU time by periods of 100 ms (`cpu.cfs_period_us`,
    /// kernel/sched/fair.c), so every period has ten.
    pub const LONG: Self = Self {
        period: Duration::from_millis(10),
        length: Duration::from_micros(500),
        takes: Duration::from_micros(500),
    };

    /// The same rests, of which each was seen to take `seconds`.
    #[must_use]
    pub fn taking(self, seconds: f64) -> Self {
        let seen = Duration::try_from_secs_f64(seconds).unwrap_or(self.length);
        Self {
            takes: seen.clamp(self.length, (self.period / 2).max(self.length)),
            ..self
        }
    }

    /// Rate between the rests that makes `load` on average.
    #[must_use]
    pub fn pace(self, load: Fps) -> Fps {
        let (period, takes) = (self.period.as_secs_f64(), self.takes.as_secs_f64());
        Fps(load.0 * period / (period - takes))
    }
}

/// The rests of one trial.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rests {
    rest: Option<Rest>,
    next_ns: u64,
}

impl Rests {
    /// The first rest comes one period less its length after `start_ns`.
    pub(crate) fn new(rest: Option<Rest>, start_ns: u64) -> Self {
        let sending = rest.map_or(Duration::MAX, |rest| rest.period - rest.length);
        Self {
            rest,
            next_ns: start_ns.saturating_add(u64::try_from(sending.as_nanos()).unwrap_or(u64::MAX)),
        }
    }

    /// Time to the next rest.
    pub(crate) fn left(&self, now_ns: u64) -> Duration {
        match self.rest {
            Some(_) => Duration::from_nanos(self.next_ns.saturating_sub(now_ns)),
            None => Duration::MAX,
        }
    }

    /// Sleeps through the rest that begins now, if one does: how long that took.
    pub(crate) fn take(&mut self, now_ns: u64) -> Option<u64> {
        let length = self.begins(now_ns)?;
        std::thread::sleep(length);
        Some(monotonic_ns() - now_ns)
    }

    /// Length of the rest that begins now, if one does.
    pub(crate) fn begins(&mut self, now_ns: u64) -> Option<Duration> {
        let rest = self.rest?;
        if now_ns < self.next_ns {
            return None;
        }
        // One that comes late moves those after it: two are never close together.
        self.next_ns = now_ns + rest.period.as_nanos() as u64;
        Some(rest.length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    /// 2 ms in every 50 ms.
    const REST: Rest = Rest {
        period: Duration::from_millis(50),
        length: Duration::from_millis(2),
        takes: Duration::from_millis(2),
    };

    #[test]
    fn the_average_is_the_load() {
        let pace = REST.pace(Fps(96_000.0));
        assert!((pace.0 - 100_000.0).abs() < 1e-6, "{pace:?}");
        // Waking takes half a millisecond.
        let pace = REST.taking(2.5e-3).pace(Fps(95_000.0));
        assert!((pace.0 - 100_000.0).abs() < 1e-6, "{pace:?}");
        for odd in [0.0, f64::NAN, -1.0] {
            assert_eq!(REST.taking(odd), REST);
        }
        assert_eq!(REST.taking(9.0).takes, Duration::from_millis(25));
    }

    #[test]
    fn rests_come_once_per_period() {
        let mut rests = Rests::new(Some(REST), 1000 * MS);
        let starts: Vec<u64> = (1000..1300)
            .filter(|ms| rests.begins(ms * MS).is_some())
            .collect();
        assert_eq!(starts, [1048, 1098, 1148, 1198, 1248, 1298]);
        // Asked too late once.
        assert!(rests.begins(1390 * MS).is_some());
        assert!(rests.begins(1398 * MS).is_none());
        assert_eq!(rests.left(1398 * MS), Duration::from_millis(42));
    }

    #[test]
    fn without_rests_none_begins() {
        let mut rests = Rests::new(None, 0);
        assert_eq!(rests.begins(u64::MAX), None);
        assert_eq!(rests.left(u64::MAX), Duration::MAX);
    }
}
