//! `nicety bench`: finds the honest throughput of paths.

mod live;
mod progress;
mod request;

use nicety_model::sock::Ending::Faulty;
use nicety_model::{Coded, ProblemCode, Run, Verdict};
use nicety_report::live::board::Board;
use nicety_runner::{Ending, Session};

use crate::cli::BenchArgs;
use crate::exit::{Exit, Failure};
use crate::signals::Signals;
use crate::terminal::Stream;
use crate::{output, report};
use progress::{Preparing, Progress};

/// Runs the command.
pub fn run(args: &BenchArgs) -> Result<Exit, Failure> {
    let request = request::read(args)?;
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
    let exit = exit(ending, &run);
    if request.json {
        report::print_json(run)?
    } else {
        report::print_table(&run)?
    }
    output::say(&format!("report: {}", dir.join("report.html").display()));
    if ending == Ending::Interrupted {
        output::say(&format!(
            "interrupted; go on with: nicety bench --resume {}",
            dir.display()
        ));
    }
    Ok(exit)
}

/// Notes are part of the report. On a terminal they would fill the screen before anything is measured.
fn say_notes(session: &Session) {
    let notes = session.notes();
    if notes.is_empty() {
        return;
    }
    if Stream::Error.can_move() {
        let plural = if notes.len() == 1 { "note" } else { "notes" };
        output::say(&format!("{} {plural}: see the report", notes.len()));
        return;
    }
    for note in notes {
        output::say(&format!("note: {note}"));
    }
}

/// The cells of a session, and what is known of them.
fn board(session: &Session) -> Board {
    let cells = session.cells().iter();
    let cells = cells.map(|key| (key.path_name(), key.name()));
    let mut board = Board::new(cells, session.visits());
    for result in session.results() {
        board.done(result, None);
    }
    board
}

/// What a session that ended so, and the run so far, mean for a script.
fn exit(ending: Ending, run: &Run) -> Exit {
    let nothing = run.cells.is_empty() && run.sockets.is_empty();
    let tests = run.sockets.iter().flat_map(|series| &series.results);
    let failed = run
        .summary
        .iter()
        .any(|cell| cell.verdict == Verdict::Failed)
        || tests.into_iter().any(|test| test.ending == Faulty);
    match ending {
        Ending::Interrupted => Exit::Interrupted,
        Ending::OutOfTime if nothing => Exit::Negative,
        _ if nothing && !run.skipped.is_empty() => Exit::Environment,
        _ if failed => Exit::Negative,
        _ => Exit::Done,
    }
}
