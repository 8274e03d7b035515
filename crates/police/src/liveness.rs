//! Whether a thread that asks the kernel gets answers: slow, late, or stuck in a driver, which
//! no time-out ends.

use std::fmt;
use std::time::Duration;

/// How long an answer is waited for when ports are looked at for the first time.
pub const START: Duration = Duration::from_secs(5);
/// The same when one port is put back.
pub const RESTORE: Duration = Duration::from_secs(5);
/// After that long a worker is stuck; one that is slow or late before.
pub const STUCK: Duration = Duration::from_secs(1);
/// In a period at least, so that a machine that is busy elsewhere is not taken for one that hangs, and at most.
const LEAST: Duration = Duration::from_millis(100);
const MOST: Duration = Duration::from_secs(5);

/// How long the loop waits in a period for one answer: half of the period, and never longer than all of it.
pub fn answer_timeout(period: Duration) -> Duration {
    (period / 2).clamp(LEAST, MOST).min(period)
}

/// Time without an answer of the kernel, and the request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Silence {
    /// The request: `reading eth0's functions`.
    pub doing: String,
    /// Since it was asked.
    pub lasts: Duration,
}

impl fmt::Display for Silence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.lasts.as_secs();
        let doing = &self.doing;
        write!(f, "the kernel has not answered for {seconds} s ({doing})")
    }
}

/// State of one worker's answers. All times are of one clock that only goes forward.
#[derive(Debug, Clone, Default)]
pub struct Liveness {
    /// When it was last asked for something.
    asked: Option<Duration>,
    /// The look asked for did not come in the period that asked for it.
    late: bool,
    /// The last look was so late that it was dropped.
    dropped: bool,
    /// It was reported that it is stuck.
    reported: bool,
}

impl Liveness {
    /// It is asked for something other than a look.
    pub fn ask(&mut self, now: Duration) {
        self.asked = Some(now);
    }

    /// It is asked for a look.
    pub fn ask_look(&mut self, now: Duration) {
        (self.asked, self.late) = (Some(now), false);
    }

    /// The look has not come in time.
    pub fn miss(&mut self) {
        self.late = true;
    }

    /// Whether a look that took so long is used. One that was late and stuck is old, part of it perhaps from
    /// before, and is dropped; the next one is used even if late, or a slow kernel's answers would
    /// never count.
    pub fn accepts(&mut self, took: Duration) -> bool {
        self.dropped = self.late && took >= STUCK && !self.dropped;
        !self.dropped
    }

    /// For how long a worker that is still `busy` has not answered, where that is longer than it ever takes.
    pub fn silent_for(&self, busy: bool, now: Duration) -> Option<Duration> {
        let lasts = now.saturating_sub(self.asked.filter(|_| busy)?);
        (lasts >= STUCK).then_some(lasts)
    }

    /// Whether it has begun or ceased to be `stuck` since this was last asked.
    pub fn turns(&mut self, stuck: bool) -> bool {
        std::mem::replace(&mut self.reported, stuck) != stuck
    }

    /// Goes on where another one has left off: the end of its silence is reported.
    pub fn follow(&mut self, before: &Self) {
        self.reported = before.reported;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn an_answer_is_waited_for_half_a_period() {
        for (period, wait) in [
            (50, 50),
            (100, 100),
            (150, 100),
            (500, 250),
            (1000, 500),
            (60_000, 5000),
        ] {
            assert_eq!(answer_timeout(ms(period)), ms(wait), "{period}");
        }
    }

    #[test]
    fn a_look_that_was_late_and_stuck_is_dropped_once() {
        let mut worker = Liveness::default();
        for (missed, took, used) in [
            (false, 2000, true),
            (true, 999, true),
            (true, 1000, false),
            // Slow for good: every other one is used.
            (true, 5000, true),
            (true, 5000, false),
            (false, 10, true),
            (true, 1000, false),
        ] {
            worker.ask_look(ms(0));
            if missed {
                worker.miss();
            }
            assert_eq!(worker.accepts(ms(took)), used, "{missed} {took}");
        }
    }

    #[test]
    fn a_worker_is_stuck_when_it_is_busy_for_longer_than_it_ever_takes() {
        let mut worker = Liveness::default();
        assert_eq!(worker.silent_for(true, ms(9000)), None);
        worker.ask(ms(500));
        for (busy, now, silent) in [
            (true, 1499, None),
            (true, 1500, Some(1000)),
            (true, 9500, Some(9000)),
            (false, 9500, None),
        ] {
            assert_eq!(worker.silent_for(busy, ms(now)), silent.map(ms), "{now}");
        }
    }

    #[test]
    fn a_turn_is_reported_once_and_by_whoever_follows() {
        let mut worker = Liveness::default();
        let stuck = [false, true, true, false, false, true];
        let turns = stuck.map(|stuck| worker.turns(stuck));
        assert_eq!(turns, [false, true, false, true, false, true]);
        let mut next = Liveness::default();
        next.follow(&worker);
        assert!(next.turns(false));
    }
}
