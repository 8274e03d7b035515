//! What is changed now, and what became of all transactions: read without the lock, nothing is undone.

use std::collections::BTreeSet;

use nicety_advisor::transaction::{Here, is_active, rolls_back_in};
use nicety_host::journal::{JournalError, StateDir, boot_id, since_boot};
use nicety_host::roots::ProcRoot;
use nicety_model::SCHEMA;
use nicety_model::journal::{History, Journal, Phase, TransactionReport};
use nicety_netdev::netns::NetNs;

use crate::{Listener, TuneError, TuneEvent};

/// All transactions, by number.
///
/// # Errors
/// When the directory cannot be listed.
pub fn history(state: &StateDir, listener: Listener<'_>) -> Result<History, TuneError> {
    let journals = readable(state, listener)?;
    let reports = journals.iter();
    let reports = reports.map(|(id, journal)| TransactionReport::new(*id, journal));
    Ok(History {
        schema: SCHEMA,
        transactions: reports.collect(),
    })
}

/// Transactions whose settings are changed in this boot and network namespace, by number. A setting that
/// was changed twice is a later one's alone.
///
/// # Errors
/// When the directory cannot be listed, or the namespace cannot be asked.
pub fn active(state: &StateDir, listener: Listener<'_>) -> Result<History, TuneError> {
    let journals = readable(state, listener)?;
    let boot_id = boot_id(&ProcRoot::live());
    let here = Here {
        boot_id: &boot_id,
        netns: NetNs::current()?.inode(),
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
    Ok(History {
        schema: SCHEMA,
        transactions,
    })
}

fn readable(state: &StateDir, listener: Listener<'_>) -> Result<Vec<(u32, Journal)>, JournalError> {
    let all = state.journals()?;
    for error in all.unreadable {
        listener(TuneEvent::UnreadableJournal(error));
    }
    Ok(all.readable)
}
