//! A neighbour cannot be heard: how long a guest waits for answers beside one that floods, over alone.

mod guest;
mod stage;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use nicety_netdev::cpu_set::{allowed, pin};
use serde_json::{Map, Value, json};

use crate::{Control, watch};
use stage::Stage;

/// What a port is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Veth,
    Tap,
    Macvtap,
}

/// What the neighbour sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flood {
    Small,
    Large,
    Flows,
}

const KINDS: [(Kind, &str); 3] = [
    (Kind::Veth, "veth"),
    (Kind::Tap, "tap"),
    (Kind::Macvtap, "macvtap"),
];
const FLOODS: [(Flood, &str); 3] = [
    (Flood::Small, "small packets"),
    (Flood::Large, "large packets"),
    (Flood::Flows, "new flows"),
];
/// What a p99 beside a flood may be, over alone.
const AIM: f64 = 2.0;
/// Before a measurement: four periods of the daemon.
const SETTLE: Duration = Duration::from_secs(2);

/// How long to look, and how often.
struct Plan {
    time: Duration,
    rounds: usize,
}

impl Plan {
    fn read() -> Result<Self> {
        let number = |name: &str, usual: u64| match std::env::var(name) {
            Ok(text) => text.parse().with_context(|| format!("{name} is a number")),
            Err(_) => Ok(usual),
        };
        Ok(Self {
            time: Duration::from_secs(number("NICETY_BENCH_SECONDS", 4)?.max(1)),
            rounds: number("NICETY_BENCH_ROUNDS", 3)?.max(1) as usize,
        })
    }
}

/// Each round measures alone and every control beside every flood, so that a ratio is of figures of one time.
pub fn measure(figures: &mut Map<String, Value>, ratios: &mut Map<String, Value>) -> Result<()> {
    let plan = Plan::read()?;
    println!(
        "\np99 of 1,000 round trips a second beside a flood, over p99 alone: median (least to greatest) of {} rounds of {:?}; aim {AIM}\n\
         {:<9}{:<15}{:>10}{:>24}{:>24}{:>24}",
        plan.rounds,
        plan.time,
        "port",
        "flood",
        "alone µs",
        "no control",
        "tc by hand",
        "nicety police"
    );
    for (kind, kind_name) in KINDS {
        if let Err(error) = Stage::new(kind) {
            println!("SKIP {kind_name}: {error:#}");
            continue;
        }
        for (flood, flood_name) in FLOODS {
            let mut alone = Vec::new();
            let mut ratio = [const { Vec::new() }; 3];
            for _ in 0..plan.rounds {
                let name = format!("neighbour, {kind_name}, {flood_name}");
                watch::phase(&name, (SETTLE + plan.time) * 5);
                let base = beside(kind, None, Control::Nothing, &plan)?;
                alone.push(base);
                for (control, of) in Control::ALL.into_iter().zip(&mut ratio) {
                    of.push(beside(kind, Some(flood), control, &plan)? / base);
                }
            }
            let base = spread(&mut alone);
            print!("{kind_name:<9}{flood_name:<15}{:>10.0}", base[1]);
            let key = format!("neighbour_{kind_name}_{}", flood_name.replace(' ', "_"));
            figures.insert(format!("{key}_alone_p99_us"), json!(base[1]));
            for (control, of) in Control::ALL.into_iter().zip(&mut ratio) {
                let [min, median, max] = spread(of);
                print!("{:>24}", format!("{median:.1} ({min:.1} to {max:.1})"));
                let word = control.word().replace(' ', "_");
                let value = json!({"median": median, "min": min, "max": max});
                ratios.insert(format!("{key}_{word}_p99_to_alone"), value);
            }
            println!();
        }
    }
    Ok(())
}

/// The p99 of a guest's round trips beside a flood or alone, in µs.
fn beside(kind: Kind, flood: Option<Flood>, control: Control, plan: &Plan) -> Result<f64> {
    let stage = Stage::new(kind)?;
    let held = stage.control(control)?;
    let over = AtomicBool::new(false);
    let cpus = allowed(None)?;
    // The guests have a CPU each where there are two.
    let [first, last] = [cpus.first(), cpus.last()].map(|cpu| cpu.copied().unwrap_or(0));
    let times = std::thread::scope(|scope| {
        let (flooder, over) = (&stage.flooder, &over);
        scope.spawn(move || {
            let _ = pin(None, &[last]);
            match flood {
                Some(flood) => flooder.flood(flood, over),
                // It computes, so that the machine is as busy as beside a flood.
                None => {
                    while !over.load(Ordering::Relaxed) {
                        std::hint::spin_loop();
                    }
                    0
                }
            }
        });
        let asks = scope.spawn(|| {
            prefer(first);
            std::thread::sleep(SETTLE);
            stage.victim.round_trips(plan.time)
        });
        let times = asks.join();
        over.store(true, Ordering::Relaxed);
        times
    });
    drop(held);
    anyhow::ensure!(stage.answers(), "nobody answers any more");
    match times {
        Ok(times) => Ok(p99(&times?)),
        Err(_) => anyhow::bail!("the guest that asks has ended"),
    }
}

/// As a guest with a CPU of its own: other programs of the host come after the calling thread, where that may be asked for.
fn prefer(cpu: u32) {
    let _ = pin(None, &[cpu]);
    let _ = rustix::process::setpriority_process(Some(rustix::thread::gettid()), -20);
}

fn p99(times: &[f64]) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = (sorted.len() * 99).div_ceil(100).saturating_sub(1);
    sorted.get(at).copied().unwrap_or(f64::NAN)
}

/// Least, median, greatest; sorts.
fn spread(values: &mut [f64]) -> [f64; 3] {
    values.sort_by(f64::total_cmp);
    let at = |index: usize| values.get(index).copied().unwrap_or(f64::NAN);
    [
        at(0),
        at(values.len() / 2),
        at(values.len().saturating_sub(1)),
    ]
}
