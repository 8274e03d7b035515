//! Ratio of two means with its confidence interval: Welch's t on logarithms.
//!
//! Rates and times differ by factors, so they are compared on a logarithmic scale, where a
//! difference of means is the logarithm of the ratio of geometric means. Welch (1947, "The
//! generalization of Student's problem when several different population variances are
//! involved", Biometrika 34) allows the two sides different spreads.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// Numbers of one side on a logarithmic scale.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LogSample {
    /// Mean of the logarithms.
    pub mean: f64,
    /// How many.
    pub n: usize,
    /// Variance of the logarithms; absent with a single number.
    pub variance: Option<f64>,
}

/// Spread known from elsewhere, for sides with a single number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Known {
    /// Variance of the logarithm of one number.
    pub variance: f64,
    /// Degrees of freedom it was estimated with.
    pub freedom: f64,
}

/// Difference of two means of logarithms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// New minus old.
    pub difference: f64,
    /// Half of the interval's width.
    pub half_width: f64,
    /// Two-sided p-value of "no difference".
    pub p: f64,
}

/// Sample of the logarithms of `values`; those that are not finite and positive are left out.
/// `None` without any.
pub fn log_sample(values: impl IntoIterator<Item = f64>) -> Option<LogSample> {
    let logs: Vec<f64> = values
        .into_iter()
        .filter(|value| value.is_finite() && *value > 0.0)
        .map(f64::ln)
        .collect();
    let n = logs.len();
    if n == 0 {
        return None;
    }
    let mean = logs.iter().sum::<f64>() / n as f64;
    let variance = (n > 1).then(|| {
        let square: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
        square / (n - 1) as f64
    });
    Some(LogSample { mean, n, variance })
}

/// Pooled variance of several samples of the same spread; `None` with fewer than `freedom`
/// degrees of freedom.
pub fn pooled(samples: impl IntoIterator<Item = LogSample>, freedom: f64) -> Option<Known> {
    let (square, sum) = samples
        .into_iter()
        .filter_map(|sample| Some((sample.variance?, (sample.n - 1) as f64)))
        .fold((0.0, 0.0), |(square, sum), (variance, df)| {
            (square + variance * df, sum + df)
        });
    (sum >= freedom && sum > 0.0).then(|| Known {
        variance: square / sum,
        freedom: sum,
    })
}

/// Interval of `new - old` at `confidence`. No variance counts as smaller than `floor`, the
/// variance that the resolution of the measurement alone makes.
///
/// A side with a single number takes the `known` variance; `None` when there is none.
pub fn welch(
    old: LogSample,
    new: LogSample,
    known: Option<Known>,
    floor: f64,
    confidence: f64,
) -> Option<Interval> {
    let difference = new.mean - old.mean;
    let floor = floor.max(f64::MIN_POSITIVE);
    let (error, freedom) = match (old.variance, new.variance) {
        (Some(a), Some(b)) => {
            let a = a.max(floor) / old.n as f64;
            let b = b.max(floor) / new.n as f64;
            // Welch and Satterthwaite.
            let df =
                (a + b).powi(2) / (a.powi(2) / (old.n - 1) as f64 + b.powi(2) / (new.n - 1) as f64);
            (a + b, df)
        }
        _ => {
            let known = known?;
            let each = known.variance.max(floor);
            let error = each / old.n as f64 + each / new.n as f64;
            (error, known.freedom)
        }
    };
    let error = error.sqrt();
    let t = StudentsT::new(0.0, 1.0, freedom).ok()?;
    let quantile = t.inverse_cdf(0.5 + confidence / 2.0);
    Some(Interval {
        difference,
        half_width: quantile * error,
        p: (2.0 * t.cdf(-(difference / error).abs())).min(1.0),
    })
}

/// P-values adjusted so that judging all of them keeps the false discovery rate (Benjamini and
/// Hochberg 1995, "Controlling the false discovery rate", J. R. Statist. Soc. B 57). Where
/// nothing differs at all, the chance of any false alarm is at most the level.
pub fn adjusted(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|a, b| p[*b].total_cmp(&p[*a]));
    let mut adjusted = vec![1.0_f64; p.len()];
    let mut smallest = 1.0_f64;
    for (place, index) in order.into_iter().enumerate() {
        let rank = (p.len() - place) as f64;
        smallest = smallest.min(p[index] * p.len() as f64 / rank);
        adjusted[index] = smallest;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-4
    }

    #[test]
    fn welch_is_that_of_other_programs() {
        // The example of many descriptions of the test: R's t.test gives p = 0.021378 and a
        // 95 % interval of 0.367 to 4.11 for the difference of these means.
        let old = [
            27.5, 21.0, 19.0, 23.6, 17.0, 17.9, 16.9, 20.1, 21.9, 22.6, 23.1, 19.6, 19.0, 21.7,
            21.4,
        ];
        let new = [
            27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0, 24.8, 20.2, 21.9, 22.1, 22.9, 20.5,
            24.4,
        ];
        let old = log_sample(old.map(f64::exp)).unwrap();
        let new = log_sample(new.map(f64::exp)).unwrap();
        let interval = welch(old, new, None, 0.0, 0.95).unwrap();
        assert!((interval.p - 0.021_378).abs() < 1e-6, "{interval:?}");
    }

    #[test]
    fn single_numbers_need_a_known_spread() {
        let one = log_sample([100.0]).unwrap();
        let two = log_sample([110.0]).unwrap();
        assert_eq!(welch(one, two, None, 0.01, 0.95), None);
        let known = Known {
            variance: 1e-4,
            freedom: 4.0,
        };
        let interval = welch(one, two, Some(known), 0.0, 0.95).unwrap();
        // t(0.975, 4) = 2.77645.
        assert!(close(interval.half_width, 2.77645 * 2e-4_f64.sqrt()));
        assert!(interval.p < 0.01);
    }

    #[test]
    fn equal_numbers_keep_the_resolutions_spread() {
        let old = log_sample([100.0, 100.0, 100.0]).unwrap();
        let new = log_sample([100.2, 100.2, 100.2]).unwrap();
        let interval = welch(old, new, None, 0.01_f64.powi(2), 0.95).unwrap();
        assert!(
            interval.p > 0.5 && interval.half_width > 0.01,
            "{interval:?}"
        );
    }

    #[test]
    fn adjustment_is_that_of_the_paper() {
        let adjusted = adjusted(&[0.01, 0.04, 0.03, 0.5]);
        let expected = [0.04, 0.16 / 3.0, 0.16 / 3.0, 0.5];
        for (a, b) in adjusted.iter().zip(expected) {
            assert!(close(*a, b), "{adjusted:?}");
        }
        assert!(super::adjusted(&[]).is_empty());
    }

    #[test]
    fn what_is_no_number_is_left_out() {
        assert_eq!(log_sample([f64::NAN, 0.0, -1.0, f64::INFINITY]), None);
        assert_eq!(log_sample([f64::NAN, 5.0]).unwrap().n, 1);
    }
}
