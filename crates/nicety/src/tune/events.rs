//! What happens while settings are changed, as it happens.

use nicety_advisor::transaction::words;
use nicety_model::plan::format_duration;
use nicety_tuner::TuneEvent;

use crate::output;

/// Says an event in a line.
pub fn say(event: TuneEvent) {
    output::say(&match event {
        TuneEvent::Counting(time) => format!("counting for {}", format_duration(time)),
        TuneEvent::GoneWithBoot { id } => format!("transaction {id}: gone with the last boot"),
        TuneEvent::InNamespace { id, netns } => format!(
            "transaction {id} was left behind in another network namespace (inode {netns}); \
             run nicety tune undo {id} there"
        ),
        TuneEvent::Recovered {
            id,
            cause,
            outcomes,
        } => format!(
            "transaction {id} undone, {}{}",
            cause.words(),
            words::left(&outcomes)
        ),
        TuneEvent::UnreadableJournal(error) => error.to_string(),
        TuneEvent::Differs { change, found } => {
            format!("{} is {found}, the plan says {}", change.knob, change.from)
        }
        TuneEvent::Unreadable(error) => error.to_string(),
        TuneEvent::Measuring(leg) => {
            format!("measuring {}, {} of {}", leg.side, leg.pair, leg.pairs)
        }
        TuneEvent::MeasuringAgain {
            failed,
            again,
            most,
        } => {
            let more = match failed.len() {
                0 | 1 => String::new(),
                more => format!(" and {} more", more - 1),
            };
            let first = failed.first().map_or("", String::as_str);
            format!("{first}{more} failed; measuring again, {again} of {most}")
        }
    });
}
