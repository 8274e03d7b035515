//! Axes: range, ticks and their labels, in the coordinates that are drawn.

/// An axis from `min` to `max` with labelled ticks. On a logarithmic axis the coordinates are
/// decimal logarithms.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// Lowest coordinate.
    pub min: f64,
    /// Highest coordinate, above `min`.
    pub max: f64,
    /// Coordinate and label of each tick, lowest first.
    pub ticks: Vec<(f64, String)>,
    /// Whether coordinates are logarithms.
    pub log: bool,
}

impl Axis {
    /// From zero to a round number at or above `max`, with about `wanted` ticks.
    pub fn from_zero(max: f64, wanted: u32, label: impl Fn(f64) -> String) -> Self {
        let max = if max.is_finite() && max > 0.0 {
            max
        } else {
            1.0
        };
        let step = round_step(max / f64::from(wanted.max(1)));
        let steps = (max / step).ceil().max(1.0);
        let ticks = (0..=steps as u32)
            .map(|n| f64::from(n) * step)
            .map(|at| (at, label(at)))
            .collect();
        Self {
            min: 0.0,
            max: steps * step,
            ticks,
            log: false,
        }
    }

    /// Logarithmic over `min..=max`, widened to the next tick; ticks at 1, 2 and 5 when there
    /// is room for them, else at decades.
    pub fn log(min: f64, max: f64, label: impl Fn(f64) -> String) -> Self {
        let positive = |value: f64| value.is_finite() && value > 0.0;
        let min = if positive(min) { min } else { 1.0 };
        let max = if positive(max) { max.max(min) } else { min };
        let (low, high) = (min.log10(), max.log10());
        let steps: &[f64] = if high - low < 1.7 {
            &[1.0, 2.0, 5.0]
        } else {
            &[1.0]
        };
        let every = (((high - low) / 6.0).ceil() as i32).max(1);
        let decades = (low.floor() as i32..=high.ceil() as i32 + 1)
            .filter(|decade| decade.rem_euclid(every) == 0);
        let candidates: Vec<f64> = decades
            .flat_map(|decade| {
                steps
                    .iter()
                    .map(move |step| f64::from(decade) + step.log10())
            })
            .collect();
        // A hair of tolerance keeps a value that is itself a tick from widening the axis.
        let first = candidates
            .iter()
            .rposition(|at| *at <= low + 1e-9)
            .unwrap_or(0);
        let last = candidates
            .iter()
            .position(|at| *at >= high - 1e-9 && *at > low + 1e-9)
            .unwrap_or(candidates.len().saturating_sub(1));
        let ticks: Vec<(f64, String)> = candidates
            .iter()
            .skip(first)
            .take(last.saturating_sub(first) + 1)
            .map(|at| (*at, label(10_f64.powf(*at))))
            .collect();
        let from = ticks.first().map_or(low, |tick| tick.0).min(low);
        let to = ticks.last().map_or(high, |tick| tick.0).max(high);
        Self {
            min: from,
            max: if to > from { to } else { from + 1.0 },
            ticks,
            log: true,
        }
    }

    /// Coordinate of a value; not finite for values a logarithm does not have.
    pub fn at(&self, value: f64) -> f64 {
        if self.log { value.log10() } else { value }
    }

    /// Label of the tick nearest to a coordinate.
    pub fn label(&self, at: f64) -> String {
        self.ticks
            .iter()
            .min_by(|a, b| (a.0 - at).abs().total_cmp(&(b.0 - at).abs()))
            .map(|tick| tick.1.clone())
            .unwrap_or_default()
    }
}

/// The least of 1, 2, 2.5, 5 × 10^k that is at least `raw`.
fn round_step(raw: f64) -> f64 {
    let decade = 10_f64.powf(raw.log10().floor());
    [1.0, 2.0, 2.5, 5.0, 10.0]
        .into_iter()
        .map(|factor| factor * decade)
        .find(|step| *step >= raw * (1.0 - 1e-9))
        .unwrap_or(raw)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(axis: &Axis) -> Vec<String> {
        axis.ticks.iter().map(|tick| tick.1.clone()).collect()
    }

    #[test]
    fn linear_axes_end_at_round_numbers() {
        let axis = Axis::from_zero(245_000.0, 5, |v| format!("{v:.0}"));
        assert_eq!(
            values(&axis),
            ["0", "50000", "100000", "150000", "200000", "250000"]
        );
        assert_eq!(axis.max, 250_000.0);
    }

    #[test]
    fn log_axes_cover_their_values() {
        for (min, max) in [
            (8.2, 630.0),
            (1.0, 1.0),
            (1e-7, 1.0),
            (0.5, 1.4e7),
            (100.0, 100.0),
            (5.0, 7.0),
        ] {
            let axis = Axis::log(min, max, |v| format!("{v}"));
            assert!(axis.min <= min.log10() + 1e-9, "{min} {max} {axis:?}");
            assert!(axis.max >= max.log10() - 1e-9, "{min} {max} {axis:?}");
            assert!(axis.max > axis.min, "{axis:?}");
            assert!((2..=8).contains(&axis.ticks.len()), "{axis:?}");
        }
    }

    #[test]
    fn values_without_a_place_make_a_usable_axis() {
        for bad in [f64::NAN, f64::INFINITY, 0.0, -3.0] {
            let axis = Axis::from_zero(bad, 4, |v| format!("{v}"));
            assert!(axis.max > axis.min && axis.max.is_finite());
            let axis = Axis::log(bad, bad, |v| format!("{v}"));
            assert!(axis.max > axis.min && axis.max.is_finite());
        }
    }
}
