//! Paths that let more pass at first than for long: token buckets.
//!
//! In a trial above its rate such a path loses nothing until its tokens are used up, and then forwards its rate and no
//! more. Tokens fill again while nothing is sent, so a short trial says what bucket and rate carry together. Two trials
//! that end at the same rate name it.

use nicety_model::note::SearchNote;
use nicety_model::{Fps, Windows};

/// Distance of windows from their median up to which their rate is steady, and of the rates of two trials.
const STEADY: f64 = 0.02;
const SAME: f64 = 0.005;
/// Loss of a window from which on it is not by chance.
const LOSES: f64 = 0.01;
/// Windows at a steady rate at least.
const FEWEST: usize = 3;
/// Tokens beyond the rate that are more than a queue or a slow start: as time at the rate, in seconds.
const LEAST_S: f64 = 0.02;

/// What a path let pass at first, and then.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Settled {
    /// Frames per second, all directions together.
    rate: f64,
    /// Frames that passed beyond that rate.
    beyond: f64,
}

/// What the trials so far say of a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Bucket {
    last: Option<Settled>,
    /// The rate that is left, per direction.
    pub(super) rate: Option<Fps>,
    /// Most frames that were seen to pass beyond it.
    beyond: f64,
}

impl Bucket {
    /// Takes a trial of the search; the rate, per direction, where this one names it.
    pub(super) fn observe(&mut self, windows: &Windows, directions: u32) -> Option<Fps> {
        let found = settled(windows)?;
        let before = self.last.replace(found)?;
        if (found.rate / before.rate - 1.0).abs() > SAME {
            return None;
        }
        self.beyond = self.beyond.max(before.beyond).max(found.beyond);
        self.rate = Some(Fps(found.rate / f64::from(directions.max(1))));
        self.rate
    }

    /// The bucket, for the reader.
    pub(super) fn note(&self) -> Option<SearchNote> {
        Some(SearchNote::TokenBucket {
            rate_fps: self.rate?,
            frames: self.beyond.round() as u64,
        })
    }
}

/// A trial that lost nothing at first and then forwarded a steady rate below the load.
fn settled(windows: &Windows) -> Option<Settled> {
    let all: Vec<_> = windows.iter().collect();
    let passed = |at: usize| (all[at].sent - all[at].lost.min(all[at].sent)) as f64;
    let count = all.len();
    let mut last: Vec<f64> = (count.checked_sub(FEWEST)?..count).map(passed).collect();
    last.sort_by(f64::total_cmp);
    let steady = last[FEWEST / 2];
    let is_steady = |at: &usize| {
        (passed(*at) / steady - 1.0).abs() <= STEADY && all[*at].loss_ratio().0 > LOSES
    };
    let begin = (0..count).rev().take_while(is_steady).last()?;
    // The window in which the tokens end is in part before and in part after it.
    let before = begin.checked_sub(1)?;
    let is_free = |at: usize| all[at].lost == 0;
    if count - begin < FEWEST || !is_free(0) || !(0..before).all(is_free) {
        return None;
    }
    let beyond: f64 = (0..begin).map(|at| passed(at) - steady).sum();
    let rate = steady / windows.length_s;
    (beyond >= LEAST_S * rate && rate.is_normal()).then_some(Settled { rate, beyond })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Frames that passed in windows of 0.1 s at a load of 5,020 frames/s.
    fn trial(passed: &[u64]) -> Windows {
        let sent = vec![505; passed.len()];
        let lost = passed.iter().map(|passed| 505 - passed).collect();
        Windows {
            length_s: 0.1,
            sent,
            lost,
            ..Windows::default()
        }
    }

    #[test]
    fn two_trials_that_end_at_one_rate_name_a_bucket() {
        let mut bucket = Bucket::default();
        let first = trial(&[505, 505, 505, 435, 416, 415, 416, 415, 416]);
        let second = trial(&[505, 505, 505, 505, 453, 415, 416, 415]);
        assert_eq!(bucket.observe(&first, 1), None);
        assert_eq!(bucket.note(), None);
        let rate = bucket.observe(&second, 1).unwrap();
        assert!((rate.0 - 4150.0).abs() < 11.0, "{rate:?}");
        let Some(SearchNote::TokenBucket { frames, .. }) = bucket.note() else {
            panic!("no note");
        };
        assert!((370..=400).contains(&frames), "{frames}");
        assert_eq!(bucket.observe(&second, 2).unwrap().0 * 2.0, rate.0);
    }

    #[test]
    fn overload_queues_and_moments_are_no_bucket() {
        for passed in [
            // Overload from the first window on, after a queue has filled.
            &[430, 416, 415, 416, 415, 416][..],
            // A moment without the CPU.
            &[505, 505, 300, 505, 505, 505],
            // No steady end.
            &[505, 505, 480, 440, 416, 390],
            // Less and less.
            &[505, 480, 460, 440, 430, 416, 416, 416],
            &[505; 6],
            &[505, 416],
            &[],
        ] {
            let mut bucket = Bucket::default();
            for _ in 0..2 {
                assert_eq!(bucket.observe(&trial(passed), 1), None, "{passed:?}");
            }
        }
    }

    #[test]
    fn two_rates_are_no_bucket() {
        let mut bucket = Bucket::default();
        for end in [416, 440, 416] {
            let passed = [505, 505, 505, end, end, end, end];
            assert_eq!(bucket.observe(&trial(&passed), 1), None);
        }
    }
}
