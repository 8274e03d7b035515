//! `nicety drops` on the command line.

use std::time::Duration;

use clap::Args;

use super::output::FormatArgs;
use super::{heading, window};

/// Below the help of `nicety drops`.
pub const EXAMPLES: &str = "Examples:
  nicety drops                        what the kernel drops in ten seconds, and whose packets these are
  nicety drops tap0 --window 1m       of one port
  nicety drops libvirt:web01/net0     of a guest
  nicety drops --watch --window 1s    again and again, until Ctrl-C
  nicety drops -j | jq '.owners[0]'

It needs CAP_BPF and CAP_PERFMON; CAP_SYSLOG adds the kernel's functions.
Exit code 4: interrupted; what was seen is printed.";

/// `nicety drops`.
#[derive(Debug, Args)]
pub struct DropsArgs {
    /// Count packets of this interface, guest or other owner only; names such as libvirt:web01/net0 are found.
    #[arg(value_name = "WHOSE", help_heading = heading::WHAT)]
    pub only: Option<String>,
    /// Watch for this time.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = window, help_heading = heading::HOW)]
    pub window: Duration,
    /// Print again after each window, until Ctrl-C; with --json a line for each.
    #[arg(long, help_heading = heading::HOW)]
    pub watch: bool,
    /// Show at most this many places in the table.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..), help_heading = heading::OUTPUT)]
    pub top: u16,
    /// The format on standard output.
    #[command(flatten)]
    pub format: FormatArgs,
}
