//! `nicety guest` on the command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use nicety_model::BitRate;
use nicety_model::plan::parse_duration;
use nicety_police::guest::soft_limit;

pub const EXAMPLES: &str = "Examples:
  nicety guest status                      what this guest sends and may send, as the host sees it
  nicety guest limit 200mbit               never send more, until this is changed
  nicety guest limit 50mbit --for 10m      for a while
  nicety guest limit none";

/// The parts.
#[derive(Debug, Subcommand)]
pub enum GuestCommand {
    /// Tells what this guest sends, wants, and may send.
    Status(ChannelArgs),
    /// Sets this guest's own soft limit: freely up to the hard one, never above; exit code 1 when
    /// the host refuses.
    Limit(LimitArgs),
}

/// `nicety guest status`.
#[derive(Debug, Args)]
pub struct ChannelArgs {
    /// The host's socket or virtio-serial port, or vsock:2 for its vsock [default:
    /// /run/nicety/guest.sock, else /dev/virtio-ports/org.nicety.guest].
    #[arg(long, value_name = "PATH")]
    pub channel: Option<PathBuf>,
    /// Print the host's answer as one JSON object on standard output.
    #[arg(long)]
    pub json: bool,
}

/// `nicety guest limit`.
#[derive(Debug, Args)]
pub struct LimitArgs {
    /// Highest rate, as in 200mbit; none takes the limit away.
    #[arg(value_name = "RATE", value_parser = rate)]
    pub rate: BitRate,
    /// How long the limit, or none, holds before the last one without --for does again; without it
    /// until it is changed.
    #[arg(long = "for", value_name = "TIME", value_parser = parse_duration)]
    pub lease: Option<Duration>,
    /// Where to ask.
    #[command(flatten)]
    pub at: ChannelArgs,
}

/// A soft limit: 0 for `none`, and for nothing else.
fn rate(text: &str) -> Result<BitRate, String> {
    soft_limit(text).map(Option::unwrap_or_default)
}
