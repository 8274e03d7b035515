//! Who is to get how much of one tenant's total.

use nicety_model::total;

use crate::level::{Share, level};

/// Share of an equal part that an idle host keeps of a busy tenant, so that it can begin and be seen.
const KEEP: f64 = 0.025;
/// Share of its demand that a host gets besides, so that it is not held by its grant. The controller of a
/// host says 2 % more than the rate, where its limiters count what they drop, else 5 %.
const GROWTH: f64 = 0.01;
/// Changes below this share of a grant are not written.
const HYSTERESIS: f64 = 0.01;
/// A host with less than this share of its target has too little room to begin.
const ROOM: f64 = 0.5;

/// A living host with the tenant.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Wish {
    /// Weight, above 0.
    pub(super) weight: f64,
    /// Demand in bits per second; none when it wants more than it has.
    pub(super) demand: Option<u64>,
    /// What it has been granted; none before its first grant.
    pub(super) has: Option<u64>,
}

/// What a host is to get, in bits per second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Target {
    /// At most.
    pub(super) max: u64,
    /// In any case.
    pub(super) guarantee: u64,
}

/// Shares `available` by weight among those that want it (max-min fair), then lends what is left by
/// weight, so that a host that begins has room at once. `guarantee` is split likewise. What the
/// hosts have stays while it does.
pub(super) fn targets(available: u64, guarantee: u64, wishes: &[Wish]) -> Vec<Target> {
    let weights: f64 = wishes.iter().map(|wish| wish.weight).sum();
    let part = |rate: f64, wish: &Wish| rate * wish.weight / weights;
    let share = |wish: &Wish| {
        let keep = part(KEEP * available as f64, wish);
        Share {
            weight: wish.weight,
            guarantee: 0.0,
            demand: (wish.demand).map_or(f64::INFINITY, |demand| {
                ((1.0 + GROWTH) * demand as f64).max(keep)
            }),
        }
    };
    let shares: Vec<Share> = wishes.iter().map(share).collect();
    let split = |rate: u64| -> (Vec<f64>, Vec<u64>) {
        let given = level(rate as f64, &shares).given;
        let left = (rate as f64 - given.iter().sum::<f64>()).max(0.0);
        let mut rest = rate;
        let whole = given.iter().zip(wishes).map(|(given, wish)| {
            let whole = ((given + part(left, wish)) as u64).min(rest);
            rest -= whole;
            whole
        });
        let whole = whole.collect();
        (given, whole)
    };
    let (given, mut max) = split(available);
    let had: Option<Vec<u64>> = wishes.iter().map(|wish| wish.has).collect();
    if let Some(had) = had
        && still_good(available, &had, &given, &max)
    {
        max = had;
    }
    let (_, guarantees) = split(guarantee.min(available));
    let held = wishes.iter().filter_map(|wish| wish.has);
    let over = total(held) > available;
    let pairs = max.iter().zip(guarantees).zip(wishes);
    let targets = pairs.map(|((max, guarantee), wish)| {
        let max = (wish.has.filter(|has| !over && near(*has, *max))).unwrap_or(*max);
        Target {
            max,
            guarantee: guarantee.min(max),
        }
    });
    targets.collect()
}

/// Whether what the hosts have serves them: everybody has what the level gives and room to begin, and
/// nearly all is handed out.
fn still_good(available: u64, had: &[u64], given: &[f64], target: &[u64]) -> bool {
    let sum = total(had);
    if sum > available || (sum as f64) < (1.0 - HYSTERESIS) * available as f64 {
        return false;
    }
    let mut each = had.iter().zip(given).zip(target);
    each.all(|((had, given), target)| {
        *had as f64 >= (1.0 - HYSTERESIS) * given && *had as f64 >= ROOM * *target as f64
    })
}

/// Whether one rate may stand for another.
pub(super) fn near(has: u64, wanted: u64) -> bool {
    has.abs_diff(wanted) as f64 <= HYSTERESIS * has as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish(weight: f64, demand: Option<u64>, has: Option<u64>) -> Wish {
        Wish {
            weight,
            demand,
            has,
        }
    }

    fn max(available: u64, wishes: &[Wish]) -> Vec<u64> {
        let targets = targets(available, 0, wishes);
        targets.iter().map(|target| target.max).collect()
    }

    #[test]
    fn demand_is_met_first_and_what_is_left_is_lent_by_weight() {
        let wishes = [wish(1.0, Some(100), None), wish(3.0, Some(100), None)];
        assert_eq!(max(1000, &wishes), [300, 699]);
        // A host that its grant holds takes all that the others leave, but for a little.
        let wishes = [wish(1.0, None, None), wish(1.0, Some(0), None)];
        assert_eq!(max(1000, &wishes), [987, 12]);
        let wishes = [wish(1.0, None, None), wish(3.0, None, None)];
        assert_eq!(max(1000, &wishes), [250, 750]);
        assert_eq!(max(0, &wishes), [0, 0]);
    }

    #[test]
    fn the_guarantee_follows_the_demand() {
        let wishes = [wish(1.0, None, None), wish(1.0, Some(100), None)];
        let targets = targets(1000, 600, &wishes);
        assert_eq!(targets[0].guarantee, 499);
        assert_eq!(targets[1].guarantee, 101);
    }

    #[test]
    fn grants_that_serve_stay() {
        let has = |a, b| [wish(1.0, Some(300), Some(a)), wish(1.0, Some(100), Some(b))];
        assert_eq!(max(1000, &has(500, 500)), [500, 500]);
        // One has too little, or no room to begin, or some is left.
        assert_eq!(max(1000, &has(290, 710)), [601, 399]);
        assert_eq!(max(1000, &has(850, 150)), [601, 399]);
        // 400 is near enough to 399; the leader raises by no more than is free.
        assert_eq!(max(1000, &has(400, 400)), [601, 400]);
        // Near enough, unless that is more than there is.
        let wishes = [wish(1.0, None, Some(497)), wish(1.0, None, Some(490))];
        assert_eq!(max(1000, &wishes), [497, 500]);
        let wishes = [wish(1.0, None, Some(502)), wish(1.0, None, Some(502))];
        assert_eq!(max(1000, &wishes), [500, 500]);
    }

    #[test]
    fn the_sum_is_never_above_what_is_there() {
        for seed in 0..200u64 {
            let mut rng = seed;
            let mut next = |below: u64| {
                rng = rng.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (rng >> 33) % below
            };
            let wishes: Vec<Wish> = (0..next(9) + 1)
                .map(|_| {
                    let demand = next(3) > 0;
                    let demand = demand.then(|| next(1_000_000_000_000));
                    wish((next(7) + 1) as f64, demand, None)
                })
                .collect();
            let available = next(1_000_000_000_001);
            let sum: u64 = max(available, &wishes).iter().sum();
            assert!(sum <= available, "seed {seed}: {sum} > {available}");
            assert!(
                sum as f64 >= 0.999 * available as f64 - 10.0,
                "seed {seed}: {sum}"
            );
        }
    }
}
