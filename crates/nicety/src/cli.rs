//! The command line.

pub mod bench;
pub mod bisect;
pub mod compare;
pub mod drops;
pub mod groups;
pub mod guest;
pub mod heading;
pub mod host;
pub mod load;
pub mod output;
pub mod police;
pub mod port;
pub mod report;
pub mod runs;
pub mod state;
pub mod stateful;
#[cfg(test)]
mod tests;
pub mod trace;
pub mod tune;
pub mod what;
pub mod words;

use std::net::SocketAddr;
use std::ops::RangeBounds;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use nicety_host::fingerprint;
use nicety_model::plan::parse_duration;
use nicety_model::run::Naming;

/// Measure, tune and police the network path of virtual machines.
#[derive(Debug, Parser)]
#[command(name = "nicety", version, max_term_width = 100, after_help = ABOUT)]
pub struct Cli {
    /// What every command takes.
    #[command(flatten)]
    pub global: output::GlobalArgs,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

const ABOUT: &str = "Examples:
  nicety probe                         what can be measured here
  nicety bench                         measure a kernel bridge, 4 min
  nicety tune plan                     what slows this host's network
  nicety police run policy.toml        share a link among tenants
  nicety help bench

Exit codes: 0 done; 1 done with a negative answer (a cell failed, a result got worse); \
2 usage or bad input; 3 the environment lacks something; 4 interrupted (what was measured is kept).";

/// The jobs.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Find the highest rate with almost no loss, and what limits it.
    #[command(after_help = bench::EXAMPLES)]
    Bench(bench::BenchArgs),
    /// Compare new results with old ones: better, same, or worse.
    #[command(after_help = compare::EXAMPLES)]
    Compare(compare::CompareArgs),
    /// Measure a revision until it is good or bad, for git bisect run.
    #[command(after_help = bisect::EXAMPLES)]
    Bisect(bisect::BisectArgs),
    /// Show what can be measured here, and what is missing.
    #[command(after_help = host::PROBE_EXAMPLES)]
    Probe(host::ProbeArgs),
    /// Show this host's CPUs, interfaces, interrupts, VMs and settings.
    #[command(after_help = host::INSPECT_EXAMPLES)]
    Inspect(host::InspectArgs),
    /// Find what slows this host's network, change it, and undo it.
    #[command(subcommand, after_help = tune::EXAMPLES)]
    Tune(tune::TuneCommand),
    /// Show and limit ports of guests: taps, veths, SR-IOV functions.
    #[command(subcommand, after_help = port::EXAMPLES)]
    Port(port::PortCommand),
    /// Show which packets this host drops, why, and whose they are.
    #[command(after_help = drops::EXAMPLES)]
    Drops(drops::DropsArgs),
    /// Follow single test frames: where each was, and where it ended.
    #[command(after_help = trace::EXAMPLES)]
    Trace(trace::TraceArgs),
    /// Load a path, by hand or for hours: every lost frame and where.
    #[command(after_help = load::EXAMPLES)]
    Load(Box<load::LoadArgs>),
    /// Measure a router's connections: setup, capacity, teardown.
    #[command(after_help = stateful::EXAMPLES)]
    Stateful(Box<stateful::StatefulArgs>),
    /// Share a link fairly among its tenants.
    #[command(subcommand, after_help = police::EXAMPLES)]
    Police(police::PoliceCommand),
    /// Ask the host from inside a guest, and limit this guest.
    #[command(subcommand, after_help = guest::EXAMPLES)]
    Guest(guest::GuestCommand),
    /// Render the results of runs.
    #[command(after_help = report::EXAMPLES)]
    Report(report::ReportArgs),
    /// Explain a note, a problem or a rule: cause, effect, remedy.
    #[command(after_help = report::EXPLAIN_EXAMPLES)]
    Explain(report::ExplainArgs),
    /// Keep runs, list them, and follow a cell over time.
    #[command(after_help = runs::EXAMPLES)]
    Runs(runs::RunsArgs),
    /// Measure latency, transactions and throughput between sockets.
    #[command(after_help = crate::sock::args::EXAMPLES)]
    Sock(Box<crate::sock::args::SockArgs>),
    /// Boot a KVM host with an SR-IOV NIC in a virtual machine.
    #[command(subcommand, after_help = crate::lab::args::ABOUT)]
    Lab(crate::lab::args::LabCommand),
    /// Print the completions of a shell.
    #[command(after_help = COMPLETIONS)]
    Completions {
        /// Shell: bash, zsh, fish, elvish or powershell.
        #[arg(value_name = "SHELL", value_parser = shell, hide_possible_values = true, help_heading = heading::WHAT)]
        shell: clap_complete::Shell,
    },
    /// Write manual pages.
    #[command(hide = true)]
    Man {
        /// Directory for the pages.
        #[arg(value_name = "DIR")]
        dir: PathBuf,
    },
    /// Play a part inside a guest of nicety.
    #[command(hide = true)]
    GuestInit {
        /// The part.
        part: String,
    },
}

const COMPLETIONS: &str = "Examples:
  source <(nicety completions bash)    in this shell
  nicety completions zsh > ~/.zfunc/_nicety
  nicety completions fish > ~/.config/fish/completions/nicety.fish";

/// Whether the command line asks for a bisection, right or wrong.
pub fn is_bisect() -> bool {
    let mut words = std::env::args_os().skip(1);
    words
        .find(|word| !word.as_encoded_bytes().starts_with(b"-"))
        .is_some_and(|word| word == "bisect")
}

/// What a host is called in results and on pages.
#[derive(Debug, Args)]
#[command(next_help_heading = heading::OUTPUT)]
pub struct NamingArgs {
    /// Add this name to results and pages, beside the host's own name.
    #[arg(long, value_name = "TEXT", value_parser = label)]
    pub label: Option<String>,
    /// Leave the host's name out of results and pages, to publish them.
    #[arg(long)]
    pub no_hostname: bool,
}

impl NamingArgs {
    /// The name and label that results get.
    pub fn naming(&self) -> Naming {
        Naming {
            hostname: (!self.no_hostname).then(fingerprint::hostname).flatten(),
            label: self.label.clone(),
        }
    }
}

fn label(text: &str) -> Result<String, String> {
    let plain = !text.trim().is_empty() && text.chars().count() <= 80;
    if plain && !text.chars().any(char::is_control) {
        Ok(text.trim().to_owned())
    } else {
        Err("write 1 to 80 characters on one line".to_owned())
    }
}

/// A duration that is `wrong` outside of the bounds.
fn time(text: &str, bounds: impl RangeBounds<Duration>, wrong: &str) -> Result<Duration, String> {
    let time = parse_duration(text).map_err(|error| error.to_string())?;
    if bounds.contains(&time) {
        Ok(time)
    } else {
        Err(format!("{text:?} {wrong}"))
    }
}

/// What has a text of its own; any other is `wrong`.
pub fn parsed<T: FromStr>(text: &str, wrong: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("{text:?} {wrong}"))
}

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3600);

/// `--window`: long enough for a counter to move, and short enough to be waited for.
fn window(text: &str) -> Result<Duration, String> {
    time(text, SECOND / 10..=HOUR, "is not between 100ms and 1h")
}

/// A shell.
fn shell(text: &str) -> Result<clap_complete::Shell, String> {
    let wrong = "is not a shell known here; write bash, zsh, fish, elvish or powershell";
    parsed(text, wrong)
}

/// An address to listen on.
fn listen(text: &str) -> Result<SocketAddr, String> {
    let wrong =
        "is not an address with a port; write one as in \"127.0.0.1:9471\" or \"[::]:9471\"";
    parsed(text, wrong)
}
