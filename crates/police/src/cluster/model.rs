//! The whole cluster in one thread, with an adversary: hosts with clocks that differ, guards and
//! kernels, a store with leases, and messages that are late, lost or come twice. After every step
//! the sum of what the hosts may send is held against the cap.

mod machine;
mod progress;
mod random;
mod replay;
mod store;
mod world;

use super::mutant::{self, Mutant};
use random::{cases, run_cases, seed};

#[test]
fn the_cap_holds_whatever_happens() {
    let (cases, seed) = (cases(60), seed());
    println!("{cases} cases from NICETY_MODEL_SEED={seed}");
    let (_, result) = run_cases(cases, None, seed);
    if let Err((case, why)) = result {
        panic!("NICETY_MODEL_SEED={seed}: {why}\n{case}");
    }
}

/// Rules without which the model must find a way to exceed the cap, and a seed with which it soon
/// does.
const MUTANTS: [(Mutant, u64); 14] = [
    (Mutant::NoAcknowledgement, 2),
    (Mutant::NoCeiling, 2),
    (Mutant::NoMargin, 0),
    (Mutant::NoLeaseCheck, 0),
    (Mutant::AnyLease, 0),
    (Mutant::NoGuard, 0),
    (Mutant::NoLedger, 1),
    (Mutant::NoStep, 1),
    (Mutant::ChargeIsOwned, 151),
    (Mutant::SafeAboveGrant, 1),
    (Mutant::AcknowledgedEarly, 10),
    (Mutant::StaleMemory, 3),
    (Mutant::RegisteredEarly, 7),
    (Mutant::AppliedLate, 2),
];

#[test]
fn the_model_notices_when_a_rule_is_missing() {
    for (missing, early) in MUTANTS {
        let (after, found) = mutant::with(Some(missing), || run_cases(50, Some(missing), early));
        assert!(
            found.is_err(),
            "nothing exceeds the cap without {missing:?}"
        );
        println!("without {missing:?} the cap is exceeded in case {after}");
    }
}

#[test]
#[ignore = "minutes: finds the seeds above, and how rare each case is"]
fn how_soon_the_model_notices() {
    for (missing, _) in MUTANTS {
        let mut soonest = (u32::MAX, 0);
        let (mut drawn, mut found) = (0, 0);
        for seed in 0..400 {
            let (after, result) =
                mutant::with(Some(missing), || run_cases(50, Some(missing), seed));
            drawn += after;
            if result.is_err() {
                found += 1;
                soonest = soonest.min((after, seed));
            }
            if found >= 3 {
                break;
            }
        }
        println!("{missing:?}: {found} of {drawn} cases, soonest (case, seed) {soonest:?}");
    }
}
