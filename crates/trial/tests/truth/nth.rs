//! A rule that drops every n-th frame, a tenth below and a tenth above the goal: single trials of the
//! search's own length and windows say which of the two it is.

use nicety_model::plan::Preset;
use nicety_model::{Direction, Fps, TrialRecord};
use nicety_port::Stop;
use nicety_search::Settings;
use nicety_testbed::counters::UNEXPLAINED;
use nicety_testkit::runner::Skip;
use nicety_trial::{TrialAsk, Trials};

use crate::commands::run;
use crate::stage::{GOAL, Tester, ask, bridge, first, traffic};

/// Loads at which windows are whole, none a multiple of another: where a window begins between two
/// lost frames is another place each time.
const LOADS: [f64; 5] = [251_000.0, 263_000.0, 287_000.0, 311_000.0, 337_000.0];
/// Every so many frames one is dropped, and whether that is within the goal: 0.9 and 1.1 times it.
const CASES: [(u64, bool); 2] = [(11_111, true), (9_091, false)];
/// Trials at each load.
const TRIALS: usize = 4;
/// Trials at a load at most, with those that the machine spoilt.
const TRIES: usize = 12;

/// Whether most of its windows are within the goal, as a cell judges it.
fn meets(record: &TrialRecord) -> bool {
    let (good, bad) = record.windows.as_ref().unwrap().judged(GOAL);
    assert!(good + bad >= 3, "{:?}", record.windows);
    good > bad
}

/// Frames that were lost elsewhere than in the rule, which no interface counts.
fn elsewhere(record: &TrialRecord) -> u64 {
    let named = record.loss_ledger.iter().filter(|e| e.place != UNEXPLAINED);
    named.map(|entry| entry.frames).sum()
}

/// A trial as the search begins with it where `load` is the highest.
fn search_trial(load: f64) -> TrialAsk {
    let search = Settings::of(Preset::Robust, GOAL).search(Fps(load), Fps(load));
    let wanted = search.unwrap().next_trial().unwrap();
    TrialAsk {
        duration: wanted.duration,
        window: wanted.window,
        ..ask(wanted.load, 0)
    }
}

pub fn judged(tester: Tester) -> Result<(), Skip> {
    for (every, within) in CASES {
        let path = bridge();
        let mut engine = tester.open(&path, traffic(Direction::Uni))?;
        let mut trials = Trials::new(engine.as_mut(), &path, 0);
        first(&mut trials);
        let rules = format!(
            "table bridge truth {{
                chain frames {{
                    type filter hook forward priority 0; policy accept;
                    numgen inc mod {every} 0 drop
                }}
            }}"
        );
        run(path.dut(), "nft", &["-f", "-"], &rules)?;
        for load in LOADS {
            judged_at(&mut trials, load, within)?;
        }
    }
    Ok(())
}

/// [`TRIALS`] trials at a load, all of them judged right.
///
/// A trial whose load was missed is none, as in a search. One that met stalls in most of its windows
/// lost frames in the path's ring as well, and the goal is then not met: such a trial is made again.
/// No stall makes a path better, so where too much is lost there is no excuse.
fn judged_at(trials: &mut Trials<'_>, load: f64, within: bool) -> Result<(), Skip> {
    let mut right = 0;
    for _ in 0..TRIES {
        let record = trials.run(&search_trial(load), &Stop::default()).unwrap();
        let spoilt = elsewhere(&record);
        println!("  {load} {within}: {:?} {:?} elsewhere {spoilt} {:?}", record.windows.as_ref().map(|w| w.judged(GOAL)), record.windows.as_ref().map(|w| &w.lost), record.validity);
        if !record.validity.is_valid() {
            continue;
        }
        assert!(record.frames.lost > spoilt, "the rule dropped nothing");
        match meets(&record) == within {
            true => right += 1,
            false => assert!(within && spoilt > 0, "{load}: {:?}", record.windows),
        }
        if right == TRIALS {
            return Ok(());
        }
    }
    Err(Skip(format!(
        "the machine was too busy: {right} of {TRIES} trials at {load} told of the path"
    )))
}
