//! Statistics over repeats.

use nicety_model::Spread;

/// Average, extremes and coefficient of variation (sample standard deviation over mean) of
/// finite values; `None` without any.
pub fn spread(values: &[f64]) -> Option<Spread> {
    let values: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
    if values.is_empty() {
        return None;
    }
    let count = values.len() as f64;
    let ave = values.iter().sum::<f64>() / count;
    let cv = (values.len() > 1 && ave != 0.0).then(|| {
        let square: f64 = values.iter().map(|v| (v - ave).powi(2)).sum();
        (square / (count - 1.0)).sqrt() / ave.abs()
    });
    Some(Spread {
        ave,
        min: values.iter().copied().fold(f64::INFINITY, f64::min),
        max: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        cv,
        n: u32::try_from(values.len()).unwrap_or(u32::MAX),
    })
}

/// The middle value, or the mean of the two in the middle.
pub fn median(values: &[f64]) -> Option<f64> {
    percentile(values, 50.0)
}

/// The middle of what several trials found, and the lowest and the highest of it.
pub(crate) fn middle(values: &[f64]) -> (Option<f64>, Option<(f64, f64)>) {
    let lowest = values.iter().copied().min_by(f64::total_cmp);
    let highest = values.iter().copied().max_by(f64::total_cmp);
    (median(values), lowest.zip(highest))
}

/// Percentile `p` in `0..=100`, interpolated between the two nearest values; `None` without
/// values.
pub fn percentile(values: &[f64], p: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().checked_sub(1)?;
    let at = (p / 100.0).clamp(0.0, 1.0) * last as f64;
    let (below, above) = (sorted[at.floor() as usize], sorted[at.ceil() as usize]);
    Some(below + (above - below) * at.fract())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variation_is_the_samples_standard_deviation_over_the_mean() {
        let spread = spread(&[90.0, 110.0, 100.0]).unwrap();
        assert_eq!(
            (spread.ave, spread.min, spread.max, spread.n),
            (100.0, 90.0, 110.0, 3)
        );
        assert!((spread.cv.unwrap() - 0.1).abs() < 1e-12, "{spread:?}");
    }

    #[test]
    fn few_values_have_no_variation() {
        assert_eq!(spread(&[]), None);
        assert_eq!(spread(&[f64::NAN]), None);
        assert_eq!(spread(&[5.0]).unwrap().cv, None);
        assert_eq!(spread(&[0.0, 0.0]).unwrap().cv, None);
    }

    #[test]
    fn percentiles_interpolate() {
        let values = [4.0, 1.0, 3.0, 2.0];
        assert_eq!(median(&values), Some(2.5));
        assert_eq!(percentile(&values, 0.0), Some(1.0));
        assert_eq!(percentile(&values, 100.0), Some(4.0));
        assert_eq!(percentile(&[], 50.0), None);
        assert_eq!(median(&[7.0]), Some(7.0));
    }
}
