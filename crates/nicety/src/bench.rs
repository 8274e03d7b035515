//! `nicety bench`: finds the honest throughput of paths.

mod live;
mod progress;
mod request;

use std::path::Path;

use nicety_model::{Coded, ProblemCode, Run, shell};
use nicety_report::live::board::Board;
use nicety_report::plural;
use nicety_runner::{Ending, Session};

use crate::cli::bench::{BenchArgs, DemandArgs};
use crate::exit::{Exit, Failure};
use crate::runs::Keep;
use crate::signals::Signals;
use crate::terminal::Stream;
use crate::{demand, output, report};
pub use progress::Preparing;
use progress::Progress;

/// Runs the command.
pub fn run(args: &BenchArgs) -> Result<Exit, Failure> {
    let request = request::read(args)?;
    // Before anything is measured: a store that cannot be written must not cost a run.
    let keep = args.keep.as_deref().map(Keep::open).transpose()?;
    let signals = Signals::install()?;
    let opened = Session::open(request.run, &signals.stop(), &Preparing::default());
    let mut session = match opened {
        Err(error) if error.code() == ProblemCode::Interrupted => return Ok(Exit::Interrupted),
        opened => opened?,
    };
    say_notes(&session);
    let plan = session.plan_name().to_owned();
    let web = request.web.map(|listener| (listener, plan));
    let mut progress = Progress::start(board(&session), web, &signals)?;
    let ending = session.measure(&progress);
    progress.finish();
    let ending = ending?;
    let dir = session.dir().to_owned();
    let run = session.close(ending)?;
    let (exit, why) = exit(ending, &run, &args.demand);
    let first = run.visits.is_empty() && run.sockets.is_empty();
    report::print(run, &args.format, Some(&dir))?;
    output::say(&format!("report: {}", dir.join("report.html").display()));
    if ending == Ending::Interrupted {
        let before = if first {
            " before the first result"
        } else {
            ""
        };
        output::tell(&format!(
            "Interrupted{before}. Resume with: {}",
            resume(&dir, args.keep.as_deref())
        ));
    } else if let Some(keep) = keep {
        output::say(&keep.run(&dir)?);
    }
    if let Some(why) = why {
        output::tell(&why);
    }
    Ok(exit)
}

/// The command line that goes on with an interrupted run, and keeps it in the end where this was asked.
fn resume(dir: &Path, keep: Option<&str>) -> String {
    let dir = dir.display().to_string();
    let mut words = vec!["nicety", "bench", "--resume", &dir];
    match keep {
        None => {}
        Some("") => words.push("--keep"),
        Some(label) => words.extend(["--keep", label]),
    }
    shell::command(words)
}

/// Notes are part of the report. On a terminal they would fill the screen before anything is measured.
fn say_notes(session: &Session) {
    let notes = session.notes();
    if notes.is_empty() {
        return;
    }
    if Stream::Error.can_move() && !output::is_verbose() {
        output::say(&format!("{}: see the report", plural(notes.len(), "note")));
        return;
    }
    for note in notes {
        output::say(&format!("note: {note}"));
    }
}

/// The cells of a session, and what is known of them.
fn board(session: &Session) -> Board {
    let mut board = Board::of(session.cells().iter(), session.visits());
    board.host = session.host();
    board.loss_goal_ratio = Some(session.loss_goal());
    for result in session.results() {
        board.done(result, None);
    }
    board
}

/// What a session that ended so, and the run so far, mean for a script; and the line that says why.
fn exit(ending: Ending, run: &Run, asked: &DemandArgs) -> (Exit, Option<String>) {
    let nothing = run.visits.is_empty() && run.sockets.is_empty();
    match ending {
        Ending::Interrupted => (Exit::Interrupted, None),
        Ending::OutOfTime if nothing => {
            let why = "exit 1: the time box ended before the first result";
            (Exit::Negative, Some(why.to_owned()))
        }
        _ if nothing && !run.skipped.is_empty() => {
            let why = "exit 3: this machine can build none of the cells";
            (Exit::Environment, Some(why.to_owned()))
        }
        _ => match demand::line(run, asked) {
            Some(why) => (Exit::Negative, Some(why)),
            None => (Exit::Done, None),
        },
    }
}
