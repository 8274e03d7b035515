//! `nicety tune` on the command line.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use nicety_model::finding::Goal;

pub const EXAMPLES: &str = "Examples:
  nicety tune plan                           what is wrong, what would be right, and why
  nicety tune plan --goal latency
  nicety tune plan --rtt 20ms                TCP buffers for connections of 20 ms
  nicety tune plan --sysroot host1           a host recorded with nicety inspect --record
  nicety tune plan --only T04,T12 --json > plan.json";

/// `nicety tune`.
#[derive(Debug, Args)]
pub struct TuneArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: TuneCommand,
}

/// The steps of tuning.
#[derive(Debug, Subcommand)]
pub enum TuneCommand {
    /// Shows findings and the changes they lead to; changes nothing.
    Plan(PlanArgs),
}

/// What the rules are asked.
#[derive(Debug, Clone, Args)]
pub struct Ask {
    /// What the host is to be good at: throughput, latency or forwarding.
    #[arg(long, default_value = "throughput", value_name = "GOAL")]
    pub goal: Goal,
    /// Round trip time of the connections that matter.
    #[arg(long, value_name = "TIME", value_parser = rtt_ms)]
    pub rtt: Option<f64>,
    /// Rate of these connections in Mbit/s instead of the fastest port's.
    #[arg(long, value_name = "MBITS", value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    pub rate: Option<u32>,
    /// Frames of 9000 bytes have been tried on the whole path.
    #[arg(long)]
    pub jumbo_path: bool,
    /// Only these rules: ids or names.
    #[arg(long, value_name = "RULES", value_delimiter = ',', value_parser = rule)]
    pub only: Vec<String>,
}

/// `nicety tune plan`.
#[derive(Debug, Args)]
pub struct PlanArgs {
    /// What the rules are asked.
    #[command(flatten)]
    pub ask: Ask,
    /// Read a recorded host below this directory instead of this one.
    #[arg(long, value_name = "DIR")]
    pub sysroot: Option<PathBuf>,
    /// Print the plan as one JSON object on standard output.
    #[arg(long)]
    pub json: bool,
}

/// Longest round trip that is believed, in ms: a geostationary satellite takes 600.
const LONGEST_MS: f64 = 10_000.0;

/// `--rtt`, in ms.
fn rtt_ms(text: &str) -> Result<f64, String> {
    let wrong = || format!("{text:?} is no round trip time; write it as 0.2ms, 20ms or 1s");
    let (number, factor) = [("us", 0.001), ("ms", 1.0), ("s", 1000.0)]
        .iter()
        .find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, factor)))
        .ok_or_else(wrong)?;
    let number: f64 = number.trim().parse().map_err(|_| wrong())?;
    let rtt = number * factor;
    if rtt > 0.0 && rtt <= LONGEST_MS {
        Ok(rtt)
    } else {
        Err(wrong())
    }
}

/// `--only`: a rule there is.
fn rule(text: &str) -> Result<String, String> {
    let known = |rule: &&nicety_advisor::Rule| {
        rule.id.eq_ignore_ascii_case(text) || rule.name.eq_ignore_ascii_case(text)
    };
    match nicety_advisor::RULES.iter().find(known) {
        Some(_) => Ok(text.to_ascii_lowercase()),
        None => Err(format!(
            "{text:?} is no rule; write ids such as T04 or names such as irq-affinity"
        )),
    }
}
