//! What is no loss, and what the tracepoint does not see.

use nicety_model::{FateCause, LossEntry};
use nicety_testkit::runner::Skip;

use crate::case::{Run, trial};
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

/// A program takes XDP frames before they become ordinary ones: no cause is made up for them but that
/// there is such a program.
pub fn unseen() -> Result<(), Skip> {
    let mut dropping = None;
    let record = trial(Run::default(), |path| {
        dropping = Some(program(path));
        Ok(())
    })?;
    assert_eq!(record.frames.received, 0);
    println!("    {:?}", record.loss_ledger);
    let refused = |entry: &&LossEntry| entry.place == "a tx_dropped";
    let program = FateCause::Program {
        device: "d0".to_owned(),
    };
    let others = record.loss_ledger.iter().filter(|entry| !refused(entry));
    let others: Vec<_> = others.map(|entry| entry.cause.as_ref()).collect();
    assert_eq!(others, [Some(&program)], "{:?}", record.loss_ledger);
    Ok(())
}
