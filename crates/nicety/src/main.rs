//! `nicety`: measures, tunes and polices the network path of virtual machines.

mod bench;
mod bisect;
mod cli;
mod compare;
mod demand;
mod drops;
mod exit;
mod explain;
mod exposition;
mod guest;
mod inspect;
mod kvm;
mod lab;
mod load;
mod output;
mod pages;
mod police;
mod port;
mod probe;
mod report;
mod runs;
mod signals;
mod sock;
mod stateful;
mod terminal;
mod token_file;
mod trace;
mod tune;
mod usage;
mod web;
mod what;

use std::process::ExitCode;

use clap::FromArgMatches;

use cli::{Cli, Command};
use exit::Exit;

fn main() -> ExitCode {
    let matches = cli::groups::command().try_get_matches();
    let cli = match matches.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are answers, everything else is wrong usage.
            let exit = match (error.use_stderr(), cli::is_bisect()) {
                (false, _) => Exit::Done,
                (true, false) => Exit::Usage,
                // To git a 2 is a bad revision.
                (true, true) => Exit::Code(bisect::PROBLEM),
            };
            match usage::line(&error) {
                Some(line) => output::error(&line),
                // Nobody reads a closed terminal; there is nobody left to tell.
                None => drop(error.print()),
            }
            return exit.code();
        }
    };
    output::begin(&cli.global);
    let result = match cli.command {
        Command::Bench(args) => bench::run(&args),
        Command::Bisect(args) => bisect::run(&args),
        Command::Inspect(args) => inspect::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Drops(args) => drops::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Guest(args) => guest::run(&args),
        Command::GuestInit { part } => lab::guest(&part),
        Command::Lab(args) => lab::run(&args),
        Command::Load(args) => load::run(&args),
        Command::Police(args) => police::run(&args),
        Command::Completions { shell } => pages::completions(shell),
        Command::Man { dir } => pages::manual(&dir),
        Command::Port(args) => port::run(&args),
        Command::Probe(args) => probe::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Runs(args) => runs::run(&args),
        Command::Sock(args) => sock::run(&args),
        Command::Stateful(args) => stateful::run(&args),
        Command::Trace(args) => trace::run(&args),
        Command::Tune(args) => tune::run(&args),
    };
    match result {
        Ok(exit) => exit.code(),
        Err(failure) => {
            output::error(&failure);
            failure.exit.code()
        }
    }
}
