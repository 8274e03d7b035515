//! A path of known rate: a token bucket where frames leave the bridge.
//!
//! The bucket counts bytes of a frame without FCS (`qdisc_pkt_len` of include/net/sch_generic.h
//! is the length of the buffer, which has its Ethernet header back by then).

use std::time::Duration;

use nicety_model::plan::Preset;
use nicety_model::{Direction, Fps, Verdict};
use nicety_paths::BridgePath;
use nicety_paths::counters::UNEXPLAINED;
use nicety_search::edge::window;
use nicety_search::{CellPlan, Settings};
use nicety_testkit::runner::Skip;
use nicety_trial::Trials;

use crate::calm::{Machine, OTHERS, STALLED, disturbed, not_tried};
use crate::commands::{number, run};
use crate::stage::{Tester, bridge, first, overloaded, search_cell, traffic};

/// Rate of the path.
pub const RATE: f64 = 10_000.0;
/// Bytes of a 64-byte frame in the kernel.
const BYTES: u64 = 60;
/// Frames let through at once, and frames that may wait: together 3 % of what a search's trial of half
/// a second carries, which is how far it can be above the rate without loss. A search that looks for no
/// longer finds more than the rate.
pub const BURST: u64 = 50;
pub const QUEUE: u64 = 100;
/// How exactly the rate has to be found.
const WITHIN: f64 = 0.02;
/// Searches of which one has to find it.
const SEARCHES: usize = 2;

pub fn shaped() -> Result<BridgePath, Skip> {
    let path = bridge();
    let rate = format!("{}bit", RATE as u64 * BYTES * 8);
    let burst = format!("{}b", BURST * BYTES);
    let limit = format!("{}b", QUEUE * BYTES);
    let bucket = [
        "qdisc", "add", "dev", "d1", "root", "tbf", "rate", &rate, "burst", &burst, "limit", &limit,
    ];
    run(path.dut(), "tc", &bucket, "")?;
    Ok(path)
}

fn drops(path: &BridgePath) -> Result<u64, Skip> {
    let shown = run(
        path.dut(),
        "tc",
        &["-s", "-j", "qdisc", "show", "dev", "d1"],
        "",
    )?;
    Ok(number(&shown, "\"drops\""))
}

/// Twice the rate: half of it is lost in the bucket, which counts as many as the tester misses.
pub fn overload(tester: Tester) -> Result<(), Skip> {
    let path = shaped()?;
    let mut engine = tester.open(&path, traffic(Direction::Uni))?;
    let mut trials = Trials::new(engine.as_mut(), &path, 0);
    first(&mut trials);
    let before = drops(&path)?;
    let record = overloaded(&mut trials, Fps(2.0 * RATE), 4 * RATE as u64);
    let dropped = drops(&path)? - before;
    let line = |place| record.loss_ledger.iter().find(|e| e.place == place);
    assert_eq!(line("d1 qdisc tbf").map(|e| e.frames), Some(dropped));
    assert_eq!(line(UNEXPLAINED), None, "{:?}", record.loss_ledger);
    // Never more than the bucket lets through; less where the machine kept it waiting.
    let forwarded = record.forwarding_fps / RATE;
    assert!((0.9..1.0 + WITHIN).contains(&forwarded), "{forwarded}");
    Ok(())
}

/// A machine that stands still for longer than the bucket is deep takes frames from the path: a search may then find
/// less than the rate. One that the machine let be finds never more.
pub fn search(tester: Tester) -> Result<(), Skip> {
    let path = shaped()?;
    let mut engine = tester.open(&path, traffic(Direction::Uni))?;
    let name = engine.name();
    let mut trials = Trials::new(engine.as_mut(), &path, 0);
    let mut settings = Settings::of(Preset::Robust, 0.0001);
    settings.confirm = Duration::ZERO;
    settings.timeout = Duration::from_secs(60);
    let mut plan = CellPlan::new(settings, Fps(3.0 * RATE));
    plan.latency_shares.clear();
    let machine = Machine::of_path();
    let mut last = None;
    for _ in 0..SEARCHES {
        let (result, taken) =
            machine.during(|| search_cell(&mut trials, plan.clone(), None, &name));
        let share = result.throughput_fps.unwrap_or_default() / RATE;
        if result.verdict == Verdict::Ok && (share - 1.0).abs() < WITHIN {
            return Ok(());
        }
        let stalled = taken.windows(
            window::of(RATE, 0.0001),
            Duration::from_secs_f64(QUEUE as f64 / RATE),
        );
        let excuse = stalled > STALLED || taken.others > OTHERS || disturbed(&result).is_some();
        assert!(excuse, "{share}, {:?}; {taken}", result.notes);
        last = Some(taken);
    }
    Err(not_tried(last.unwrap()))
}
