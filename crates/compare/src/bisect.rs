//! Which of two known sides a new one is like, from as few measurements as it takes: a sequential test.
//!
//! The new side is compared with the middle between good and bad on the logarithmic scale of [`crate::interval`].
//! The evidence against "exactly in the middle" is a Bayes factor with a normal prior on the distance, in units of
//! the spread, and no knowledge of the spread itself (the sequential t-test of Rushton 1950; as a mixture, Lai 1976,
//! "On confidence sequences", Annals of Statistics 4). Such a factor is a test martingale: the chance that it ever
//! reaches 1/α on a side that is in the middle is at most α, however often one looks (Ville 1939). A side that is
//! like good or like bad is farther away, so it is taken for the other one more rarely still.

mod sides;

use crate::interval::{LogSample, log_sample};

pub use sides::{BisectError, Sides};

/// Variance of the prior on the distance from the middle, in variances of one measurement: regressions that are
/// searched for are several spreads large. It moves how soon the test ends, not how often it errs.
const PRIOR: f64 = 16.0;

/// What is known of the new side so far.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Evidence {
    /// How much more likely the numbers are with a distance from the middle than without; decided at 1/α.
    pub factor: f64,
    /// Mean of the new side as a ratio to the middle; absent without a number.
    pub ratio: Option<f64>,
    /// Where it lies, once that is sure.
    pub side: Option<Side>,
}

/// A known side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Like those before.
    Good,
    /// Like those after.
    Bad,
}

/// The numbers of both known sides, as logarithms, and what the test may do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Middle {
    /// Good.
    pub good: LogSample,
    /// Bad.
    pub bad: LogSample,
    /// Smallest variance of one number, which the resolution of the measurement makes.
    pub floor: f64,
    /// Highest chance of an error, above 0 and below 1.
    pub error: f64,
}

impl Middle {
    /// Where the side with these numbers lies.
    pub fn judge(&self, new: &[f64]) -> Evidence {
        let nothing = Evidence {
            factor: 1.0,
            ratio: None,
            side: None,
        };
        let Some(new) = log_sample(new.iter().copied()) else {
            return nothing;
        };
        let middle = (self.good.mean + self.bad.mean) / 2.0;
        let distance = new.mean - middle;
        let mut evidence = Evidence {
            ratio: Some(distance.exp()),
            ..nothing
        };
        let samples = [self.good, self.bad, new];
        let freedom: f64 = samples.iter().map(|of| of.n as f64 - 1.0).sum();
        if freedom < 1.0 {
            return evidence;
        }
        let square = |of: &LogSample| of.variance.unwrap_or(0.0) * (of.n as f64 - 1.0);
        let square: f64 = samples.iter().map(square).sum();
        let variance = (square / freedom).max(self.floor).max(f64::MIN_POSITIVE);
        // Of the distance, in variances of one number: the middle is half of either mean.
        let spread = 1.0 / new.n as f64 + 0.25 / self.good.n as f64 + 0.25 / self.bad.n as f64;
        let t_square = distance.powi(2) / (variance * spread);
        let with = spread + PRIOR;
        let log_factor = 0.5 * (spread / with).ln()
            + (freedom + 1.0) / 2.0
                * ((t_square / freedom).ln_1p() - (t_square * spread / (with * freedom)).ln_1p());
        evidence.factor = log_factor.exp();
        if log_factor >= -self.error.ln() {
            let like_good = (distance > 0.0) == (self.good.mean > self.bad.mean);
            evidence.side = Some(if like_good { Side::Good } else { Side::Bad });
        }
        evidence
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn middle(good: &[f64], bad: &[f64]) -> Middle {
        Middle {
            good: log_sample(good.iter().copied()).unwrap(),
            bad: log_sample(bad.iter().copied()).unwrap(),
            floor: 1e-8,
            error: 0.05,
        }
    }

    #[test]
    fn a_clear_side_needs_few_numbers() {
        let of = middle(&[100.0, 101.0, 99.0], &[80.0, 81.0, 79.0]);
        assert_eq!(of.judge(&[]).side, None);
        assert_eq!(of.judge(&[100.5, 99.5]).side, Some(Side::Good));
        assert_eq!(of.judge(&[80.5, 79.5]).side, Some(Side::Bad));
        let between = of.judge(&[89.0, 90.0, 89.5]);
        assert_eq!(between.side, None);
        assert!((between.ratio.unwrap() - 1.0).abs() < 0.01);
        // Where less is better, good lies below.
        let latency = middle(&[10.0, 10.1, 9.9], &[20.0, 20.2, 19.8]);
        assert_eq!(latency.judge(&[10.0, 10.05]).side, Some(Side::Good));
        assert_eq!(latency.judge(&[20.0, 20.05]).side, Some(Side::Bad));
    }

    #[test]
    fn one_number_each_tells_nothing() {
        let of = middle(&[100.0], &[50.0]);
        let one = of.judge(&[100.0]);
        assert_eq!((one.side, one.factor), (None, 1.0));
        // Their own spread does, in the end.
        assert_eq!(
            of.judge(&[100.0, 101.0, 99.0, 100.0]).side,
            Some(Side::Good)
        );
    }

    #[test]
    fn equal_numbers_have_the_spread_of_their_resolution() {
        let rough = Middle {
            floor: 0.1_f64.powi(2),
            ..middle(&[100.0, 100.0], &[95.0, 95.0])
        };
        assert_eq!(rough.judge(&[100.0, 100.0, 100.0]).side, None);
    }
}
