//! `nicety load` on the command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use nicety_model::soak::{LoadWish, LoadWishError};
use nicety_model::{EngineChoice, FateMode, FrameSize};

use super::what::WhatArgs;
use super::{HOUR, NamingArgs, SECOND, heading, time, trace, words};

/// Below the help of `nicety load`.
pub const EXAMPLES: &str = "Examples:
  nicety load eth1 eth2 --rate 200k         from eth1 to eth2, until Ctrl-C
  nicety load eth1 eth2 --rate 50k --flows 16 --bi --for 30s
  nicety load --rate 100k                   over a kernel bridge made for it
  nicety load plan.toml --cell 2 --rate 50k  over a path of a plan
  nicety load eth1 eth2 --lost-pcap lost.pcapng   then: tcpdump -r lost.pcapng
  nicety load eth1 eth2 --rate 80% --for 8h --out night    all night, kept in night
  nicety load --resume night                go on after Ctrl-C, kill -9 or a reboot
  nicety load plan.toml --for 8h -o night --fail-on loss,gap -q    for scripts
  nicety load --for 10s --json | jq 'select(.kind == \"interval\") | .frames.lost'

Keys on a terminal, without --out: + and - change the rate by 10 %, * and / double and halve it. Digits and Enter \
set it (200k), p pauses, q quits. Each key ends the interval under way.

The file of --lost-pcap has each of the first lost frames as it was sent, made again from its number. It also has \
the frames that arrived before and after it. A comment on each says which.

--out keeps less than 1 MB an hour. Frames of a restart are a gap, and no loss.
Exit codes: 0 done; 1 less than 97 % of the load was sent, or with --fail-on; 4 interrupted before the end that --for asked for.";

/// `nicety load`.
#[derive(Debug, Args)]
pub struct LoadArgs {
    /// What is loaded.
    #[command(flatten)]
    pub what: WhatArgs,
    /// Load this cell of a plan with several: its name, the start of its name, or its number.
    #[arg(long, value_name = "CELL", help_heading = heading::WHAT)]
    pub cell: Option<String>,
    /// Go on with a load that --out kept and that was ended or killed; --for may be given anew.
    #[arg(
        long,
        value_name = "DIR",
        conflicts_with_all = ["words", "path", "cell", "rate", "bi", "flows", "size", "every", "engine"],
        help_heading = heading::WHAT
    )]
    pub resume: Option<PathBuf>,
    /// Send so much: 200k is frames per second and direction. With --out, 80% is a share of the throughput,
    /// which is searched first, and 80%max one of the highest load: the line rate, or what the tester sends
    /// without the path. Default: 10k, with --out 80%.
    #[arg(long, value_name = "RATE", value_parser = rate, help_heading = heading::HOW)]
    pub rate: Option<LoadWish>,
    /// Send from B to A too.
    #[arg(long, help_heading = heading::HOW)]
    pub bi: bool,
    /// Send so many flows by turns, and count each: up to 65536. Default: 1.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65536), help_heading = heading::HOW)]
    pub flows: Option<u32>,
    /// Send frames of this size in bytes, FCS included. Default: 64.
    #[arg(long, value_name = "BYTES", value_parser = trace::size, help_heading = heading::HOW)]
    pub size: Option<FrameSize>,
    /// Count and print so often. Late frames are waited for after each interval, at least 40 ms. Default: 1s,
    /// with --out 10s.
    #[arg(long, value_name = "TIME", value_parser = every, help_heading = heading::HOW)]
    pub every: Option<Duration>,
    /// End after this time, drains included.
    #[arg(long = "for", value_name = "TIME", value_parser = length, help_heading = heading::HOW)]
    pub length: Option<Duration>,
    /// Send and count with this engine. Default: af_packet, with --out auto.
    #[arg(long, value_name = "NAME", value_parser = words::ENGINE, help_heading = heading::HOW)]
    pub engine: Option<EngineChoice>,
    /// Follow every lost frame to where the kernel drops it.
    #[arg(long, value_name = "MODE", default_value = "auto", value_parser = words::LOAD_FATE, help_heading = heading::HOW)]
    pub fate: FateMode,
    /// Keep what is measured in this directory, which must be new or empty; needs --for.
    #[arg(short, long, value_name = "DIR", requires = "length", conflicts_with = "resume", help_heading = heading::OUTPUT)]
    pub out: Option<PathBuf>,
    /// Write the neighbours of the first 100 lost frames to this file (pcapng). It needs engine af_packet.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["out", "resume"], help_heading = heading::OUTPUT)]
    pub lost_pcap: Option<PathBuf>,
    /// Print a line of JSON for each interval, alarm and gap, and for the summary.
    #[arg(short, long, help_heading = heading::OUTPUT)]
    pub json: bool,
    /// What the host is called.
    #[command(flatten)]
    pub naming: NamingArgs,
    /// Exit with 1 when one of these happened, as in loss,gap.
    #[arg(long, value_name = "WHAT", value_delimiter = ',', value_parser = words::LOAD_FAILURE, help_heading = heading::EXIT)]
    pub fail_on: Vec<LoadFailure>,
}

/// What makes the exit code 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadFailure {
    /// A lost frame that says something about the path.
    Loss,
    /// A time of which nothing is known.
    Gap,
    /// An interval that missed its load or was counted badly.
    Invalid,
}

fn rate(text: &str) -> Result<LoadWish, String> {
    text.parse()
        .map_err(|error: LoadWishError| error.to_string())
}

/// `--every`: the numbers of all frames of an interval are kept in memory.
fn every(text: &str) -> Result<Duration, String> {
    let bounds = SECOND / 10..=60 * SECOND;
    time(text, bounds, "is not between 100ms and 60s")
}

/// `--for`, in days too, which measurements do not have.
fn length(text: &str) -> Result<Duration, String> {
    const MOST_DAYS: u32 = 365;
    let day = 24 * HOUR;
    let wrong = || format!("{text:?} is not between 100ms and {MOST_DAYS}d, as in 30s, 8h or 7d");
    let length = match text.strip_suffix('d') {
        Some(days) => days
            .parse::<u32>()
            .ok()
            .and_then(|days| day.checked_mul(days)),
        None => nicety_model::plan::parse_duration(text).ok(),
    };
    let fits = |length: &Duration| (SECOND / 10..=day * MOST_DAYS).contains(length);
    length.filter(fits).ok_or_else(wrong)
}
