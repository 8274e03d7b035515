//! `nicety load` on the command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use nicety_model::{EngineChoice, EngineName, Fps, FrameSize, soak};

use super::{SECOND, heading, parsed, time, trace, words};

/// Below the help of `nicety load`.
pub const EXAMPLES: &str = "Examples:
  nicety load eth1 eth2 --rate 200k         from eth1 to eth2, until Ctrl-C
  nicety load eth1 eth2 --rate 50k --flows 16 --bi --for 30s
  nicety load --rate 100k                   over a kernel bridge made for it
  nicety load eth1 eth2 --lost-pcap lost.pcapng   then: tcpdump -r lost.pcapng
  nicety load eth1 eth2 --for 10s --json | jq 'select(.kind == \"interval\") | .frames.lost'

Keys on a terminal: + and - change the rate by 10 %, * and / double and halve it. Digits and Enter set it \
(200k), p pauses, q quits. Each key ends the interval under way.

The file of --lost-pcap has each of the first lost frames as it was sent, made again from its number. It also has \
the frames that arrived before and after it. A comment on each says which.

Exit code 4: interrupted before the end that --for asked for.";

/// `nicety load`.
#[derive(Debug, Args)]
pub struct LoadArgs {
    /// Send from this interface. Without ports, load a kernel bridge made by nicety.
    #[arg(value_name = "A", requires = "to", help_heading = heading::WHAT)]
    pub from: Option<String>,
    /// Receive at this interface.
    #[arg(value_name = "B", help_heading = heading::WHAT)]
    pub to: Option<String>,
    /// Send so many frames per second and direction.
    #[arg(long, value_name = "FPS", default_value = "10k", value_parser = rate, help_heading = heading::HOW)]
    pub rate: Fps,
    /// Send from B to A too.
    #[arg(long, help_heading = heading::HOW)]
    pub bi: bool,
    /// Send so many flows by turns, and count each: up to 65536.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=65536), help_heading = heading::HOW)]
    pub flows: u32,
    /// Send frames of this size in bytes, FCS included.
    #[arg(long, value_name = "BYTES", default_value = "64", value_parser = trace::size, help_heading = heading::HOW)]
    pub size: FrameSize,
    /// Print a line so often.
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = every, help_heading = heading::HOW)]
    pub every: Duration,
    /// End after this time.
    #[arg(long = "for", value_name = "TIME", value_parser = trace::length, help_heading = heading::HOW)]
    pub length: Option<Duration>,
    /// Send and count with this engine.
    #[arg(long, value_name = "NAME", default_value_t = EngineChoice::Only(EngineName::AfPacket), value_parser = words::ENGINE, help_heading = heading::HOW)]
    pub engine: EngineChoice,
    /// Write the neighbours of the first lost frames to this file (pcapng). It needs engine af_packet.
    #[arg(long, value_name = "FILE", help_heading = heading::OUTPUT)]
    pub lost_pcap: Option<PathBuf>,
    /// Write those of at most so many lost frames.
    #[arg(long, value_name = "N", default_value = "100", requires = "lost_pcap", value_parser = lost_frames, help_heading = heading::OUTPUT)]
    pub lost_frames: usize,
    /// Print a line of JSON for each interval and for the summary.
    #[arg(short, long, help_heading = heading::OUTPUT)]
    pub json: bool,
}

fn rate(text: &str) -> Result<Fps, String> {
    soak::rate(text).map_err(|error| error.to_string())
}

/// `--every`: late frames are waited for after each interval.
fn every(text: &str) -> Result<Duration, String> {
    let bounds = SECOND / 10..=60 * SECOND;
    time(text, bounds, "is not between 100ms and 60s")
}

/// `--lost-frames`: all of an interval are held in memory.
fn lost_frames(text: &str) -> Result<usize, String> {
    let wrong = "is no number of frames; write 1 to 10000";
    let count: usize = parsed(text, wrong)?;
    match (1..=10_000).contains(&count) {
        true => Ok(count),
        false => Err(format!("{text:?} {wrong}")),
    }
}
