//! `nicety police` with real packets: the two-machine experiment of the paper, three tenants on
//! one uplink, and what the daemon costs.
//!
//! `cargo bench -p nicety-benchmarks --bench police` prints a table and writes `bench/police-wire.json` under the
//! target directory. Everything happens in network namespaces of its own. Rates are what the receivers got, without
//! headers, in Mbit/s. `NICETY_BENCH_POLICE=two`, `reaction`, `begin`, `three`, `cost` or `neighbour` runs that
//! part alone; `NICETY_BENCH_ROUNDS`, `NICETY_BENCH_SECONDS` and `NICETY_BENCH_PORTS` make some shorter and smaller.

// A benchmark is an edge: it prints, reads its environment and writes files.
#![allow(clippy::print_stdout, clippy::print_stderr, missing_docs)]

mod begin;
mod cost;
mod flows;
mod neighbour;
mod reaction;
mod rig;

use std::ops::Range;
use std::time::Duration;

use anyhow::{Context, Result};
use nicety_benchmarks::figures::Figures;
use nicety_benchmarks::program::version;
use nicety_benchmarks::start::{is_asked_for, own_namespaces};
use serde_json::{Map, json};

use flows::{Flow, Kind};
use rig::Rig;

/// The uplink in Mbit/s.
const UPLINK: u64 = 200;
/// Between two samples; a fifth of the daemon's period.
const STEP: Duration = Duration::from_millis(100);
const STEPS_PER_PERIOD: usize = 5;
const TWO: [&str; 2] = [
    include_str!("../../../../policies/two-equal.toml"),
    include_str!("../../../../policies/two-shared.toml"),
];
const THREE: [&str; 2] = [
    include_str!("../../../../policies/three-equal.toml"),
    include_str!("../../../../policies/three-shared.toml"),
];
const AIMS: [(&str, f64); 5] = [
    ("reaction, periods until a flood is held", 2.0),
    ("three, nicety police, unused part of the uplink", 0.07),
    ("three, nicety police, missed by the small one", 0.02),
    ("cost, nicety police, share of a core", 0.01),
    ("cost, nicety police, MB", 20.0),
];

/// What keeps the tenants from each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Control {
    Nothing,
    /// Equal fixed limits.
    Fixed,
    Shared,
}

impl Control {
    const ALL: [Self; 3] = [Self::Nothing, Self::Fixed, Self::Shared];

    fn word(self) -> &'static str {
        match self {
            Self::Nothing => "no control",
            Self::Fixed => "equal limits",
            Self::Shared => "nicety police",
        }
    }

    /// Its policy of an experiment's two; none for no control.
    fn policy(self, [equal, shared]: [&str; 2]) -> Option<&str> {
        match self {
            Self::Nothing => None,
            Self::Fixed => Some(equal),
            Self::Shared => Some(shared),
        }
    }
}

/// A part and its name.
type Part = (&'static str, fn(&mut Figures) -> Result<()>);

const PARTS: [Part; 6] = [
    ("two", two),
    ("reaction", reaction::measure),
    ("begin", begin::measure),
    ("three", three),
    ("cost", cost::measure),
    ("neighbour", neighbour::measure),
];

fn main() -> Result<()> {
    if !is_asked_for("police") {
        return Ok(());
    }
    own_namespaces()?;
    let only = std::env::var("NICETY_BENCH_POLICE").unwrap_or_default();
    let mut figures = Figures::default();
    for (name, measure) in PARTS {
        if only.is_empty() || only == name {
            eprintln!("{name}");
            figures.next_round();
            measure(&mut figures)?;
        }
    }
    let mut peers = Map::new();
    if let Ok(version) = version("ip", &["-V"]) {
        peers.insert("ip".to_owned(), json!(version));
    }
    figures.finish("police-wire", &peers)?;
    figures.judge(AIMS);
    Ok(())
}

/// One sends TCP all the time, the other UDP at twice the uplink's rate in the middle.
fn two(figures: &mut Figures) -> Result<()> {
    const BEFORE: Range<usize> = 10..30;
    const FLOOD: Range<u32> = 30..60;
    const DURING: Range<usize> = 45..60;
    const AFTER: Range<usize> = 75..90;
    for control in Control::ALL {
        let rig = Rig::new(&["a", "b"], UPLINK)?;
        let _held = rig.controlled(control.policy(TWO))?;
        let flows = [
            Flow::new("a", Kind::Tcp, None, 0..90),
            Flow::new("b", Kind::Udp, Some(2 * UPLINK), FLOOD),
        ];
        let mut series = rig.run(&flows, STEP, 90)?.into_iter();
        let (tcp, udp) = series.next().zip(series.next()).context("two flows")?;
        let means = [
            ("TCP before", tcp.mean(BEFORE)),
            ("TCP during", tcp.mean(DURING)),
            ("UDP during", udp.mean(DURING)),
            ("TCP after", tcp.mean(AFTER)),
        ];
        figures.put_all(&format!("two, {},", control.word()), means);
    }
    for other in ["no control", "equal limits"] {
        let tcp = |who: &str| format!("two, {who}, TCP during");
        figures.ratio(None, &tcp("nicety police"), &tcp(other));
    }
    Ok(())
}

/// A flood of UDP, a bulk TCP and a small TCP.
fn three(figures: &mut Figures) -> Result<()> {
    const SMALL: u64 = 10;
    const MEASURED: Range<usize> = 40..120;
    for control in Control::ALL {
        let rig = Rig::new(&["a", "b", "c"], UPLINK)?;
        let _held = rig.controlled(control.policy(THREE))?;
        let flows = [
            Flow::new("a", Kind::Udp, Some(2 * UPLINK), 0..120),
            Flow::new("b", Kind::Tcp, None, 0..120),
            Flow::new("c", Kind::Tcp, Some(SMALL), 0..120),
        ];
        let series = rig.run(&flows, STEP, 120)?;
        let rates: Vec<f64> = series.iter().map(|of| of.mean(MEASURED)).collect();
        let [udp, bulk, small] = rates[..] else {
            continue;
        };
        let used = rig.uplink_mean(MEASURED);
        let jain = (udp + bulk).powi(2) / (2.0 * (udp * udp + bulk * bulk));
        let values = [
            ("UDP", udp),
            ("bulk", bulk),
            ("small", small),
            ("uplink", used),
            ("unused part of the uplink", 1.0 - used / UPLINK as f64),
            ("missed by the small one", 1.0 - small / SMALL as f64),
            ("Jain's index of UDP and bulk", jain),
        ];
        figures.put_all(&format!("three, {},", control.word()), values);
    }
    for other in ["no control", "equal limits"] {
        let used = |who: &str| format!("three, {who}, uplink");
        figures.ratio(None, &used("nicety police"), &used(other));
    }
    Ok(())
}
