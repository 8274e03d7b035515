//! `nicety trace` on the command line.

use std::time::Duration;

use clap::Args;
use nicety_model::flow::FlowFilter;
use nicety_model::{EngineChoice, EngineName, Fps, FrameSize};

use super::what::WhatArgs;
use super::{HOUR, heading, time, words};

/// Below the help of `nicety trace`.
pub const EXAMPLES: &str = "Examples:
  nicety trace eth1 eth2                    frames from eth1 to eth2, until Ctrl-C
  nicety trace eth1 eth2 --count 10         ten of them
  nicety trace eth1 eth2 --only lost        print those that do not arrive
  nicety trace --for 5s                     over a kernel bridge made for it
  nicety trace eth1 eth2 --json | jq 'select(.kind == \"frame\") | .end'
  nicety trace guests.toml --cell 2         over a path of a plan, through its guests too
  nicety trace --follow-flow tcp,any,192.0.2.1:443  first packets of connections to a server

It needs root. The last line sums up. Frames go one way; swap the ports for the other.
Exit code 4: interrupted before the end that --count or --for asked for.";

/// Highest rate: all sightings of a burst are kept.
const RATE_MAX: f64 = 10_000.0;
/// Most frames.
const COUNT_MAX: u64 = 10_000_000;

/// `nicety trace`.
#[derive(Debug, Args)]
pub struct TraceArgs {
    /// What frames are followed over.
    #[command(flatten)]
    pub what: WhatArgs,
    /// Take this one of several paths: the name of its cell, the start of it, or its number.
    #[arg(long, value_name = "CELL", help_heading = heading::WHAT)]
    pub cell: Option<String>,
    /// Send nothing, and follow the first packets of sockets between two ends through this host: TCP SYN, and the first UDP
    /// datagram. Name tcp, udp or any, then both ends: an address, a port as in any:53, or both.
    #[arg(long, value_name = "FLOW", conflicts_with_all = ["words", "path", "rate", "size", "engine"], help_heading = heading::WHAT)]
    pub follow_flow: Option<FlowFilter>,
    /// Print all frames, or those that were lost.
    #[arg(long, value_name = "WHICH", default_value = "all", value_parser = words::ONLY, help_heading = heading::WHAT)]
    pub only: Only,
    /// Send so many frames per second in bursts of a quarter of a second, up to 10k. Late frames are waited for
    /// after each burst.
    #[arg(long, value_name = "FPS", default_value = "1k", value_parser = rate, help_heading = heading::HOW)]
    pub rate: Fps,
    /// End after this many frames.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=COUNT_MAX), help_heading = heading::HOW)]
    pub count: Option<u64>,
    /// End after this time.
    #[arg(long = "for", value_name = "TIME", value_parser = length, help_heading = heading::HOW)]
    pub length: Option<Duration>,
    /// Send frames of this size in bytes, FCS included.
    #[arg(long, value_name = "BYTES", default_value = "64", value_parser = size, help_heading = heading::HOW)]
    pub size: FrameSize,
    /// Send and count with this engine.
    #[arg(long, value_name = "NAME", default_value_t = EngineChoice::Only(EngineName::AfPacket), value_parser = words::ENGINE, help_heading = heading::HOW)]
    pub engine: EngineChoice,
    /// Print a line of JSON for each frame and for the summary.
    #[arg(short, long, help_heading = heading::OUTPUT)]
    pub json: bool,
}

/// Which frames are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Only {
    /// All.
    All,
    /// Those that did not arrive.
    Lost,
}

/// `--rate`: `1k` is a thousand.
fn rate(text: &str) -> Result<Fps, String> {
    let (digits, by) = match text.strip_suffix(['k', 'K']) {
        Some(digits) => (digits, 1e3),
        None => (text, 1.0),
    };
    let rate = digits.trim().parse::<f64>().map(|rate| rate * by);
    match rate {
        Ok(rate) if (1.0..=RATE_MAX).contains(&rate) => Ok(Fps(rate)),
        _ => Err(format!(
            "{text:?} is not between 1 and 10k frames per second"
        )),
    }
}

/// `--for`.
pub fn length(text: &str) -> Result<Duration, String> {
    let wrong = "is not between 100ms and 24h";
    time(text, Duration::from_millis(100)..=24 * HOUR, wrong)
}

/// `--size`.
pub fn size(text: &str) -> Result<FrameSize, String> {
    let wrong =
        || format!("{text:?} is not a frame size; write bytes with the FCS, as in 64 or 1518");
    let bytes = text.parse::<u16>().map_err(|_| wrong())?;
    FrameSize::new(bytes).map_err(|error| error.to_string())
}
