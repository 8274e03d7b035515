//! Splits a tenant's rate among its ports.

use crate::level::{Share, level};

/// Share of an equal part that an idle port keeps, so that it can begin.
const KEEP: f64 = 0.05;

/// A port of a tenant with several, in bits per second.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    /// Its demand; its ceiling when that is not known.
    pub(super) demand: f64,
    /// The lowest limit it takes.
    pub(super) low: f64,
    /// Its ceiling.
    pub(super) top: f64,
}

/// Limits for the ports of a tenant that may send `limit` together. One with little to send may
/// have as much as the others, so that it can begin at once; with a `ceiling`, all of them together
/// never have more than that.
pub(super) fn divide(limit: f64, ceiling: Option<f64>, parts: &[Part]) -> Vec<f64> {
    let share = |guarantee: f64, demand: f64| Share {
        weight: 1.0,
        guarantee,
        demand,
    };
    let shares: Vec<Share> = parts.iter().map(|part| share(0.0, part.demand)).collect();
    let fair = level(limit, &shares).per_weight.min(limit);
    let wanted = parts.iter().map(|part| fair.min(part.top));
    let Some(ceiling) = ceiling.filter(|ceiling| wanted.clone().sum::<f64>() > *ceiling) else {
        return wanted.collect();
    };
    // To each what it wants, but a little in any case; what is left is lent as far as it goes.
    let keep = KEEP * ceiling / parts.len() as f64;
    let sure: Vec<Share> = (parts.iter())
        .map(|part| {
            let low = part.low.min(part.top);
            share(low, part.demand.max(keep.max(low).min(part.top)))
        })
        .collect();
    let given = level(limit.min(ceiling), &sure).given;
    let missing: Vec<Share> = (wanted.zip(&given))
        .map(|(wanted, given)| share(0.0, (wanted - given).max(0.0)))
        .collect();
    let left = (ceiling - given.iter().sum::<f64>()).max(0.0);
    let lent = level(left, &missing).given;
    given.iter().zip(lent).map(|(a, b)| a + b).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn divided(limit: f64, ceiling: Option<f64>, demands: &[f64]) -> Vec<f64> {
        let parts = demands.iter().map(|demand| Part {
            demand: *demand,
            low: 0.1,
            top: 20.0,
        });
        let limits = divide(limit, ceiling, &parts.collect::<Vec<_>>());
        if let Some(ceiling) = ceiling {
            assert!(limits.iter().sum::<f64>() <= ceiling + 1e-9, "{limits:?}");
        }
        limits
    }

    #[test]
    fn idle_ports_have_the_whole_each_and_under_a_ceiling_their_part() {
        assert_eq!(divided(20.0, None, &[0.0, 0.0]), [20.0, 20.0]);
        assert_eq!(divided(20.0, Some(20.0), &[0.0, 0.0]), [10.0, 10.0]);
        assert_eq!(divided(20.0, Some(20.0), &[20.0, 20.0]), [10.0, 10.0]);
    }

    #[test]
    fn a_busy_port_has_all_but_what_the_idle_one_keeps() {
        assert_eq!(divided(20.0, Some(20.0), &[20.0, 0.0]), [19.5, 0.5]);
        assert_eq!(divided(20.0, Some(20.0), &[20.0, 3.0]), [17.0, 3.0]);
        // What is free is lent to both.
        assert_eq!(divided(20.0, Some(20.0), &[10.0, 3.0]), [13.5, 6.5]);
    }

    #[test]
    fn below_the_ceiling_ports_may_begin_at_once() {
        // The link leaves 8 of 20.
        assert_eq!(divided(8.0, Some(20.0), &[20.0, 0.0]), [8.0, 8.0]);
        assert_eq!(divided(15.0, Some(20.0), &[20.0, 0.0]), [15.0, 5.0]);
    }

    #[test]
    fn no_port_has_less_than_it_takes() {
        let part = |demand| Part {
            demand,
            low: 1.0,
            top: 4.0,
        };
        let limits = divide(4.0, Some(4.0), &[part(4.0), part(0.0)]);
        assert_eq!(limits, [3.0, 1.0]);
    }
}
