//! What following lost frames costs: the same overload with the program of `nicety-fate` and without, by
//! turns. What that costs inside a guest. And what counting all drops of the host costs.
//!
//! `cargo bench -p nicety-benchmarks --bench fate` prints a table and writes `bench/fate.json` under the target
//! directory. `NICETY_BENCH_ROUNDS` changes the number of pairs; the words `host`, `drops` and `guest` behind `--` choose what is
//! measured. Needs root.

// A benchmark is an edge: it prints, reads its environment and writes a file.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::unwrap_used,
    clippy::panic,
    missing_docs
)]

#[path = "../../../trial/tests/truth/commands.rs"]
#[allow(dead_code, reason = "a test uses the rest")]
mod commands;
mod drops;
mod guest;
#[path = "../../../trial/tests/truth/stage.rs"]
#[allow(dead_code, reason = "a test uses the rest")]
mod stage;

use std::process::ExitCode;

use anyhow::{Result, bail};
use nicety_fate::{Fates, Hops, TesterPorts};
use nicety_model::{Direction, FateOf, Fps, Purpose, TrialRecord};
use nicety_paths::{BridgePath, Path};
use nicety_port::{Engine, Stop};
use nicety_testkit::runner::Skip;
use nicety_trial::{TrialSpec, Trials};
use serde_json::Map;

use nicety_benchmarks::figures::Figures;
use nicety_benchmarks::start::{is_asked_for, setting};
use stage::Tester;

/// Pairs of trials.
const PAIRS: u32 = 12;
/// Rate that the programs may take, in per cent, by the median of all pairs.
const MOST: f64 = 2.0;
/// The same of the programs that note where frames wait; they run in trials of their own, attached for windows only.
const MOST_HOPS: f64 = 5.0;
/// What would be good.
const AIM_HOPS: f64 = 3.0;
/// Seconds of a trial.
const TRIAL_S: f64 = 0.5;

/// More than any engine sends.
const LOAD: Fps = Fps(20e6);

/// An engine on a path that loses in one way.
struct Case {
    name: &'static str,
    tester: Tester,
    /// Words for tc(8), if any.
    trouble: &'static str,
}

const CASES: [Case; 3] = [
    // Its ring refuses what the path does not carry, and no event tells of that.
    Case {
        name: "xdp, overload",
        tester: Tester::Xdp,
        trouble: "",
    },
    // Each lost frame is an event.
    Case {
        name: "xdp, nearly all lost in a bucket",
        tester: Tester::Xdp,
        trouble: "qdisc add dev d1 root tbf rate 4mbit burst 3000b limit 6000b",
    },
    Case {
        name: "af_packet, overload",
        tester: Tester::AfPacket,
        trouble: "",
    },
];

fn main() -> ExitCode {
    // The guest starts this very program again.
    if std::env::args().nth(1).as_deref() == Some("guest-init") {
        return guest::play();
    }
    match bench() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("Error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Whether a part is measured: all are where none is named.
fn is_wanted(part: &str) -> bool {
    let named = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with('-'));
    let named: Vec<String> = named.collect();
    named.is_empty() || named.iter().any(|word| word == part)
}

fn bench() -> Result<()> {
    if !is_asked_for("fate") {
        return Ok(());
    }
    let pairs = setting("NICETY_BENCH_ROUNDS", PAIRS)?;
    if let Err(Skip(why)) = stage::needs_root() {
        println!("SKIP fate: {why}");
        return Ok(());
    }
    let mut figures = Figures::default();
    // It stands still while others are measured.
    let guest = is_wanted("guest").then(guest::boot);
    match &guest {
        Some(Ok((_, accelerator))) => println!("the guest runs under {accelerator}"),
        Some(Err(Skip(why))) => figures.skip("guest", why),
        None => {}
    }
    for pair in 1..=pairs {
        figures.next_round();
        for case in CASES.iter().filter(|_| is_wanted("host")) {
            if let Err(Skip(why)) = measure(case, pair, &mut figures) {
                figures.skip(case.name, why);
            }
        }
        if is_wanted("drops")
            && let Err(Skip(why)) = drops::measure(pair, &mut figures)
        {
            figures.skip("drops", why);
        }
        if let Some(Ok((path, _))) = &guest
            && let Err(Skip(why)) = guest::measure(path, pair, &mut figures)
        {
            figures.skip("guest", why);
        }
        eprintln!("pair {pair} of {pairs} done");
    }
    for case in &CASES {
        for what in ["offered", "forwarded"] {
            let name = |with: &str| format!("{}: {what}, {with}", case.name);
            figures.ratio(None, &name("followed"), &name("plain"));
        }
    }
    let sender = |with: &str| format!("drops: sender, ns of CPU per drop, {with}");
    figures.ratio(None, &sender("counted"), &sender("plain"));
    figures.finish("fate", &Map::new())?;
    let costs = CASES.into_iter().flat_map(|case| {
        let name = |what: &str| format!("{}: {what}", case.name);
        [(name("cost %"), MOST), (name("hops, cost %"), MOST_HOPS)]
    });
    println!("hops: {AIM_HOPS} % of the rate aimed at");
    let costs = costs.chain([(drops::COST.to_owned(), drops::MOST)]);
    if !figures.judge(costs) {
        bail!("following frames or counting drops costs more than is allowed");
    }
    Ok(())
}

/// One pair on a path of its own, in turning order.
fn measure(case: &Case, pair: u32, figures: &mut Figures) -> Result<(), Skip> {
    let path = stage::bridge();
    if !case.trouble.is_empty() {
        let words: Vec<&str> = case.trouble.split(' ').collect();
        commands::run(path.dut(), "tc", &words, "")?;
    }
    // Heats caches; its figures are not used.
    overload(case, &path, With::Nothing)?;
    let mut rates = [(0.0, 0.0); 2];
    for turn in 0..2 {
        let followed = (turn + pair).is_multiple_of(2);
        let with = if followed { With::Fates } else { With::Nothing };
        let record = overload(case, &path, with)?;
        let (word, at) = if followed {
            ("followed", 1)
        } else {
            ("plain", 0)
        };
        rates[at] = (record.pacing.offered_fps, record.forwarding_fps);
        figures.put(format!("{}: offered, {word}", case.name), rates[at].0);
        figures.put(format!("{}: forwarded, {word}", case.name), rates[at].1);
        if let Some(fate) = &record.fate {
            let lost = record.frames.lost.max(1) as f64;
            let left = fate.unexplained as f64 / lost;
            figures.put(format!("{}: unexplained share", case.name), left);
        }
    }
    // Where a bucket is the limit, the rate is that of the sender.
    let rate = |(offered, forwarded): (f64, f64)| {
        if case.trouble.is_empty() {
            forwarded
        } else {
            offered
        }
    };
    let cost = (1.0 - rate(rates[1]) / rate(rates[0])) * 100.0;
    figures.put(format!("{}: cost %", case.name), cost);
    if case.trouble.is_empty() {
        hops(case, &path, pair, figures)?;
    }
    Ok(())
}

/// A pair with the programs that note where frames wait.
fn hops(case: &Case, path: &BridgePath, pair: u32, figures: &mut Figures) -> Result<(), Skip> {
    let mut rates = [0.0; 2];
    for turn in 0..2 {
        let noted = (turn + pair).is_multiple_of(2);
        let with = if noted { With::Hops } else { With::Nothing };
        let record = overload(case, path, with)?;
        rates[usize::from(noted)] = record.forwarding_fps;
        let hops = record.fate.as_ref().and_then(|fate| fate.hops.as_ref());
        if let Some(hops) = hops.filter(|hops| hops.frames > 0) {
            let share = hops.summed as f64 / hops.frames as f64;
            figures.put(
                format!("{}: hops, frames noted", case.name),
                hops.frames as f64,
            );
            figures.put(format!("{}: hops, share that adds up", case.name), share);
        }
    }
    let cost = (1.0 - rates[1] / rates[0]) * 100.0;
    figures.put(format!("{}: hops, cost %", case.name), cost);
    Ok(())
}

/// What a trial carries.
#[derive(Clone, Copy, PartialEq, Eq)]
enum With {
    Nothing,
    Fates,
    Hops,
}

/// Where frames from A arrive, and whose they are.
fn tester_ports(path: &dyn Path, engine: &dyn Engine) -> TesterPorts {
    let [_, b] = path.ports();
    TesterPorts {
        ports: vec![(b.name.clone(), b.ns.inode())],
        by_socket: engine.receives_by_socket(),
        mark: engine.mark(),
    }
}

fn overload(case: &Case, path: &BridgePath, with: With) -> Result<TrialRecord, Skip> {
    let traffic = stage::traffic(Direction::Uni);
    let mut engine = case.tester.open(path, traffic)?;
    let ports = tester_ports(path, engine.as_ref());
    let fates = (with == With::Fates).then(|| Fates::new(traffic.frame_size, 1, ports.clone()));
    let mut fates = fates.transpose().map_err(|why| Skip(why.to_string()))?;
    let hops = (with == With::Hops).then(|| Hops::new(1, ports));
    let mut hops = hops.transpose().map_err(|why| Skip(why.to_string()))?;
    let mut trials = Trials::new(engine.as_mut(), path, 0)
        .noting(fates.as_mut())
        .hopping(hops.as_mut());
    stage::first(&mut trials);
    let of = match with {
        With::Hops => FateOf::Latency,
        With::Nothing | With::Fates => FateOf::Overload,
    };
    let spec = TrialSpec {
        purpose: Purpose::Fate { of },
        ..stage::spec(LOAD, (LOAD.0 * TRIAL_S) as u64)
    };
    trials
        .run(&spec, &Stop::default())
        .map_err(|error| Skip(error.to_string()))
}
