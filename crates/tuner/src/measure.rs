//! Before, after, before, after; what does not help is taken back.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use nicety_advisor::measured::{self, failed};
use nicety_model::Run;
use nicety_model::knob::Change;
use nicety_model::measured::{Measured, MeasuredDecision, MeasuredTarget};

use crate::apply::apply;
use crate::{Listener, Transaction, TuneError, TuneEvent, Work};

/// Why the changes are undone between two measurements.
const AGAIN: &str = "undone to measure again";
/// How often a measurement with failed cells is repeated: what disturbed it may be over by then, and
/// three failures are no accident.
const REPETITIONS: u32 = 2;

/// What is measured, and how often.
#[derive(Debug, Clone, Copy)]
pub struct MeasureRequest<'a> {
    /// The changes.
    pub changes: &'a [&'a Change],
    /// What is to become better.
    pub target: MeasuredTarget,
    /// Measurements before, and after.
    pub pairs: u32,
    /// How long kept changes wait for a confirmation.
    pub confirm_within: Duration,
    /// A host at the far end of the path, which has to answer packets of a larger MTU.
    pub peer: Option<IpAddr>,
}

/// Without or with the changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Without.
    Before,
    /// With.
    After,
}

/// One measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Leg {
    /// Without or with the changes.
    pub side: Side,
    /// Which, from 1.
    pub pair: u32,
    /// Of so many.
    pub pairs: u32,
    /// Repetition because some of it failed; 0 at first.
    pub again: u32,
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Before => "before",
            Self::After => "after",
        })
    }
}

/// What came of it.
#[derive(Debug)]
pub struct Judged<'w> {
    /// Numbers and decision.
    pub measured: Measured,
    /// The last transaction, which waits for its confirmation when the changes are kept, and is undone
    /// otherwise. `None` when the first measurement failed.
    pub transaction: Option<Transaction<'w>>,
}

impl Judged<'_> {
    /// Whether the changes are kept.
    pub fn keeps(&self) -> bool {
        self.measured.decision == MeasuredDecision::Kept
    }
}

/// Measures with `bench` and decides. The settings are as they were unless the changes gained more than
/// the noise.
///
/// # Errors
/// Those of `bench`, and why the changes could not be made or taken back.
pub fn judge<'w, E: From<TuneError>>(
    work: &'w Work,
    request: &MeasureRequest<'_>,
    mut bench: impl FnMut(Leg) -> Result<Run, E>,
    listener: Listener<'_>,
) -> Result<Judged<'w>, E> {
    let target = request.target;
    let mut measure = |side, pair| {
        let pairs = request.pairs;
        measured_whole(
            target,
            Leg {
                side,
                pair,
                pairs,
                again: 0,
            },
            &mut bench,
            listener,
        )
    };
    // A cell that fails for good leaves nothing to decide: the rest is not measured any more.
    let hopeless = |run: &Run| !failed(target, run).is_empty();
    let (mut before, mut after) = (Vec::new(), Vec::new());
    let mut last = None;
    for pair in 1..=request.pairs {
        let run = measure(Side::Before, pair)?;
        let ends = hopeless(&run);
        before.push(run);
        if ends {
            break;
        }
        let mut transaction = apply(work, request.changes, request.confirm_within, request.peer)?;
        let run = match measure(Side::After, pair) {
            Ok(run) => run,
            Err(error) => {
                take_back(&mut transaction, "the measurement failed")?;
                return Err(error);
            }
        };
        let ends = pair == request.pairs || hopeless(&run);
        after.push(run);
        if ends {
            last = Some(transaction);
            break;
        }
        take_back(&mut transaction, AGAIN)?;
    }
    let changes = request.changes.iter().map(|change| (*change).clone());
    let mut judged = Judged {
        measured: measured::judge(target, changes.collect(), &before, &after),
        transaction: last,
    };
    let keeps = judged.keeps();
    match &mut judged.transaction {
        Some(transaction) if keeps => transaction.keep(request.confirm_within)?,
        Some(transaction) => take_back(transaction, &measured::words(&judged.measured))?,
        None => {}
    }
    Ok(judged)
}

/// One measurement; as often again as allowed while cells of it fail, which fills those in.
fn measured_whole<E>(
    target: MeasuredTarget,
    mut leg: Leg,
    bench: &mut impl FnMut(Leg) -> Result<Run, E>,
    listener: Listener<'_>,
) -> Result<Run, E> {
    listener(TuneEvent::Measuring(leg));
    let mut run = bench(leg)?;
    for again in 1..=REPETITIONS {
        let failed = failed(target, &run);
        if failed.is_empty() {
            break;
        }
        listener(TuneEvent::MeasuringAgain {
            failed,
            again,
            most: REPETITIONS,
        });
        leg.again = again;
        measured::mend(target, &mut run, &bench(leg)?);
    }
    Ok(run)
}

fn take_back(transaction: &mut Transaction<'_>, why: &str) -> Result<(), TuneError> {
    let outcomes = transaction.undo(why, false).map_err(TuneError::Journal)?;
    if outcomes.iter().any(|(_, outcome)| outcome.is_left()) {
        Err(TuneError::LeftBehind {
            id: transaction.id(),
            outcomes,
        })
    } else {
        Ok(())
    }
}
