//! What is worth saying while work goes on.

use std::time::Duration;

use nicety_advisor::transaction::Cause;
use nicety_host::journal::JournalError;
use nicety_host::knob::KnobError;
use nicety_model::journal::{Outcome, Step};
use nicety_model::knob::Change;

use crate::measure::Leg;

/// Something that happened.
#[derive(Debug)]
pub enum TuneEvent {
    /// Counters are watched for so long.
    Counting(Duration),
    /// A transaction that was left behind went with the last boot.
    GoneWithBoot {
        /// Transaction.
        id: u32,
    },
    /// A transaction that was left behind is another network namespace's.
    InNamespace {
        /// Transaction.
        id: u32,
        /// Inode of the namespace.
        netns: u64,
    },
    /// A transaction that was left behind is undone.
    Recovered {
        /// Transaction.
        id: u32,
        /// Why it was undone.
        cause: Cause,
        /// What became of its settings.
        outcomes: Vec<(Step, Outcome)>,
    },
    /// A journal cannot be read; the others are gone through all the same.
    UnreadableJournal(JournalError),
    /// A setting has another value than the plan says.
    Differs {
        /// As the plan says.
        change: Change,
        /// Its value.
        found: String,
    },
    /// A setting of the plan cannot be read.
    Unreadable(KnobError),
    /// A measurement begins.
    Measuring(Leg),
    /// Some of it failed; it begins once more.
    MeasuringAgain {
        /// Cells that failed, at least one.
        failed: Vec<String>,
        /// Repetition, from 1.
        again: u32,
        /// Repetitions at the most.
        most: u32,
    },
}

/// Is told what happens.
pub type Listener<'a> = &'a mut dyn FnMut(TuneEvent);
