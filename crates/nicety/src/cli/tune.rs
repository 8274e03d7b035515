//! `nicety tune` on the command line.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use nicety_advisor::catalogue::is_named;
use nicety_model::finding::{Goal, Risk};
use nicety_model::fleet::GroupBy;
use nicety_model::measured::MeasuredTarget;

use super::output::{FormatArgs, JsonArgs};
use super::state::StateArgs;
use super::{HOUR, SECOND, heading, time, words};

pub const EXAMPLES: &str = "Examples:
  nicety tune plan                     what is wrong here, as a table
  nicety tune plan -v                  reasons, costs, and steps by hand
  nicety tune apply --fix-risk low     change what is safe; undone in 60 s
  nicety tune apply --confirm          keep it
  nicety tune status                   what is changed, since when, and whether it holds
  nicety tune undo                     as it was before
  nicety tune persist                  keep it over the next boot";
const PLAN_EXAMPLES: &str = "Several captures, or a folder of them, are compared: who has which finding, and who \
differs from its siblings, the hosts that should be the same. A host that would be alone joins those that differ \
from it in their ports or in their role alone. Of two captures of one host the newer counts.

Exit codes with captures: 0 all were read; 1 some could not be read; 2 none could be read, or wrong usage; 3 the \
output cannot be written.

Examples:
  nicety tune plan
  nicety tune plan -v --only T04             one rule, with reasons and sources
  nicety tune plan --fix-risk low            safe changes only
  nicety tune plan --goal latency --rtt 20ms
  nicety tune plan --window 10s              also drops, under your real load
  nicety tune plan host.json                 a host that nicety inspect -o recorded
  nicety tune plan captures/                 a whole folder of these
  nicety tune plan captures/ --html fleet.html
  nicety tune plan kvm*.json --group-by name
  nicety tune plan captures/ -j | jq -r '.hosts[] | select(.differs > 0).name'";
const APPLY_EXAMPLES: &str = "Examples:
  nicety tune apply --fix-risk low           change what is safe
  nicety tune apply --confirm                keep it
  nicety tune apply --only T04,T12 --for 5m
  nicety tune apply --only T14 --peer 192.0.2.7
  nicety tune apply --only T21 --measure plan.toml";
const UNDO_EXAMPLES: &str = "Examples:
  nicety tune undo                           the last transaction that fits here
  nicety tune undo 7 --force                 also what others changed since
  nicety tune undo --all";
const STATUS_EXAMPLES: &str = "Examples:
  nicety tune status
  nicety tune status -v                      past transactions with every setting
  nicety tune status --json | jq '.active[].settings | length'

Exit code 1: a setting does not hold any more.";
const PERSIST_EXAMPLES: &str = "Examples:
  nicety tune persist --dry-run              show the files first
  nicety tune persist                        keep what is confirmed
  nicety tune persist --format tuned         as a profile of tuned
  nicety tune persist --remove               forget all of it";

/// The steps of tuning.
#[derive(Debug, Subcommand)]
pub enum TuneCommand {
    /// Show what is wrong and what would be right, here or on recorded hosts; change nothing.
    #[command(after_help = PLAN_EXAMPLES)]
    Plan(PlanArgs),
    /// Change the settings; they go back by themselves unless confirmed in time.
    #[command(after_help = APPLY_EXAMPLES)]
    Apply(ApplyArgs),
    /// Undo the last transaction that fits here, or all.
    #[command(after_help = UNDO_EXAMPLES)]
    Undo(UndoArgs),
    /// Show what is changed, since when, by whom, whether it still holds, and what was changed before.
    #[command(after_help = STATUS_EXAMPLES)]
    Status(StatusArgs),
    /// Write the files that keep confirmed settings over the next boot.
    #[command(after_help = PERSIST_EXAMPLES)]
    Persist(PersistArgs),
    /// Reapply kept settings that have drifted; runs at boot.
    #[command(hide = true)]
    Boot(BootArgs),
    /// Wait for the confirmation of a transaction, and undo it without.
    #[command(hide = true)]
    Guard(GuardArgs),
}

/// What the rules are asked of the running host.
#[derive(Debug, Clone, Args)]
pub struct Ask {
    /// What they can be asked of a recorded one too.
    #[command(flatten)]
    pub known: AskRecorded,
    /// Test a larger MTU with this host at the far end of the path. It must answer whole packets of that
    /// size, or the old MTU comes back.
    #[arg(long, value_name = "ADDRESS", help_heading = heading::HOW)]
    pub peer: Option<IpAddr>,
    /// Watch the counters for this time first, 100ms to 1h, under your real load. Rules about drops and
    /// interrupts need it.
    #[arg(long, value_name = "TIME", value_parser = super::window, help_heading = heading::HOW)]
    pub window: Option<Duration>,
}

/// What the rules are asked.
#[derive(Debug, Clone, Args)]
pub struct AskRecorded {
    /// Tune for this goal.
    #[arg(long, default_value = "throughput", value_name = "GOAL", value_parser = words::GOAL, help_heading = heading::WHAT)]
    pub goal: Goal,
    /// Assume this round trip time of the connections that matter.
    #[arg(long, value_name = "TIME", value_parser = rtt_ms, help_heading = heading::HOW)]
    pub rtt: Option<f64>,
    /// Assume this rate of these connections in Mbit/s. Default: the rate of the fastest port.
    #[arg(long, value_name = "MBITS", value_parser = clap::value_parser!(u32).range(1..=10_000_000), help_heading = heading::HOW)]
    pub rate: Option<u32>,
    /// Assume that frames of 9000 bytes cross the whole path.
    #[arg(long, help_heading = heading::HOW)]
    pub jumbo_path: bool,
    /// Use these rules only: ids or names, as in T04,ring.
    #[arg(long, value_name = "RULES", value_delimiter = ',', value_parser = rule, help_heading = heading::WHAT)]
    pub only: Vec<String>,
    /// Keep findings of at most this risk.
    #[arg(long, value_name = "RISK", value_parser = words::RISK, help_heading = heading::WHAT)]
    pub fix_risk: Option<Risk>,
}

/// `nicety tune plan`.
#[derive(Debug, Args)]
pub struct PlanArgs {
    /// Read recorded hosts instead of this one: files and directories of nicety inspect -o,
    /// or folders with these.
    #[arg(value_name = "CAPTURE", conflicts_with_all = ["peer", "window"], help_heading = heading::WHAT)]
    pub captures: Vec<PathBuf>,
    /// What the rules are asked.
    #[command(flatten)]
    pub ask: Ask,
    /// Compare hosts that share these traits; several with commas [default: cpu,nic,role].
    #[arg(long, value_name = "TRAITS", value_delimiter = ',', value_parser = words::GROUP_BY, requires = "captures", help_heading = heading::HOW)]
    pub group_by: Vec<Option<GroupBy>>,
    /// The format on standard output.
    #[command(flatten)]
    pub format: FormatArgs,
    /// Write a page of the hosts with filters to this file; `-` is standard output.
    #[arg(long, value_name = "FILE", requires = "captures", help_heading = heading::OUTPUT)]
    pub html: Option<PathBuf>,
}

/// Longest round trip that is believed, in ms: a geostationary satellite takes 600.
const LONGEST_MS: f64 = 10_000.0;

/// `--rtt`, in ms.
fn rtt_ms(text: &str) -> Result<f64, String> {
    let wrong = || format!("{text:?} is not a round trip time; write it as 0.2ms, 20ms or 1s");
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
    let mut rules = nicety_advisor::RULES.iter();
    match rules.find(|rule| is_named(rule, text)) {
        Some(_) => Ok(text.to_ascii_lowercase()),
        None => Err(format!(
            "{text:?} is not a rule; write ids such as T04 or names such as irq-affinity (nicety explain T lists all)"
        )),
    }
}

/// `nicety tune apply`.
#[derive(Debug, Args)]
pub struct ApplyArgs {
    /// Apply this plan of nicety tune plan --json; without one, nicety checks the host now.
    #[arg(help_heading = heading::WHAT)]
    pub plan: Option<PathBuf>,
    /// What the rules are asked.
    #[command(flatten)]
    pub ask: Ask,
    /// Keep what was applied: the transaction that waits, or this one.
    #[arg(long, value_name = "ID", num_args = 0..=1, help_heading = heading::WHAT, conflicts_with_all =
        ["plan", "goal", "rtt", "rate", "jumbo_path", "only", "fix_risk", "peer", "window", "confirm_within", "measure"])]
    pub confirm: Option<Option<u32>>,
    /// Undo everything unless it is confirmed within this time.
    #[arg(long = "for", value_name = "TIME", default_value = "60s", value_parser = confirm_within, help_heading = heading::HOW)]
    pub confirm_within: Duration,
    /// Measure this plan of nicety bench before and after, in turn. Keep the changes only if they gain
    /// more than noise explains.
    #[arg(long, value_name = "BENCH_PLAN", help_heading = heading::HOW)]
    pub measure: Option<PathBuf>,
    /// Compare this number. Default: what the goal says.
    #[arg(
        long = "metric",
        value_name = "NAME",
        requires = "measure",
        value_enum, help_heading = heading::HOW)]
    pub by: Option<By>,
    /// Measure this often before and after.
    #[arg(long = "repeats", value_name = "N", default_value_t = 3, requires = "measure", value_parser = clap::value_parser!(u32).range(2..=20), help_heading = heading::HOW)]
    pub pairs: u32,
    /// Write the measurements to this directory [default: a new one in runs/].
    #[arg(short, long, value_name = "DIR", requires = "measure", help_heading = heading::OUTPUT)]
    pub out: Option<PathBuf>,
    /// Where the journals are.
    #[command(flatten)]
    pub state: StateArgs,
    /// JSON or text.
    #[command(flatten)]
    pub output: JsonArgs,
}

/// `nicety tune undo`.
#[derive(Debug, Args)]
pub struct UndoArgs {
    /// Transaction; the last one that fits when left out.
    #[arg(help_heading = heading::WHAT)]
    pub id: Option<u32>,
    /// Overwrite values that somebody else has set since.
    #[arg(long, help_heading = heading::HOW)]
    pub force: bool,
    /// Undo everything in this network namespace, the newest first; with --json an object for each.
    #[arg(long, conflicts_with = "id", help_heading = heading::WHAT)]
    pub all: bool,
    /// Where the journals are.
    #[command(flatten)]
    pub state: StateArgs,
    /// JSON or text.
    #[command(flatten)]
    pub output: JsonArgs,
}

/// `nicety tune status`.
#[derive(Debug, Args)]
pub struct StatusArgs {
    /// Where the journals are.
    #[command(flatten)]
    pub state: StateArgs,
    /// The format on standard output.
    #[command(flatten)]
    pub format: FormatArgs,
}

/// `nicety tune persist`.
#[derive(Debug, Args)]
pub struct PersistArgs {
    /// Keep this plan; without one, what was confirmed since the last boot. With --sysroot, what the
    /// rules find.
    #[arg(help_heading = heading::WHAT)]
    pub plan: Option<PathBuf>,
    /// What the rules are asked.
    #[command(flatten)]
    pub ask: Ask,
    /// Keep this transaction only.
    #[arg(long, value_name = "ID", conflicts_with_all = ["plan", "sysroot"], help_heading = heading::WHAT)]
    pub transaction: Option<u32>,
    /// Read a recorded host below this directory, and write below it.
    #[arg(long, value_name = "DIR", help_heading = heading::WHAT)]
    pub sysroot: Option<PathBuf>,
    /// Write files of systemd, udev, the module loader and libvirt, or a profile of tuned.
    #[arg(long, value_enum, default_value = "files", value_name = "FORMAT", help_heading = heading::OUTPUT)]
    pub format: Format,
    /// Show the files, write nothing.
    #[arg(long, conflicts_with = "json", help_heading = heading::HOW)]
    pub dry_run: bool,
    /// Remove all files again.
    #[arg(long, conflicts_with_all = ["plan", "transaction", "format"], help_heading = heading::HOW)]
    pub remove: bool,
    /// Where the journals are.
    #[command(flatten)]
    pub state: StateArgs,
    /// JSON or text.
    #[command(flatten)]
    pub output: JsonArgs,
}

/// The number that `--measure` compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum By {
    /// Highest load within the plan's loss goal.
    Throughput,
    /// Most frames that came through at any load; works on a busy host too.
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
    /// Check only; exit with 1 when a setting has drifted.
    #[arg(long, help_heading = heading::HOW)]
    pub check: bool,
    /// Read this file instead of /etc/nicety/tune.json.
    #[arg(long, value_name = "FILE", help_heading = heading::WHAT)]
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

/// `--for`: a second to a day.
fn confirm_within(text: &str) -> Result<Duration, String> {
    time(text, SECOND..=24 * HOUR, "is not between 1s and 1 day")
}
