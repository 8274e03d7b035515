//! Hosts of `tests/cases/advice`: what `nicety tune plan` says about them. Run directories of
//! `tests/cases/runs`: what `nicety report` makes of them.

use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use nicety_testkit::cases::{self, Case, Failed};

/// What is asked about a host when the case says nothing else.
const PLAIN: &str = "nicety tune plan";
/// Files of a run directory, the reports excepted.
const RUN: [&str; 10] = [
    "plan.toml",
    "host.json",
    "run.json",
    "tester.json",
    "trials.jsonl",
    "cells.jsonl",
    "sockets.jsonl",
    "policy.toml",
    "police.json",
    "periods.jsonl",
];
/// Reports of every run, and how they are asked for.
const REPORTS: [(&str, &[&str]); 5] = [
    ("report.txt", &[]),
    ("report.md", &["--format", "md"]),
    ("report.csv", &["--format", "csv"]),
    ("report.json", &["--json"]),
    ("report.html", &["--html", "-"]),
];
/// Reports of runs of cells; those in CSV where there is anything in them.
const CELLS: [(&str, &[&str]); 6] = [
    ("report.junit.xml", &["--junit", "-"]),
    ("report.prom", &["--prometheus", "-"]),
    ("guests.csv", &["--csv", "guests=-"]),
    ("ranking.csv", &["--csv", "ranking=-"]),
    ("directions.csv", &["--csv", "directions=-"]),
    ("sockets.csv", &["--csv", "sockets=-"]),
];

fn main() -> ExitCode {
    cases::run(&[("advice", advice), ("runs", reports)])
}

/// Standard output of a command that has nothing else to say.
fn nicety(command: &mut Command) -> Result<String, Failed> {
    let ended = command.stdin(Stdio::null()).output()?;
    let errors = String::from_utf8_lossy(&ended.stderr);
    if ended.status.success() && errors.is_empty() {
        Ok(String::from_utf8(ended.stdout)?)
    } else {
        Err(format!("{command:?}: {}: {errors}", ended.status).into())
    }
}

fn call(words: &[&str], path: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nicety"));
    command.args(words).arg(path);
    command
}

/// Every command of `commands.txt`, about the captured or recorded host of the case.
fn advice(case: &mut Case) -> Result<(), Failed> {
    let host = ["host.json", "host"].into_iter();
    let host = host.filter(|name| case.folder().join(name).exists());
    let [host] = host.collect::<Vec<_>>()[..] else {
        return Err(
            "either host.json, which nicety inspect -o writes, or host, which \
                    nicety inspect -o writes"
                .into(),
        );
    };
    case.reads(host);
    let host = case.folder().join(host);
    let commands = case.optional("commands.txt")?;
    let commands = commands.unwrap_or(PLAIN.to_owned());
    let mut transcript = String::new();
    for command in commands.lines() {
        let Some(arguments) = command.strip_prefix(PLAIN) else {
            return Err(format!("{command:?} does not begin with {PLAIN}").into());
        };
        let mut call = call(&["tune", "plan"], &host);
        let text = nicety(call.args(arguments.split_whitespace()))?;
        if !transcript.is_empty() {
            transcript.push('\n');
        }
        transcript += &format!("$ {command}\n{text}");
    }
    case.expect("advice.txt", &transcript)
}

/// Every report of a run directory.
fn reports(case: &mut Case) -> Result<(), Failed> {
    RUN.iter().for_each(|file| case.reads(file));
    let policed = case.folder().join("police.json").exists();
    let cells = CELLS.iter().filter(|_| !policed);
    for (file, words) in REPORTS.iter().chain(cells) {
        let text = nicety(call(&["report"], case.folder()).args(*words))?;
        let empty = file.ends_with(".csv") && text.lines().count() < 2;
        if *file == "report.csv" || !empty {
            case.expect(file, &text)?;
        }
    }
    Ok(())
}
