//! A constant load for hours that is kept in a directory, an interval a line.

use std::path::Path;
use std::time::Duration;

use anyhow::anyhow;
use nicety_model::interval::LoadLine;
use nicety_model::soak::LoadWish;
use nicety_model::{CellKey, Coded, Plan, ProblemCode, number, shell};
use nicety_report::soak::line;
use nicety_runner::constant::Wanted;
use nicety_runner::soak::SoakPlace;
use nicety_runner::{Event, NewDir, Observer, Soak, SoakEnding};
use nicety_store::file;

use super::{LOADS, cell, judged, plan};
use crate::bench::Preparing;
use crate::cli::load::LoadArgs;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::signals::Signals;

/// The load, where none is asked for.
const WISH: LoadWish = LoadWish::Throughput { ratio: 0.8 };
/// A line this often.
const EVERY: Duration = Duration::from_secs(10);
/// Shortest interval, and shortest load: what is kept of them is bounded.
const SHORTEST: Duration = Duration::from_secs(1);

/// Loads the path until the end or Ctrl-C.
pub fn run(args: &LoadArgs, (wanted, place): (Wanted, SoakPlace)) -> Result<Exit, Failure> {
    let signals = Signals::install()?;
    let stop = signals.stop();
    let opened = Soak::open(wanted, place, args.fate, &stop, &Searching::default());
    let mut soak = match opened {
        Err(error) if error.code() == ProblemCode::Interrupted => return Ok(Exit::Interrupted),
        opened => opened?,
    };
    begin(&soak);
    let mut printed = Printed::new(args.json, soak.began_unix_s());
    let ended = soak.run(&stop, &Preparing::default(), &mut |line| printed.line(line));
    let ending = match ended {
        Ok(ending) => ending,
        Err(error) => {
            soak.abandon();
            return Err(error.into());
        }
    };
    finish(args, &soak, ending, printed)
}

fn begin(soak: &Soak) {
    let head = soak.head();
    for note in head.notes.iter().filter(|_| output::is_verbose()) {
        output::say(&format!("note: {note}"));
    }
    for note in soak.notes() {
        output::say(&format!("note: {note}"));
    }
    let rate = number::short(head.load_fps);
    let found = head.found.map_or_else(String::new, |found| {
        format!(", {} of {}", head.wish, number::short(found.whole_fps))
    });
    let rest = number::seconds((head.for_s - soak.done_s()).max(0.0));
    output::say(&format!(
        "{}: {rate} frames/s{found} for {rest}, into {}; Ctrl-C ends it",
        head.cell,
        soak.dir().display()
    ));
}

fn finish(
    args: &LoadArgs,
    soak: &Soak,
    ending: SoakEnding,
    mut printed: Printed,
) -> Result<Exit, Failure> {
    let complete = matches!(ending, SoakEnding::Complete);
    let summary = soak.summary(&ending);
    printed.line(&LoadLine::Summary(Box::new(summary.clone())));
    printed.failed?;
    let (_, page) = soak.report(complete)?;
    output::say(&format!("report: {}", page.display()));
    let resume = || {
        let dir = soak.dir().display().to_string();
        shell::command(["nicety", "load", "--resume", &dir])
    };
    match ending {
        SoakEnding::Failed(error) => {
            output::tell(&format!(
                "What was measured is kept. Go on with: {}",
                resume()
            ));
            Err(error.into())
        }
        SoakEnding::Interrupted => {
            output::tell(&format!("Interrupted. Resume with: {}", resume()));
            Ok(Exit::Interrupted)
        }
        SoakEnding::Complete => Ok(judged(args, &summary)),
    }
}

/// The lines on standard output.
struct Printed {
    json: bool,
    header: bool,
    began_unix_s: Option<f64>,
    /// Nobody reads any more, or nothing can be written: the soak goes on.
    failed: Result<(), Failure>,
    read: bool,
}

impl Printed {
    fn new(json: bool, began_unix_s: Option<f64>) -> Self {
        Self {
            json,
            header: false,
            began_unix_s,
            failed: Ok(()),
            read: true,
        }
    }

    fn line(&mut self, of: &LoadLine) {
        if !self.read || self.failed.is_err() {
            return;
        }
        let text = if self.json {
            output::line(of)
        } else {
            Ok(self.text(of))
        };
        let printed = text.and_then(|text| output::print_on("to standard output", &text));
        match printed {
            Ok(read) => self.read = read,
            Err(failure) => self.failed = Err(failure),
        }
    }

    fn text(&mut self, of: &LoadLine) -> String {
        let mut text = String::new();
        if let LoadLine::Interval(one) = of {
            self.began_unix_s.get_or_insert(one.started_unix_s);
            if !std::mem::replace(&mut self.header, true) {
                text = format!("{}\n", line::HEADER);
            }
        }
        let began = self.began_unix_s.unwrap_or_default();
        text + &line::of(of, began) + "\n"
    }
}

/// What is said while the load is searched.
#[derive(Default)]
struct Searching(Preparing);

impl Observer for Searching {
    fn on(&self, event: Event<'_>) {
        match event {
            Event::Cell { name, .. } => {
                output::say(&format!("searching the throughput of {name}"));
            }
            event => self.0.on(event),
        }
    }
}

/// A new one.
pub fn new(args: &LoadArgs, dir: &Path) -> Result<(Wanted, SoakPlace), Failure> {
    let every = args.every.unwrap_or(EVERY);
    let length = args.length.unwrap_or_default();
    for (option, time) in [("--every", every), ("--for", length)] {
        if time < SHORTEST {
            return Err(Failure::usage(anyhow!(
                "{option} is at least 1s with --out; write a longer time"
            )));
        }
    }
    let plan = plan(args)?;
    let key = cell(&plan, args.cell.as_deref(), LOADS)?;
    let command = command(args, dir, &key, every);
    let place = SoakPlace::New {
        dir: NewDir::named(dir),
        wish: args.rate.unwrap_or(WISH),
        every,
        length,
        command,
    };
    Ok((wanted(args, plan, key), place))
}

/// One that was ended or killed.
pub fn resumed(args: &LoadArgs, dir: &Path) -> Result<(Wanted, SoakPlace), Failure> {
    let files = nicety_store::read_soak(dir, |_| ())?;
    let name = dir.join(file::PLAN);
    let plan =
        Plan::parse(&name.display().to_string(), &files.plan_toml).map_err(Failure::usage)?;
    let key = cell(&plan, Some(&files.head.cell), LOADS)?;
    let mut wanted = wanted(args, plan, key);
    wanted.engine = files.head.engine.parse().map_err(Failure::usage)?;
    let place = SoakPlace::Resume {
        dir: dir.to_owned(),
        length: args.length,
    };
    Ok((wanted, place))
}

fn wanted(args: &LoadArgs, plan: Plan, key: CellKey) -> Wanted {
    Wanted {
        plan,
        key,
        naming: args.naming.naming(),
        engine: args.engine.unwrap_or_default(),
    }
}

/// The command line that repeats it, into another directory.
fn command(args: &LoadArgs, dir: &Path, key: &CellKey, every: Duration) -> String {
    let plan = dir.join(file::PLAN).display().to_string();
    let (cell, again) = (key.name(), format!("{}-again", dir.display()));
    let rate = args.rate.unwrap_or(WISH).to_string();
    let engine = args.engine.unwrap_or_default().to_string();
    let length = format!("{}s", args.length.unwrap_or_default().as_secs_f64());
    let every = format!("{}s", every.as_secs_f64());
    shell::command([
        "nicety", "load", &plan, "--cell", &cell, "--rate", &rate, "--for", &length, "--every",
        &every, "--engine", &engine, "--out", &again,
    ])
}
