//! Several loss goals in one search, over a path that meets one of them at every load and the other at
//! none.

use std::time::Duration;

use nicety_model::plan::Preset;
use nicety_model::{Direction, Fps, LossGoal, Verdict};
use nicety_search::edge::window;
use nicety_search::{CellPlan, Settings};
use nicety_testkit::runner::Skip;
use nicety_trial::Trials;

use crate::calm::{Machine, OTHERS, RING, STALLED, not_tried};
use crate::nth::dropping;
use crate::stage::{Tester, first, search_cell, traffic};

/// Every so many frames one is dropped: ten times the strict goal, a fifth of the loose one.
const EVERY: u64 = 1_000;
const GOALS: [f64; 2] = [1e-4, 5e-3];
/// Highest load, which the path carries with ease, and lowest one.
const LOADS: (Fps, Fps) = (Fps(200_000.0), Fps(120_000.0));

pub fn told_apart(tester: Tester) -> Result<(), Skip> {
    let path = dropping(EVERY)?;
    let mut engine = tester.open(&path, traffic(Direction::Uni))?;
    let mut trials = Trials::new(engine.as_mut(), &path, 0);
    first(&mut trials);
    let mut plan = CellPlan::new(Settings::of(Preset::Robust, GOALS[0]), LOADS.0).brief();
    plan.min = LOADS.1;
    plan.warm_up = Duration::ZERO;
    plan.goals = GOALS
        .map(|loss_ratio| LossGoal {
            name: None,
            loss_ratio,
        })
        .to_vec();
    let machine = Machine::of_path();
    let (cell, taken) = machine.during(|| search_cell(&mut trials, plan, None, ""));
    let [strict, loose] = &cell.goals[..] else {
        panic!("{:?}", cell.goals);
    };
    // No stall makes a path better: that the strict goal is missed is certain.
    assert_eq!(strict.verdict, Verdict::Failed, "{strict:?}");
    assert_eq!((strict.throughput_fps, cell.throughput_fps), (None, None));
    if loose.throughput_fps.is_none_or(|fps| fps < 0.9 * LOADS.0.0) {
        let room = Duration::from_secs_f64(RING / LOADS.0.0);
        let share = taken.windows(window::of(LOADS.0.0, GOALS[1]), room);
        assert!(
            share > STALLED || taken.others > OTHERS,
            "{loose:?}; {taken}"
        );
        return Err(not_tried(taken));
    }
    assert_eq!(loose.loss_goal, GOALS[1]);
    Ok(())
}
