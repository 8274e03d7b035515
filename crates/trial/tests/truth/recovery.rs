//! How long frames are lost when an overload ends: over a wire that loses known numbers, and over a path whose
//! buffer drains.

use std::time::Duration;

use nicety_model::recovery::Then;
use nicety_model::{Direction, Fps, LoadStep, Purpose, TrialRecord, Validity};
use nicety_port::Stop;
use nicety_testkit::runner::Skip;
use nicety_testkit::wire::{self, Fault};
use nicety_trial::{TrialSpec, Trials};

use crate::calm::{not_tried, tried};
use crate::directions::{self, begin};
use crate::shaped::{BURST, RATE, shaped};
use crate::stage::{Tester, first, spec, traffic};

/// Frames per second before the step, and behind it.
const BEFORE: Fps = Fps(10_000.0);
const THEN: Fps = Fps(5_000.0);
/// Frames of each.
const FRAMES: [u64; 2] = [5_000, 3_000];
/// Tries, of which one has to lose what was meant to be lost and no more.
const TRIES: usize = 4;
/// How much later a frame may have been sent than was due, in seconds.
const LATE_S: f64 = 0.001;

fn overload(trials: &mut Trials<'_>, before: Fps) -> TrialRecord {
    let spec = TrialSpec {
        purpose: Purpose::Recovery,
        then: Some(Then {
            load: THEN,
            duration: Duration::from_secs_f64(FRAMES[1] as f64 / THEN.0),
        }),
        ..spec(before, FRAMES[0])
    };
    trials.run(&spec, &Stop::default()).unwrap()
}

/// What was lost, if the machine let the sender come as far as the step in time.
fn came_so_far(record: &TrialRecord) -> Option<LoadStep> {
    let missed = matches!(record.validity, Validity::LoadMissed { .. });
    assert!(record.step.is_some() || missed, "{record:?}");
    record.step
}

/// Frames 3000 to 5999 are lost, and the load is lowered at number 5000: the last lost one is due 999 frames of the
/// lower load behind the step.
pub fn last_lost_frame(tester: Tester) -> Result<(), Skip> {
    let wire = directions::wire()?;
    let mut engine = tester.open(&wire, traffic(Direction::Uni))?;
    let steps = engine.steps();
    let mut trials = Trials::new(engine.as_mut(), &wire, 0);
    begin(&wire, &mut trials, [Fault::None, Fault::None]);
    let mut seen = Vec::new();
    for _ in 0..TRIES {
        wire.set(
            wire::Direction::AToB,
            Fault::Drop {
                every: 6_000,
                run: 3_000,
                times: 1,
            },
        );
        let record = overload(&mut trials, BEFORE);
        if !steps {
            let Validity::Broken { why } = &record.validity else {
                panic!("{record:?}");
            };
            assert_eq!(why, "this engine cannot change its load while a trial runs");
            assert_eq!(record.step, None);
            return Ok(());
        }
        assert_eq!(record.frames.intended, FRAMES[0] + FRAMES[1]);
        let Some(step) = came_so_far(&record) else {
            wire.take_pause();
            continue;
        };
        assert_eq!((step.sent_before, step.then_fps), (FRAMES[0], THEN.0));
        assert_eq!(step.lost_before + step.lost_after, record.frames.lost);
        if (step.lost_before, step.lost_after) == (2_000, 1_000) {
            let exact = 999.0 / THEN.0;
            let moved = record.pacing.slipped_s + record.pacing.rested_s;
            let last = step.last_lost_s.unwrap();
            assert!(
                (exact - 1e-6..=exact + moved + LATE_S).contains(&last),
                "{last} s, not {exact}: {:?}",
                record.pacing
            );
            let before = FRAMES[0] as f64 / BEFORE.0;
            assert!(
                step.before_s >= before - 1e-6 && step.before_s <= before + moved + LATE_S,
                "{step:?}"
            );
            return Ok(());
        }
        let pause = wire.take_pause();
        assert!(pause > directions::LATE, "{step:?}");
        seen.push(pause);
    }
    Err(not_tried(format!(
        "the wire had no CPU for so long each time: {seen:?}"
    )))
}

/// A token bucket is overloaded, and its queue drains at half of the rate: nothing that is sent behind the step is
/// lost. The frame at the step still follows the one before it as closely as in the overload.
pub fn bucket() -> Result<(), Skip> {
    let path = shaped()?;
    let mut engine = Tester::AfPacket.open(&path, traffic(Direction::Uni))?;
    let mut trials = Trials::new(engine.as_mut(), &path, 0);
    first(&mut trials);
    // A bucket of 150 frames is full after 30 ms, and loses a third of what comes then; less where the sender was kept
    // from sending.
    tried(TRIES, Duration::from_secs_f64(BURST as f64 / RATE), || {
        let record = overload(&mut trials, Fps(1.5 * RATE));
        let Some(step) = came_so_far(&record) else {
            return Ok(None);
        };
        let last = step.last_lost_s.unwrap_or(f64::NAN);
        let is_right =
            step.lost_before > 100 && step.lost_after <= 1 && (-0.1..=0.0).contains(&last);
        if is_right {
            Ok(Some(()))
        } else {
            Err(format!("{step:?}"))
        }
    })
}
