//! Limits how fast one connection is answered, and how often refusals are reported.

use std::time::Duration;

/// Requests of one connection: so many at once, then one each pause; more wait.
const BURST: u32 = 20;
const PAUSE: Duration = Duration::from_millis(50);
/// Refusals of one tenant are reported no more often than this.
const REPORT: Duration = Duration::from_secs(10);

/// Remaining requests of a connection. Times are of one clock that only goes forward.
#[derive(Debug, Clone, Copy)]
pub struct Budget {
    /// Less than the whole budget is left until then.
    next: Duration,
}

impl Budget {
    /// A whole one: a connection begins with the pause of its first request.
    pub fn begin(now: Duration) -> Self {
        Self { next: now }
    }

    /// Charges a request that comes now; returns when it may be answered. The budget fills up again while
    /// nothing is asked.
    pub fn charge(&mut self, now: Duration) -> Duration {
        let full = now.checked_sub(PAUSE * BURST);
        self.next = full.map_or(self.next, |full| self.next.max(full)) + PAUSE;
        self.next
    }

    /// Charges something that comes now and cannot wait; false, and nothing is charged, when the budget
    /// is used up.
    pub fn may(&mut self, now: Duration) -> bool {
        let mut charged = *self;
        let may = charged.charge(now) <= now + PAUSE;
        if may {
            *self = charged;
        }
        may
    }
}

/// When a refusal was last reported.
#[derive(Debug, Clone, Copy, Default)]
pub struct Refusals(Option<Duration>);

impl Refusals {
    /// Whether one that is made now is reported.
    pub fn report(&mut self, now: Duration) -> bool {
        let soon = |at: Duration| now.saturating_sub(at) < REPORT;
        if self.0.is_some_and(soon) {
            return false;
        }
        self.0 = Some(now);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn requests_wait_until_the_budget_allows_them() {
        let mut budget = Budget::begin(ms(10_000));
        // At once after the begin: one each pause.
        assert_eq!(budget.charge(ms(10_000)), ms(10_050));
        assert_eq!(budget.charge(ms(10_050)), ms(10_100));
        // After a second of silence there is all of it.
        for _ in 0..20 {
            assert!(budget.charge(ms(20_000)) <= ms(20_000));
        }
        for over in 1..=3 {
            assert_eq!(budget.charge(ms(20_000)), ms(20_000 + 50 * over));
        }
    }

    #[test]
    fn what_cannot_wait_is_refused_once_the_budget_is_used_up() {
        let mut budget = Budget::begin(ms(10_000));
        assert!(budget.may(ms(10_000)));
        assert!(!budget.may(ms(10_001)));
        assert!(budget.may(ms(10_050)));
        // Refusals cost nothing: after a second all of it is there.
        let taken = (0..100).filter(|_| budget.may(ms(20_000))).count();
        assert_eq!(taken, 21);
    }

    #[test]
    fn refusals_are_reported_now_and_then() {
        let mut refusals = Refusals::default();
        for (now, reported) in [
            (0, true),
            (1, false),
            (9_999, false),
            (10_000, true),
            (19_999, false),
            (20_000, true),
        ] {
            assert_eq!(refusals.report(ms(now)), reported, "{now}");
        }
    }
}
