//! What must hold for every level, and for the controller whatever its counters say.

use std::time::Duration;

use nicety_police::level::level;
use nicety_police::{Controller, Policy, Sample, Seen, Share, Tuning};
use proptest::prelude::*;

fn share() -> impl Strategy<Value = Share> {
    let demand = prop_oneof![4 => 0.0..200.0, 1 => Just(f64::INFINITY), 1 => Just(0.0)];
    let guarantee = prop_oneof![1 => Just(0.0), 1 => 0.0..20.0];
    (0.01..10.0, guarantee, demand).prop_map(|(weight, guarantee, demand)| Share {
        weight,
        guarantee,
        demand,
    })
}

fn shares() -> impl Strategy<Value = Vec<Share>> {
    prop::collection::vec(share(), 1..40)
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-6 * (1.0 + a.abs().max(b.abs()))
}

/// The same by bisection on the level.
fn bisected(capacity: f64, shares: &[Share]) -> Vec<f64> {
    let at = |theta: f64| -> Vec<f64> {
        let given = |s: &Share| s.demand.min(s.guarantee.max(s.weight * theta));
        shares.iter().map(given).collect()
    };
    let (mut low, mut high) = (0.0, 1e9);
    for _ in 0..200 {
        let middle = (low + high) / 2.0;
        if at(middle).iter().sum::<f64>() > capacity {
            high = middle;
        } else {
            low = middle;
        }
    }
    at(low)
}

proptest! {
    #[test]
    fn nobody_gets_more_than_asked_and_all_not_more_than_there_is(
        capacity in 0.0..1000.0, shares in shares()
    ) {
        let level = level(capacity, &shares);
        for (given, share) in level.given.iter().zip(&shares) {
            prop_assert!(*given >= 0.0 && *given <= share.demand);
            let floor = share.guarantee.min(share.demand) * level.guarantees_scaled;
            prop_assert!(*given >= floor - 1e-9, "{given} below {floor}");
        }
        let sum: f64 = level.given.iter().sum();
        let wanted: f64 = shares.iter().map(|s| s.demand).sum();
        prop_assert!(near(sum, capacity.min(wanted)), "{sum} of {capacity}, wanted {wanted}");
    }

    /// Who gets less than asked cannot be given more without taking from somebody who has no
    /// more for the weight, or from a guarantee.
    #[test]
    fn nobody_can_gain_but_from_somebody_poorer(capacity in 1.0..1000.0, shares in shares()) {
        let level = level(capacity, &shares);
        prop_assume!(level.guarantees_scaled == 1.0);
        for (given, share) in level.given.iter().zip(&shares) {
            if near(*given, share.demand) {
                continue;
            }
            for (other, theirs) in level.given.iter().zip(&shares) {
                let has_more = other / theirs.weight > given / share.weight * (1.0 + 1e-6) + 1e-9;
                prop_assert!(!has_more || *other <= theirs.guarantee * (1.0 + 1e-9));
            }
        }
    }

    #[test]
    fn it_is_what_bisection_finds(capacity in 1.0..1000.0, shares in shares()) {
        let level = level(capacity, &shares);
        prop_assume!(level.guarantees_scaled == 1.0 && level.per_weight.is_finite());
        for (a, b) in level.given.iter().zip(bisected(capacity, &shares)) {
            prop_assert!(near(*a, b), "{a} {b}");
        }
    }

    #[test]
    fn units_do_not_matter(capacity in 1.0..1000.0, shares in shares(), factor in 0.001..1000.0) {
        let plain = level(capacity, &shares);
        let scaled: Vec<Share> = shares.iter().map(|s| Share {
            weight: s.weight,
            guarantee: s.guarantee * factor,
            demand: s.demand * factor,
        }).collect();
        for (a, b) in plain.given.iter().zip(level(capacity * factor, &scaled).given) {
            prop_assert!(near(a * factor, b), "{a} {b}");
        }
        let heavier: Vec<Share> = shares.iter().map(|s| Share { weight: s.weight * factor, ..*s }).collect();
        for (a, b) in plain.given.iter().zip(level(capacity, &heavier).given) {
            prop_assert!(near(*a, b), "{a} {b}");
        }
    }

    #[test]
    fn the_order_does_not_matter(capacity in 1.0..1000.0, shares in shares(), turn in 0usize..40) {
        let mut turned = shares.clone();
        let turn = turn % shares.len();
        turned.rotate_left(turn);
        let mut given = level(capacity, &turned).given;
        given.rotate_right(turn);
        for (a, b) in level(capacity, &shares).given.iter().zip(given) {
            prop_assert!(near(*a, b), "{a} {b}");
        }
    }

    /// Whatever counters and clock do, every limit is between guarantee and cap and nothing panics.
    #[test]
    fn limits_stay_between_guarantee_and_cap(
        periods in prop::collection::vec(prop::collection::vec(
            prop_oneof![
                8 => (any::<u32>(), any::<u16>()).prop_map(|(b, f)| Some((u64::from(b), u64::from(f)))),
                1 => Just(None),
                1 => (any::<u64>(), any::<u64>()).prop_map(Some),
            ], 5), 1..30),
        clock in prop::collection::vec(-1000i64..3000, 30),
    ) {
        let policy = four();
        let mut controller = Controller::new(policy.clone(), &[], Tuning::default());
        let mut ms = 0u64;
        for (period, step) in periods.iter().zip(clock) {
            ms = ms.saturating_add_signed(step);
            let now = Duration::from_millis(ms);
            let counted = |(bytes, frames)| Seen::counted(Sample::passed(now, bytes, frames));
            let seen: Vec<Seen> = period.iter().map(|sample| sample.map(counted).unwrap_or_default()).collect();
            let decision = controller.step(&seen);
            for (index, port) in decision.ports.iter().enumerate() {
                if !port.present {
                    prop_assert!(!decision.writes.contains(&index));
                    continue;
                }
                let tenant = &policy.tenants[port.tenant];
                let cap = tenant.cap.unwrap_or(policy.capacity);
                prop_assert!(port.limit.0 > 0 && port.limit <= cap, "{port:?}");
                let least = tenant.guarantee.bps();
                prop_assert!(port.limit.bps() + 1000.0 >= least, "{port:?}");
            }
            // Two ports under one cap.
            let two = decision.ports.iter().filter(|port| port.present && port.tenant == 1);
            prop_assert!(two.map(|port| port.limit.bps()).sum::<f64>() <= 300e6);
            for index in &decision.writes {
                controller.wrote(*index, decision.ports[*index].limit);
            }
        }
    }
}

fn four() -> Policy {
    let text = "[link]\ncapacity = \"1gbit\"\nheadroom = 0.05\nidle_share = 1.0\n\
        [[tenant]]\nname = \"a\"\nguarantee = \"100mbit\"\nports = \"a\"\n\
        [[tenant]]\nname = \"b\"\nweight = 2\ncap = \"300mbit\"\nports = [\"b\", \"b1\"]\n\
        [[tenant]]\nname = \"c\"\nweight = 4\nguarantee = \"300mbit\"\ncap = \"500mbit\"\nports = \"c\"\n\
        [[tenant]]\nname = \"d\"\nports = \"d\"\n";
    Policy::parse("p.toml", text).unwrap()
}
