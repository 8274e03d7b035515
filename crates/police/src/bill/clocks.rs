//! Whether the clock on the wall can be relied on: beside it goes one that nobody sets.

use std::time::Duration;

use super::slots::Moment;

/// By less than this a clock that was set is no news: leap seconds, and the time between two readings.
const NEWS: Duration = Duration::from_secs(10);
/// For so long the clock on the wall has to go on without a step before anything is deleted by it.
const SETTLED: Duration = Duration::from_secs(86_400);

/// By how many milliseconds the clock on the wall was set between two moments, where that is news.
pub(super) fn stepped(was: Moment, now: Moment) -> Option<i64> {
    let step = now.ahead_of(was);
    (step.unsigned_abs() > NEWS.as_millis() as u64).then_some(step)
}

/// Both clocks since they went together last.
///
/// The kernel slews both alike (`kernel/time/timekeeping.c`, `timekeeping_adjust`), so only a step of the clock on the
/// wall sets them apart.
#[derive(Debug, Clone, Copy, Default)]
pub struct Clocks {
    together: Option<Moment>,
}

impl Clocks {
    /// Takes the moment. Returns by how many milliseconds the clock on the wall was set, forward or back.
    pub fn see(&mut self, at: Moment) -> Option<i64> {
        let together = *self.together.get_or_insert(at);
        // A clock before 1970 reads as one that stands there.
        let stands = at.wall.is_zero() && together.wall.is_zero();
        let step = stepped(together, at);
        if step.is_some() {
            self.together = Some(at);
        }
        step.filter(|_| !stands)
    }

    /// Before which time, in seconds since 1970, there is nothing to keep that is to be kept for `age`. None until the
    /// clock on the wall has gone on for a day without a step.
    pub fn oldest(&self, at: Moment, age: Duration) -> Option<i64> {
        let settled = at.boot.checked_sub(self.together?.boot)? >= SETTLED;
        let oldest = at.wall.checked_sub(age).filter(|_| settled)?;
        i64::try_from(oldest.as_secs()).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: u64 = 86_400;
    const AGE: Duration = Duration::from_secs(30 * DAY);

    fn at(boot: u64, wall: u64) -> Moment {
        Moment {
            boot: Duration::from_secs(boot),
            wall: Duration::from_secs(wall),
        }
    }

    #[test]
    fn a_step_is_news_once_and_deleting_waits_a_day_after_it() {
        for step in [-60 * 86_400, -3_600, 3_600, 60 * 86_400_i64] {
            let mut clocks = Clocks::default();
            let begin = 1_000 * DAY;
            assert_eq!(clocks.see(at(0, begin)), None);
            let there = begin.saturating_add_signed(step);
            assert_eq!(clocks.see(at(1, there + 1)), Some(step * 1_000));
            assert_eq!(clocks.see(at(2, there + 2)), None);
            assert_eq!(clocks.see(at(3, begin + 3)), Some(-step * 1_000));
            for (boot, deletes) in [(3, false), (DAY, false), (DAY + 3, true)] {
                let now = at(boot, begin + boot);
                assert_eq!(clocks.see(now), None);
                let oldest = (begin + boot - AGE.as_secs()) as i64;
                assert_eq!(clocks.oldest(now, AGE), deletes.then_some(oldest), "{step}");
            }
        }
    }

    #[test]
    fn clocks_at_their_ends_delete_nothing() {
        let mut clocks = Clocks::default();
        assert_eq!(clocks.oldest(at(0, 0), AGE), None);
        clocks.see(at(u64::MAX, u64::MAX));
        clocks.see(at(0, u64::MAX));
        clocks.see(at(0, 0));
        // Before 1970 there is no news but the first.
        for second in 1..100 {
            assert_eq!(clocks.see(at(second, 0)), None);
        }
        // Younger than what is kept.
        assert_eq!(clocks.oldest(at(2 * DAY, 2 * DAY), AGE), None);
    }
}
