//! Estimates the capacity from two overloaded trials, on a path that forwards less the more it
//! is offered.

/// A load and its forwarding rate, in frames per second.
pub type LoadRate = (f64, f64);

/// Loads nearer to each other than this ratio say nothing of how the rate falls: what varies from
/// trial to trial is as large.
const APART: f64 = 1.1;
/// Steepest fall believed. Interrupts that leave a CPU no time at all forward as the inverse of the
/// load (1); what is steeper is a trial gone wrong.
const STEEPEST: f64 = 2.0;

/// The load of which all would be forwarded, for a forwarding rate `f` that falls with a power of
/// the load: `f = c (c / load)^p`. Two points give `p`, and with it `c`, the capacity. With one
/// point, or two that say that more load is forwarded better, it is the rate of `near`, `p` = 0.
pub fn estimate(near: LoadRate, far: Option<LoadRate>) -> f64 {
    let (load, rate) = near;
    let steepness = |(far_load, far_rate): LoadRate| {
        let ratio = far_load / load;
        let fall = (rate / far_rate).ln() / ratio.ln();
        (ratio >= APART && fall.is_finite()).then(|| fall.clamp(0.0, STEEPEST))
    };
    let p = far.and_then(steepness).unwrap_or(0.0);
    // Never above the load that was too much.
    (rate * (load / rate).powf(p / (1.0 + p))).clamp(rate.min(load), load)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Forwarding rate of a path of this capacity.
    fn point(capacity: f64, p: f64, load: f64) -> LoadRate {
        (load, capacity * (capacity / load).powf(p))
    }

    #[test]
    fn two_points_name_the_capacity() {
        for p in [0.0, 0.1, 0.7, 1.3] {
            let fps = estimate(point(6e4, p, 2e5), Some(point(6e4, p, 3e6)));
            assert!((fps / 6e4 - 1.0).abs() < 1e-9, "{p}: {fps}");
        }
    }

    #[test]
    fn what_says_nothing_leaves_the_rate() {
        let near = (2e5, 5e4);
        assert_eq!(estimate(near, None), 5e4);
        assert_eq!(estimate(near, Some((2.1e5, 1e4))), 5e4);
        assert_eq!(estimate(near, Some((1e6, 6e4))), 5e4);
        assert_eq!(estimate(near, Some((1e6, 0.0))), 5e4);
        assert_eq!(estimate((2e5, 0.0), Some((1e6, 0.0))), 0.0);
    }
}
