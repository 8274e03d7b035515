//! Another program takes the path's CPU for 5 ms ten times per second. What the path forwards falls by
//! just that time, and what it loses meanwhile is known to be the program's doing.

use std::time::Duration;

use nicety_model::{Direction, Fps, Purpose, TrialRecord};
use nicety_port::Stop;
use nicety_port::stalls::StallWatch;
use nicety_testkit::runner::Skip;
use nicety_trial::{TrialSpec, Trials};

use crate::calm::{Machine, Taken, not_tried};
use crate::cpu_hog::{EVERY, HOG_TIME, beside};
use crate::stage::{Tester, bridge, first, path_cpus, placement, spec, traffic};

/// Windows as long as from one of these times to the next: each has one of them in it. A window of 50 ms
/// has none or one.
const WINDOW: Duration = EVERY;
/// Frames that the path's first ring holds while its CPU is taken.
const RING: f64 = 256.0;

/// More than the path forwards.
const FLAT_OUT: Fps = Fps(3e6);
/// Loss from which on the path had more than it forwards, all the time.
const OVERLOAD: f64 = 0.05;
const TRIAL_S: f64 = 1.5;
/// How exactly what is left has to be found, and how far apart the path may be before and after.
const WITHIN: f64 = 0.03;
/// Share of the capacity at which nothing is lost but while the CPU is taken: the path works off a full
/// ring before the frames sent later than 2 ms after a stall arrive.
const LIGHT: f64 = 0.7;
/// Share of the loss that has to be told apart.
const MIN_ATTRIBUTED: f64 = 0.9;
/// Share of the path's CPU that others may have beside the program in a try that is judged.
const NOISE: f64 = 0.02;
/// Tries: on a busy machine the path is another one from one second to the next, or other programs
/// take its CPU as well.
const TRIES: usize = 6;
/// Tries on a steady machine after which the truth is judged: what slows a machine down without a trace does so for a
/// while.
const STEADY: usize = 3;

fn trial(trials: &mut Trials<'_>, purpose: Purpose, load: Fps) -> TrialRecord {
    let spec = TrialSpec {
        purpose,
        window: Some(WINDOW),
        ..spec(load, load.frames_in(TRIAL_S))
    };
    trials.run(&spec, &Stop::default()).unwrap()
}

/// What the typical window forwards under overload: a cell's capacity.
fn capacity(trials: &mut Trials<'_>) -> Result<f64, Skip> {
    let record = trial(trials, Purpose::WarmUp, FLAT_OUT);
    if record.loss_ratio.0 < OVERLOAD {
        return Err(Skip(format!(
            "the path carries nearly all that the tester makes: {:.0} fps",
            record.pacing.offered_fps
        )));
    }
    Ok(record.windows.unwrap().forwarding(1).unwrap().0)
}

fn cpu_of_path() -> Result<u32, Skip> {
    let apart = path_cpus().first().copied();
    apart.ok_or_else(|| Skip("path and tester share a CPU here".to_owned()))
}

/// Under overload the ring is full when the CPU is taken, so it makes up for nothing: of what the path
/// forwards without the program, the share of the time that is left to it is left.
pub fn capacity_left(tester: Tester) -> Result<(), Skip> {
    let cpu = cpu_of_path()?;
    beside(cpu, || ())?;
    let path = bridge();
    let mut engine = tester.open(&path, traffic(Direction::Uni))?;
    let mut trials = Trials::new(engine.as_mut(), &path, 0);
    first(&mut trials);
    let machine = Machine::of_path();
    let (mut seen, mut steady) = (Vec::new(), Vec::new());
    let mut before = machine.during(|| capacity(&mut trials));
    for _ in 0..TRIES {
        let ((under, share), taken) = {
            let (ran, taken) = machine.during(|| beside(cpu, || capacity(&mut trials)));
            (ran?, taken)
        };
        let after = machine.during(|| capacity(&mut trials));
        let [first, under, last] = [before.0?, under?, *after.0.as_ref().map_err(Clone::clone)?];
        let left = f64::midpoint(first, last) * (1.0 - share);
        assert!(share > 0.045, "{share}");
        let said = format!(
            "before {first:.0} ({}), under {under:.0} ({taken}), after {last:.0} ({}), taken {share:.4}",
            before.1, after.1
        );
        println!("  {said}");
        let same = (last / first - 1.0).abs() <= WITHIN;
        if same && (under / left - 1.0).abs() <= WITHIN {
            return Ok(());
        }
        let idle =
            |taken: &Taken, known: f64| taken.others <= known + NOISE && taken.still() <= NOISE;
        if same && idle(&before.1, 0.0) && idle(&taken, share) && idle(&after.1, 0.0) {
            steady.push((under / left, said.clone()));
        }
        seen.push(said);
        before = after;
    }
    assert!(
        steady.len() < STEADY,
        "not what should be left: {steady:#?}"
    );
    Err(not_tried(seen.pop().unwrap()))
}

/// Below the path's capacity frames are lost only while its CPU is taken, and are told apart.
pub fn loss_attributed(tester: Tester) -> Result<(), Skip> {
    let cpu = cpu_of_path()?;
    let watch = StallWatch::new(&placement().all_cpus()).map_err(|why| Skip(why.to_string()))?;
    let path = bridge();
    let mut engine = tester.open(&path, traffic(Direction::Uni))?;
    let cpus = path_cpus();
    let mut trials = Trials::new(engine.as_mut(), &path, 0);
    // Its 50 ms say nothing of stalls.
    first(&mut trials);
    let mut trials = trials.path_on(&cpus).watching(Some(&watch));
    let machine = Machine::of_path();
    let mut seen = Vec::new();
    for _ in 0..TRIES {
        let load = Fps(LIGHT * capacity(&mut trials)?);
        let hit = || beside(cpu, || trial(&mut trials, Purpose::Search, load));
        let (ran, taken) = machine.during(hit);
        let (record, share) = ran?;
        if !record.validity.is_valid() || taken.others > share + NOISE {
            continue;
        }
        let (stalls, lost) = (record.stalls.unwrap(), record.frames.lost as f64);
        let times = TRIAL_S / EVERY.as_secs_f64();
        let least = 0.8 * times * (load.0 * HOG_TIME.as_secs_f64() - RING);
        println!("  load {load}, lost {lost} (at least {least:.0}), {stalls:?}");
        // What was taken was lost and seen, whatever else happened.
        assert!(lost > least, "{lost}, not {least}: {stalls:?}");
        assert!(stalls.programs as f64 >= times - 1.0, "{stalls:?}");
        assert!(
            stalls.longest_s >= 0.9 * HOG_TIME.as_secs_f64(),
            "{stalls:?}"
        );
        let attributed = stalls.lost as f64 / lost;
        if attributed >= MIN_ATTRIBUTED {
            return Ok(());
        }
        seen.push(attributed);
    }
    assert!(seen.is_empty(), "told apart, of the loss: {seen:.3?}");
    Err(not_tried("the machine was too busy for every trial"))
}
