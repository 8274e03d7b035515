//! Probability of the edge's place, for each load on a fine grid.

/// Distance of two loads of the grid, as a logarithm: 0.2 %.
const STEP: f64 = 0.002;
/// How far above the highest load the edge may lie, as a logarithm.
const BEYOND: f64 = 0.2;
/// Relative width over which the share of bad windows rises. Policers are steeper and CPUs whose
/// speed varies less steep; several widths at once took twice the trials and found no more.
const SLOPE: f64 = 0.008;
/// Share of windows that a stall makes bad far below the edge.
const STALLED: f64 = 0.15;
/// Share of windows that are good far above the edge.
const LUCKY: f64 = 0.03;
/// Windows of one trial see the same moment of the machine: each counts as half an independent one.
const WEIGHT: f64 = 0.5;
/// From the logistic curve to the normal one whose place it takes.
const LOGISTIC: f64 = 1.7;

/// The edge's probabilities.
#[derive(Debug, Clone)]
pub(super) struct Posterior {
    /// Logarithm of the lowest load.
    low: f64,
    /// Logarithms of probabilities, up to a constant.
    weights: Vec<f64>,
}

impl Posterior {
    /// Nothing seen yet: the edge lies between `min` and a little above `max`, both in frames per
    /// second, most likely near `expected` (a load and the relative scale of the doubt in it).
    pub(super) fn new(min: f64, max: f64, expected: (f64, f64)) -> Self {
        let low = min.max(1.0).ln();
        let steps = ((max.max(min).max(1.0).ln() + BEYOND - low) / STEP).ceil();
        let (centre, scale) = (expected.0.max(1.0).ln(), expected.1);
        let cauchy = |n: usize| {
            let away = (low + n as f64 * STEP - centre) / scale;
            -(1.0 + away * away).ln()
        };
        Self {
            low,
            weights: (0..=steps as usize).map(cauchy).collect(),
        }
    }

    /// A trial at `load` had so many good and bad windows.
    pub(super) fn observe(&mut self, load: f64, (good, bad): (u32, u32)) {
        let at = load.max(1.0).ln();
        let (good, bad) = (f64::from(good) * WEIGHT, f64::from(bad) * WEIGHT);
        for (n, weight) in self.weights.iter_mut().enumerate() {
            let edge = self.low + n as f64 * STEP;
            let above = 1.0 / (1.0 + (-LOGISTIC * (at - edge) / SLOPE).exp());
            let share = STALLED + (1.0 - STALLED - LUCKY) * above;
            *weight += bad * share.ln() + good * (1.0 - share).ln();
        }
    }

    /// The loads below which the edge lies with the probabilities `of`, which must rise.
    pub(super) fn quantiles<const N: usize>(&self, of: [f64; N]) -> [f64; N] {
        let top = self.weights.iter().copied().fold(f64::MIN, f64::max);
        let share = |weight: &f64| (weight - top).exp();
        let all: f64 = self.weights.iter().map(share).sum();
        let (mut sum, mut weights) = (0.0, self.weights.iter().enumerate());
        let mut at = 0;
        of.map(|wanted| {
            while sum < wanted * all
                && let Some((n, weight)) = weights.next()
            {
                sum += share(weight);
                at = n;
            }
            (self.low + at as f64 * STEP).exp()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn middle(posterior: &Posterior) -> f64 {
        posterior.quantiles([0.5])[0]
    }

    #[test]
    fn it_begins_where_the_edge_is_expected_and_follows_what_is_seen() {
        let mut posterior = Posterior::new(100.0, 2e6, (8e5, 0.03));
        let near = |fps: f64, load: f64, within: f64| {
            assert!((fps / load - 1.0).abs() < within, "{fps} for {load}");
        };
        near(middle(&posterior), 8e5, 0.01);
        posterior.observe(8e5, (6, 0));
        assert!(middle(&posterior) > 8.1e5);
        for _ in 0..6 {
            let load = middle(&posterior);
            posterior.observe(load, if load < 9e5 { (6, 0) } else { (0, 6) });
        }
        near(middle(&posterior), 9e5, 0.02);
        let [low, high] = posterior.quantiles([0.02, 0.98]);
        assert!(low < high);
    }

    #[test]
    fn some_stalled_windows_do_not_move_it_down() {
        let mut posterior = Posterior::new(100.0, 2e6, (8e5, 0.03));
        (0..5).for_each(|_| posterior.observe(8.2e5, (4, 2)));
        (0..5).for_each(|_| posterior.observe(8.8e5, (0, 6)));
        let [low, high] = posterior.quantiles([0.02, 0.98]);
        assert!(low > 7.9e5 && high < 8.9e5, "{low} {high}");
    }
}
