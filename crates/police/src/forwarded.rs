//! Estimates the bytes that a policer has forwarded.
//!
//! Nothing counts the bytes that it drops. Of the bytes that came between two readings, the
//! same share passed as of the frames.

use nicety_model::BitRate;

use crate::totals::{Total, grown};

/// Counters of a policer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PolicerCounts {
    /// Its rate: another one is another policer.
    pub rate: BitRate,
    /// Frames that it has seen.
    pub frames: u64,
    /// Of these dropped, modulo 2³².
    pub drops: u32,
}

/// The counters of one function.
#[derive(Debug, Clone, Default)]
pub struct Forwarded {
    /// Received by the representor at the last look.
    came: Option<Total>,
    /// The policer then.
    policer: PolicerCounts,
    total: Total,
    dropped: u64,
}

impl Forwarded {
    /// Takes what has come so far, and the policer where there is one; returns what was forwarded since the
    /// first look.
    pub fn take(&mut self, came: Total, policer: Option<PolicerCounts>) -> Total {
        let policer = policer.unwrap_or_default();
        let was = std::mem::replace(&mut self.policer, policer);
        let Some(last) = self.came.replace(came) else {
            return self.total;
        };
        // A new policer, and an interface made anew, count from 0.
        let same = policer.rate == was.rate && policer.frames >= was.frames;
        let was = if same { was } else { PolicerCounts::default() };
        let seen = policer.frames - was.frames;
        let drops = u64::from(policer.drops.wrapping_sub(was.drops)).min(seen);
        let share = 1.0 - drops as f64 / seen.max(1) as f64;
        let forwarded = |was, now| (grown(was, now, 64) as f64 * share) as u64;
        self.total.tx_bytes += forwarded(last.tx_bytes, came.tx_bytes);
        self.total.tx_frames += forwarded(last.tx_frames, came.tx_frames);
        self.total.rx_bytes += grown(last.rx_bytes, came.rx_bytes, 64);
        self.total.rx_frames += grown(last.rx_frames, came.rx_frames, 64);
        self.dropped += drops;
        self.total
    }

    /// Frames dropped since the first look.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn came(frames: u64) -> Total {
        Total {
            tx_bytes: 1000 * frames,
            tx_frames: frames,
            rx_bytes: 7 * frames,
            rx_frames: frames,
        }
    }

    fn at(mbit: u64, frames: u64, drops: u32) -> Option<PolicerCounts> {
        Some(PolicerCounts {
            rate: BitRate::from_mbit(mbit),
            frames,
            drops,
        })
    }

    #[test]
    fn what_is_dropped_is_not_forwarded() {
        let mut forwarded = Forwarded::default();
        assert_eq!(forwarded.take(came(50), None), Total::default());
        assert_eq!(forwarded.take(came(60), None).tx_bytes, 10_000);
        // A policer comes; it drops three of four.
        let now = forwarded.take(came(100), at(5, 40, 30));
        assert_eq!((now.tx_bytes, now.tx_frames), (20_000, 20));
        assert_eq!((now.rx_frames, forwarded.dropped()), (50, 30));
        // Another one comes in its place, and drops half.
        let now = forwarded.take(came(120), at(5, 20, 10));
        assert_eq!((now.tx_frames, forwarded.dropped()), (30, 40));
        // And one of another rate, which has seen more than that.
        let now = forwarded.take(came(150), at(6, 30, 30));
        assert_eq!((now.tx_frames, forwarded.dropped()), (30, 70));
        // It goes.
        assert_eq!(forwarded.take(came(160), None).tx_frames, 40);
    }

    #[test]
    fn counters_that_begin_anew_or_wrap_are_no_leap() {
        let mut forwarded = Forwarded::default();
        forwarded.take(came(1000), at(5, 1000, u32::MAX));
        let now = forwarded.take(came(10), at(5, 1010, 4));
        assert_eq!((now.tx_frames, forwarded.dropped()), (5, 5));
        // More dropped than seen is nonsense: nothing has passed.
        let now = forwarded.take(came(20), at(5, 1020, 900));
        assert_eq!(now.tx_frames, 5);
    }
}
