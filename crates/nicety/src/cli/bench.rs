//! The command line of `nicety bench`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use nicety_model::plan::Preset;
use nicety_model::{EngineChoice, FateMode, Verdict};
use nicety_port::probes::Stamps;

use super::output::FormatArgs;
use super::what::WhatArgs;
use super::{NamingArgs, SECOND, heading, listen, parsed, runs, time, words};

/// Below the help of `nicety bench`.
pub const EXAMPLES: &str = "Examples:
  nicety bench                         a kernel bridge, seven frame sizes, 4 min
  nicety bench plans/bridge-default.toml -o runs/mine
  nicety bench eth1 eth2               whatever lies between two interfaces
  nicety bench --path macvlan          another path made for it
  nicety bench plan.toml --preset std -t 2h
  nicety bench --resume runs/mine      go on after Ctrl-C, even after kill -9
  nicety bench plan.toml --keep nightly     store the run for nicety runs trend
  nicety bench --strict -q --format csv     for scripts: one row per cell, and the exit code
  nicety bench -j | jq '.cells[].throughput_fps'";

/// `nicety bench`.
#[derive(Debug, Args)]
pub struct BenchArgs {
    /// What is measured.
    #[command(flatten)]
    pub what: WhatArgs,
    /// Go on with an interrupted run.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["words", "path", "preset", "fate", "seed"], help_heading = heading::WHAT)]
    pub resume: Option<PathBuf>,
    /// Send and count with this engine.
    #[arg(long, value_name = "NAME", default_value_t, value_parser = words::ENGINE, help_heading = heading::HOW)]
    pub engine: EngineChoice,
    /// Take latency from these time stamps.
    #[arg(long, value_name = "KIND", default_value_t, value_parser = words::STAMPS, help_heading = heading::HOW)]
    pub stamps: Stamps,
    /// Search the throughput this way. Without it, the plan decides.
    #[arg(long, value_name = "NAME", value_parser = words::PRESET, help_heading = heading::HOW)]
    pub preset: Option<Preset>,
    /// Follow lost frames to where the kernel drops them, and with hops find out where frames wait, in trials of
    /// their own. Without it, the plan decides.
    #[arg(long, value_name = "MODE", value_parser = words::FATE, help_heading = heading::HOW)]
    pub fate: Option<FateMode>,
    /// Spend at most this long. The report says what was left out.
    #[arg(short = 't', long = "for", value_name = "TIME", value_parser = time_box, help_heading = heading::HOW)]
    pub time_box: Option<Duration>,
    /// Use this seed for the random order of cells, to repeat a run exactly.
    #[arg(long, value_name = "N", value_parser = seed, help_heading = heading::HOW)]
    pub seed: Option<u64>,
    /// Write the results to this directory, which must be new or empty. Default: a new one in runs/.
    #[arg(short, long, value_name = "DIR", conflicts_with = "resume", help_heading = heading::OUTPUT)]
    pub out: Option<PathBuf>,
    /// Store the finished run in the history, with a label if one is given; see nicety runs.
    /// $NICETY_STORE names the history. An interrupted run is not stored.
    #[arg(long, value_name = "LABEL", num_args = 0..=1, default_missing_value = "", value_parser = kept, help_heading = heading::OUTPUT)]
    pub keep: Option<String>,
    /// Show progress on a web page too. Anyone who can reach the address may look.
    #[arg(long, value_name = "ADDRESS:PORT", num_args = 0..=1, require_equals = true,
        default_missing_value = "127.0.0.1:9470", value_parser = port_or_address, help_heading = heading::OUTPUT)]
    pub listen: Option<SocketAddr>,
    /// The format of the results.
    #[command(flatten)]
    pub format: FormatArgs,
    /// What the host is called.
    #[command(flatten)]
    pub naming: NamingArgs,
    /// Which results make the exit code 1.
    #[command(flatten)]
    pub demand: DemandArgs,
}

/// Which results make the exit code 1.
#[derive(Debug, Args)]
#[command(next_help_heading = heading::EXIT)]
pub struct DemandArgs {
    /// Exit with 1 also when a result has one of these verdicts, as in noisy,unstable.
    #[arg(long, value_name = "VERDICTS", value_delimiter = ',', value_parser = words::VERDICT)]
    pub fail_on: Vec<Verdict>,
    /// Exit with 1 unless every cell has a result that is ok or wide.
    #[arg(long)]
    pub strict: bool,
}

/// `--keep`: empty without a label.
fn kept(text: &str) -> Result<String, String> {
    if text.is_empty() {
        return Ok(String::new());
    }
    if text.ends_with(".toml") {
        return Err(format!(
            "{text:?} looks like a plan; write the plan before --keep"
        ));
    }
    runs::label(text)
}

/// `--for`: less fits no trial.
fn time_box(text: &str) -> Result<Duration, String> {
    let wrong = "is too short to measure anything; write at least \"1s\"";
    time(text, SECOND.., wrong)
}

/// `--seed`.
fn seed(text: &str) -> Result<u64, String> {
    let wrong = "is not a seed; write a whole number, as printed with the results";
    parsed(text, wrong)
}

/// `--listen`: a port alone is one of this host's loopback.
fn port_or_address(text: &str) -> Result<SocketAddr, String> {
    match text.parse::<u16>() {
        Ok(port) => Ok(SocketAddr::from((std::net::Ipv4Addr::LOCALHOST, port))),
        Err(_) => listen(text),
    }
}
