//! What is changed now, and what became of all transactions: read without the lock, nothing is undone.

use std::collections::BTreeSet;

use nicety_advisor::transaction::{Here, is_active, rolls_back_in};
use nicety_host::journal::{StateDir, boot_id, since_boot};
use nicety_host::knob::Knobs;
use nicety_host::roots::ProcRoot;
use nicety_model::SCHEMA;
use nicety_model::journal::{Journal, Phase, TransactionReport, TuneStatus};

use crate::{Listener, TuneError, TuneEvent};

/// How all transactions stand, with the values that changed settings have now.
///
/// # Errors
/// When the directory cannot be listed, or the settings cannot be reached.
pub fn status(state: &StateDir, listener: Listener<'_>) -> Result<TuneStatus, TuneError> {
    let all = state.journals()?;
    for error in all.unreadable {
        listener(TuneEvent::UnreadableJournal(error));
    }
    let knobs = Knobs::open()?;
    let mut active = active(&all.readable, knobs.namespace());
    for setting in active.iter_mut().flat_map(|of| &mut of.settings) {
        let found = knobs.read(&setting.knob);
        setting.found = Some(found.unwrap_or_else(|error| error.to_string()));
    }
    let history = all.readable.iter();
    let history = history.map(|(id, journal)| TransactionReport::new(*id, journal));
    Ok(TuneStatus {
        schema: SCHEMA,
        active,
        history: history.collect(),
    })
}

/// Transactions whose settings are changed in this boot and network namespace, by number. A setting that
/// was changed twice is a later one's alone.
fn active(journals: &[(u32, Journal)], netns: u64) -> Vec<TransactionReport> {
    let boot_id = boot_id(&ProcRoot::live());
    let here = Here {
        boot_id: &boot_id,
        netns,
        now_s: since_boot().as_secs_f64(),
    };
    let mut seen = BTreeSet::new();
    let mut transactions = Vec::new();
    for (id, journal) in journals.iter().rev() {
        if !is_active(journal, here) {
            // Files that a later transaction took away are not kept any more.
            if journal.removes_files() && journal.phase() == Phase::Confirmed {
                seen.extend(journal.steps().into_iter().map(|step| step.change.knob));
            }
            continue;
        }
        let mut report = TransactionReport::new(*id, journal);
        report.settings.retain(|setting| {
            let first = seen.insert(setting.knob.clone());
            first && !(setting.knob.outlives_boot() && setting.to.is_empty())
        });
        report.rolls_back_in_s = rolls_back_in(journal, here.now_s).map(|left| left.ceil() as u64);
        if !report.settings.is_empty() {
            transactions.push(report);
        }
    }
    transactions.reverse();
    transactions
}
