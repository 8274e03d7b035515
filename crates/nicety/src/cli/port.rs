//! `nicety port` on the command line.

use std::time::Duration;

use clap::{Args, Subcommand};
use nicety_model::BitRate;
use nicety_packet::MacAddr;

use super::output::{FormatArgs, JsonArgs};
use super::state::StateArgs;
use super::{HOUR, SECOND, heading, time};

pub const EXAMPLES: &str = "Examples:
  nicety port list                          ports, their owners, traffic and limits
  nicety port list --watch                  the same, again and again
  nicety port limit tap0 200mbit            limit the owner of a tap
  nicety port limit eth0/vf3 none           remove the limit of a virtual function
  nicety port functions eth0 4              give eth0 four virtual functions
  nicety tune undo                      undo the last change";
const LIST_EXAMPLES: &str = "Examples:
  nicety port list
  nicety port list -v                       settings and counters too
  nicety port list eth0 --window 10s --json | jq '.nics[].functions[].holder'
  nicety port list --watch=500ms --count 20 --json";
const FUNCTIONS_EXAMPLES: &str = "Examples:
  nicety port functions eth0 4
  nicety port functions eth0 0              remove them all
  nicety tune undo                      as it was before
  nicety tune persist                       keep it over the next boot";
const PACING_EXAMPLES: &str = "Examples:
  nicety port pacing tap0
  nicety port pacing eth0 --from 02:00:00:00:00:03 --window 10s";
const LIMIT_EXAMPLES: &str = "Examples:
  nicety port limit tap0 200mbit            the owner of a tap, veth or macvtap
  nicety port limit eth0/vf3 500mbit        virtual function 3 of eth0
  nicety port limit libvirt:web01/net0 200mbit
  nicety port limit vhu0 200mbit            a vhost-user port of Open vSwitch
  nicety port limit tap0 none";

/// No rate.
const NONE: &str = "none";

/// The parts.
#[derive(Debug, Subcommand)]
pub enum PortCommand {
    /// List ports: who owns each, what it sends and receives, and its limit.
    #[command(after_help = LIST_EXAMPLES)]
    List(ListArgs),
    /// Limit what the owner of a tap, veth, macvtap, virtual function or vhost-user port may send.
    #[command(after_help = LIMIT_EXAMPLES)]
    Limit(LimitArgs),
    /// Set the number of virtual functions of a NIC; undone by nicety tune undo.
    #[command(after_help = FUNCTIONS_EXAMPLES)]
    Functions(FunctionsArgs),
    /// Show the gaps between the frames of a sender: is it paced at its limit, or does it send in bursts?
    #[command(after_help = PACING_EXAMPLES)]
    Pacing(PacingArgs),
}

/// `nicety port list`.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// Show this NIC or port only; names such as libvirt:web01/net0 are found.
    #[arg(value_name = "PORT", help_heading = heading::WHAT)]
    pub port: Option<String>,
    /// Measure rates for this time; 0s lists at once, without rates.
    #[arg(long = "window", value_name = "TIME", default_value = "1s", value_parser = over, help_heading = heading::HOW)]
    pub over: Duration,
    /// Show rates again and again, this often [default: 1s]. On a terminal they fill the screen: q ends
    /// it, ? lists the keys.
    #[arg(long, value_name = "EVERY", num_args = 0..=1, require_equals = true, default_missing_value = "1s",
        value_parser = super::window, conflicts_with = "over", help_heading = heading::HOW)]
    pub watch: Option<Duration>,
    /// End after this many samples.
    #[arg(long = "count", value_name = "N", requires = "watch", value_parser = clap::value_parser!(u64).range(1..), help_heading = heading::HOW)]
    pub times: Option<u64>,
    /// The format on standard output.
    #[command(flatten)]
    pub format: FormatArgs,
    /// Where journals and state are.
    #[command(flatten)]
    pub state: StateArgs,
}

/// `nicety port functions`. The kernel makes all functions anew: those that somebody uses are refused.
#[derive(Debug, Args)]
pub struct FunctionsArgs {
    /// NIC that gets the functions. Its link may be down for some seconds.
    #[arg(value_name = "NIC", help_heading = heading::WHAT)]
    pub nic: String,
    /// Number of virtual functions; 0 removes all.
    #[arg(value_name = "N", value_parser = functions, help_heading = heading::WHAT)]
    pub count: u32,
    /// Where journals and state are.
    #[command(flatten)]
    pub state: StateArgs,
    /// JSON or text.
    #[command(flatten)]
    pub output: JsonArgs,
}

/// `nicety port pacing`.
#[derive(Debug, Args)]
pub struct PacingArgs {
    /// Tap, veth or macvtap whose owner sends; nicety looks behind its limit. Or any interface that
    /// receives the frames, such as a NIC with virtual functions. Names such as libvirt:web01/net0 are found.
    #[arg(value_name = "INTERFACE", help_heading = heading::WHAT)]
    pub interface: String,
    /// Watch for this time.
    #[arg(long = "window", value_name = "TIME", default_value = "2s", value_parser = look, help_heading = heading::HOW)]
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

/// `nicety port limit`.
#[derive(Debug, Args)]
pub struct LimitArgs {
    /// Tap, veth, macvtap or vhost-user port of Open vSwitch, a virtual function such as eth0/vf3, or a name
    /// such as libvirt:web01/net0.
    #[arg(value_name = "PORT", help_heading = heading::WHAT)]
    pub port: String,
    /// Limit to this rate, as in 500mbit; none removes the limit. With --min alone, the old one stays.
    #[arg(value_name = "RATE", value_parser = limit, required_unless_present = "min", help_heading = heading::WHAT)]
    pub max: Option<BitRate>,
    /// Give a virtual function at least this rate in whole Mbit/s, where the driver can. Without it, the old
    /// one stays.
    #[arg(long, value_name = "RATE", value_parser = least, help_heading = heading::HOW)]
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
    super::parsed(text, "is not a number of functions; write 0 or more")
}

/// A rate, or `none`. A rate of 0 is none of both: in a policy it is refused for the same reason.
fn limit(text: &str) -> Result<BitRate, String> {
    match least(text)? {
        BitRate(0) if text != NONE => Err(format!(
            "{text:?} lets nothing through; write {NONE} to remove the limit, or set the port down"
        )),
        rate => Ok(rate),
    }
}

/// A rate of which any may be guaranteed, or `none`.
fn least(text: &str) -> Result<BitRate, String> {
    if text == NONE {
        return Ok(BitRate(0));
    }
    text.parse::<BitRate>().map_err(|error| error.to_string())
}

/// `--window`: a time, or no time at all.
fn over(text: &str) -> Result<Duration, String> {
    match window_or_none(text)? {
        Duration::ZERO => Ok(Duration::ZERO),
        _ => super::window(text),
    }
}

/// What fits into the memory.
fn look(text: &str) -> Result<Duration, String> {
    time(
        text,
        SECOND / 10..=60 * SECOND,
        "is not between 100ms and 60s",
    )
}

fn window_or_none(text: &str) -> Result<Duration, String> {
    time(
        text,
        ..=HOUR,
        "is longer than an hour; write a shorter time",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_of_nothing_is_no_word_for_no_limit() {
        assert_eq!(limit("none"), Ok(BitRate(0)));
        assert_eq!(limit("5mbit"), Ok(BitRate::from_mbit(5)));
        for zero in ["0mbit", "0bit", "0gbit", "0.0kbit"] {
            let error = limit(zero).unwrap_err();
            assert!(
                error.contains("lets nothing through; write none"),
                "{error}"
            );
            assert_eq!(least(zero), Ok(BitRate(0)));
        }
    }
}
