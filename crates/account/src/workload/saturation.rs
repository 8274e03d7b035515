//! How many pairs fill the path: more until the rate stops growing.

use nicety_model::note::SockNote;
use nicety_model::sock::CurvePoint;

/// Growth of the rate that counts as growth: below it two steps in a row end the search, so that
/// one unlucky step does not.
const GROWTH: f64 = 1.05;
/// More than this many times as much per pair as a single pair is no gain of the path's.
const BEYOND_PAIRS: f64 = 2.0;
/// Steps without growth that end it.
const PATIENCE: u32 = 2;

/// The search, a pure machine: ask for the number of pairs, measure, tell.
#[derive(Debug, Clone)]
pub struct Saturation {
    most: u32,
    next: Option<u32>,
    best: f64,
    flat: u32,
    curve: Vec<CurvePoint>,
}

impl Saturation {
    /// From one pair on, doubling, to at most `most`.
    pub fn new(most: u32) -> Self {
        Self {
            most: most.max(1),
            next: Some(1),
            best: 0.0,
            flat: 0,
            curve: Vec::new(),
        }
    }

    /// How many pairs to measure next; `None` when it is over.
    pub fn next(&self) -> Option<u32> {
        self.next
    }

    /// What came out of the number asked for.
    pub fn observe(&mut self, point: CurvePoint) {
        self.curve.push(point);
        if point.rate > self.best * GROWTH {
            self.flat = 0;
        } else {
            self.flat += 1;
        }
        self.best = self.best.max(point.rate);
        let doubled = point.parallel.saturating_mul(2).min(self.most);
        self.next = (doubled > point.parallel && self.flat < PATIENCE).then_some(doubled);
    }

    /// A step from one pair to the next that no path explains: a single pair left its CPU asleep.
    pub fn note(&self) -> Option<SockNote> {
        let [one, next, ..] = self.curve.as_slice() else {
            return None;
        };
        let ratio = next.rate / one.rate;
        let most = f64::from(next.parallel) * BEYOND_PAIRS;
        (one.parallel == 1 && ratio.is_finite() && ratio > most).then_some(SockNote::OnePairSlept {
            pairs: next.parallel,
            ratio,
        })
    }

    /// Every step.
    pub fn curve(&self) -> &[CurvePoint] {
        &self.curve
    }

    /// The fewest pairs with a rate that more pairs did not raise by more than 5 %; `None` when
    /// the rate still grew at the limit, or nothing was measured.
    pub fn saturated_at(&self) -> Option<u32> {
        if self.flat == 0 {
            return None;
        }
        self.curve
            .iter()
            .find(|point| point.rate * GROWTH >= self.best)
            .map(|point| point.parallel)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs the search against a path with `rate` for each number of pairs.
    fn run(most: u32, rate: impl Fn(u32) -> f64) -> Saturation {
        let mut search = Saturation::new(most);
        while let Some(parallel) = search.next() {
            search.observe(CurvePoint {
                parallel,
                rate: rate(parallel),
                p99_us: None,
                client_busy_cpus: None,
                server_busy_cpus: None,
            });
            assert!(search.curve().len() < 40, "it ends");
        }
        search
    }

    fn steps(search: &Saturation) -> Vec<u32> {
        search.curve().iter().map(|point| point.parallel).collect()
    }

    #[test]
    fn stops_two_steps_after_the_knee() {
        let search = run(1000, |pairs| f64::from(pairs.min(8)) * 1000.0);
        assert_eq!(steps(&search), [1, 2, 4, 8, 16, 32]);
        assert_eq!(search.saturated_at(), Some(8));
    }

    #[test]
    fn a_leap_from_one_pair_to_two_is_told() {
        let leap = |one: f64, more: f64| run(4, |pairs| if pairs == 1 { one } else { more }).note();
        let Some(SockNote::OnePairSlept { pairs: 2, ratio }) = leap(25_307.0, 435_516.0) else {
            panic!("not told");
        };
        assert!((ratio - 17.2).abs() < 0.1, "{ratio}");
        assert_eq!(leap(100.0, 390.0), None);
        assert_eq!(leap(0.0, 390.0), None);
    }

    #[test]
    fn one_flat_step_is_forgiven() {
        let search = run(1000, |pairs| match pairs {
            1 => 100.0,
            2 => 101.0,
            4..=16 => f64::from(pairs) * 100.0,
            _ => 1600.0,
        });
        assert_eq!(search.saturated_at(), Some(16));
    }

    #[test]
    fn growth_up_to_the_limit_is_no_saturation() {
        let search = run(100, f64::from);
        assert_eq!(steps(&search), [1, 2, 4, 8, 16, 32, 64, 100]);
        assert_eq!(search.saturated_at(), None);
    }

    #[test]
    fn a_falling_rate_is_saturated_at_its_top() {
        let search = run(1000, |pairs| 1000.0 / f64::from(pairs));
        assert_eq!(steps(&search), [1, 2, 4]);
        assert_eq!(search.saturated_at(), Some(1));
    }

    #[test]
    fn a_dead_path_ends_at_once() {
        let search = run(1000, |_| 0.0);
        assert_eq!(steps(&search), [1, 2]);
    }
}
