//! How long a run takes yet, from estimates that jump.
//!
//! The search says before each trial how long it thinks that it takes. Shown as they come, such estimates
//! rise and fall by half. What is shown is their smoothed mean with its smoothed deviation, as TCP
//! estimates a round trip (RFC 6298, 2.3).

use std::time::Duration;

/// Weight of a new estimate in the mean and in the deviation.
const GAIN: f64 = 0.25;
/// Deviation of a first estimate, as a share of it.
const FIRST: f64 = 0.5;

/// The expected end of a run, in seconds after its start.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Expected {
    /// The end.
    pub end_s: f64,
    /// How far off it may be, either way.
    pub error_s: f64,
}

impl Expected {
    /// `before` with an estimate made at `elapsed` that the run takes `left` from then. The end never
    /// moves back by more than the error that was stated before.
    pub fn after(before: Option<Self>, elapsed: Duration, left: Duration) -> Self {
        let now = elapsed.as_secs_f64();
        let end = now + left.as_secs_f64();
        let Some(before) = before else {
            return Self {
                end_s: end,
                error_s: FIRST * left.as_secs_f64(),
            };
        };
        // An end that has passed is no estimate any more.
        let off = end - before.end_s.max(now);
        let moved = before.end_s.max(now) + (GAIN * off).min(before.error_s);
        Self {
            end_s: moved.max(now),
            error_s: before.error_s + GAIN * (off.abs() - before.error_s),
        }
    }

    /// What is left at `elapsed`, with its error: `0:40 left, ±0:10`.
    pub fn words(&self, elapsed: Duration, plus_minus: &str) -> String {
        let left = (self.end_s - elapsed.as_secs_f64()).max(0.0);
        // Seconds of an estimate that may be minutes off are no information.
        let error = self.error_s.round();
        if error >= 1.0 {
            format!("{} left, {plus_minus}{}", clock(left), clock(error))
        } else {
            format!("{} left", clock(left))
        }
    }
}

/// `1:05`, `2:01:05`.
pub fn clock(seconds: f64) -> String {
    let s = seconds.round() as u64;
    match s / 3600 {
        0 => format!("{}:{:02}", s / 60, s % 60),
        hours => format!("{hours}:{:02}:{:02}", s / 60 % 60, s % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seconds between two of the recorded estimates.
    const STEP: f64 = 5.0;

    fn at(seconds: f64) -> Duration {
        Duration::from_secs_f64(seconds)
    }

    /// What is shown at each estimate: before it, after it, and the error stated before it.
    fn shown(left: &[f64]) -> Vec<(f64, f64, f64)> {
        let mut expected: Option<Expected> = None;
        let mut seen = Vec::new();
        for (n, left) in left.iter().enumerate() {
            let now = n as f64 * STEP;
            let next = Expected::after(expected, at(now), at(*left));
            if let Some(before) = expected {
                seen.push((
                    (before.end_s - now).max(0.0),
                    next.end_s - now,
                    before.error_s,
                ));
            }
            expected = Some(next);
        }
        seen
    }

    #[test]
    fn recorded_estimates_never_raise_it_by_more_than_its_error() {
        for recorded in [
            // A search of one size; then a search that finds a step late; a run that gets stuck.
            &[54.0, 39.0, 34.0, 51.0, 37.0, 27.0, 44.0][..],
            &[20.0, 15.0, 10.0, 5.0, 60.0, 55.0, 50.0, 45.0, 40.0, 35.0],
            &[1.0, 1.0, 1.0, 1.0, 300.0, 1.0, 300.0, 1.0, 1.0],
        ] {
            for (before, after, error) in shown(recorded) {
                assert!(
                    after <= before + error + 1e-9,
                    "{recorded:?}: {before} → {after}, ±{error}"
                );
            }
        }
    }

    #[test]
    fn what_jumped_by_half_hardly_moves() {
        let seen = shown(&[54.0, 39.0, 34.0, 51.0, 37.0, 27.0, 44.0]);
        for (before, after, _) in &seen {
            // It went up by 17 s, twice.
            assert!(after - before < 7.0, "{seen:?}");
        }
        // From one estimate to the next it falls, as a clock that counts down does.
        let after: Vec<f64> = seen.iter().map(|(_, after, _)| *after).collect();
        assert!(after.is_sorted_by(|a, b| b < &(a + 1.0)), "{after:?}");
    }

    #[test]
    fn steady_estimates_are_shown_as_they_are_with_a_small_error() {
        let steady: Vec<f64> = (0..20).map(|n| 100.0 - f64::from(n) * STEP).collect();
        let (_, after, error) = *shown(&steady).last().unwrap();
        assert!((after - 5.0).abs() < 0.1, "{after}");
        assert!(error < 1.0, "{error}");
    }

    #[test]
    fn a_run_that_takes_longer_is_followed() {
        let mut longer = vec![20.0, 15.0];
        longer.extend((0..15).map(|n| 300.0 - f64::from(n) * STEP));
        let (_, after, _) = *shown(&longer).last().unwrap();
        assert!((after - 230.0).abs() < 20.0, "{after}");
    }

    #[test]
    fn the_words_carry_the_error() {
        let words = |end_s, error_s| Expected { end_s, error_s }.words(at(20.0), "±");
        assert_eq!(words(60.0, 10.2), "0:40 left, ±0:10");
        assert_eq!(words(7305.0, 0.2), "2:01:25 left");
        assert_eq!(words(10.0, 5.0), "0:00 left, ±0:05");
    }
}
