//! `nicety tune` on the command line.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use nicety_model::finding::Goal;
use nicety_model::measured::MeasuredTarget;

use super::state::StateArgs;
use super::{HOUR, SECOND, time};

pub const EXAMPLES: &str = "Examples:
  nicety tune plan                           what is wrong, what would be right, and why
  nicety tune plan --goal latency --rtt 20ms
  nicety tune plan --window 10s              under load: also what drops, and interrupts per second
  nicety tune plan --sysroot host1           a host recorded with nicety inspect --record
  nicety tune apply --only T04,T12           change it; it goes back in 60 s unless confirmed
  nicety tune apply --only T21 --measure plan.toml     keep it only if it helps here
  nicety tune confirm                        keep it
  nicety tune verify                         does it still hold?
  nicety tune persist                        keep it over the next boot
  nicety tune rollback                       undo it";

/// The steps of tuning.
#[derive(Debug, Subcommand)]
pub enum TuneCommand {
    /// Show findings and the changes they lead to; change nothing.
    Plan(PlanArgs),
    /// Change the settings; they go back by themselves unless confirmed in time.
    Apply(ApplyArgs),
    /// Keep what was applied.
    Confirm(TransactionArgs),
    /// Undo the last transaction that fits here, or all.
    Rollback(RollbackArgs),
    /// Check whether what was applied still holds; exit code 1 when it does not.
    Verify(TransactionArgs),
    /// List what was applied and what became of it.
    History(HistoryArgs),
    /// Write the files that keep confirmed settings over the next boot.
    Persist(PersistArgs),
    /// Set what persist keeps where it does not hold; the boot unit runs it.
    Boot(BootArgs),
    /// Wait for the confirmation of a transaction, and undo it without.
    #[command(hide = true)]
    Guard(GuardArgs),
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
    /// Address of a host at the far end of the path. A larger MTU stays only if it answers packets of
    /// that size which must not be fragmented.
    #[arg(long, value_name = "ADDRESS")]
    pub peer: Option<IpAddr>,
    /// Look on for this time first, 100ms to 1h: rules about drops and interrupts need counters that
    /// move, under the load that matters.
    #[arg(long, value_name = "TIME", value_parser = super::window)]
    pub window: Option<Duration>,
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
    /// Read a recorded host below this directory, or in a captured file, instead of this one.
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

/// `nicety tune apply`.
#[derive(Debug, Args)]
pub struct ApplyArgs {
    /// Plan written by nicety tune plan --json; without one the host is looked at now.
    pub plan: Option<PathBuf>,
    /// What the rules are asked.
    #[command(flatten)]
    pub ask: Ask,
    /// Undo everything unless it is confirmed within this time.
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = confirm_within)]
    pub confirm_within: Duration,
    /// Measure this plan of nicety bench before and after, in turn; keep the changes only when they
    /// gain, and more than noise explains.
    #[arg(long, value_name = "BENCH_PLAN")]
    pub measure: Option<PathBuf>,
    /// What is to become better: throughput, latency, or forwarding-rate, the most that came through at
    /// any load, also where no search ends [default: as the goal says].
    #[arg(
        long,
        value_name = "NUMBER",
        requires = "measure",
        value_enum,
        hide_possible_values = true
    )]
    pub by: Option<By>,
    /// How often before and after are measured.
    #[arg(long, value_name = "N", default_value_t = 3, requires = "measure", value_parser = clap::value_parser!(u32).range(2..=20))]
    pub pairs: u32,
    /// Directory of the measurements [default: a new one in runs/].
    #[arg(long, value_name = "DIR", requires = "measure")]
    pub out: Option<PathBuf>,
    /// Where the journals are.
    #[command(flatten)]
    pub state: StateArgs,
    /// Print the transaction as one JSON object on standard output.
    #[arg(long)]
    pub json: bool,
}

/// `nicety tune confirm` and `verify`.
#[derive(Debug, Args)]
pub struct TransactionArgs {
    /// Transaction; the last one that fits when left out.
    pub id: Option<u32>,
    /// Where the journals are.
    #[command(flatten)]
    pub state: StateArgs,
    /// Print the transaction as one JSON object on standard output.
    #[arg(long)]
    pub json: bool,
}

/// `nicety tune rollback`.
#[derive(Debug, Args)]
pub struct RollbackArgs {
    /// Which transaction.
    #[command(flatten)]
    pub transaction: TransactionArgs,
    /// Overwrite values that somebody else has set since.
    #[arg(long)]
    pub force: bool,
    /// Undo everything in this network namespace, the newest first; with --json an object for each.
    #[arg(long, conflicts_with = "id")]
    pub all: bool,
}

/// `nicety tune history`.
#[derive(Debug, Args)]
pub struct HistoryArgs {
    /// Where the journals are.
    #[command(flatten)]
    pub state: StateArgs,
    /// Print all transactions as one JSON object on standard output.
    #[arg(long)]
    pub json: bool,
}

/// `nicety tune persist`.
#[derive(Debug, Args)]
pub struct PersistArgs {
    /// Plan to keep; without one what was confirmed since the last boot, or with --sysroot what
    /// the rules say.
    pub plan: Option<PathBuf>,
    /// What the rules are asked.
    #[command(flatten)]
    pub ask: Ask,
    /// Only this transaction.
    #[arg(long, value_name = "ID", conflicts_with_all = ["plan", "sysroot"])]
    pub transaction: Option<u32>,
    /// Read a recorded host below this directory, and write below it.
    #[arg(long, value_name = "DIR")]
    pub sysroot: Option<PathBuf>,
    /// What to write: files of systemd, udev, the module loader and libvirt, or a profile of tuned.
    #[arg(long, value_enum, default_value = "files", value_name = "FORMAT")]
    pub format: Format,
    /// Show the files, write nothing.
    #[arg(long, conflicts_with = "json")]
    pub dry_run: bool,
    /// Take all files away again.
    #[arg(long, conflicts_with_all = ["plan", "transaction", "format"])]
    pub remove: bool,
    /// Where the journals are.
    #[command(flatten)]
    pub state: StateArgs,
    /// Print what was done as one JSON object on standard output.
    #[arg(long)]
    pub json: bool,
}

/// The number that `--measure` compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum By {
    /// Highest load within the plan's loss goal.
    Throughput,
    /// Most frames that came through at any load: also where no search ends, as on a busy host.
    ForwardingRate,
    /// 99th percentile.
    Latency,
}

impl From<By> for MeasuredTarget {
    fn from(by: By) -> Self {
        match by {
            By::Throughput => Self::Throughput,
            By::ForwardingRate => Self::ForwardingRate,
            By::Latency => Self::LatencyP99,
        }
    }
}

/// What `persist` writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// sysctl.d, systemd .link, udev rules, modprobe.d, modules-load.d, a boot unit, libvirt XML.
    Files,
    /// A profile of tuned.
    Tuned,
}

/// `nicety tune boot`.
#[derive(Debug, Args)]
pub struct BootArgs {
    /// Only look; exit code 1 when something is not as it is kept.
    #[arg(long)]
    pub check: bool,
    /// Read this file instead of /etc/nicety/tune.json.
    #[arg(long, value_name = "FILE")]
    pub kept: Option<PathBuf>,
    /// Where the journals are.
    #[command(flatten)]
    pub state: StateArgs,
}

/// `nicety tune guard`.
#[derive(Debug, Args)]
pub struct GuardArgs {
    /// Directory of the journals.
    #[arg(long)]
    pub state: PathBuf,
    /// Transaction.
    pub id: u32,
}

/// `--confirm-within`: a second to a day.
fn confirm_within(text: &str) -> Result<Duration, String> {
    time(text, SECOND..=24 * HOUR, "is not between 1s and 1 day")
}
