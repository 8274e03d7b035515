//! Offset of two NICs' clocks, from readings of each beside the system's clock.

/// Most by which a NIC's clock runs faster or slower than the system's: ten times what is left of
/// oscillators of the worst class after temperature, 100 ppm. What differs by more was stepped.
const FASTER_MAX: f64 = 1e-3;

/// A clock read between two looks at the system's clock, all in ns since the epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reading {
    /// The system's clock before.
    pub before_ns: i64,
    /// The clock.
    pub clock_ns: i64,
    /// The system's clock after.
    pub after_ns: i64,
}

impl Reading {
    /// When it was read, by the system's clock, to [`Self::half_width_ns`].
    fn at_ns(&self) -> i64 {
        self.before_ns + self.after_ns.saturating_sub(self.before_ns) / 2
    }

    /// Largest error of [`Self::at_ns`].
    fn half_width_ns(&self) -> f64 {
        self.after_ns.saturating_sub(self.before_ns).max(0) as f64 / 2.0
    }

    /// Ahead of the system's clock by so much.
    fn ahead_ns(&self) -> i64 {
        self.clock_ns.saturating_sub(self.at_ns())
    }

    /// The tightest of several. Those during which the system's clock was set back are none.
    fn tightest(readings: &[Self]) -> Option<&Self> {
        let usable = readings.iter().filter(|r| r.after_ns >= r.before_ns);
        usable.min_by(|a, b| a.half_width_ns().total_cmp(&b.half_width_ns()))
    }
}

/// How far clock B is ahead of clock A at one moment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OffsetSample {
    /// The moment, by clock A, in ns.
    pub at_ns: i64,
    /// Clock B minus clock A, in ns.
    pub offset_ns: i64,
    /// Largest error, in ns.
    pub error_ns: f64,
}

impl OffsetSample {
    /// How far another clock is ahead of the system's, from the shortest of several readings.
    pub(crate) fn tightest(readings: &[Reading]) -> Option<Self> {
        let reading = Reading::tightest(readings)?;
        Some(Self {
            at_ns: reading.at_ns(),
            offset_ns: reading.ahead_ns(),
            // The clock runs a little faster or slower meanwhile, and halves are rounded.
            error_ns: reading.half_width_ns() * (1.0 + FASTER_MAX) + 1.0,
        })
    }

    /// From readings of A, then of B, then of A again; none when the system's clock was stepped
    /// meanwhile, or there is no reading.
    pub fn of(first: &[Reading], b: &[Reading], again: &[Reading]) -> Option<Self> {
        let first = Reading::tightest(first)?;
        let b = Reading::tightest(b)?;
        let again = Reading::tightest(again)?;
        if !(first.at_ns() < again.at_ns()
            && first.at_ns() <= b.at_ns()
            && b.at_ns() <= again.at_ns())
        {
            return None;
        }
        let a_error = first.half_width_ns().max(again.half_width_ns());
        let span = (again.at_ns() - first.at_ns()) as f64;
        let moved = (again.ahead_ns() - first.ahead_ns()) as f64;
        if moved.abs() > first.half_width_ns() + again.half_width_ns() + span * FASTER_MAX {
            return None;
        }
        let part = (b.at_ns() - first.at_ns()) as f64 / span;
        let a_ahead = first.ahead_ns() + (moved * part).round() as i64;
        Some(Self {
            at_ns: b.at_ns() + a_ahead,
            offset_ns: b.ahead_ns() - a_ahead,
            error_ns: a_error + b.half_width_ns(),
        })
    }
}

/// Clock B minus clock A over a span of time, taken to change evenly.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Offset {
    at_ns: i64,
    offset_ns: i64,
    /// ns per ns of clock A.
    drift: f64,
    error_ns: f64,
}

impl Offset {
    /// Both are one clock.
    pub const NONE: Self = Self {
        at_ns: 0,
        offset_ns: 0,
        drift: 0.0,
        error_ns: 0.0,
    };

    /// A line through one point.
    pub(crate) fn line(at_ns: i64, offset_ns: i64, drift: f64, error_ns: f64) -> Self {
        Self {
            at_ns,
            offset_ns,
            drift,
            error_ns,
        }
    }

    /// The same line, that much less certain.
    pub(crate) fn wider(self, by_ns: f64) -> Self {
        Self {
            error_ns: self.error_ns + by_ns,
            ..self
        }
    }

    /// The line through the first and the last of at least two samples, in the order they were taken.
    /// Samples in between say how far from it the truth may be.
    pub fn over(samples: &[OffsetSample]) -> Option<Self> {
        let [first, .., last] = samples else {
            return None;
        };
        if last.at_ns <= first.at_ns {
            return None;
        }
        let mut line = Self {
            at_ns: first.at_ns,
            offset_ns: first.offset_ns,
            drift: last.offset_ns.saturating_sub(first.offset_ns) as f64
                / (last.at_ns - first.at_ns) as f64,
            error_ns: 0.0,
        };
        let off = |s: &OffsetSample| s.offset_ns.abs_diff(line.at(s.at_ns)) as f64 + s.error_ns;
        line.error_ns = samples.iter().map(off).fold(0.0, f64::max);
        Some(line)
    }

    /// At a moment by clock A.
    pub fn at(&self, a_ns: i64) -> i64 {
        let moved = (a_ns.saturating_sub(self.at_ns) as f64 * self.drift).round() as i64;
        self.offset_ns.saturating_add(moved)
    }

    /// At a moment by clock B.
    pub fn at_b(&self, b_ns: i64) -> i64 {
        // What this moment of A is off by is less than the clocks move apart within the samples.
        self.at(b_ns.saturating_sub(self.offset_ns))
    }

    /// Largest error within the span of the samples, in ns.
    pub fn error_ns(&self) -> f64 {
        self.error_ns
    }

    /// How much faster clock B is, in billionths.
    pub fn drift_ppb(&self) -> f64 {
        self.drift * 1e9
    }
}

#[cfg(test)]
#[path = "clocks_tests.rs"]
mod tests;
