//! `nicety soak`: a constant load for hours, an interval a line.

use std::path::Path;

use anyhow::anyhow;
use nicety_model::interval::{LoadLine, LoadSummary};
use nicety_model::{CellKey, Plan};
use nicety_model::{Coded, ProblemCode, cell_choice, number, shell};
use nicety_report::soak::line;
use nicety_runner::constant::Wanted;
use nicety_runner::soak::SoakPlace;
use nicety_runner::{Event, NewDir, Observer, Soak, SoakEnding};
use nicety_store::file;

use crate::bench::{Preparing, RUNS, parse, with_fix};
use crate::cli::soak::{SoakArgs, SoakFailure};
use crate::exit::{Exit, Failure};
use crate::output;
use crate::signals::Signals;

/// What it does to a cell.
const LOADS: &str = "a soak loads";

/// Runs the command.
pub fn run(args: &SoakArgs) -> Result<Exit, Failure> {
    let (wanted, place) = match &args.resume {
        Some(dir) => resumed(args, dir)?,
        None => new(args)?,
    };
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
    args: &SoakArgs,
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
        shell::command(["nicety", "soak", "--resume", &dir])
    };
    match ending {
        SoakEnding::Failed(error) => {
            output::tell(&format!(
                "What was measured is kept. Go on with: {}",
                resume()
            ));
            return Err(error.into());
        }
        SoakEnding::Interrupted => {
            output::tell(&format!("Interrupted. Resume with: {}", resume()));
            return Ok(Exit::Interrupted);
        }
        SoakEnding::Complete => {}
    }
    match failure(&args.fail_on, &summary) {
        Some(why) => {
            output::tell(&format!("exit 1: {why}"));
            Ok(Exit::Negative)
        }
        None => Ok(Exit::Done),
    }
}

/// What of that which was asked for makes the exit code 1.
fn failure(fail_on: &[SoakFailure], summary: &LoadSummary) -> Option<String> {
    let count = |what: SoakFailure| match what {
        SoakFailure::Loss => (summary.lost(), "frame was lost", "frames were lost", "loss"),
        SoakFailure::Gap => (summary.gap_count, "gap", "gaps", "gap"),
        SoakFailure::Invalid => (
            summary.invalid_intervals,
            "invalid interval",
            "invalid intervals",
            "invalid",
        ),
    };
    let mut all = fail_on.iter().map(|what| count(*what));
    let (count, one, many, word) = all.find(|(count, ..)| *count > 0)?;
    let words = if count == 1 { one } else { many };
    Some(format!(
        "{} {words} (--fail-on {word})",
        number::count(count)
    ))
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
        let text = match self.json {
            true => output::line(of),
            false => Ok(self.text(of)),
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

/// A new soak.
fn new(args: &SoakArgs) -> Result<(Wanted, SoakPlace), Failure> {
    let mut plan = match &args.plan {
        None => Plan::default_bridge(),
        Some(file) => parse(file)?,
    };
    if let Some(ports) = &args.ports {
        plan = plan
            .with_ports(ports)
            .map_err(|error| Failure::usage(anyhow!("--ports {ports}: {}", with_fix(&error))))?;
    }
    if args.plan.is_none() {
        plan.traffic.frame_sizes.truncate(1);
    }
    let key = cell(&plan, args.cell.as_deref(), LOADS)?;
    let dir = match &args.out {
        Some(dir) => NewDir::named(dir),
        None => NewDir::fresh(Path::new(RUNS), &plan).map_err(Failure::environment)?,
    };
    let length = args.length.unwrap_or_default();
    let command = command(args, &dir.join(file::PLAN), &key);
    let wanted = wanted(args, plan, key);
    let place = SoakPlace::New {
        dir,
        wish: args.load,
        every: args.every,
        length,
        command,
    };
    Ok((wanted, place))
}

/// One that was ended or killed.
fn resumed(args: &SoakArgs, dir: &Path) -> Result<(Wanted, SoakPlace), Failure> {
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

fn wanted(args: &SoakArgs, plan: Plan, key: CellKey) -> Wanted {
    Wanted {
        plan,
        key,
        naming: args.naming.naming(),
        engine: args.engine,
        guests: args.guests.source(),
    }
}

/// The cell that is meant; of several one has to be named.
pub fn cell(plan: &Plan, typed: Option<&str>, does: &str) -> Result<CellKey, Failure> {
    let keys: Vec<CellKey> = plan.buildable_cells().collect();
    let names: Vec<String> = keys.iter().map(CellKey::name).collect();
    let name = match (typed, names.as_slice()) {
        (Some(typed), _) => cell_choice::choose(&names, typed)
            .map_err(|error| Failure::usage(anyhow!("--cell: {error}")))?,
        (None, [name]) => name,
        (None, []) => {
            return Err(Failure::usage(anyhow!(
                "the plan has no cell with frames that can be built; nicety bench says why"
            )));
        }
        (None, several) => {
            let numbered = several.iter().zip(1..);
            let named: Vec<String> = numbered.map(|(name, n)| format!("{n} ({name})")).collect();
            return Err(Failure::usage(anyhow!(
                "the plan has {} cells, and {does} one; name it with --cell: {}",
                several.len(),
                number::first_few(&named, 8, ", ")
            )));
        }
    };
    let found = keys.iter().find(|key| key.name() == name).cloned();
    found.ok_or_else(|| Failure::usage(anyhow!("--cell: no cell is called {name:?}")))
}

/// The command line that repeats it.
fn command(args: &SoakArgs, plan: &Path, key: &CellKey) -> String {
    let (plan, cell) = (plan.display().to_string(), key.name());
    let (load, engine) = (args.load.to_string(), args.engine.to_string());
    let length = format!("{}s", args.length.unwrap_or_default().as_secs());
    let every = format!("{}s", args.every.as_secs_f64());
    let words = [
        "nicety", "soak", &plan, "--cell", &cell, "--load", &load, "--for", &length, "--every",
        &every, "--engine", &engine,
    ];
    shell::command(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exit_code_follows_what_was_asked_for() {
        let mut summary = LoadSummary::default();
        let all = [SoakFailure::Loss, SoakFailure::Gap, SoakFailure::Invalid];
        assert_eq!(failure(&all, &summary), None);
        summary.frames.lost = 3;
        summary.set_apart = 3;
        assert_eq!(
            failure(&all, &summary),
            None,
            "set apart is no loss of the path"
        );
        summary.gap_count = 1;
        assert_eq!(failure(&all, &summary).unwrap(), "1 gap (--fail-on gap)");
        summary.frames.lost = 5;
        let told = failure(&all, &summary).unwrap();
        assert_eq!(told, "2 frames were lost (--fail-on loss)");
        assert_eq!(failure(&[SoakFailure::Invalid], &summary), None);
        assert_eq!(failure(&[], &summary), None);
    }
}
