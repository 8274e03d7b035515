//! A rule that drops every n-th frame, a tenth below and a tenth above the goal: 40 single trials of the
//! search's own length and windows say which of the two it is, each of them.

use std::time::Duration;

use nicety_model::plan::Preset;
use nicety_model::{Direction, Fps, TrialRecord};
use nicety_paths::BridgePath;
use nicety_paths::counters::UNEXPLAINED;
use nicety_port::Stop;
use nicety_search::Settings;
use nicety_testkit::runner::Skip;
use nicety_trial::{TrialSpec, Trials};

use crate::calm::{Machine, RING, STALLED, not_tried};
use crate::commands::run;
use crate::stage::{GOAL, Tester, bridge, first, spec, traffic};

/// Every so many frames one is dropped, and whether that is within the goal: 0.9 and 1.1 times it.
const CASES: [(u64, bool); 2] = [(11_111, true), (9_091, false)];
/// Loads at which windows hold as many frames as the goal asks for. None is a multiple of another, so
/// windows begin at another place between two lost frames each time.
const LOADS: [f64; 5] = [261_000.0, 293_000.0, 317_000.0, 347_000.0, 379_000.0];
/// Trials of each case at each load.
const TRIALS: usize = 4;
/// The same with those that the machine spoilt, at most.
const TRIES: usize = 12;

/// Whether most of its windows are within the goal: how a cell judges a trial whose load was offered.
fn meets(record: &TrialRecord) -> bool {
    let (good, bad) = record.windows.as_ref().unwrap().judged(GOAL);
    assert!(good + bad >= 5, "{:?}", record.windows);
    good > bad
}

/// Frames that were lost elsewhere than in the rule, which no interface counts.
fn elsewhere(record: &TrialRecord) -> u64 {
    let named = record.loss_ledger.iter().filter(|e| e.place != UNEXPLAINED);
    named.map(|entry| entry.frames).sum()
}

/// The first trial of a search whose highest load is `load`.
fn search_trial(load: f64) -> TrialSpec {
    let search = Settings::of(Preset::Robust, GOAL).search(Fps(load), Fps(load));
    let wanted = search.unwrap().next_trial().unwrap();
    assert_eq!(wanted.load, Fps(load));
    TrialSpec {
        duration: wanted.duration,
        window: wanted.window,
        ..spec(wanted.load, 0)
    }
}

/// A bridge that drops one of `every` frames.
pub fn dropping(every: u64) -> Result<BridgePath, Skip> {
    let path = bridge();
    let rules = format!(
        "table bridge truth {{
            chain frames {{
                type filter hook forward priority 0; policy accept;
                numgen inc mod {every} 0 drop
            }}
        }}"
    );
    run(path.dut(), "nft", &["-f", "-"], &rules)?;
    Ok(path)
}

pub fn judged(tester: Tester) -> Result<(), Skip> {
    for (every, within) in CASES {
        let path = dropping(every)?;
        let mut engine = tester.open(&path, traffic(Direction::Uni))?;
        let mut trials = Trials::new(engine.as_mut(), &path, 0);
        first(&mut trials);
        for load in LOADS {
            judged_at(&mut trials, load, within)?;
        }
    }
    Ok(())
}

/// [`TRIALS`] trials at `load`, all of them judged right.
///
/// A trial that missed its load is none, as in a search. Where the machine took the path's CPU in most
/// of the windows, frames died in the path's ring as well and the goal was not met, which is no mistake:
/// such a trial is made again. No stall makes a path better, so there is no excuse for loss that passes.
fn judged_at(trials: &mut Trials<'_>, load: f64, within: bool) -> Result<(), Skip> {
    let mut right = 0;
    let machine = Machine::of_path();
    for _ in 0..TRIES {
        let spec = search_trial(load);
        let trial = || trials.run(&spec, &Stop::default()).unwrap();
        let (record, taken) = machine.during(trial);
        if !record.validity.is_valid() {
            continue;
        }
        assert!(
            record.frames.lost > elsewhere(&record),
            "the rule dropped nothing"
        );
        if meets(&record) == within {
            right += 1;
        } else {
            let room = Duration::from_secs_f64(RING / load);
            let stalled = taken.windows(spec.window.unwrap(), room);
            assert!(
                within && stalled > STALLED,
                "{load}: {:?}; {taken}",
                record.windows
            );
        }
        if right == TRIALS {
            return Ok(());
        }
    }
    Err(not_tried(format!(
        "the machine was too busy: {right} of {TRIES} trials at {load} told of the path"
    )))
}
