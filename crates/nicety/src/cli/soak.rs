//! `nicety soak` on the command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use nicety_model::soak::{LoadWish, LoadWishError};
use nicety_model::{EngineChoice, FateMode};

use super::guest_args::GuestArgs;
use super::{HOUR, NamingArgs, SECOND, heading, time, words};

/// Below the help of `nicety soak`.
pub const EXAMPLES: &str = "Examples:
  nicety soak --for 10m                     a kernel bridge at 80 % of its throughput
  nicety soak --ports eth1,eth2 --load 200k --for 8h
  nicety soak plan.toml --cell vm,nic=virtio-net/64/uni --load 90% --for 1d
  nicety soak --resume runs/mine            go on after Ctrl-C, kill -9 or a reboot
  nicety soak plan.toml --for 8h --fail-on loss,gap -q    for scripts
  nicety soak --for 1h --json | jq 'select(.kind == \"alarm\")'

It keeps less than 1 MB an hour. Frames of a restart are a gap, and no loss.
Exit codes: 0 done; 1 with --fail-on; 4 interrupted: the result so far is kept.";

/// `nicety soak`.
#[derive(Debug, Args)]
pub struct SoakArgs {
    /// Plan with the path. Without one, load a kernel bridge with frames of 64 bytes.
    #[arg(help_heading = heading::WHAT)]
    pub plan: Option<PathBuf>,
    /// Load between two existing interfaces instead of a path made by nicety.
    #[arg(long, value_name = "A,B", help_heading = heading::WHAT)]
    pub ports: Option<String>,
    /// Load this cell of a plan with several: its name, the start of its name, or its number.
    #[arg(long, value_name = "CELL", help_heading = heading::WHAT)]
    pub cell: Option<String>,
    /// Go on with a soak that was ended or killed; --for may be given anew.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["plan", "ports", "cell", "load", "every", "engine"], help_heading = heading::WHAT)]
    pub resume: Option<PathBuf>,
    /// Send so much. 80% is a share of the throughput, which is searched first. 80%max is a share of the
    /// highest load: the line rate, or what the tester sends without the path. 200k is frames per second and
    /// direction.
    #[arg(long, value_name = "LOAD", default_value = "80%", value_parser = load, help_heading = heading::HOW)]
    pub load: LoadWish,
    /// Go on for so long, drains included.
    #[arg(long = "for", value_name = "TIME", required_unless_present = "resume", value_parser = length, help_heading = heading::HOW)]
    pub length: Option<Duration>,
    /// Count, print and check for loss so often. Late frames are waited for after each interval, at least 40 ms.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = every, help_heading = heading::HOW)]
    pub every: Duration,
    /// Send and count with this engine.
    #[arg(long, value_name = "NAME", default_value_t, value_parser = words::ENGINE, help_heading = heading::HOW)]
    pub engine: EngineChoice,
    /// Follow every lost frame to where the kernel drops it.
    #[arg(long, value_name = "MODE", default_value = "auto", value_parser = words::SOAK_FATE, help_heading = heading::HOW)]
    pub fate: FateMode,
    /// Where the parts of guests come from.
    #[command(flatten)]
    pub guests: GuestArgs,
    /// Write the results to this directory, which must be new or empty. Default: a new one in runs/.
    #[arg(short, long, value_name = "DIR", conflicts_with = "resume", help_heading = heading::OUTPUT)]
    pub out: Option<PathBuf>,
    /// Print a line of JSON for each interval, alarm and gap, and for the summary.
    #[arg(short, long, help_heading = heading::OUTPUT)]
    pub json: bool,
    /// What the host is called.
    #[command(flatten)]
    pub naming: NamingArgs,
    /// Exit with 1 when one of these happened, as in loss,gap.
    #[arg(long, value_name = "WHAT", value_delimiter = ',', value_parser = words::SOAK_FAILURE, help_heading = heading::EXIT)]
    pub fail_on: Vec<SoakFailure>,
}

/// What makes the exit code 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SoakFailure {
    /// A lost frame that says something about the path.
    Loss,
    /// A time of which nothing is known.
    Gap,
    /// An interval that missed its load or was counted badly.
    Invalid,
}

fn load(text: &str) -> Result<LoadWish, String> {
    text.parse()
        .map_err(|error: LoadWishError| error.to_string())
}

/// `--for`, in days too, which measurements do not have.
fn length(text: &str) -> Result<Duration, String> {
    const MOST_DAYS: u32 = 365;
    let day = 24 * HOUR;
    let wrong = || format!("{text:?} is not between 1s and {MOST_DAYS}d, as in 10m, 8h or 7d");
    let length = match text.strip_suffix('d') {
        Some(days) => days
            .parse::<u32>()
            .ok()
            .and_then(|days| day.checked_mul(days)),
        None => nicety_model::plan::parse_duration(text).ok(),
    };
    let fits = |length: &Duration| (SECOND..=day * MOST_DAYS).contains(length);
    length.filter(fits).ok_or_else(wrong)
}

/// `--every`: the numbers of all frames of an interval are kept in memory.
fn every(text: &str) -> Result<Duration, String> {
    time(text, SECOND..=60 * SECOND, "is not between 1s and 60s")
}
