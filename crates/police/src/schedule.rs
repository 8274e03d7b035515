//! Times of the daemon's work that is not done in every period, by a clock that only goes
//! forward.

use std::time::Duration;

/// How often interfaces, limits and filters are compared with what they should be when the kernel has told
/// of a change; counters, and the limits of ports that send, are read every period.
const RECONCILE: Duration = Duration::from_millis(900);
/// The same when it has not.
const RECONCILE_ANYWAY: Duration = Duration::from_secs(10);
/// How often what `status` reads is written, at most, and while the ports stay as they are.
const WRITE: Duration = Duration::from_millis(450);
const WRITE_ANYWAY: Duration = Duration::from_secs(2);
/// Periods without an end after which the daemon counts as stuck, and at least this long.
const STUCK_PERIODS: u32 = 5;
const STUCK: Duration = Duration::from_secs(5);

/// When everything is looked at, not counters alone.
#[derive(Debug, Clone, Default)]
pub struct Reconcile {
    looked: Option<Duration>,
    changed: bool,
}

impl Reconcile {
    /// Something may have changed since the last look.
    pub fn change(&mut self, may_have: bool) {
        self.changed |= may_have;
    }

    /// Whether the next look is at everything.
    pub fn is_due(&self, now: Duration) -> bool {
        let wait = if self.changed {
            RECONCILE
        } else {
            RECONCILE_ANYWAY
        };
        self.looked.is_none_or(|at| now.saturating_sub(at) >= wait)
    }

    /// Everything is looked at.
    pub fn look(&mut self, now: Duration) {
        (self.looked, self.changed) = (Some(now), false);
    }

    /// The next look is at everything.
    pub fn demand(&mut self) {
        self.looked = None;
    }
}

/// Whether the state is written again, so long after the last time; `same` when it says the same as then.
pub fn writes_state(age: Duration, same: bool) -> bool {
    age >= WRITE_ANYWAY || age >= WRITE && !same
}

/// When the next period ends: after a stall the missed ones are left out, not made up for.
pub fn next_period(last: Duration, period: Duration, now: Duration) -> Duration {
    (last + period).max(now)
}

/// Whether a daemon whose last period ended so long ago gets on.
pub fn gets_on(age: Duration, period: Duration) -> bool {
    age < STUCK.max(STUCK_PERIODS * period)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn everything_is_looked_at_soon_after_a_change_and_now_and_then_without() {
        let mut reconcile = Reconcile::default();
        assert!(reconcile.is_due(ms(0)));
        reconcile.look(ms(100));
        for (now, due) in [(100, false), (1000, false), (10_099, false), (10_100, true)] {
            assert_eq!(reconcile.is_due(ms(now)), due, "{now}");
        }
        reconcile.change(true);
        reconcile.change(false);
        assert!(!reconcile.is_due(ms(999)));
        assert!(reconcile.is_due(ms(1000)));
        reconcile.look(ms(1000));
        assert!(!reconcile.is_due(ms(2000)));
        reconcile.demand();
        assert!(reconcile.is_due(ms(2000)));
    }

    #[test]
    fn the_state_is_written_when_it_has_changed_and_before_it_looks_old() {
        for (age, same, writes) in [
            (449, false, false),
            (450, false, true),
            (450, true, false),
            (1999, true, false),
            (2000, true, true),
        ] {
            assert_eq!(writes_state(ms(age), same), writes, "{age} {same}");
        }
    }

    #[test]
    fn periods_that_were_missed_are_left_out() {
        assert_eq!(next_period(ms(1000), ms(500), ms(1200)), ms(1500));
        assert_eq!(next_period(ms(1000), ms(500), ms(9700)), ms(9700));
    }

    #[test]
    fn a_daemon_gets_on_for_five_periods_and_five_seconds() {
        for (age, period, on) in [
            (4999, 100, true),
            (5000, 100, false),
            (9999, 2000, true),
            (10_000, 2000, false),
        ] {
            assert_eq!(gets_on(ms(age), ms(period)), on, "{age} {period}");
        }
    }
}
