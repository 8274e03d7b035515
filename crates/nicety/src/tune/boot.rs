//! `nicety tune boot`: what the boot unit runs. It sets what is not as it is kept.

use nicety_report::plural;
use nicety_tuner::apply::commit;
use nicety_tuner::boot;

use crate::cli::tune::BootArgs;
use crate::exit::{Exit, Failure};
use crate::output;

/// Runs the command.
pub fn run(args: &BootArgs) -> Result<Exit, Failure> {
    let kept = boot::kept(args.kept.as_deref())?;
    let work = args.state.begin()?;
    let boot::Drift {
        changes,
        missing,
        all,
    } = boot::drift(&work, kept);
    let lines = changes
        .iter()
        .map(|c| format!("{}: kept {}, now {}\n", c.knob, c.to, c.from));
    output::lines(&lines.collect::<String>())?;
    for line in &missing {
        output::say(line);
    }
    let exit = if missing.is_empty() {
        Exit::Done
    } else {
        Exit::Negative
    };
    if changes.is_empty() {
        output::say(&format!(
            "{} as kept",
            plural(all.saturating_sub(missing.len()), "setting")
        ));
        return Ok(exit);
    }
    if args.check {
        output::say(&format!(
            "{} of {} have drifted; nicety tune boot sets them",
            changes.len(),
            plural(all, "setting")
        ));
        return Ok(Exit::Negative);
    }
    let id = commit(&work, &changes.iter().collect::<Vec<_>>())?;
    output::say(&format!(
        "transaction {id}: {} changed; nicety tune undo {id} undoes it",
        plural(changes.len(), "setting")
    ));
    Ok(exit)
}
