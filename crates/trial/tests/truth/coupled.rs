//! A path that works in the sender's own system call slows the sender and loses nothing.

use std::time::Duration;

use nicety_host::ethtool::Ethtool;
use nicety_model::plan::Preset;
use nicety_model::{Direction, Fps, Verdict};
use nicety_search::{CellPlan, Settings};
use nicety_testbed::{DirectPath, DirectSpec, Path};
use nicety_testkit::runner::Skip;
use nicety_trial::Trials;

use crate::commands::run;
use crate::stage::{Tester, bridge, counted, first, path_cpus, quiet, search_cell, size, traffic};

/// More than any tester sends.
const FLAT_OUT: Fps = Fps(10e6);
/// Rules that every frame walks through in vain: the path costs several times what sending does.
const RULES: usize = 400;

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
    let record = counted(&mut trials, FLAT_OUT, 3_000_000);
    Ok(Fps(record.pacing.offered_fps.min(record.forwarding_fps)))
}

pub fn search(tester: Tester) -> Result<(), Skip> {
    let limit = alone(tester)?;
    let path = bridge();
    // A sending end with segmentation offload gives its frames to the far end's backlog instead
    // of its thread (drivers/net/veth.c, veth_skb_is_eligible_for_gro).
    Ethtool::open(&path.ports()[0].ns)
        .unwrap()
        .set_features("a", &[("tx-tcp-segmentation", true)])
        .unwrap();
    let rules = "meta length 0 drop\n".repeat(RULES);
    let rules = format!(
        "table netdev truth {{ chain frames {{
            type filter hook ingress device d0 priority 0; policy accept;
            {rules}
        }}
        }}"
    );
    run(path.dut(), "nft", &["-f", "-"], &rules)?;
    let mut engine = tester.open(&path, traffic(Direction::Uni))?;
    let name = engine.name();
    let mut trials = Trials::new(engine.as_mut(), &path, 0);
    first(&mut trials);
    let mut settings = Settings::of(Preset::Quick, 0.0001);
    settings.confirm = Duration::ZERO;
    let mut plan = CellPlan::new(settings, limit);
    plan.latency_shares.clear();
    let result = search_cell(&mut trials, plan, Some(limit), &name);
    quiet(&result)?;
    assert_eq!(result.verdict, Verdict::Coupled, "{:?}", result.notes);
    assert!(
        result.notes[0].ends_with("nothing lost: the path works in the sender's context"),
        "{:?}",
        result.notes
    );
    Ok(())
}
