//! `nicety vf` on the command line.

use std::time::Duration;

use clap::{Args, Subcommand};
use nicety_model::BitRate;
use nicety_packet::MacAddr;

use super::output::{FormatArgs, JsonArgs};
use super::state::StateArgs;
use super::{HOUR, SECOND, heading, time};

pub const EXAMPLES: &str = "Examples:
  nicety vf list                          NICs, their functions, who holds them
  nicety vf enable eth0 4                 give eth0 four virtual functions
  nicety vf stats                         rates and counters
  nicety vf watch                         the same, again and again
  nicety vf limit eth0 3 --max 500mbit    limit virtual function 3 of eth0
  nicety vf limit tap0 --max none         remove the limit of a tap
  nicety tune rollback                    undo the last change";
const LIST_EXAMPLES: &str = "Examples:
  nicety vf list
  nicety vf list eth0 --json | jq '.nics[].functions[].holder'";
const ENABLE_EXAMPLES: &str = "Examples:
  nicety vf enable eth0 4
  nicety tune rollback                    as it was before
  nicety tune persist                     keep it over the next boot";
const DISABLE_EXAMPLES: &str = "Examples:
  nicety vf disable eth0
  nicety tune rollback                    bring them back";
const STATS_EXAMPLES: &str = "Examples:
  nicety vf stats
  nicety vf stats eth0 --over 10s --json";
const WATCH_EXAMPLES: &str = "Examples:
  nicety vf watch
  nicety vf watch eth0 --every 500ms --times 20 --json";
const PACING_EXAMPLES: &str = "Examples:
  nicety vf pacing tap0
  nicety vf pacing eth0 --from 02:00:00:00:00:03 --over 10s";
const LIMIT_EXAMPLES: &str = "Examples:
  nicety vf limit eth0 3 --max 500mbit    virtual function 3 of eth0
  nicety vf limit tap0 --max 200mbit      the owner of a tap, veth or macvtap
  nicety vf limit libvirt:web01/net0 --max 200mbit
  nicety vf limit vhu0 --max 200mbit      a vhost-user port of Open vSwitch
  nicety vf limit tap0 --max none";

/// The parts.
#[derive(Debug, Subcommand)]
pub enum VfCommand {
    /// List NICs with virtual functions, what their drivers can do, and ports that can be limited.
    #[command(after_help = LIST_EXAMPLES)]
    List(ListArgs),
    /// Give a NIC virtual functions; undone by nicety tune rollback.
    #[command(after_help = ENABLE_EXAMPLES)]
    Enable(EnableArgs),
    /// Remove the virtual functions of a NIC; undone by nicety tune rollback.
    #[command(after_help = DISABLE_EXAMPLES)]
    Disable(DisableArgs),
    /// Show counters and rates of functions and ports, as their owners see them.
    #[command(after_help = STATS_EXAMPLES)]
    Stats(StatsArgs),
    /// Show rates again and again. On a terminal they fill the screen: q ends it, ? lists the keys.
    #[command(after_help = WATCH_EXAMPLES)]
    Watch(WatchArgs),
    /// Show the gaps between the frames of a sender: is it paced at its limit, or does it send in bursts?
    #[command(after_help = PACING_EXAMPLES)]
    Pacing(PacingArgs),
    /// Limit what a virtual function may send, or the owner of a tap, veth, macvtap or vhost-user port.
    #[command(after_help = LIMIT_EXAMPLES)]
    Limit(LimitArgs),
}

/// `nicety vf enable`. The kernel makes all functions anew: those that somebody uses are refused.
#[derive(Debug, Args)]
pub struct EnableArgs {
    /// NIC that gets the functions. Its link may be down for some seconds.
    #[arg(value_name = "INTERFACE", help_heading = heading::WHAT)]
    pub interface: String,
    /// Number of virtual functions.
    #[arg(value_name = "N", value_parser = functions, help_heading = heading::WHAT)]
    pub count: u32,
    /// Where the journals are, and how to print.
    #[command(flatten)]
    pub rest: ChangeArgs,
}

/// `nicety vf disable`.
#[derive(Debug, Args)]
pub struct DisableArgs {
    /// NIC that loses its functions.
    #[arg(value_name = "INTERFACE", help_heading = heading::WHAT)]
    pub interface: String,
    /// Where the journals are, and how to print.
    #[command(flatten)]
    pub rest: ChangeArgs,
}

/// Of commands that change the number of functions.
#[derive(Debug, Args)]
pub struct ChangeArgs {
    /// Where journals and state are.
    #[command(flatten)]
    pub state: StateArgs,
    /// JSON or text.
    #[command(flatten)]
    pub output: JsonArgs,
}

/// `nicety vf list`.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// Show this NIC or port only; names such as libvirt:web01/net0 are found.
    #[arg(value_name = "INTERFACE", help_heading = heading::WHAT)]
    pub interface: Option<String>,
    /// The format on standard output.
    #[command(flatten)]
    pub format: FormatArgs,
    /// Where journals and state are.
    #[command(flatten)]
    pub state: StateArgs,
}

/// `nicety vf stats`.
#[derive(Debug, Args)]
pub struct StatsArgs {
    /// Show this NIC or port only; names such as libvirt:web01/net0 are found.
    #[arg(value_name = "INTERFACE", help_heading = heading::WHAT)]
    pub interface: Option<String>,
    /// Measure rates for this time.
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = window, help_heading = heading::HOW)]
    pub over: Duration,
    /// The format on standard output.
    #[command(flatten)]
    pub format: FormatArgs,
}

/// `nicety vf watch`.
#[derive(Debug, Args)]
pub struct WatchArgs {
    /// Show this NIC or port only; names such as libvirt:web01/net0 are found.
    #[arg(value_name = "INTERFACE", help_heading = heading::WHAT)]
    pub interface: Option<String>,
    /// Take a sample this often.
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = window, help_heading = heading::HOW)]
    pub every: Duration,
    /// End after this many samples.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = heading::HOW)]
    pub times: Option<u64>,
    /// JSON or text.
    #[command(flatten)]
    pub output: JsonArgs,
}

/// `nicety vf pacing`.
#[derive(Debug, Args)]
pub struct PacingArgs {
    /// Tap, veth or macvtap whose owner sends; nicety looks behind its limit. Or any interface that
    /// receives the frames, such as a NIC with virtual functions. Names such as libvirt:web01/net0 are found.
    #[arg(value_name = "INTERFACE", help_heading = heading::WHAT)]
    pub interface: String,
    /// Watch for this time.
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = look, help_heading = heading::HOW)]
    pub over: Duration,
    /// Watch only frames from this hardware address, such as that of a virtual function.
    #[arg(long, value_name = "MAC", help_heading = heading::WHAT)]
    pub from: Option<MacAddr>,
    /// Look at what this host sends through the interface.
    #[arg(long, help_heading = heading::WHAT)]
    pub sent: bool,
    /// JSON or text.
    #[command(flatten)]
    pub output: JsonArgs,
}

/// `nicety vf limit`.
#[derive(Debug, Args)]
pub struct LimitArgs {
    /// NIC with the function, or a tap, veth, macvtap or vhost-user port of Open vSwitch, or a name of a port.
    #[arg(value_name = "INTERFACE", help_heading = heading::WHAT)]
    pub interface: String,
    /// Number of the virtual function.
    #[arg(help_heading = heading::WHAT)]
    pub vf: Option<u32>,
    /// Limit to this rate, as in 500mbit; none removes the limit.
    #[arg(long, value_name = "RATE", value_parser = limit, help_heading = heading::HOW)]
    pub max: BitRate,
    /// Give it at least this rate in whole Mbit/s, where the driver can. Without it, the old one stays.
    #[arg(long, value_name = "RATE", value_parser = limit, requires = "vf", help_heading = heading::HOW)]
    pub min: Option<BitRate>,
    /// Check for this time whether the limit holds; 0s skips the check.
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = window_or_none, help_heading = heading::HOW)]
    pub verify: Duration,
    /// Where journals and state are.
    #[command(flatten)]
    pub state: StateArgs,
    /// JSON or text.
    #[command(flatten)]
    pub output: JsonArgs,
}

/// A number of functions.
fn functions(text: &str) -> Result<u32, String> {
    let count = text.parse().ok().filter(|count| *count > 0);
    count.ok_or_else(|| {
        format!(
            "{text:?} is no number of functions; write 1 or more (nicety vf disable removes all)"
        )
    })
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
    let wrong = "is too long for the memory; write at most \"60s\"";
    time(text, ..=60 * SECOND, wrong)
}

fn window_or_none(text: &str) -> Result<Duration, String> {
    time(
        text,
        ..=HOUR,
        "is longer than an hour; write a shorter time",
    )
}
