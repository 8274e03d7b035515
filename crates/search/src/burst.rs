//! The longest burst of frames without loss: a bisection by length, repeated, in which every loss is
//! verified (RFC 9004; binary search with loss verification of ETSI GS NFV-TST 009).

use nicety_model::Fps;
use nicety_model::burst::{BackToBack, corrected};

use crate::stats::median;

/// Repeats of the search. RFC 9004 leaves the number open; it takes the mean.
pub const REPEATS: u32 = 5;
/// First burst.
const FIRST: u64 = 16;
/// Longest burst, in seconds of its rate: RFC 2544 §26.4 has trials of at least two.
const LONGEST_S: f64 = 2.0;
/// Most frames of a burst.
const LONGEST_FRAMES: u64 = 1 << 22;
/// A search ends when longest burst without and shortest with loss are apart by this share, or one frame.
const WIDTH: f64 = 0.02;
/// Tries of one length of which one without loss is enough: a loss that does not come again was not the
/// burst's.
const TRIES: u32 = 2;
/// Bursts that do not count in a row before a repeat is given up.
const INVALID: u32 = 4;
/// Share of the intended rate that a burst without loss must have had to count.
const RATE: f64 = 0.5;

/// What a burst of the asked length did.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shot {
    /// Frames that were sent: as many as asked for, or fewer where the sender was too slow.
    pub frames: u64,
    /// Whether any of its frames was lost.
    pub lost: bool,
    /// Its rate, in frames per second and direction.
    pub rate: Fps,
}

/// The machine: ask, burst, observe.
#[derive(Debug, Clone, PartialEq)]
pub struct BurstSearch {
    rate: Fps,
    longest: u64,
    repeats: u32,
    found: Vec<Found>,
    low: u64,
    high: Option<u64>,
    tries: u32,
    invalid: u32,
    given_up: u32,
    rates: Vec<f64>,
}

/// What one repeat found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Found {
    /// Longest burst without loss.
    low: u64,
    /// Shortest with loss; none where even the longest lost nothing.
    high: Option<u64>,
}

impl BurstSearch {
    /// For bursts at `rate`, each search `repeats` times.
    pub fn new(rate: Fps, repeats: u32) -> Self {
        let longest = (rate.0 * LONGEST_S) as u64;
        Self {
            rate,
            longest: longest.clamp(FIRST, LONGEST_FRAMES),
            repeats,
            found: Vec::new(),
            low: 0,
            high: None,
            tries: 0,
            invalid: 0,
            given_up: 0,
            rates: Vec::new(),
        }
    }

    /// Frames of the next burst, the same until it is observed; `None` at the end.
    pub fn next(&self) -> Option<u64> {
        if self.is_over() {
            return None;
        }
        Some(match self.high {
            Some(high) => (self.low + high) / 2,
            None if self.low == 0 => self.start(),
            None => (self.low * 2).min(self.longest),
        })
    }

    /// Takes what the burst that [`Self::next`] asked for did; `None` where it does not count.
    pub fn observe(&mut self, shot: Option<Shot>) {
        let Some(frames) = self.next() else { return };
        // What arrived of a burst that crawled, or is no longer than one that arrived before, shows nothing; what
        // was lost of one that is shorter than that is no burst's fault.
        let tells = |shot: &Shot| {
            if shot.lost {
                shot.frames > self.low
            } else {
                shot.frames > self.low && shot.rate.0 >= RATE * self.rate.0
            }
        };
        let Some(shot) = shot.filter(tells) else {
            self.invalid += 1;
            if self.invalid >= INVALID {
                self.given_up += 1;
                self.begin();
            }
            return;
        };
        self.invalid = 0;
        if shot.rate.0.is_finite() && shot.rate.0 > 0.0 {
            self.rates.push(shot.rate.0);
        }
        if shot.lost {
            self.tries += 1;
            if self.tries < TRIES {
                return;
            }
            self.high = Some(frames.min(shot.frames));
        } else {
            self.low = frames.min(shot.frames);
        }
        self.tries = 0;
        if self.is_found() {
            let (low, high) = (self.low, self.high);
            self.found.push(Found { low, high });
            self.begin();
        }
    }

    /// What was found, with the path's throughput where that is known; `None` where not even one frame
    /// arrived, or no burst could be sent.
    pub fn outcome(&self, throughput: Option<Fps>) -> Option<BackToBack> {
        let lows = || self.found.iter().map(|found| found.low);
        let (min, max) = lows().min().zip(lows().max())?;
        if max == 0 {
            return None;
        }
        let rate = median(&self.rates)?;
        let mean = lows().sum::<u64>() as f64 / self.found.len() as f64;
        let at_least = self.found.iter().any(|found| found.high.is_none());
        let apart = self
            .found
            .iter()
            .filter_map(|found| Some(found.high? - found.low));
        let precision = apart.max().unwrap_or(0);
        let depth = |frames: f64| corrected(frames, rate, throughput?.0);
        let depth = |frames| depth(frames).filter(|_| !at_least);
        let buffer = depth(mean);
        let ends = depth(min as f64).zip(depth((max + precision) as f64));
        Some(BackToBack {
            rate_fps: rate,
            burst_frames: mean,
            burst_min_frames: min,
            burst_max_frames: max,
            repeats: self.found.len() as u32,
            precision_frames: precision,
            at_least,
            throughput_fps: throughput.map(|fps| fps.0),
            buffer_frames: buffer,
            buffer_interval_frames: ends,
            buffer_us: buffer.map(|frames| frames / rate * 1e6),
            delay_us: buffer
                .zip(throughput)
                .map(|(frames, fps)| frames / fps.0 * 1e6),
        })
    }

    /// Bursts that are still to come on a path without noise.
    pub fn left(&self) -> u32 {
        const EACH: u32 = 14;
        let done = self.found.len() as u32 + self.given_up;
        self.repeats.saturating_sub(done) * EACH
    }

    fn is_over(&self) -> bool {
        self.found.len() as u32 + self.given_up >= self.repeats
    }

    /// Where a repeat begins: near what the one before found.
    fn start(&self) -> u64 {
        let last = self.found.last().map(|found| found.low / 2);
        last.unwrap_or(FIRST).clamp(1, self.longest)
    }

    fn begin(&mut self) {
        (self.low, self.high) = (0, None);
        (self.tries, self.invalid) = (0, 0);
    }

    fn is_found(&self) -> bool {
        match self.high {
            Some(high) => {
                let width = (self.low as f64 * WIDTH) as u64;
                high - self.low <= width.max(1)
            }
            None => self.low >= self.longest,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A path with a buffer of `depth` frames from which `throughput` frames are taken per second.
    struct Path {
        depth: f64,
        throughput: f64,
        rate: f64,
    }

    impl Path {
        fn burst(&self, frames: u64) -> Shot {
            let filled = frames as f64 * (1.0 - self.throughput / self.rate);
            Shot {
                frames,
                lost: filled > self.depth,
                rate: Fps(self.rate),
            }
        }
    }

    fn search(path: &Path, mut noise: impl FnMut(u64, Shot) -> Option<Shot>) -> (BurstSearch, u32) {
        let mut search = BurstSearch::new(Fps(path.rate), REPEATS);
        let mut bursts = 0;
        while let Some(frames) = search.next() {
            assert_eq!(search.next(), Some(frames));
            assert!((1..=LONGEST_FRAMES).contains(&frames));
            search.observe(noise(frames, path.burst(frames)));
            bursts += 1;
            assert!(bursts < 1_000);
        }
        (search, bursts)
    }

    #[test]
    fn a_known_buffer_is_found() {
        let path = Path {
            depth: 150.0,
            throughput: 10_000.0,
            rate: 200_000.0,
        };
        let (search, bursts) = search(&path, |_, shot| Some(shot));
        let found = search.outcome(Some(Fps(10_000.0))).unwrap();
        assert!(!found.at_least && bursts < 80, "{bursts}");
        let depth = found.buffer_frames.unwrap();
        assert!((146.0..=150.0).contains(&depth), "{found:?}");
        let (low, high) = found.buffer_interval_frames.unwrap();
        assert!(low <= 150.0 && high >= 150.0, "{found:?}");
        assert!((found.delay_us.unwrap() - depth / 10_000.0 * 1e6).abs() < 1e-6);
        assert!((found.buffer_us.unwrap() - depth / 200_000.0 * 1e6).abs() < 1e-6);
        // Without a throughput there is a burst and no buffer.
        let found = search.outcome(None).unwrap();
        assert_eq!((found.buffer_frames, found.repeats), (None, REPEATS));
    }

    #[test]
    fn a_path_that_carries_the_rate_has_no_buffer_to_fill() {
        let path = Path {
            depth: 1.0,
            throughput: 2e5,
            rate: 1e5,
        };
        let (search, _) = search(&path, |_, shot| Some(shot));
        let found = search.outcome(Some(Fps(2e5))).unwrap();
        assert!(found.at_least);
        assert_eq!(found.burst_frames, 200_000.0);
        assert_eq!((found.buffer_frames, found.buffer_us), (None, None));
    }

    #[test]
    fn one_loss_that_does_not_come_again_changes_nothing() {
        let path = Path {
            depth: 1_000.0,
            throughput: 1e4,
            rate: 1e6,
        };
        let quiet = search(&path, |_, shot| Some(shot)).0.outcome(None);
        let mut n = 0;
        let noisy = search(&path, |_, shot| {
            n += 1;
            Some(Shot {
                lost: shot.lost || n % 7 == 3,
                ..shot
            })
        });
        assert_eq!(noisy.0.outcome(None), quiet);
    }

    #[test]
    fn bursts_that_do_not_count_end_it() {
        let path = Path {
            depth: 10.0,
            throughput: 1.0,
            rate: 1e6,
        };
        let (none, bursts) = search(&path, |_, _| None);
        assert_eq!(none.outcome(None), None);
        assert_eq!(bursts, INVALID * REPEATS);
        // A burst that crawled shows nothing when it arrives.
        let slow = |_: u64, shot: Shot| {
            Some(Shot {
                rate: Fps(1e5),
                ..shot
            })
        };
        let path = Path { depth: 1e9, ..path };
        assert_eq!(search(&path, slow).0.outcome(None), None);
        // Nothing passes: no burst at all.
        let path = Path {
            depth: 0.5,
            throughput: 1.0,
            rate: 1e6,
        };
        assert_eq!(search(&path, |_, shot| Some(shot)).0.outcome(None), None);
    }

    proptest! {
        #[test]
        fn every_buffer_is_found_within_the_precision(
            depth in 1.0..100_000.0_f64, throughput in 1e3..9e5_f64, above in 1.05..100.0_f64,
        ) {
            let path = Path { depth, throughput, rate: throughput * above };
            let (search, bursts) = search(&path, |_, shot| Some(shot));
            prop_assert!(bursts <= REPEATS * 40, "{bursts}");
            let Some(found) = search.outcome(Some(Fps(throughput))) else {
                // Less than a frame of room.
                prop_assert!(path.burst(1).lost);
                return Ok(());
            };
            if found.at_least {
                prop_assert!(!path.burst(search.longest).lost);
                return Ok(());
            }
            prop_assert!(found.precision_frames as f64 <= (found.burst_frames * WIDTH).max(1.0) + 1.0);
            prop_assert!(!path.burst(found.burst_min_frames).lost);
            prop_assert!(path.burst(found.burst_max_frames + found.precision_frames).lost);
            let (low, high) = found.buffer_interval_frames.unwrap();
            prop_assert!(low <= depth && depth <= high, "{found:?}");
            let found = found.buffer_frames.unwrap();
            prop_assert!((found - depth).abs() <= depth * WIDTH + 1.5, "{found} of {depth}");
        }
    }
}
