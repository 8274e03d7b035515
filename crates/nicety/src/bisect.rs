//! `nicety bisect`: measures a revision until it is sure whether it is like the good or the bad ones.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::anyhow;
use nicety_compare::Input;
use nicety_compare::bisect::{Evidence, Side, Sides};
use nicety_model::bisect::{BisectSide, Bisected};
use nicety_model::{Run, SCHEMA, number};

use crate::cli::bisect::BisectArgs;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::report::read_results;
use crate::runs::Kept;
use crate::signals::Signals;

/// Something is wrong: `git bisect run` ends where a lower code would mean a bad revision.
pub const PROBLEM: u8 = 129;
/// Interrupted: the same.
const INTERRUPTED: u8 = 130;
/// `git bisect run` skips the revision.
const CANNOT_TELL: u8 = 125;
/// What stands for a new directory.
const PLACE: &[u8] = b"{}";

/// Runs the command.
pub fn run(args: &BisectArgs) -> Result<Exit, Failure> {
    bisect(args).map_err(|failure| Failure {
        exit: Exit::Code(PROBLEM),
        ..failure
    })
}

fn bisect(args: &BisectArgs) -> Result<Exit, Failure> {
    let (good, bad) = (side(&args.good)?, side(&args.bad)?);
    let sides = Sides::between(good, &bad, args.metric, args.cell.as_deref(), args.error);
    let sides = sides.map_err(Failure::usage)?;
    let signals = Signals::install()?;
    begin(&sides);
    let mut numbers = Vec::new();
    let mut evidence = sides.middle.judge(&numbers);
    let mut reason = None;
    while evidence.side.is_none() && reason.is_none() {
        if numbers.len() >= args.most as usize {
            reason = Some(format!(
                "{} measurements were not enough for an error of {}",
                args.most,
                number::share(args.error)
            ));
            break;
        }
        let measured = measure(args, &sides);
        if signals.stopped() {
            output::tell("Interrupted.");
            return Ok(Exit::Code(INTERRUPTED));
        }
        match measured? {
            Ok(number) => {
                numbers.push(number);
                evidence = sides.middle.judge(&numbers);
                progress(&sides, &numbers, &evidence, args.error);
            }
            Err(why) => reason = Some(why),
        }
    }
    finish(args, &sides, numbers, evidence, reason)
}

fn side(paths: &[PathBuf]) -> Result<Vec<Input>, Failure> {
    let one = |path: &PathBuf| {
        Ok(Input {
            source: path.display().to_string(),
            run: read_results(&mut Kept::default(), path)?,
        })
    };
    paths.iter().map(one).collect()
}

fn begin(sides: &Sides) {
    let of = |log: f64| number::of_metric(sides.metric, log.exp());
    output::say(&format!(
        "{}: good {}, bad {} ({})",
        sides.cell,
        of(sides.middle.good.mean),
        of(sides.middle.bad.mean),
        number::change(sides.ratio)
    ));
    if sides.middle.good.n == 1 && sides.middle.bad.n == 1 {
        output::say(
            "one run on either side says nothing about their spread: with more, repeated --good and --bad, fewer measurements are needed",
        );
    }
}

fn progress(sides: &Sides, numbers: &[f64], evidence: &Evidence, error: f64) {
    let Some(last) = numbers.last() else { return };
    output::say(&format!(
        "{}. {}: evidence {} of {}",
        numbers.len(),
        number::of_metric(sides.metric, *last),
        number::significant(evidence.factor, 3),
        number::short(1.0 / error)
    ));
}

/// Runs the command once; the number that it measured, or why there is none.
fn measure(args: &BisectArgs, sides: &Sides) -> Result<Result<f64, String>, Failure> {
    let place = Place::new()?;
    let dir = place.0.join("run");
    let (words, named) = words(&args.command, &dir);
    let Some((program, arguments)) = words.split_first() else {
        return Err(Failure::usage(anyhow!("no command was given")));
    };
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null());
    if named {
        // Standard output is the answer's.
        command.stdout(Stdio::from(std::io::stderr()));
    } else {
        command.stdout(Stdio::piped());
    }
    let name = program.to_string_lossy().into_owned();
    let ran = command.spawn().and_then(|child| child.wait_with_output());
    let ran = ran.map_err(|error| Failure::usage(anyhow!("cannot run {name}: {error}")))?;
    if !ran.status.success() {
        return Ok(Err(format!("{name} failed: {}", ran.status)));
    }
    let run = if named {
        read_results(&mut Kept::default(), &dir)?
    } else {
        read(&ran.stdout, &name)?
    };
    Ok(sides.number(&name, run))
}

fn read(stdout: &[u8], name: &str) -> Result<Run, Failure> {
    serde_json::from_slice(stdout).map_err(|error| {
        Failure::usage(anyhow!(
            "{name} did not print a run ({error}); print what nicety bench --json prints, or write a run directory to {{}}"
        ))
    })
}

/// The command with the directory put in; whether it asks for one.
fn words(command: &[OsString], dir: &Path) -> (Vec<OsString>, bool) {
    let mut named = false;
    let put = |word: &OsString| {
        let mut rest = word.as_bytes();
        let mut out = Vec::new();
        while let Some(at) = find(rest) {
            named = true;
            out.extend_from_slice(&rest[..at]);
            out.extend_from_slice(OsStr::as_bytes(dir.as_os_str()));
            rest = &rest[at + PLACE.len()..];
        }
        out.extend_from_slice(rest);
        OsString::from_vec(out)
    };
    let words = command.iter().map(put).collect();
    (words, named)
}

fn find(text: &[u8]) -> Option<usize> {
    text.windows(PLACE.len()).position(|part| part == PLACE)
}

/// A directory of this process, gone when dropped.
struct Place(PathBuf);

impl Place {
    fn new() -> Result<Self, Failure> {
        let root = std::env::temp_dir();
        let name = format!("nicety-bisect-{}", std::process::id());
        let path = nicety_store::new_dir(&root, &name).map_err(Failure::environment)?;
        Ok(Self(path))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // Best effort: it is a directory for temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn finish(
    args: &BisectArgs,
    sides: &Sides,
    numbers: Vec<f64>,
    evidence: Evidence,
    reason: Option<String>,
) -> Result<Exit, Failure> {
    let (side, exit, word) = match evidence.side {
        Some(Side::Good) => (BisectSide::Good, Exit::Done, "good"),
        Some(Side::Bad) => (BisectSide::Bad, Exit::Negative, "bad"),
        None => (
            BisectSide::CannotTell,
            Exit::Code(CANNOT_TELL),
            "cannot tell",
        ),
    };
    if args.json {
        output::print_json(&Bisected {
            schema: SCHEMA,
            side,
            reason: reason.clone(),
            cell: sides.cell.clone(),
            metric: sides.metric,
            good: sides.middle.good.mean.exp(),
            bad: sides.middle.bad.mean.exp(),
            factor: evidence.factor.min(f64::MAX),
            error: args.error,
            numbers: numbers.clone(),
        })?;
    } else {
        let why = reason.map(|why| format!(": {why}")).unwrap_or_default();
        let count = number::plural(numbers.len(), "measurement");
        output::lines(&format!("{word} after {count}{why}\n"))?;
    }
    Ok(exit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directory_is_put_into_any_word() {
        let command = ["sh", "-c", "make && bench -o {} && ls {}", "{"].map(OsString::from);
        let (told, named) = words(&command, Path::new("/x y"));
        assert!(named);
        assert_eq!(told[2], "make && bench -o /x y && ls /x y");
        assert_eq!(told[3], "{");
        let (_, named) = words(&command[..2], Path::new("/x"));
        assert!(!named);
    }
}
