//! Rules that the model test takes out one by one, to show that it notices; the campaign of accidents
//! does the same through the feature `mutants`. Only tests have either: without, no rule can be taken
//! out.

/// A rule without which the cap does not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(not(test), allow(dead_code))]
pub enum Mutant {
    /// A lowered grant counts as lowered before it is acknowledged.
    NoAcknowledgement,
    /// A leader forgets grants that were overwritten before they were acknowledged.
    NoCeiling,
    /// A host holds its grant as long as the lease may last.
    NoMargin,
    /// A host holds its grant without a lease.
    NoLeaseCheck,
    /// A host takes a grant of an earlier lease.
    AnyLease,
    /// Nobody lowers the limits of a daemon that stands still.
    NoGuard,
    /// Transactions do not compare the ledger.
    NoLedger,
    /// The ledger does not say of which step a transaction is.
    NoStep,
    /// A host may have what it is charged for, even when more is charged than there is.
    ChargeIsOwned,
    /// The safe share does not stay below the grant.
    SafeAboveGrant,
    /// A host says that it holds a grant before its limits are set.
    AcknowledgedEarly,
    /// A safe share that has become smaller is not on disk when the daemon is killed.
    StaleMemory,
    /// A host takes part under a new lease before its limits are at the safe shares.
    RegisteredEarly,
    /// A grant is carried out although its lease may have ended meanwhile.
    AppliedLate,
}

/// Whether a rule is taken out.
#[cfg(not(any(test, feature = "mutants")))]
pub(super) const fn is(_: Mutant) -> bool {
    false
}

#[cfg(any(test, feature = "mutants"))]
pub(super) use testing::is;
#[cfg(any(test, feature = "mutants"))]
pub use testing::with;

#[cfg(any(test, feature = "mutants"))]
mod testing {
    use std::cell::Cell;

    use super::Mutant;

    thread_local! {
        static MUTANT: Cell<Option<Mutant>> = const { Cell::new(None) };
    }

    pub(in super::super) fn is(mutant: Mutant) -> bool {
        MUTANT.get() == Some(mutant)
    }

    /// Runs with a rule taken out of this thread.
    pub fn with<T>(mutant: Option<Mutant>, run: impl FnOnce() -> T) -> T {
        MUTANT.set(mutant);
        let result = run();
        MUTANT.set(None);
        result
    }
}
