//! The weighted max-min fair level with guarantees.

/// One share of the link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Share {
    /// Weight, above 0.
    pub weight: f64,
    /// Guarantee, given first up to the demand.
    pub guarantee: f64,
    /// Demand or ceiling, the lower. Infinite is allowed.
    pub demand: f64,
}

/// How a capacity is shared.
#[derive(Debug, Clone, PartialEq)]
pub struct Level {
    /// Rate of one unit of weight; infinite when all demand fits.
    pub per_weight: f64,
    /// Rate of each, in the order of the shares.
    pub given: Vec<f64>,
    /// Factor on the guarantees: below 1 when they do not fit.
    pub guarantees_scaled: f64,
}

/// Solves `sum(a) = capacity` for `a = min(demand, max(guarantee, weight * level))`: the unique
/// weighted max-min fair allocation with lower and upper bounds (Bertsekas and Gallager, Data
/// Networks, 6.5.2). When the demands fit, everybody gets the demand; when the guarantees that
/// are asked for do not, all are scaled alike. `O(n log n)`.
pub fn level(capacity: f64, shares: &[Share]) -> Level {
    let capacity = capacity.max(0.0);
    let wanted: f64 = shares.iter().map(|share| share.demand).sum();
    if wanted <= capacity {
        return Level {
            per_weight: f64::INFINITY,
            given: shares.iter().map(|share| share.demand).collect(),
            guarantees_scaled: 1.0,
        };
    }
    let asked: f64 = shares.iter().map(|s| s.guarantee.min(s.demand)).sum();
    if asked > capacity {
        let scale = capacity / asked;
        return Level {
            per_weight: 0.0,
            given: (shares.iter().map(|s| s.guarantee.min(s.demand) * scale)).collect(),
            guarantees_scaled: scale,
        };
    }
    let per_weight = rise(capacity - asked, shares);
    let given = |s: &Share| s.demand.min(s.guarantee.max(s.weight * per_weight));
    Level {
        per_weight,
        given: shares.iter().map(given).collect(),
        guarantees_scaled: 1.0,
    }
}

/// Raises the level from 0 until `left` is used up. A share takes part between the levels at
/// which its guarantee and its demand are reached.
fn rise(mut left: f64, shares: &[Share]) -> f64 {
    let mut events: Vec<(f64, f64)> = Vec::with_capacity(2 * shares.len());
    for share in shares.iter().filter(|share| share.demand > share.guarantee) {
        events.push((share.guarantee / share.weight, share.weight));
        if share.demand.is_finite() {
            events.push((share.demand / share.weight, -share.weight));
        }
    }
    events.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut at, mut slope) = (0.0, 0.0);
    for (next, change) in events {
        let used = (next - at) * slope;
        // What is left of a sum of weights after they went one by one is no weight.
        if slope > f64::EPSILON * 16.0 && used >= left {
            return at + left / slope;
        }
        left -= used.max(0.0);
        at = next;
        slope += change;
    }
    if slope > f64::EPSILON * 16.0 {
        at + left / slope
    } else {
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(weight: f64, guarantee: f64, demand: f64) -> Share {
        Share {
            weight,
            guarantee,
            demand,
        }
    }

    #[test]
    fn small_demands_are_met_and_the_rest_is_shared_by_weight() {
        let level = level(
            10.0,
            &[
                share(1.0, 0.0, 1.0),
                share(2.0, 0.0, 100.0),
                share(1.0, 0.0, f64::INFINITY),
            ],
        );
        assert_eq!(level.given, [1.0, 6.0, 3.0]);
        assert_eq!(level.per_weight, 3.0);
    }

    #[test]
    fn a_guarantee_comes_before_the_level() {
        let level = level(10.0, &[share(1.0, 7.0, 9.0), share(1.0, 0.0, 9.0)]);
        assert_eq!(level.given, [7.0, 3.0]);
    }

    #[test]
    fn what_fits_is_given_and_what_does_not_is_scaled() {
        let fits = level(10.0, &[share(1.0, 0.0, 4.0), share(1.0, 5.0, 6.0)]);
        assert_eq!(fits.given, [4.0, 6.0]);
        assert!(fits.per_weight.is_infinite());
        let scaled = level(10.0, &[share(1.0, 15.0, 20.0), share(3.0, 5.0, 6.0)]);
        assert_eq!(scaled.given, [7.5, 2.5]);
        assert_eq!(scaled.guarantees_scaled, 0.5);
        assert_eq!(level(0.0, &[share(1.0, 1.0, 1.0)]).given, [0.0]);
        assert_eq!(level(5.0, &[]).given, [0.0; 0]);
    }
}
