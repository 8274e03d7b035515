//! Transactions that nobody has to confirm: they cut no connection, or the boot itself asks.

use anyhow::anyhow;
use nicety_host::journal::since_boot;
use nicety_model::SCHEMA;
use nicety_model::journal::Event;
use nicety_model::knob::Change;

use super::report;
use super::state::Work;
use super::transaction::{self, Need, Stop};
use crate::exit::{Exit, Failure};

/// Makes all changes under a journal; returns the transaction. When it fails everything is as it
/// was.
pub fn commit(work: &Work, changes: &[&Change]) -> Result<u32, Failure> {
    let ids = work.state.ids().map_err(Failure::environment)?;
    let id = ids.last().map_or(1, |last| last + 1);
    let mut file = work.state.create(id).map_err(Failure::environment)?;
    let begin = Event::Begin {
        schema: SCHEMA,
        id,
        boot_id: work.boot_id.clone(),
        netns: work.knobs.namespace(),
        confirm_within_s: 0.0,
    };
    file.append(&begin).map_err(Failure::environment)?;
    if let Err(stop) = transaction::write_all(&work.knobs, &mut file, changes) {
        let (error, need) = match stop {
            Stop::Setting(error, need) => (error, need),
            Stop::Journal(error) => (error.into(), Need::Root),
        };
        let journal = work.state.read(id).map_err(Failure::environment)?;
        let why = error.to_string();
        let outcomes = transaction::undo(&work.knobs, &journal, &mut file, &why, false)
            .map_err(Failure::environment)?;
        let left = report::outcomes(&outcomes);
        let exit = match need {
            Need::Root => Exit::Environment,
            Need::Nothing => Exit::Negative,
        };
        return Err(Failure {
            exit,
            error: match left.is_empty() {
                true => error,
                false => anyhow!("{error}{left}"),
            },
        });
    }
    let deadline_s = since_boot().as_secs_f64();
    file.append(&Event::Applied { deadline_s })
        .and_then(|()| file.append(&Event::Confirmed))
        .map_err(Failure::environment)?;
    Ok(id)
}
