//! Paths whose rate stands in the kernel's configuration, and what one visit of a cell finds there.
//!
//! A shaper (`tbf`) keeps frames that come too early until its queue is full; a policer (`nft limit`)
//! drops them at once. Both keep their rate to a part in a million. The path before them stands still
//! when the machine takes its CPU: what comes late comes all at once, and a limiter drops what its
//! bucket and queue do not hold.

use std::time::Duration;

use nicety_model::{Fps, Verdict};
use nicety_paths::BridgePath;
use nicety_port::af_packet::TrafficSpec;
use nicety_search::edge::window;
use nicety_testkit::runner::Skip;
use nicety_trial::Trials;

use crate::calm::{Machine, OTHERS, STALLED, disturbed, not_tried};
use crate::stage::{GOAL, Tester, first, visit};

/// Highest load, as a multiple of the rate.
const MOST: f64 = 3.0;
/// Visits of which one has to find the rate. The number is a load that the path carries for certain, so stalls move it
/// down: none that the machine let be may find more, or less than half.
const VISITS: usize = 5;
const AT_LEAST: f64 = 0.5;
/// So many of them have to be visits that the machine let be, to say that none finds it.
const CLEAN: usize = 3;
/// How exactly the same visit has to find the rate as the capacity, which few stalls do not touch: the
/// typical window is met by none, or by the end of one, whose frames the shaper had kept.
const CAPACITY_WITHIN: f64 = 0.01;

/// A rate, how exactly it has to be found, and how long the path may stand still before the limiter drops frames.
pub struct Known {
    pub rate: f64,
    pub within: f64,
    pub room: Duration,
}

/// Visits of `path` find its rate, and say `ok`.
pub fn visits_find(
    tester: Tester,
    path: &BridgePath,
    traffic: TrafficSpec,
    known: &Known,
) -> Result<(), Skip> {
    let Known { rate, within, room } = *known;
    let mut engine = tester.open(path, traffic)?;
    let name = engine.name();
    let mut trials = Trials::new(engine.as_mut(), path, 0);
    first(&mut trials);
    let machine = Machine::of_path();
    let (mut clean, mut seen) = (0, Vec::new());
    for _ in 0..VISITS {
        let (result, taken) = machine.during(|| visit(&mut trials, Fps(MOST * rate), &name));
        let [share, capacity] = [result.throughput_fps, result.capacity_fps]
            .map(|found| found.unwrap_or_default() / rate);
        let length = window::of(rate, GOAL);
        let stalled = taken.windows(length, room);
        let was_let_be =
            stalled <= STALLED && taken.others <= OTHERS && disturbed(&result).is_none();
        // A machine that took the CPUs is not judged: its windows are not those of the path.
        assert!(
            !was_let_be || share < 1.0 + within,
            "{share} of {rate}; {taken}"
        );
        assert!(
            !was_let_be || capacity < 1.0 + CAPACITY_WITHIN,
            "{capacity} of {rate}; {taken}"
        );
        let said = format!(
            "{rate}: {share:.4}, capacity {capacity:.4}; {:.0} % of windows stalled, {taken}",
            stalled * 100.0
        );
        println!("  {said}");
        let is_ok = result.verdict == Verdict::Ok;
        if is_ok && share > 1.0 - within && capacity > 1.0 - CAPACITY_WITHIN {
            return Ok(());
        }
        if was_let_be {
            assert!(is_ok && share > AT_LEAST, "{said}; {:?}", result.notes);
            clean += 1;
        }
        seen.push(said);
        if seen.len() > VISITS - CLEAN + clean {
            return Err(not_tried(taken));
        }
    }
    panic!("none of {clean} visits finds it: {seen:#?}")
}
