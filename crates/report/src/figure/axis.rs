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

/// Above this ratio of the largest to the smallest value an axis is logarithmic: on a linear one the
/// lower lines would lie on the axis.
const LOG_ABOVE: f64 = 12.0;

impl Axis {
    /// Linear between two coordinates.
    pub fn linear(min: f64, max: f64, ticks: Vec<(f64, String)>) -> Self {
        Self {
            min,
            max,
            ticks,
            log: false,
        }
    }

    /// For as many things in a row as there are names, the first at 1, with a tick at each or at `most`
    /// of them.
    pub fn places(names: impl ExactSizeIterator<Item = String>, most: usize) -> Self {
        let count = names.len();
        let every = count.div_ceil(most).max(1);
        let names = names.enumerate().step_by(every);
        let ticks = names.map(|(n, name)| (n as f64 + 1.0, name));
        Self::linear(0.5, count as f64 + 0.5, ticks.collect())
    }

    /// From zero up to `max`, or logarithmic where the smallest value above zero is far from it.
    pub fn fitting(smallest: f64, max: f64, label: impl Fn(f64) -> String) -> Self {
        match smallest.is_finite() && max / smallest > LOG_ABOVE {
            true => Self::log(smallest * 0.85, max, label),
            false => Self::from_zero(max * 1.02, 5, label),
        }
    }

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
        Self::linear(0.0, steps * step, ticks)
    }

    /// Logarithmic over `ends` with a little room at both, for a plot `width` pixels wide, with a
    /// tick at each of `values`, lowest first, that has `room` pixels to the next. The highest
    /// keeps its label where two would touch. All are given as decimal logarithms.
    pub fn log_at(
        ends: (f64, f64),
        values: impl DoubleEndedIterator<Item = (f64, String)>,
        width: i32,
        room: f64,
    ) -> Self {
        let (low, high) = ends;
        let margin = ((high - low) * 0.04).max(0.03);
        let (min, max) = (low - margin, high + margin);
        let pixels = f64::from(width) / (max - min);
        let mut ticks: Vec<(f64, String)> = Vec::new();
        for (at, label) in values.rev() {
            let touches = ticks
                .last()
                .is_some_and(|(other, _)| (other - at) * pixels < room);
            if !touches {
                ticks.push((at, label));
            }
        }
        ticks.reverse();
        Self {
            min,
            max,
            ticks,
            log: true,
        }
    }

    /// Linear over `min..=max` with a little room at both ends and about `wanted` ticks; need
    /// not begin at zero.
    pub fn around(min: f64, max: f64, wanted: u32, label: impl Fn(f64) -> String) -> Self {
        let usable = min.is_finite() && max.is_finite() && max >= min && max > 0.0;
        let (min, max) = if usable { (min, max) } else { (0.0, 1.0) };
        // A single value gets a tenth of itself on both sides.
        let room = if max > min {
            (max - min) * 0.06
        } else {
            max * 0.1
        };
        let (low, high) = ((min - room).max(0.0), max + room);
        let step = round_step((high - low) / f64::from(wanted.max(1)));
        let first = (low / step).ceil();
        let count = ((high / step).floor() - first).max(0.0) as u32;
        let ticks = (0..=count)
            .map(|n| (first + f64::from(n)) * step)
            .filter(|at| *at <= high)
            .map(|at| (at, label(at)))
            .collect();
        Self::linear(low, high, ticks)
    }

    /// Logarithmic over `min..=max` with a little room at both ends; ticks at 1, 2 and 5 when
    /// there is room for them, else at decades. A span without two ticks is widened to have
    /// them.
    pub fn log(min: f64, max: f64, label: impl Fn(f64) -> String) -> Self {
        let positive = |value: f64| value.is_finite() && value > 0.0;
        let min = if positive(min) { min } else { 1.0 };
        let max = if positive(max) { max.max(min) } else { min };
        let room = (max.log10() - min.log10()) * 0.05;
        let (low, high) = (min.log10() - room, max.log10() + room);
        let span = high - low;
        let steps: &[f64] = if span < 2.6 { &[1.0, 2.0, 5.0] } else { &[1.0] };
        let every = ((span / 7.0).ceil() as i32).max(1);
        let candidates: Vec<f64> = (low.floor() as i32 - every..=high.ceil() as i32 + every)
            .filter(|decade| decade.rem_euclid(every) == 0)
            .flat_map(|decade| {
                steps
                    .iter()
                    .map(move |step| f64::from(decade) + step.log10())
            })
            .collect();
        // A hair of tolerance keeps rounding from losing a tick at the end.
        let inside = |at: &f64| (low - 1e-9..=high + 1e-9).contains(at);
        let (low, high) = if candidates.iter().filter(|at| inside(at)).count() < 2 {
            let below = candidates.iter().rev().find(|at| **at < low);
            let above = candidates.iter().find(|at| **at > high);
            (below.map_or(low, |at| *at), above.map_or(high, |at| *at))
        } else {
            (low, high)
        };
        let ticks = candidates
            .into_iter()
            .filter(|at| (low - 1e-9..=high + 1e-9).contains(at))
            .map(|at| (at, label(10_f64.powf(at))))
            .collect();
        Self {
            min: low,
            max: high,
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
    fn axes_around_values_have_ticks_inside() {
        for (min, max) in [
            (232_000.0, 465_000.0),
            (100.0, 100.0),
            (0.0, 7.0),
            (0.2, 0.21),
        ] {
            let axis = Axis::around(min, max, 4, |v| format!("{v}"));
            assert!(axis.min <= min && axis.max >= max, "{axis:?}");
            assert!((2..=8).contains(&axis.ticks.len()), "{axis:?}");
            assert!(
                axis.ticks
                    .iter()
                    .all(|t| t.0 >= axis.min && t.0 <= axis.max)
            );
        }
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
            let axis = Axis::around(bad, bad, 4, |v| format!("{v}"));
            assert!(axis.max > axis.min && axis.max.is_finite());
            let axis = Axis::log(bad, bad, |v| format!("{v}"));
            assert!(axis.max > axis.min && axis.max.is_finite());
        }
    }
}
