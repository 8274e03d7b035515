//! `nicety police` with real packets: the two-machine experiment of the paper, three tenants on
//! one uplink, and what the daemon costs.
//!
//! `cargo bench -p nicety --bench police` prints tables, writes `bench/police-wire.json` under the
//! target directory, and draws the two senders in `bench/two-senders.svg`. Everything happens in
//! network namespaces of its own. Rates are what the receivers got, without headers.
//! `NICETY_BENCH_POLICE=two`, `reaction`, `begin`, `three`, `received`, `packets`, `cost`, `adopt` or `neighbour` runs that
//! part alone; `NICETY_BENCH_ROUNDS`, `NICETY_BENCH_SECONDS` and `NICETY_BENCH_PORTS` make some shorter and smaller.

// A benchmark is an edge: it prints, reads its environment and writes files.
#![allow(clippy::print_stdout, clippy::print_stderr, missing_docs)]

mod adopt;
mod begin;
mod cost;
mod drawing;
mod flows;
mod neighbour;
mod packets;
mod reaction;
mod received;
mod rig;
mod watch;

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use nicety_netdev::privilege::{self, Privilege};
use serde_json::{Map, Value, json};

use drawing::Panel;
use flows::{Flow, Kind};
use rig::Rig;

/// The uplink in Mbit/s.
const UPLINK: u64 = 200;
/// Between two samples; a fifth of the daemon's period.
const STEP: Duration = Duration::from_millis(100);
const STEPS_PER_PERIOD: usize = 5;
const POLICIES: [(&str, &str); 4] = [
    (
        "two-equal",
        include_str!("../../../../policies/two-equal.toml"),
    ),
    (
        "two-shared",
        include_str!("../../../../policies/two-shared.toml"),
    ),
    (
        "three-equal",
        include_str!("../../../../policies/three-equal.toml"),
    ),
    (
        "three-shared",
        include_str!("../../../../policies/three-shared.toml"),
    ),
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

    /// The policy of an experiment; none for no control.
    fn policy(self, experiment: &str) -> Option<&'static str> {
        let name = match self {
            Self::Nothing => return None,
            Self::Fixed => format!("{experiment}-equal"),
            Self::Shared => format!("{experiment}-shared"),
        };
        let mut policies = POLICIES.iter();
        policies
            .find(|(known, _)| *known == name)
            .map(|(_, text)| *text)
    }
}

fn main() -> Result<()> {
    // `cargo test --benches` passes no --bench: there is nothing to test here.
    if !std::env::args().any(|argument| argument == "--bench") {
        println!("a benchmark: cargo bench -p nicety --bench police");
        return Ok(());
    }
    if privilege::privilege()? == Privilege::Ordinary {
        privilege::enter_user_namespace()?;
    }
    watch::begin();
    let only = std::env::var("NICETY_BENCH_POLICE").unwrap_or_default();
    let wanted = |part: &str| only.is_empty() || only == part;
    let mut figures = Map::new();
    let mut ratios = Map::new();
    if wanted("two") {
        two(&mut figures)?;
    }
    if wanted("reaction") {
        reaction::measure(&mut figures)?;
    }
    if wanted("begin") {
        begin::measure(&mut figures)?;
    }
    if wanted("three") {
        three(&mut figures)?;
    }
    if wanted("received") {
        received::measure(&mut figures)?;
    }
    if wanted("packets") {
        packets::measure(&mut figures)?;
    }
    if wanted("cost") {
        cost::measure(&mut figures, &mut ratios)?;
    }
    if wanted("adopt") {
        adopt::measure(&mut figures)?;
    }
    if wanted("neighbour") {
        neighbour::measure(&mut figures, &mut ratios)?;
    }
    let all = json!({"ratios": ratios, "figures": figures, "peers": {"ip": cost::ip_version()}});
    let text = serde_json::to_string_pretty(&all)?;
    std::fs::write(target()?.join("police-wire.json"), text + "\n")?;
    Ok(())
}

/// One sends TCP all the time, the other UDP at twice the uplink's rate in the middle.
fn two(figures: &mut Map<String, Value>) -> Result<()> {
    const BEFORE: Range<usize> = 10..30;
    const FLOOD: Range<u32> = 30..60;
    const DURING: Range<usize> = 45..60;
    const AFTER: Range<usize> = 75..90;
    println!(
        "TCP all the time, UDP at {} Mbit/s in the middle, uplink {UPLINK} Mbit/s; Mbit/s received\n\
         {:<16}{:>12}{:>12}{:>12}{:>12}",
        2 * UPLINK,
        "",
        "TCP before",
        "TCP during",
        "UDP during",
        "TCP after"
    );
    let mut panels = Vec::new();
    for control in Control::ALL {
        let rig = Rig::new(&["a", "b"], UPLINK)?;
        let _held = control
            .policy("two")
            .map(|policy| rig.daemon(policy))
            .transpose()?;
        let flows = [
            Flow::new("a", Kind::Tcp, None, 0..90),
            Flow::new("b", Kind::Udp, Some(2 * UPLINK), FLOOD),
        ];
        watch::phase(control.word(), STEP * 90);
        let mut series = rig.run(&flows, STEP, 90)?.into_iter();
        let (tcp, udp) = series.next().zip(series.next()).context("two flows")?;
        let means = [
            ("tcp_before", tcp.mean(BEFORE)),
            ("tcp_during", tcp.mean(DURING)),
            ("udp_during", udp.mean(DURING)),
            ("tcp_after", tcp.mean(AFTER)),
        ];
        print!("{:<16}", control.word());
        for (name, mean) in means {
            print!("{mean:>12.1}");
            figures.insert(key("two", control, name), json!(mean));
        }
        println!();
        panels.push(Panel {
            title: control.word(),
            series: vec![("TCP", tcp.rates), ("UDP", udp.rates)],
        });
    }
    let drawing = drawing::draw(&panels, STEP.as_secs_f64(), UPLINK as f64);
    std::fs::write(target()?.join("two-senders.svg"), drawing)?;
    Ok(())
}

/// A flood of UDP, a bulk TCP and a small TCP.
fn three(figures: &mut Map<String, Value>) -> Result<()> {
    const SMALL: u64 = 10;
    const MEASURED: Range<usize> = 40..120;
    println!(
        "\nUDP at {} Mbit/s, bulk TCP, TCP at {SMALL} Mbit/s, uplink {UPLINK} Mbit/s; Mbit/s received\n\
         {:<16}{:>10}{:>10}{:>10}{:>10}{:>12}{:>8}",
        2 * UPLINK,
        "",
        "UDP",
        "bulk",
        "small",
        "uplink",
        "difference",
        "Jain"
    );
    for control in Control::ALL {
        let rig = Rig::new(&["a", "b", "c"], UPLINK)?;
        let _held = control
            .policy("three")
            .map(|policy| rig.daemon(policy))
            .transpose()?;
        let flows = [
            Flow::new("a", Kind::Udp, Some(2 * UPLINK), 0..120),
            Flow::new("b", Kind::Tcp, None, 0..120),
            Flow::new("c", Kind::Tcp, Some(SMALL), 0..120),
        ];
        watch::phase(control.word(), STEP * 120);
        let series = rig.run(&flows, STEP, 120)?;
        let rates: Vec<f64> = series.iter().map(|of| of.mean(MEASURED)).collect();
        let [udp, bulk, small] = rates[..] else {
            continue;
        };
        let used = rig.uplink_mean(MEASURED);
        let difference = (udp - bulk).abs() / udp.max(bulk);
        let jain = (udp + bulk).powi(2) / (2.0 * (udp * udp + bulk * bulk));
        println!(
            "{:<16}{udp:>10.1}{bulk:>10.1}{small:>10.1}{used:>10.1}{:>10.1} %{jain:>8.4}",
            control.word(),
            100.0 * difference
        );
        for (name, value) in [
            ("udp", udp),
            ("bulk", bulk),
            ("small", small),
            ("uplink", used),
            ("difference", difference),
            ("jain", jain),
        ] {
            figures.insert(key("three", control, name), json!(value));
        }
        if control == Control::Shared {
            let use_ratio = used / UPLINK as f64;
            let untouched = small / SMALL as f64;
            println!(
                "Jain {jain:.4} (aim: 0.999), use {:.1} % (aim: 93 %), the small one gets {:.1} % of \
                 what it wants (aim: 98 %)",
                100.0 * use_ratio,
                100.0 * untouched
            );
            figures.insert("three_use_ratio".to_owned(), json!(use_ratio));
            figures.insert("three_small_ratio".to_owned(), json!(untouched));
        }
    }
    Ok(())
}

fn key(experiment: &str, control: Control, name: &str) -> String {
    format!("{experiment}_{}_{name}", control.word().replace(' ', "_"))
}

/// A number of the environment.
fn number(name: &str) -> Result<Option<usize>> {
    let text = std::env::var(name).ok();
    let number = text.map(|text| text.parse().with_context(|| format!("{name} is a number")));
    number.transpose()
}

/// Where results go.
fn target() -> Result<PathBuf> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target"),
        Into::into,
    );
    let dir = target.join("bench");
    std::fs::create_dir_all(&dir)?;
    Ok(dir)
}
