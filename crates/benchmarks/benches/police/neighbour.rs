//! A neighbour cannot be heard: how long a guest waits for answers beside one that floods, over alone.

mod guest;
mod stage;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Result;
use nicety_benchmarks::figures::Figures;
use nicety_benchmarks::start::setting;
use nicety_netdev::cpu_set::{allowed, pin};

use crate::Control;
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

/// Each round measures alone and every control beside every flood, so that a ratio is of figures of one time.
pub fn measure(figures: &mut Figures) -> Result<()> {
    let time = Duration::from_secs(setting("NICETY_BENCH_SECONDS", 4)?);
    let rounds = setting("NICETY_BENCH_ROUNDS", 3)?;
    println!("p99 of 1,000 round trips a second beside a flood, over p99 alone: aim {AIM}");
    for (kind, kind_name) in KINDS {
        if let Err(error) = Stage::new(kind) {
            figures.skip(format!("neighbour, {kind_name}"), format!("{error:#}"));
            continue;
        }
        for (flood, flood_name) in FLOODS {
            let name = |who: &str| format!("neighbour, {kind_name}, {flood_name}, {who}, p99 µs");
            for _ in 0..rounds {
                figures.next_round();
                let alone = beside(kind, None, Control::Nothing, time)?;
                figures.put(name("alone"), alone);
                for control in Control::ALL {
                    let p99 = beside(kind, Some(flood), control, time)?;
                    figures.put(name(word(control)), p99);
                }
            }
            for control in Control::ALL {
                figures.ratio(None, &name(word(control)), &name("alone"));
            }
        }
    }
    Ok(())
}

fn word(control: Control) -> &'static str {
    match control {
        Control::Fixed => "tc by hand",
        other => other.word(),
    }
}

/// The p99 of a guest's round trips beside a flood or alone, in µs.
fn beside(kind: Kind, flood: Option<Flood>, control: Control, time: Duration) -> Result<f64> {
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
            stage.victim.round_trips(time)
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
