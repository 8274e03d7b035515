//! Frames that a rule in the kernel throws away: the rule counts them, no interface does.

use nicety_model::{Direction, Fps};
use nicety_paths::counters::UNEXPLAINED;
use nicety_testkit::runner::Skip;
use nicety_trial::Trials;

use crate::commands::{number, run};
use crate::stage::{Tester, bridge as bridge_path, first, own_sysfs, run_checked, traffic};

const LOAD: Fps = Fps(20_000.0);

pub fn ingress(tester: Tester) -> Result<(), Skip> {
    dropping(tester, "netdev", "hook ingress device d0 priority 0", 100)
}

pub fn bridge(tester: Tester) -> Result<(), Skip> {
    dropping(tester, "bridge", "hook forward priority 0", 7)
}

fn dropping(tester: Tester, family: &str, hook: &str, every: u64) -> Result<(), Skip> {
    let path = bridge_path();
    // Where it is closed, so is the switch of IPv6, and the kernel's own frames meet the rule.
    own_sysfs(path.dut())?;
    let mut engine = tester.open(&path, traffic(Direction::Uni))?;
    let mut trials = Trials::new(engine.as_mut(), &path, 0);
    first(&mut trials);
    // The first of every `every` frames is dropped.
    let rules = format!(
        "table {family} truth {{
            counter dropped {{ }}
            chain frames {{
                type filter {hook}; policy accept;
                numgen inc mod {every} 0 counter name dropped drop
            }}
        }}"
    );
    run(path.dut(), "nft", &["-f", "-"], &rules)?;
    let record = run_checked(&mut trials, LOAD, 30_000);
    let listed = run(path.dut(), "nft", &["list", "counters"], "")?;
    let dropped = number(&listed, "packets");
    let frames = &record.frames;
    let named = |entry: &&nicety_model::LossEntry| entry.place != UNEXPLAINED;
    // On a busy machine the path's first ring may overflow as well, which its counter tells.
    let elsewhere: u64 = record
        .loss_ledger
        .iter()
        .filter(named)
        .map(|e| e.frames)
        .sum();
    assert_eq!(dropped, (frames.sent - elsewhere).div_ceil(every));
    assert_eq!(frames.lost, dropped + elsewhere, "{:?}", record.loss_ledger);
    let unexplained = record.loss_ledger.iter().find(|entry| !named(entry));
    assert_eq!(unexplained.map(|entry| entry.frames), Some(dropped));
    assert_eq!(
        (
            frames.duplicate,
            frames.reordered,
            frames.corrupt,
            frames.foreign
        ),
        (0, 0, 0, 0)
    );
    if elsewhere == 0 {
        let bursts = &record.streams[0].loss_bursts;
        assert_eq!((bursts.bursts, bursts.longest), (dropped, 1));
    }
    Ok(())
}
