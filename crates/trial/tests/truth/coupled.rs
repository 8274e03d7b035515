//! A path that works in the sender's own system call slows the sender and loses nothing.

use std::time::Duration;

use nicety_model::plan::Preset;
use nicety_model::{Direction, Fps, TrialRecord, Validity, Verdict};
use nicety_netdev::ethtool::Ethtool;
use nicety_paths::{BridgePath, DirectPath, DirectSpec, Path};
use nicety_search::edge::window;
use nicety_search::verdict::{Evidence, judge};
use nicety_search::{CellPlan, Settings};
use nicety_testkit::runner::Skip;
use nicety_trial::Trials;

use crate::calm::{Machine, OTHERS, STALLED, disturbed, not_tried};
use crate::commands::run;
use crate::stage::{Tester, bridge, first, overloaded, path_cpus, search_cell, size, traffic};

/// Loss goal.
const GOAL: f64 = 0.0001;
/// More than any tester sends.
const FLAT_OUT: Fps = Fps(10e6);
/// Rules that every frame walks through in vain: the path costs many times what sending does.
const RULES: usize = 1_500;

/// What the tester offers and sees arrive without a path.
fn alone(tester: Tester) -> Result<Fps, Skip> {
    let path = DirectPath::build(&DirectSpec {
        path_cpus: path_cpus(),
        largest_frame: size(64),
        queues: 1,
    })
    .unwrap();
    let mut engine = tester.open(&path, traffic(Direction::Uni))?;
    let mut trials = Trials::new(engine.as_mut(), &path, 0);
    first(&mut trials);
    let record = overloaded(&mut trials, FLAT_OUT, 3_000_000);
    Ok(Fps(record.pacing.offered_fps.min(record.forwarding_fps)))
}

/// The bridge path with its rules; in the sender's context when `coupled`.
fn slow(coupled: bool) -> Result<BridgePath, Skip> {
    let path = bridge();
    if coupled {
        // A sending end with segmentation offload gives its frames to the far end's backlog
        // instead of its thread (drivers/net/veth.c, veth_skb_is_eligible_for_gro).
        Ethtool::open(&path.ports()[0].ns)
            .unwrap()
            .set_features("a", &[("tx-tcp-segmentation", true)])
            .unwrap();
    }
    let table = "table netdev truth {
        chain frames { type filter hook ingress device d0 priority 0; policy accept; }
    }";
    run(path.dut(), "nft", &["-f", "-"], table)?;
    // An ordinary user's netlink messages are limited to some hundred rules.
    let rules = "add rule netdev truth frames meta length 0 drop\n".repeat(RULES / 10);
    for _ in 0..10 {
        run(path.dut(), "nft", &["-f", "-"], &rules)?;
    }
    Ok(path)
}

/// A trial with all that the tester can send.
fn flat_out(tester: Tester, path: &dyn Path, limit: Fps) -> Result<TrialRecord, Skip> {
    let mut engine = tester.open(path, traffic(Direction::Uni))?;
    let mut trials = Trials::new(engine.as_mut(), path, 0);
    first(&mut trials);
    Ok(overloaded(&mut trials, limit, limit.0 as u64))
}

/// What a cell concludes when a trial like `record` is where its search ends.
fn judged(record: &TrialRecord, limit: Fps) -> Verdict {
    let offered = Fps(record.pacing.offered_fps);
    let missed = matches!(record.validity, Validity::LoadMissed { .. });
    let (verdict, _) = judge(&Evidence {
        throughput: Some(offered),
        loss_goal: GOAL,
        at_max: true,
        held_up: (missed && record.loss_ratio.0 <= GOAL).then_some(offered),
        tester_limit: Some(limit),
        ..Evidence::default()
    });
    verdict
}

/// Frames of an XDP program always enter the far end's NAPI (veth_xdp_xmit in
/// drivers/net/veth.c), never its backlog: what couples packet sockets does not couple them.
fn stays_apart(tester: Tester, limit: Fps) -> Result<(), Skip> {
    let record = flat_out(tester, &slow(true)?, limit)?;
    assert!(record.loss_ratio.0 > GOAL, "{:?}", record.frames);
    assert_ne!(judged(&record, limit), Verdict::Coupled);
    Ok(())
}

/// The search over such a path ends at what the sender makes there and says so.
pub fn searched(tester: Tester) -> Result<(), Skip> {
    let limit = alone(tester)?;
    let path = slow(true)?;
    let mut engine = tester.open(&path, traffic(Direction::Uni))?;
    let name = engine.name();
    let mut trials = Trials::new(engine.as_mut(), &path, 0);
    let mut settings = Settings::of(Preset::Robust, GOAL);
    settings.confirm = Duration::ZERO;
    let mut plan = CellPlan::new(settings, limit);
    plan.latency_shares.clear();
    let machine = Machine::whole();
    let (result, taken) = machine.during(|| search_cell(&mut trials, plan, Some(limit), &name));
    if result.verdict == Verdict::Coupled {
        return Ok(());
    }
    let stalled = taken.windows(window::of(limit.0, GOAL), Duration::ZERO);
    let excuse = stalled > STALLED || taken.others > OTHERS || disturbed(&result).is_some();
    assert!(excuse, "{:?}, {:?}; {taken}", result.verdict, result.notes);
    Err(not_tried(taken))
}

pub fn offered(tester: Tester) -> Result<(), Skip> {
    let limit = alone(tester)?;
    if tester == Tester::Xdp {
        return stays_apart(tester, limit);
    }
    let coupled = flat_out(tester, &slow(true)?, limit)?;
    assert!(coupled.loss_ratio.0 <= GOAL, "{:?}", coupled.loss_ledger);
    assert_eq!(judged(&coupled, limit), Verdict::Coupled, "{coupled:?}");
    // The same work in a thread of its own is overload, and frames are lost.
    let apart = flat_out(tester, &slow(false)?, limit)?;
    assert!(apart.loss_ratio.0 > GOAL, "{:?}", apart.frames);
    assert_ne!(judged(&apart, limit), Verdict::Coupled);
    Ok(())
}
