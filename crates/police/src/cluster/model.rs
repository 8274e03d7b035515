//! The whole cluster in one thread, with an adversary: hosts with clocks that differ, guards and
//! kernels, a store with leases, and messages that are late, lost or come twice. After every step
//! the sum of what the hosts may send is held against the cap.

mod machine;
mod progress;
mod random;
mod store;
mod world;

use super::mutant::{self, Mutant};
use random::{cases, run_cases};

#[test]
fn the_cap_holds_whatever_happens() {
    let (_, result) = run_cases(cases(100), None);
    if let Err((case, why)) = result {
        panic!("{why}\n{case}");
    }
}

/// Rules without which the model must find a way to exceed the cap.
const MUTANTS: [Mutant; 12] = [
    Mutant::NoAcknowledgement,
    Mutant::NoCeiling,
    Mutant::NoMargin,
    Mutant::NoLeaseCheck,
    Mutant::AnyLease,
    Mutant::NoGuard,
    Mutant::NoLedger,
    Mutant::SafeAboveGrant,
    Mutant::AcknowledgedEarly,
    Mutant::StaleMemory,
    Mutant::RegisteredEarly,
    Mutant::AppliedLate,
];

#[test]
fn the_model_notices_when_a_rule_is_missing() {
    for missing in MUTANTS {
        let (after, found) = mutant::with(Some(missing), || run_cases(5_000, Some(missing)));
        assert!(
            found.is_err(),
            "nothing exceeds the cap without {missing:?}"
        );
        println!("without {missing:?} the cap is exceeded in case {after}");
    }
}
