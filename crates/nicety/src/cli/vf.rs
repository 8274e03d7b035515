//! `nicety vf` on the command line.

use std::time::Duration;

use clap::{Args, Subcommand};
use nicety_model::BitRate;
use nicety_packet::MacAddr;

use super::output::FormatArgs;
use super::state::StateArgs;
use super::{HOUR, SECOND, time};

pub const EXAMPLES: &str = "Examples:
  nicety vf list                          NICs, their functions, who holds them, what drivers can
  nicety vf stats                         rates and counters, measured for a second
  nicety vf stats eth0 --json
  nicety vf watch                         the same again and again
  nicety vf pacing tap0                   gaps between what it sends: paced, or in bursts
  nicety vf limit eth0 3 --max 500mbit    virtual function 3 of eth0
  nicety vf limit tap0 --max 200mbit      what the owner of a tap, veth or macvtap sends
  nicety vf limit vhu0 --max 200mbit      the same of a vhost-user port of Open vSwitch
  nicety vf limit tap0 --max none
  nicety tune rollback                    undo the last one";

/// The parts.
#[derive(Debug, Subcommand)]
pub enum VfCommand {
    /// Lists NICs with virtual functions, what their drivers can do, and ports that can be
    /// limited.
    List(ListArgs),
    /// Counters and rates of functions and ports, named from their owners' side.
    Stats(StatsArgs),
    /// Show rates again and again; on a terminal on the full screen, where q ends it and ? lists the keys.
    Watch(WatchArgs),
    /// Shows the gaps between what a sender sends: whether it is paced at its limit or sends in
    /// bursts.
    Pacing(PacingArgs),
    /// Limits what a virtual function, or the owner of a tap, veth, macvtap or vhost-user port of Open
    /// vSwitch, may send.
    Limit(LimitArgs),
}

/// `nicety vf list`.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// Only this NIC or port.
    #[arg(value_name = "INTERFACE")]
    pub interface: Option<String>,
    /// The format on standard output.
    #[command(flatten)]
    pub format: FormatArgs,
    /// Where the daemon's state is, with its tenants and their limits.
    #[command(flatten)]
    pub state: StateArgs,
}

/// `nicety vf stats`.
#[derive(Debug, Args)]
pub struct StatsArgs {
    /// Only this NIC or port.
    #[arg(value_name = "INTERFACE")]
    pub interface: Option<String>,
    /// Time between the two samples that rates are made of.
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = window)]
    pub over: Duration,
    /// The format on standard output.
    #[command(flatten)]
    pub format: FormatArgs,
}

/// `nicety vf watch`.
#[derive(Debug, Args)]
pub struct WatchArgs {
    /// Only this NIC or port.
    #[arg(value_name = "INTERFACE")]
    pub interface: Option<String>,
    /// Time between two samples.
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = window)]
    pub every: Duration,
    /// End after so many samples.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub times: Option<u64>,
    /// Print a JSON object a line for each sample, as vf stats --json does.
    #[arg(long)]
    pub json: bool,
}

/// `nicety vf pacing`.
#[derive(Debug, Args)]
pub struct PacingArgs {
    /// Tap, veth or macvtap whose owner sends, looked at behind its limit; or any interface that
    /// frames arrive at, as that of a NIC with virtual functions.
    #[arg(value_name = "INTERFACE")]
    pub interface: String,
    /// How long to look.
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = look)]
    pub over: Duration,
    /// Only frames from this hardware address, as that of a virtual function.
    #[arg(long, value_name = "MAC")]
    pub from: Option<MacAddr>,
    /// Look at what this host sends through the interface instead.
    #[arg(long)]
    pub sent: bool,
    /// Print one JSON object on standard output.
    #[arg(long)]
    pub json: bool,
}

/// `nicety vf limit`.
#[derive(Debug, Args)]
pub struct LimitArgs {
    /// NIC whose function is meant, or a tap, veth, macvtap or vhost-user port of Open vSwitch.
    #[arg(value_name = "INTERFACE")]
    pub interface: String,
    /// Number of the virtual function.
    pub vf: Option<u32>,
    /// Highest rate, as in 500mbit; none takes the limit away.
    #[arg(long, value_name = "RATE", value_parser = limit)]
    pub max: BitRate,
    /// Lowest rate in whole Mbit/s, of drivers that have one; without it the one found stays.
    #[arg(long, value_name = "RATE", value_parser = limit, requires = "vf")]
    pub min: Option<BitRate>,
    /// How long to look afterwards whether the limit holds; 0s not at all.
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = window_or_none)]
    pub verify: Duration,
    /// Where the journals are.
    #[command(flatten)]
    pub state: StateArgs,
    /// Print one JSON object on standard output.
    #[arg(long)]
    pub json: bool,
}

/// A rate, or `none`.
fn limit(text: &str) -> Result<BitRate, String> {
    if text == "none" {
        return Ok(BitRate(0));
    }
    text.parse::<BitRate>().map_err(|error| error.to_string())
}

fn window(text: &str) -> Result<Duration, String> {
    window_or_none(text)?;
    let wrong = "is too short to count; write at least \"100ms\"";
    time(text, SECOND / 10.., wrong)
}

fn look(text: &str) -> Result<Duration, String> {
    window(text)?;
    let wrong = "is more than memory is kept for; write at most \"60s\"";
    time(text, ..=60 * SECOND, wrong)
}

fn window_or_none(text: &str) -> Result<Duration, String> {
    time(
        text,
        ..=HOUR,
        "is longer than an hour; write a shorter time",
    )
}
