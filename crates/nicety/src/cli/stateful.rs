//! `nicety stateful` on the command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use nicety_model::stateful::TableStage;
use nicety_model::{Fps, soak};
use nicety_packet::Tuples;

use super::output::FormatArgs;
use super::what::WhatArgs;
use super::{NamingArgs, SECOND, heading, parsed, time, words};

/// Below the help of `nicety stateful`.
pub const EXAMPLES: &str = "Examples:
  nicety stateful                           a router with source NAT made for it, about 10 min
  nicety stateful --only setup --for 200ms --repeats 1
  nicety stateful --only capacity --most 2M
  nicety stateful --nat hosts=8,addresses=2  many hosts behind few addresses
  nicety stateful --html table.html         draw how the table fills, and the goodput
  nicety stateful plan.toml --cell routed,flowtable=on/64/uni
  nicety stateful --json | jq '.setup.per_s'

It follows RFC 9693. Setup: the highest rate at which every connection is opened, answered, and counted by the \
kernel. Capacity: the most connections that all stay. Teardown: the rate at which they are removed. Goodput: \
frames per second on open connections, few and many, answered and not.

The kernel's table has a limit for the host: sysctl net.netfilter.nf_conntrack_max. A full table is named, and is \
no loss.

Exit codes: 0 done; 1 a figure failed or is not valid; 4 interrupted: what was measured is printed.";

/// `nicety stateful`.
#[derive(Debug, Args)]
pub struct StatefulArgs {
    /// A plan or path of kind routed that has nat or a flowtable. Without one, measure source NAT.
    #[command(flatten)]
    pub what: WhatArgs,
    /// Measure this cell of a plan with several: its name, the start of its name, or its number.
    #[arg(long, value_name = "CELL", help_heading = heading::WHAT)]
    pub cell: Option<String>,
    /// Measure only this, as in setup,capacity.
    #[arg(long, value_name = "WHAT", value_delimiter = ',', value_parser = words::TABLE_STAGE, help_heading = heading::WHAT)]
    pub only: Vec<TableStage>,
    /// Open so many connections for teardown and goodput. Default: 1M, or 90 % of the table.
    #[arg(long, value_name = "N", value_parser = connections, help_heading = heading::HOW)]
    pub connections: Option<u64>,
    /// Look for the capacity up to so many connections.
    #[arg(long, value_name = "N", default_value = "4M", value_parser = connections, help_heading = heading::HOW)]
    pub most: u64,
    /// Translate so many hosts to so many addresses, each with so many ports. Default:
    /// hosts=1, as many addresses as their ports need, all 64512 ports from 1024 on.
    #[arg(long, value_name = "hosts=N,addresses=N,ports=N", default_value = "hosts=1", hide_default_value = true, value_parser = nat, help_heading = heading::HOW)]
    pub nat: NatShape,
    /// Try no higher rate than this, per second and direction.
    #[arg(long, value_name = "RATE", default_value = "2M", value_parser = rate, help_heading = heading::HOW)]
    pub rate: Fps,
    /// Send for so long in a trial.
    #[arg(long = "for", value_name = "TIME", default_value = "1s", value_parser = trial, help_heading = heading::HOW)]
    pub trial: Duration,
    /// Search each rate so often; the interval is that of the repeats.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=99), help_heading = heading::HOW)]
    pub repeats: u32,
    /// Let goodput lose this share of frames, as in 0.1%.
    #[arg(long, value_name = "SHARE", default_value = "0%", value_parser = loss, help_heading = heading::HOW)]
    pub loss: f64,
    /// What the host is called.
    #[command(flatten)]
    pub naming: NamingArgs,
    /// The format on standard output.
    #[command(flatten)]
    pub format: FormatArgs,
    /// Write an HTML page to this file; `-` is standard output.
    #[arg(long, value_name = "FILE", help_heading = heading::OUTPUT)]
    pub html: Option<PathBuf>,
}

/// The shape of translation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NatShape {
    /// Hosts that connect, from 1.
    pub hosts: u32,
    /// Addresses that their sources are translated to; without it as many as their ports need.
    pub addresses: Option<u32>,
    /// Ports of each address; without it all from 1024 on.
    pub ports: Option<u16>,
}

fn nat(text: &str) -> Result<NatShape, String> {
    const PORTS: u32 = 64_512;
    let wrong = || {
        let most = Tuples::HOSTS_MAX;
        format!(
            "{text:?} is not a shape of translation; write hosts and addresses up to {most}, ports up to {PORTS}, as in hosts=8,addresses=2"
        )
    };
    let mut shape = NatShape {
        hosts: 1,
        addresses: None,
        ports: None,
    };
    for part in text.split(',') {
        let (key, number) = part.split_once('=').ok_or_else(wrong)?;
        let number: u32 = number.parse().ok().filter(|n| *n > 0).ok_or_else(wrong)?;
        match key {
            "hosts" if number <= Tuples::HOSTS_MAX => shape.hosts = number,
            "addresses" if number <= Tuples::HOSTS_MAX => shape.addresses = Some(number),
            "ports" if number <= PORTS => shape.ports = u16::try_from(number).ok(),
            _ => return Err(wrong()),
        }
    }
    Ok(shape)
}

/// A whole number of connections, with `k` or `M` behind it.
fn connections(text: &str) -> Result<u64, String> {
    let most = Tuples::MAX - 1;
    let wrong = || {
        format!("{text:?} is not a number of connections from 1 to {most}, as in 50000, 200k or 1M")
    };
    let Fps(count) = soak::rate(text).map_err(|_| wrong())?;
    if count.fract() == 0.0 && count <= most as f64 {
        Ok(count as u64)
    } else {
        Err(wrong())
    }
}

/// `--rate`: the lowest rate that is tried is a thousand.
fn rate(text: &str) -> Result<Fps, String> {
    let wrong = || format!("{text:?} is not a rate from 1k to 100M per second, as in 200k or 1.5M");
    let rate = soak::rate(text).map_err(|_| wrong())?;
    if (1e3..=1e8).contains(&rate.0) {
        Ok(rate)
    } else {
        Err(wrong())
    }
}

fn trial(text: &str) -> Result<Duration, String> {
    time(
        text,
        SECOND / 20..=60 * SECOND,
        "is not between 50ms and 60s",
    )
}

fn loss(text: &str) -> Result<f64, String> {
    let wrong = "is not a share of frames; write 0% to 10%, as in 0.1%";
    let digits = text.strip_suffix('%').unwrap_or_default();
    let percent: f64 = parsed(digits, wrong).map_err(|_| format!("{text:?} {wrong}"))?;
    if (0.0..=10.0).contains(&percent) {
        Ok(percent / 100.0)
    } else {
        Err(format!("{text:?} {wrong}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_and_nonsense_is_refused() {
        assert_eq!(connections("200k"), Ok(200_000));
        assert_eq!(connections("1M"), Ok(1_000_000));
        for wrong in ["0", "0.5", "1.5", "-1", "17M", "many", "", "NaN"] {
            assert!(connections(wrong).is_err(), "{wrong}");
        }
        assert_eq!(rate("1k"), Ok(Fps(1e3)));
        for wrong in ["0", "999", "101M", "inf", "-5k", ""] {
            assert!(rate(wrong).is_err(), "{wrong}");
        }
        let shape = NatShape {
            hosts: 8,
            addresses: Some(2),
            ports: None,
        };
        assert_eq!(nat("hosts=8,addresses=2"), Ok(shape));
        for wrong in ["8", "hosts=0", "ports=64513", "hosts=-1", "guests=2", ""] {
            assert!(nat(wrong).is_err(), "{wrong}");
        }
        assert_eq!(loss("0.1%"), Ok(0.001));
        for wrong in ["0.1", "11%", "-1%", "NaN%", "%", ""] {
            assert!(loss(wrong).is_err(), "{wrong}");
        }
    }
}
