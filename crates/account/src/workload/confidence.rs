//! Repeats until the mean is known well enough: Student's t.
//!
//! As netperf's `-I level,width`: the width is that of the whole interval in per cent of the
//! mean, so 2 means plus and minus 1 %. At least three repeats, as there.

use nicety_model::sock::Confidence;

/// Fewest repeats before an interval is believed.
const FEWEST: usize = 3;
/// Most repeats: the table ends there.
pub const MOST: u32 = 30;

/// Two-sided quantiles of Student's t for 90, 95 and 99 per cent, 1 to 29 degrees of freedom
/// (any table; checked by integration in the tests).
const T: [(u32, [f64; 29]); 3] = [
    (
        90,
        [
            6.314, 2.920, 2.353, 2.132, 2.015, 1.943, 1.895, 1.860, 1.833, 1.812, 1.796, 1.782,
            1.771, 1.761, 1.753, 1.746, 1.740, 1.734, 1.729, 1.725, 1.721, 1.717, 1.714, 1.711,
            1.708, 1.706, 1.703, 1.701, 1.699,
        ],
    ),
    (
        95,
        [
            12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179,
            2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064,
            2.060, 2.056, 2.052, 2.048, 2.045,
        ],
    ),
    (
        99,
        [
            63.657, 9.925, 5.841, 4.604, 4.032, 3.707, 3.499, 3.355, 3.250, 3.169, 3.106, 3.055,
            3.012, 2.977, 2.947, 2.921, 2.898, 2.878, 2.861, 2.845, 2.831, 2.819, 2.807, 2.797,
            2.787, 2.779, 2.771, 2.763, 2.756,
        ],
    ),
];

/// What is wrong with the wish for an interval.
#[derive(Debug, Clone, PartialEq)]
pub enum RepeatsError {
    /// No table for this level.
    Level(u32),
    /// No interval is this narrow, or so wide.
    Width(f64),
}

impl std::fmt::Display for RepeatsError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Level(level) => write!(
                f,
                "a confidence level of {level} % is not known; write 90, 95 or 99"
            ),
            Self::Width(width) => write!(
                f,
                "an interval of {width} % of the mean does not work; write more than 0, at most 100"
            ),
        }
    }
}

impl std::error::Error for RepeatsError {}

/// Decides whether another repeat is needed.
#[derive(Debug, Clone)]
pub struct Repeats {
    level: u32,
    width_percent: f64,
    most: u32,
    values: Vec<f64>,
}

impl Repeats {
    /// Until the interval of `level` per cent is at most `width_percent` of the mean wide, or
    /// `most` repeats (at most [`MOST`]) were made.
    ///
    /// # Errors
    /// A level without a table, a width out of range.
    pub fn new(level: u32, width_percent: f64, most: u32) -> Result<Self, RepeatsError> {
        if !T.iter().any(|(known, _)| *known == level) {
            return Err(RepeatsError::Level(level));
        }
        if !(width_percent > 0.0 && width_percent <= 100.0) {
            return Err(RepeatsError::Width(width_percent));
        }
        Ok(Self {
            level,
            width_percent,
            most: most.clamp(FEWEST as u32, MOST),
            values: Vec::new(),
        })
    }

    /// The figure of one more repeat.
    pub fn observe(&mut self, value: f64) {
        self.values.push(value);
    }

    /// Whether to repeat once more.
    pub fn again(&self) -> bool {
        self.values.len() < FEWEST || (self.values.len() < self.most as usize && !self.reached())
    }

    /// Most repeats.
    pub fn most(&self) -> u32 {
        self.most
    }

    fn reached(&self) -> bool {
        self.values.len() >= FEWEST
            && self
                .width()
                .is_some_and(|width| width <= self.width_percent)
    }

    /// Width of the whole interval in per cent of the mean.
    fn width(&self) -> Option<f64> {
        let count = self.values.len();
        let degrees = count.checked_sub(2)?;
        let (_, table) = T.iter().find(|(level, _)| *level == self.level)?;
        let t = table.get(degrees)?;
        let mean = self.values.iter().sum::<f64>() / count as f64;
        let square: f64 = self.values.iter().map(|v| (v - mean).powi(2)).sum();
        let deviation = (square / (count - 1) as f64).sqrt();
        let width = 200.0 * t * deviation / (count as f64).sqrt() / mean.abs();
        width.is_finite().then_some(width)
    }

    /// The interval so far.
    pub fn outcome(&self) -> Confidence {
        Confidence {
            level_percent: self.level,
            asked_width_percent: self.width_percent,
            width_percent: self.width(),
            reached: self.reached(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn repeats(values: &[f64], level: u32, width: f64) -> Repeats {
        let mut repeats = Repeats::new(level, width, 10).unwrap();
        values.iter().for_each(|value| repeats.observe(*value));
        repeats
    }

    #[test]
    fn the_interval_is_that_of_the_textbook() {
        // Mean 100, s = 2, n = 4: half width 3.182 * 2 / 2 = 3.182.
        let values = [98.0, 98.0, 102.0, 102.0];
        let s = (16.0_f64 / 3.0).sqrt();
        let width = repeats(&values, 95, 2.0).outcome().width_percent.unwrap();
        assert!((width - 200.0 * 3.182 * s / 2.0 / 100.0).abs() < 1e-9);
    }

    #[test]
    fn three_repeats_at_least_and_no_more_than_asked() {
        assert!(repeats(&[5.0, 5.0], 95, 2.0).again());
        assert!(!repeats(&[5.0, 5.0, 5.0], 95, 2.0).again());
        assert!(repeats(&[5.0, 6.0, 5.0], 95, 2.0).again());
        let wild: Vec<f64> = (0..10).map(|n| f64::from(n % 2 + 1)).collect();
        let done = repeats(&wild, 95, 2.0);
        assert!(!done.again() && !done.outcome().reached);
        assert!(
            repeats(&[0.0, 0.0, 0.0], 95, 2.0).again(),
            "nothing is not sure"
        );
    }

    #[test]
    fn wishes_without_meaning_are_refused() {
        assert_eq!(
            Repeats::new(94, 2.0, 5).unwrap_err(),
            RepeatsError::Level(94)
        );
        for width in [0.0, -1.0, 101.0, f64::INFINITY] {
            assert_eq!(
                Repeats::new(95, width, 5).unwrap_err(),
                RepeatsError::Width(width)
            );
        }
        assert!(Repeats::new(95, f64::NAN, 5).is_err());
    }

    /// The density of Student's t without its constant factor.
    fn density(t: f64, degrees: f64) -> f64 {
        (1.0 + t * t / degrees).powf(-(degrees + 1.0) / 2.0)
    }

    /// Integral of the density by Simpson's rule after t = tan(u), which makes it finite.
    fn integral(from: f64, to: f64, degrees: f64) -> f64 {
        let steps = 20_000;
        let (from, to) = (from.atan(), to.atan());
        let h = (to - from) / f64::from(steps);
        let at = |u: f64| density(u.tan(), degrees) / u.cos().powi(2);
        let inner: f64 = (1..steps)
            .map(|i| at(from + h * f64::from(i)) * if i % 2 == 1 { 4.0 } else { 2.0 })
            .sum();
        (at(from) + inner + at(to)) * h / 3.0
    }

    #[test]
    fn the_table_is_right() {
        for (level, table) in T {
            for (index, t) in table.into_iter().enumerate() {
                let degrees = index as f64 + 1.0;
                let inside = integral(0.0, t, degrees) / integral(0.0, 1e9, degrees);
                assert!(
                    (inside * 100.0 - f64::from(level)).abs() < 0.02,
                    "{level} % with {degrees} degrees: {inside}"
                );
            }
        }
    }

    proptest! {
        #[test]
        fn it_always_ends(values in prop::collection::vec(-1e9_f64..1e9, 30..40), most in 0_u32..100) {
            let mut repeats = Repeats::new(99, 1.0, most).unwrap();
            let mut made = 0;
            for value in values {
                if !repeats.again() {
                    break;
                }
                repeats.observe(value);
                made += 1;
            }
            prop_assert!(!repeats.again());
            prop_assert!((3..=30).contains(&made));
        }
    }
}
