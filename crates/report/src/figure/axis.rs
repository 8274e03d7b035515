//! Axes: what they show, their range, and round ticks.

/// An axis from `min` to `max` with labelled ticks. On a logarithmic axis the coordinates are
/// decimal logarithms.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// What it shows, with its unit: drawn beside it.
    pub name: String,
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
            name: String::new(),
            min,
            max,
            ticks,
            log: false,
        }
    }

    /// Says what it shows, and where it is that the scale is logarithmic.
    pub fn named(mut self, name: &str) -> Self {
        let scale = if self.log { " (logarithmic)" } else { "" };
        self.name = format!("{name}{scale}");
        self
    }

    /// For as many things in a row as there are names, the first at 1, with a tick at each or at `most`
    /// of them.
    pub fn places(names: impl ExactSizeIterator<Item = String>, most: usize) -> Self {
        let count = names.len();
        let every = count.div_ceil(most.max(1)).max(1);
        let names = names.enumerate().step_by(every);
        let ticks = names.map(|(n, name)| (n as f64 + 1.0, name));
        Self::linear(0.5, count as f64 + 0.5, ticks.collect())
    }

    /// From zero up to `max`, or logarithmic where the smallest value above zero is far from it.
    pub fn fitting(smallest: f64, max: f64, unit: &str) -> Self {
        if smallest.is_finite() && max / smallest > LOG_ABOVE {
            Self::log(smallest * 0.85, max, unit)
        } else {
            Self::from_zero(max * 1.02, 5, unit)
        }
    }

    /// From zero to a round number at or above `max`, with about `wanted` ticks.
    pub fn from_zero(max: f64, wanted: u32, unit: &str) -> Self {
        let max = if max.is_finite() && max > 0.0 {
            max
        } else {
            1.0
        };
        let step = round_step(max / f64::from(wanted.max(1)));
        let steps = (max / step - 1e-9).ceil().max(1.0);
        let ticks = (0..=steps as u32)
            .map(|n| f64::from(n) * step)
            .map(|at| (at, tick(at, step, unit)))
            .collect();
        Self::linear(0.0, steps * step, ticks)
    }

    /// Time since the start: seconds, minutes or hours, as the record is long. `end` is in seconds.
    pub fn time(end: f64, wanted: u32) -> Self {
        let (unit, name) = match end {
            end if end < 300.0 => (1.0, "s"),
            end if end < 3.0 * 3600.0 => (60.0, "min"),
            _ => (3600.0, "h"),
        };
        let mut axis = Self::from_zero(end / unit, wanted, "");
        let step = axis.ticks.get(1).map_or(1.0, |(at, _)| *at);
        for (at, label) in &mut axis.ticks {
            *label = format!("{} {name}", tick(*at, step, ""));
            *at *= unit;
        }
        // The last tick may lie behind the end: no room is left there.
        axis.max = end.max(f64::MIN_POSITIVE);
        axis.ticks.retain(|(at, _)| *at <= axis.max);
        axis.named("time since the start")
    }

    /// Logarithmic over `ends` with a little room at both and a tick at each of `values`, lowest
    /// first. All are given as decimal logarithms.
    pub fn log_at((low, high): (f64, f64), values: impl Iterator<Item = (f64, String)>) -> Self {
        let margin = ((high - low) * 0.04).max(0.03);
        Self {
            log: true,
            ..Self::linear(low - margin, high + margin, values.collect())
        }
    }

    /// Linear over `min..=max` with a little room at both ends and about `wanted` ticks; need
    /// not begin at zero.
    pub fn around(min: f64, max: f64, wanted: u32, unit: &str) -> Self {
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
            .map(|at| (at, tick(at, step, unit)))
            .collect();
        Self::linear(low, high, ticks)
    }

    /// Logarithmic over `min..=max` with a little room at both ends; ticks at 1, 2 and 5 when
    /// there is room for them, else at decades. A span without two ticks is widened to have
    /// them.
    pub fn log(min: f64, max: f64, unit: &str) -> Self {
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
        let label = |at: f64| {
            let value = 10_f64.powf(at);
            (at, tick(value, value, unit))
        };
        let ticks = candidates
            .into_iter()
            .filter(|at| (low - 1e-9..=high + 1e-9).contains(at))
            .map(label)
            .collect();
        Self {
            log: true,
            ..Self::linear(low, high, ticks)
        }
    }

    /// Coordinate of a value; not finite for values a logarithm does not have.
    pub fn at(&self, value: f64) -> f64 {
        if self.log { value.log10() } else { value }
    }
}

/// Prefixes with what they stand for; those below one are for units of time only.
const PREFIXES: [(f64, &str); 6] = [
    (1e9, "G"),
    (1e6, "M"),
    (1e3, "k"),
    (1.0, ""),
    (1e-3, "m"),
    (1e-6, "µ"),
];

/// A value on an axis with steps of `step`, without zeros that say nothing: `50`, `1.5 M`,
/// `1 Gbit/s`, `20 µs`.
pub fn tick(value: f64, step: f64, unit: &str) -> String {
    if !value.is_finite() {
        return crate::number::ABSENT.to_owned();
    }
    let known = match unit {
        "s" => &PREFIXES[3..],
        _ => &PREFIXES[..4],
    };
    // A hair less, so that what a logarithm's round trip took off does not change the prefix.
    let fits = |prefix: &&(f64, &str)| value.abs() >= prefix.0 * (1.0 - 1e-9);
    let none = if value == 0.0 { Some(&(1.0, "")) } else { None };
    let last = known.last().unwrap_or(&(1.0, ""));
    let (scale, prefix) = *none.or_else(|| known.iter().find(fits)).unwrap_or(last);
    let digits = (-(step / scale).log10().floor()).clamp(0.0, 9.0) as usize;
    let text = format!("{:.digits$}", value / scale);
    let text = if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        &text
    };
    format!("{text} {prefix}{unit}").trim_end().to_owned()
}

/// The nearest of 1, 2, 5 × 10^k, by ratio.
fn round_step(raw: f64) -> f64 {
    let decade = 10_f64.powf(raw.log10().floor());
    let factor = match raw / decade {
        low if low < 2.0_f64.sqrt() => 1.0,
        low if low < 10.0_f64.sqrt() => 2.0,
        high if high < 50.0_f64.sqrt() => 5.0,
        _ => 10.0,
    };
    factor * decade
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis) -> Vec<&str> {
        axis.ticks.iter().map(|tick| tick.1.as_str()).collect()
    }

    #[test]
    fn ticks_are_round_and_say_no_more_than_they_know() {
        let axis = Axis::from_zero(245_000.0, 5, "");
        assert_eq!(
            labels(&axis),
            ["0", "50 k", "100 k", "150 k", "200 k", "250 k"]
        );
        assert_eq!(axis.max, 250_000.0);
        let axis = Axis::from_zero(1e9, 5, "bit/s");
        assert_eq!(labels(&axis)[..3], ["0 bit/s", "200 Mbit/s", "400 Mbit/s"]);
        assert_eq!(labels(&axis).last(), Some(&"1 Gbit/s"));
        assert_eq!(
            labels(&Axis::from_zero(50.0, 5, "s")),
            ["0 s", "10 s", "20 s", "30 s", "40 s", "50 s"]
        );
        assert_eq!(
            labels(&Axis::log(9e-6, 1.1e-3, "s")),
            [
                "10 µs", "20 µs", "50 µs", "100 µs", "200 µs", "500 µs", "1 ms"
            ]
        );
    }

    #[test]
    fn close_ticks_have_labels_of_their_own() {
        for (min, max) in [(999_900.0, 1_000_100.0), (1_234_567.0, 1_234_569.0)] {
            let axis = Axis::around(min, max, 5, "");
            let mut seen = labels(&axis);
            let all = seen.len();
            seen.dedup();
            assert_eq!(seen.len(), all, "{seen:?}");
        }
    }

    #[test]
    fn axes_around_values_have_ticks_inside() {
        for (min, max) in [
            (232_000.0, 465_000.0),
            (100.0, 100.0),
            (0.0, 7.0),
            (0.2, 0.21),
        ] {
            let axis = Axis::around(min, max, 4, "");
            assert!(axis.min <= min && axis.max >= max, "{axis:?}");
            assert!((2..=8).contains(&axis.ticks.len()), "{axis:?}");
            let inside = |at: f64| (axis.min..=axis.max).contains(&at);
            assert!(axis.ticks.iter().all(|t| inside(t.0)), "{axis:?}");
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
            let axis = Axis::log(min, max, "");
            assert!(axis.min <= min.log10() + 1e-9, "{min} {max} {axis:?}");
            assert!(axis.max >= max.log10() - 1e-9, "{min} {max} {axis:?}");
            assert!(axis.max > axis.min, "{axis:?}");
            assert!((2..=8).contains(&axis.ticks.len()), "{axis:?}");
        }
    }

    #[test]
    fn values_without_a_place_make_a_usable_axis() {
        for bad in [f64::NAN, f64::INFINITY, 0.0, -3.0] {
            for axis in [
                Axis::from_zero(bad, 4, ""),
                Axis::around(bad, bad, 4, ""),
                Axis::log(bad, bad, ""),
            ] {
                assert!(axis.max > axis.min && axis.max.is_finite());
            }
        }
    }
}
