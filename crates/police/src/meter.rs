//! Converts counters to rates on the wire.

use std::time::Duration;

/// Preamble, start delimiter and gap of every Ethernet frame in bytes (IEEE 802.3).
pub const WIRE_OVERHEAD: f64 = 20.0;
/// The frame check sequence, where a counter leaves it out, in bytes.
pub const FCS: f64 = 4.0;

/// One reading of a port's counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// When, on a clock that only goes forward.
    pub at: Duration,
    /// Bytes that passed.
    pub bytes: u64,
    /// Frames that passed.
    pub frames: u64,
    /// Frames that the limiter dropped, where it counts them.
    pub drops: Option<u64>,
    /// Bytes that wait in the limiter, where it reports them.
    pub backlog: Option<u64>,
}

impl Sample {
    /// Bytes and frames that passed at a port whose limiter tells nothing.
    pub fn passed(at: Duration, bytes: u64, frames: u64) -> Self {
        Self {
            at,
            bytes,
            frames,
            drops: None,
            backlog: None,
        }
    }

    /// Frames that the limiter has dropped since an earlier sample; 0 where it counts none, or anew.
    pub fn dropped_since(&self, last: &Self) -> u64 {
        let both = self.drops.zip(last.drops);
        both.map_or(0, |(now, was)| now.saturating_sub(was))
    }

    /// More waits in the limiter than a frame or two, which are no sign of want.
    pub fn waits(&self) -> bool {
        self.backlog.is_some_and(|bytes| bytes > 4_096)
    }
}

/// Properties of a port's counters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Counters {
    /// Width of the byte counter in bits, 1 to 64.
    pub byte_bits: u32,
    /// Width of the frame counter in bits, 1 to 64.
    pub frame_bits: u32,
    /// Bytes that each frame takes on the wire beyond what is counted.
    pub overhead: f64,
    /// How old the counters may be when they are read; zero when they are live.
    pub staleness: Duration,
    /// More than this cannot have passed, in bits per second: tells a reset from a wrap of
    /// counters narrower than 64 bits.
    pub ceiling_bps: f64,
}

impl Counters {
    /// The kernel's 64-bit counters of an interface or queueing discipline: live, without FCS.
    pub fn kernel() -> Self {
        Self {
            byte_bits: 64,
            frame_bits: 64,
            overhead: WIRE_OVERHEAD + FCS,
            staleness: Duration::ZERO,
            ceiling_bps: f64::INFINITY,
        }
    }
}

/// Result of a sample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Reading {
    /// The first one: nothing to compare with.
    First,
    /// Nothing new: the driver has not refreshed its counters, the clock stands, or it comes too soon.
    Stale,
    /// The counters went backwards or jumped: they count from here on.
    Reset,
    /// The rate since the last sample.
    Rate {
        /// Bits per second on the wire.
        bps: f64,
        /// The limiter dropped or held something.
        held: bool,
    },
}

/// Remembers the last sample of a port.
#[derive(Debug, Clone)]
pub struct Meter {
    counters: Counters,
    /// The sample that the next rate is taken from.
    last: Option<Sample>,
    /// The newest one, also when it came too soon for a rate.
    newest: Option<Sample>,
}

impl Meter {
    /// A meter without a sample.
    pub fn new(counters: Counters) -> Self {
        Self {
            counters,
            last: None,
            newest: None,
        }
    }

    /// Takes a sample; one that comes less than `least` after the last says nothing yet.
    pub fn take(&mut self, sample: Sample, least: Duration) -> Reading {
        let is_soon = |last: Sample| sample.at.saturating_sub(last.at) < least;
        if self.last.is_some_and(is_soon) {
            self.newest = Some(sample);
            return Reading::Stale;
        }
        self.read(sample)
    }

    /// Takes a sample, however soon.
    pub fn read(&mut self, sample: Sample) -> Reading {
        self.newest = Some(sample);
        let Some(last) = self.last else {
            self.last = Some(sample);
            return Reading::First;
        };
        let Some(time) = sample.at.checked_sub(last.at).filter(|t| !t.is_zero()) else {
            return Reading::Stale;
        };
        let bytes = delta(last.bytes, sample.bytes, self.counters.byte_bits);
        let frames = delta(last.frames, sample.frames, self.counters.frame_bits);
        if (bytes, frames) == (Some(0), Some(0)) && time <= self.counters.staleness.mul_f64(1.5) {
            return Reading::Stale;
        }
        self.last = Some(sample);
        let (Some(bytes), Some(frames)) = (bytes, frames) else {
            return Reading::Reset;
        };
        let bits = (bytes as f64 + self.counters.overhead * frames as f64) * 8.0;
        let bps = bits / time.as_secs_f64();
        let narrow = self.counters.byte_bits < 64;
        if narrow && bps > self.counters.ceiling_bps * 1.1 {
            return Reading::Reset;
        }
        Reading::Rate {
            bps,
            held: sample.dropped_since(&last) > 0 || sample.waits(),
        }
    }

    /// The next rate is taken from the newest sample on.
    pub fn begin_anew(&mut self) {
        self.last = self.newest;
    }

    /// Whether its samples tell what the limiter drops.
    pub fn counts_drops(&self) -> bool {
        self.newest.is_some_and(|newest| newest.drops.is_some())
    }

    /// Forgets all samples: the port went away.
    pub fn forget(&mut self) {
        (self.last, self.newest) = (None, None);
    }
}

/// Growth of a counter of `bits` bits; none when a full-width counter went backwards.
fn delta(old: u64, new: u64, bits: u32) -> Option<u64> {
    if bits >= 64 {
        return new.checked_sub(old);
    }
    let mask = (1u64 << bits) - 1;
    Some(new.wrapping_sub(old) & mask)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(ms: u64, bytes: u64, frames: u64) -> Sample {
        Sample::passed(Duration::from_millis(ms), bytes, frames)
    }

    fn narrow() -> Counters {
        Counters {
            byte_bits: 32,
            frame_bits: 32,
            overhead: WIRE_OVERHEAD,
            staleness: Duration::ZERO,
            ceiling_bps: 1e9,
        }
    }

    fn rate(bps: f64) -> Reading {
        Reading::Rate { bps, held: false }
    }

    #[test]
    fn small_frames_pay_for_the_line_they_use() {
        let mut meter = Meter::new(narrow());
        assert_eq!(meter.read(sample(0, 0, 0)), Reading::First);
        // 64-byte frames at 1 Gb/s are 1 488 095 per second.
        let Reading::Rate { bps, .. } = meter.read(sample(1000, 64 * 1_488_095, 1_488_095)) else {
            panic!();
        };
        assert!((bps - 1e9).abs() < 1e3, "{bps}");
    }

    #[test]
    fn a_narrow_counter_wraps_and_a_reset_is_no_wrap() {
        let mut meter = Meter::new(narrow());
        meter.read(sample(0, 0xffff_ff00, 10));
        assert_eq!(meter.read(sample(1000, 0x100, 10)), rate(4096.0));
        // Back to zero would be four billion bytes in a second.
        assert_eq!(meter.read(sample(2000, 0, 0)), Reading::Reset);
        assert_eq!(meter.read(sample(3000, 0, 0)), rate(0.0));
    }

    #[test]
    fn a_full_counter_never_goes_back() {
        let mut meter = Meter::new(Counters::kernel());
        meter.read(sample(0, 1000, 10));
        assert_eq!(meter.read(sample(1000, 999, 11)), Reading::Reset);
        assert_eq!(meter.read(sample(2000, 1999, 11)), rate(8000.0));
    }

    #[test]
    fn a_driver_that_refreshes_seldom_is_waited_for_but_not_for_ever() {
        let mut meter = Meter::new(Counters {
            staleness: Duration::from_secs(2),
            ..Counters::kernel()
        });
        meter.read(sample(0, 0, 0));
        assert_eq!(meter.read(sample(1000, 0, 0)), Reading::Stale);
        assert_eq!(meter.read(sample(2000, 2000, 0)), rate(8000.0));
        assert_eq!(meter.read(sample(3000, 2000, 0)), Reading::Stale);
        assert_eq!(meter.read(sample(5100, 2000, 0)), rate(0.0));
    }

    #[test]
    fn a_sample_may_come_too_soon_and_counting_may_begin_anew() {
        let mut meter = Meter::new(Counters::kernel());
        let least = Duration::from_millis(250);
        assert_eq!(meter.take(sample(0, 0, 0), least), Reading::First);
        assert_eq!(meter.take(sample(1000, 0, 0), least), rate(0.0));
        assert_eq!(meter.take(sample(1249, 1000, 0), least), Reading::Stale);
        assert_eq!(meter.take(sample(1250, 250, 0), least), rate(8000.0));
        // Counting begins at the newest sample, also at one that came too soon.
        assert_eq!(meter.take(sample(1300, 5000, 0), least), Reading::Stale);
        meter.begin_anew();
        assert_eq!(meter.take(sample(2300, 6000, 0), least), rate(8000.0));
        meter.forget();
        meter.begin_anew();
        assert_eq!(meter.take(sample(2400, 7000, 0), least), Reading::First);
    }

    #[test]
    fn a_clock_that_stands_or_steps_back_says_nothing() {
        let mut meter = Meter::new(Counters::kernel());
        meter.read(sample(1000, 0, 0));
        assert_eq!(meter.read(sample(1000, 500, 1)), Reading::Stale);
        assert_eq!(meter.read(sample(400, 500, 1)), Reading::Stale);
        assert!(matches!(
            meter.read(sample(2000, 500, 1)),
            Reading::Rate { .. }
        ));
        meter.forget();
        assert_eq!(meter.read(sample(3000, 0, 0)), Reading::First);
    }

    #[test]
    fn drops_and_a_queue_say_that_more_was_wanted() {
        let with = |ms, drops, backlog| Sample {
            drops: Some(drops),
            backlog: Some(backlog),
            ..sample(ms, 0, 0)
        };
        let mut meter = Meter::new(Counters::kernel());
        meter.read(with(0, 5, 0));
        let held = |reading| matches!(reading, Reading::Rate { held: true, .. });
        assert!(held(meter.read(with(1000, 6, 0))));
        assert!(!held(meter.read(with(2000, 6, 100))));
        assert!(held(meter.read(with(3000, 6, 60_000))));
    }
}
