//! Paths whose rate stands in the kernel's configuration, and what one visit of a cell finds there.
//!
//! A shaper (`tbf`) keeps frames that come too early until its queue is full; a policer (`nft limit`)
//! drops them at once. Both keep their rate to a part in a million. The path before them stands still
//! when the machine takes its CPU: what comes late comes all at once, and a limiter drops what its
//! bucket and queue do not hold.

use nicety_model::{Fps, Verdict};
use nicety_paths::BridgePath;
use nicety_port::Stop;
use nicety_port::af_packet::TrafficSpec;
use nicety_search::edge::window;
use nicety_testkit::runner::Skip;
use nicety_trial::{TrialSpec, Trials};

use crate::stage::{GOAL, PathCpu, Tester, first, quiet, spec, visit};

/// Highest load, as a multiple of the rate.
const MOST: f64 = 3.0;
/// Visits of which one has to find the rate. The number is a load that the path carries for certain,
/// so stalls move it down and nothing moves it up: no visit may find more, and no stalls take half.
const VISITS: usize = 5;
const AT_LEAST: f64 = 0.5;
/// How exactly the same visit has to find the rate as the capacity, which few stalls do not touch: the
/// typical window is met by none, or by the end of one, whose frames the shaper had kept.
const CAPACITY_WITHIN: f64 = 0.01;

/// A load below any that would be exact enough, as a share of the rate: the limiter drops nothing. Where
/// more than this share of windows loses frames all the same, stalls are more than a search reckons with.
const BELOW: f64 = 0.97;
const STALLED: f64 = 0.15;
const STALLED_S: f64 = 5.0;

/// Visits of `path` find `rate`, and say `ok`.
pub fn visits_find(
    tester: Tester,
    path: &BridgePath,
    traffic: TrafficSpec,
    (rate, within): (f64, f64),
) -> Result<(), Skip> {
    let mut engine = tester.open(path, traffic)?;
    let name = engine.name();
    let mut trials = Trials::new(engine.as_mut(), path, 0);
    first(&mut trials);
    let mut shares = Vec::new();
    let cpu = PathCpu::watch();
    for _ in 0..VISITS {
        let result = visit(&mut trials, Fps(MOST * rate), &name);
        quiet(&result)?;
        assert_eq!(result.verdict, Verdict::Ok, "{rate}: {:?}", result.notes);
        let share = result.throughput_fps.unwrap() / rate;
        assert!(share < 1.0 + within, "{share} of {rate}");
        if share < AT_LEAST {
            cpu.calm()?;
            panic!("{share} of {rate}");
        }
        let capacity = result.capacity_fps.unwrap() / rate;
        assert!(capacity < 1.0 + CAPACITY_WITHIN, "{capacity} of {rate}");
        println!("  {rate}: {share:.4}, capacity {capacity:.4}");
        if share > 1.0 - within && capacity > 1.0 - CAPACITY_WITHIN {
            return Ok(());
        }
        shares.push((share, capacity));
    }
    cpu.calm()?;
    let stalled = stalled(&mut trials, rate);
    assert!(
        stalled > STALLED,
        "{shares:?} of {rate}; {stalled} of windows stalled"
    );
    Err(Skip(format!(
        "the machine takes the path's CPU in {:.0} % of all windows: {shares:.3?} of {rate}",
        stalled * 100.0
    )))
}

/// Share of windows that lose too much below the rate.
fn stalled(trials: &mut Trials<'_>, rate: f64) -> f64 {
    let load = Fps(BELOW * rate);
    let spec = TrialSpec {
        window: Some(window::of(load.0, GOAL)),
        ..spec(load, load.frames_in(STALLED_S))
    };
    let record = trials.run(&spec, &Stop::default()).unwrap();
    let (good, bad) = record.windows.unwrap().judged(GOAL);
    f64::from(bad) / f64::from(good + bad)
}
