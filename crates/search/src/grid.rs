//! Discrete loads: a geometric grid of integers, so that loads repeat exactly and bisection
//! does not drift.

use nicety_model::Fps;

/// Grid steps a goal's width is cut into, at least. With one step per width (the least that
/// works) the first guess falls up to a whole width beside the forwarding rate.
const STEPS_PER_WIDTH: f64 = 8.0;
/// Share of a goal's width that rounding to whole steps may lose.
const ROUNDING: std::ops::RangeInclusive<f64> = 0.99..=0.999_999;
/// Grid sizes tried before the last one is taken as it is.
const TRIES: usize = 20_000;

/// Loads `min * (max / min)^(i / n)` for `i` in `0..=n`.
#[derive(Debug, Clone, PartialEq)]
pub struct Grid {
    min: f64,
    max: f64,
    steps: usize,
}

impl Grid {
    /// The smallest grid between `min` and `max` on which each of `widths` (relative widths,
    /// above 0 and below 1) is nearly a whole number of steps. With `min` not below `max` the
    /// grid has the one load `max`.
    pub fn new(min: Fps, max: Fps, widths: &[f64]) -> Self {
        let (min, max) = (min.0.max(1e-3), max.0.max(1e-3));
        if min >= max {
            return Self {
                min: max,
                max,
                steps: 0,
            };
        }
        let range = (max / min).ln();
        let shares: Vec<f64> = widths.iter().map(|w| -(1.0 - w).ln() / range).collect();
        let narrowest = shares.iter().copied().fold(f64::INFINITY, f64::min);
        let first = if narrowest.is_finite() && narrowest > 0.0 {
            ((STEPS_PER_WIDTH / narrowest).ceil() as usize).max(1)
        } else {
            1
        };
        let fits = |n: usize| {
            shares.iter().all(|share| {
                let in_steps = share * n as f64;
                ROUNDING.contains(&(in_steps.floor() / in_steps))
            })
        };
        let steps = (first..first + TRIES).find(|n| fits(*n)).unwrap_or(first);
        Self { min, max, steps }
    }

    /// Position of the highest load.
    pub fn top(&self) -> usize {
        self.steps
    }

    /// Load at a position; positions above the top give the highest load.
    pub fn load(&self, at: usize) -> Fps {
        if at == 0 {
            return Fps(self.min);
        }
        if at >= self.steps {
            return Fps(self.max);
        }
        let share = at as f64 / self.steps as f64;
        Fps(self.min * (self.max / self.min).powf(share))
    }

    /// Highest position whose load is not above `load`; the lowest position for loads below.
    pub fn floor(&self, load: Fps) -> usize {
        let near = self.nearest(load);
        // A load read back from the grid must find its own position.
        if self.load(near).0 > load.0 * (1.0 + 1e-12) {
            near.saturating_sub(1)
        } else {
            near
        }
    }

    /// Position whose load is nearest to `load` in proportion.
    pub fn nearest(&self, load: Fps) -> usize {
        if self.steps == 0 || load.0 <= self.min {
            return 0;
        }
        let share = (load.0 / self.min).ln() / (self.max / self.min).ln();
        ((share * self.steps as f64).round() as usize).min(self.steps)
    }

    /// Whole steps within a relative width, at least one.
    pub fn width(&self, relative: f64) -> usize {
        if self.steps == 0 {
            return 1;
        }
        let step = (self.max / self.min).ln() / self.steps as f64;
        ((-(1.0 - relative).ln() / step).floor() as usize).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goal_widths_are_nearly_whole_steps() {
        for widths in [&[0.005][..], &[0.01], &[0.02], &[0.005, 0.01, 0.02], &[0.3]] {
            let grid = Grid::new(Fps(9_001.0), Fps(14_880_952.0), widths);
            for width in widths {
                let steps = grid.width(*width);
                assert!(steps >= 8, "{widths:?}: {steps}");
                let upper = grid.top();
                let reached = 1.0 - grid.load(upper - steps).0 / grid.load(upper).0;
                assert!(
                    reached <= *width && reached > 0.985 * width,
                    "{widths:?}: {reached}"
                );
            }
        }
    }

    #[test]
    fn a_range_without_room_has_one_load() {
        let grid = Grid::new(Fps(100.0), Fps(100.0), &[0.01]);
        assert_eq!(
            (grid.top(), grid.load(0), grid.floor(Fps(50.0))),
            (0, Fps(100.0), 0)
        );
        assert_eq!(
            Grid::new(Fps(200.0), Fps(100.0), &[0.01]).load(0),
            Fps(100.0)
        );
    }

    proptest::proptest! {
        #[test]
        fn loads_find_their_own_position(min in 1.0f64..1e5, factor in 1.001f64..1e5, width in 0.002f64..0.5, share in 0.0f64..1.0) {
            let grid = Grid::new(Fps(min), Fps(min * factor), &[width]);
            let at = (grid.top() as f64 * share) as usize;
            proptest::prop_assert_eq!(grid.floor(grid.load(at)), at);
            proptest::prop_assert_eq!(grid.nearest(grid.load(at)), at);
            let load = Fps(min * factor.powf(share));
            proptest::prop_assert!(grid.load(grid.floor(load)).0 <= load.0 * (1.0 + 1e-9));
        }
    }
}
