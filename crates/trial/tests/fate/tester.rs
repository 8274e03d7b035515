//! What is no loss, and what the tracepoint does not see.

use nicety_model::LossEntry;
use nicety_testkit::runner::Skip;

use crate::case::{Run, trial, unexplained};
use crate::rules::program;

/// The tester throws every frame away that it has counted: none of these is lost, and the program passes
/// them by.
pub fn nothing() -> Result<(), Skip> {
    let record = trial(Run::default(), |_| Ok(()))?;
    let fate = record.fate.as_ref().unwrap();
    if record.frames.lost > 0 {
        return Err(Skip(format!(
            "the machine was too busy: {:?}",
            record.loss_ledger
        )));
    }
    assert_eq!(record.loss_ledger, Vec::<LossEntry>::new());
    assert!(fate.events < record.frames.sent / 100, "{fate:?}");
    Ok(())
}

/// A program takes XDP frames before they become ordinary ones. No cause is made up for them.
pub fn unseen() -> Result<(), Skip> {
    let mut dropping = None;
    let record = trial(Run::default(), |path| {
        dropping = Some(program(path));
        Ok(())
    })?;
    assert_eq!(record.frames.received, 0);
    let found = record
        .loss_ledger
        .iter()
        .filter(|entry| entry.cause.is_some());
    println!(
        "    {:?} unexplained {}",
        record.loss_ledger,
        unexplained(&record)
    );
    assert_eq!(found.count(), 0, "{:?}", record.loss_ledger);
    Ok(())
}
