//! Properties of dominant resource fairness.

use nicety_police::drf::{Claim, Division, divide};
use proptest::prelude::*;

const NEAR: f64 = 1e-6;

fn claims(floors: bool) -> impl Strategy<Value = Vec<Claim>> {
    let most = prop_oneof![Just(f64::INFINITY), 0.1..3.0f64];
    let floor = if floors {
        0.0..1.0f64
    } else {
        0.0..f64::MIN_POSITIVE
    };
    let one = (0.1..5.0f64, 0.01..1.0f64, 0.01..1.0f64, most, floor);
    let one = one.prop_map(|(weight, bits, packets, most, floor)| Claim {
        weight,
        uses: [bits, packets],
        most,
        floor,
    });
    prop::collection::vec(one, 1..8)
}

const CAPACITY: [f64; 2] = [1.0, 1.0];

fn used(claims: &[Claim], division: &Division) -> [f64; 2] {
    [0, 1].map(|at| {
        let each = claims.iter().zip(&division.times);
        each.map(|(claim, times)| claim.uses[at] * times).sum()
    })
}

/// How many times its own needs a claimant could serve with these amounts.
fn worth(uses: [f64; 2], amounts: [f64; 2]) -> f64 {
    (amounts[0] / uses[0]).min(amounts[1] / uses[1])
}

proptest! {
    #[test]
    fn nothing_is_given_twice_and_nothing_wanted_is_left(claims in claims(true)) {
        let division = divide(CAPACITY, &claims);
        let used = used(&claims, &division);
        prop_assert!(used.iter().all(|used| *used <= 1.0 + NEAR), "{used:?}");
        let full = used.iter().any(|used| *used >= 1.0 - NEAR);
        for (claim, times) in claims.iter().zip(&division.times) {
            prop_assert!(*times <= claim.most + NEAR);
            // Who wants more cannot have it: a resource is used up.
            prop_assert!(full || *times >= claim.most - NEAR, "{division:?}");
        }
    }

    #[test]
    fn floors_hold_where_they_fit(claims in claims(true)) {
        let division = divide(CAPACITY, &claims);
        let floors = |at: usize| claims.iter().map(|c| c.uses[at] * c.floor.min(c.most)).sum::<f64>();
        if floors(0).max(floors(1)) <= 1.0 {
            for (claim, times) in claims.iter().zip(&division.times) {
                prop_assert!(*times >= claim.floor.min(claim.most) - NEAR);
            }
        }
    }

    #[test]
    fn everybody_has_its_part_of_what_it_uses_most(claims in claims(false)) {
        let division = divide(CAPACITY, &claims);
        let weights: f64 = claims.iter().map(|claim| claim.weight).sum();
        for (claim, times) in claims.iter().zip(&division.times) {
            let part = claim.weight / weights / claim.uses[0].max(claim.uses[1]);
            prop_assert!(*times >= part.min(claim.most) - NEAR, "{division:?}");
        }
    }

    #[test]
    fn nobody_would_have_what_another_one_has(claims in claims(false)) {
        let division = divide(CAPACITY, &claims);
        for (i, claim) in claims.iter().enumerate() {
            for (j, other) in claims.iter().enumerate() {
                let scale = claim.weight / other.weight * division.times[j];
                let theirs = other.uses.map(|uses| uses * scale);
                let worth = worth(claim.uses, theirs).min(claim.most);
                prop_assert!(worth <= division.times[i] + NEAR, "{i} envies {j}: {division:?}");
            }
        }
    }

    #[test]
    fn nobody_gains_by_using_in_another_ratio(
        claims in claims(false),
        lie in (0.01..1.0f64, 0.01..1.0f64),
    ) {
        let honest = divide(CAPACITY, &claims);
        let mut lying = claims.clone();
        lying[0].uses = [lie.0, lie.1];
        lying[0].most = f64::INFINITY;
        let lied = divide(CAPACITY, &lying);
        let amounts = lying[0].uses.map(|uses| uses * lied.times[0]);
        let gained = worth(claims[0].uses, amounts).min(claims[0].most);
        prop_assert!(gained <= honest.times[0] + NEAR, "{gained} {honest:?}");
    }
}

#[test]
fn the_example_of_the_paper() {
    // 9 CPUs and 18 GB; one task takes 1 and 4, the other one 3 and 1 (§4.1): 3 tasks and 2.
    let claim = |uses| Claim {
        weight: 1.0,
        uses,
        most: f64::INFINITY,
        floor: 0.0,
    };
    let division = divide([9.0, 18.0], &[claim([1.0, 4.0]), claim([3.0, 1.0])]);
    let [a, b] = division.times[..] else { panic!() };
    assert!(
        (a - 3.0).abs() < NEAR && (b - 2.0).abs() < NEAR,
        "{division:?}"
    );
    assert_eq!((division.dominant, division.full), (vec![1, 0], true));
}

#[test]
fn one_that_sends_nothing_takes_nothing() {
    let claim = |uses| Claim {
        weight: 1.0,
        uses,
        most: f64::INFINITY,
        floor: 0.0,
    };
    let division = divide(CAPACITY, &[claim([0.0, 0.0]), claim([0.5, 0.25])]);
    assert_eq!(division.times[0], 0.0);
    assert!((division.times[1] - 2.0).abs() < NEAR);
    assert!(divide(CAPACITY, &[]).times.is_empty());
}
