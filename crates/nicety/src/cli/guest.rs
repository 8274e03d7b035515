//! `nicety guest` on the command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use nicety_model::BitRate;
use nicety_model::plan::parse_duration;
use nicety_police::guest::soft_limit;

use super::heading;
use super::output::JsonArgs;

/// Below the help of `nicety guest` and its commands.
pub const EXAMPLES: &str = "Examples:
  nicety guest status                      what the host sees this guest send
  nicety guest limit 200mbit               never send more, until this is changed
  nicety guest limit 50mbit --for 10m      for a while
  nicety guest limit none";

const LIMIT_EXAMPLES: &str = "Examples:
  nicety guest limit 200mbit
  nicety guest limit 50mbit --for 10m      for a while
  nicety guest limit none                  take the limit away

Exit code 1: the host refuses.";

/// The parts.
#[derive(Debug, Subcommand)]
pub enum GuestCommand {
    /// Show what this guest sends, wants, and may send.
    #[command(after_help = EXAMPLES)]
    Status(ChannelArgs),
    /// Set this guest's own soft limit, up to the hard limit of the host.
    #[command(after_help = LIMIT_EXAMPLES)]
    Limit(LimitArgs),
}

/// `nicety guest status`.
#[derive(Debug, Args)]
pub struct ChannelArgs {
    /// Ask the host through this socket or virtio-serial port, or through vsock:2. Default:
    /// /run/nicety/guest.sock, else /dev/virtio-ports/org.nicety.guest.
    #[arg(long, value_name = "PATH", help_heading = heading::HOW)]
    pub channel: Option<PathBuf>,
    /// JSON or text.
    #[command(flatten)]
    pub output: JsonArgs,
}

/// `nicety guest limit`.
#[derive(Debug, Args)]
pub struct LimitArgs {
    /// Highest rate, as in 200mbit; none takes the limit away.
    #[arg(value_name = "RATE", value_parser = rate, help_heading = heading::WHAT)]
    pub rate: BitRate,
    /// Hold the limit for this time, then go back to the last one that was set without --for.
    #[arg(long = "for", value_name = "TIME", value_parser = parse_duration, help_heading = heading::HOW)]
    pub lease: Option<Duration>,
    /// Where to ask.
    #[command(flatten)]
    pub at: ChannelArgs,
}

/// A soft limit: 0 for `none`, and for nothing else.
fn rate(text: &str) -> Result<BitRate, String> {
    soft_limit(text).map(Option::unwrap_or_default)
}
