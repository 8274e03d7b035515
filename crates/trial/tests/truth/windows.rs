//! Windows of a trial: they hold its frames, and its losses where they were.

use std::time::Duration;

use nicety_model::{Direction, Fps, TrialRecord, Windows};
use nicety_paths::counters::UNEXPLAINED;
use nicety_port::Stop;
use nicety_testkit::runner::Skip;
use nicety_testkit::wire::{Direction as Way, Fault};
use nicety_trial::{TrialSpec, Trials};

use crate::calm::not_tried;
use crate::commands::run;
use crate::directions::{stood_still, wire};
use crate::stage::{Tester, bridge, first, spec, traffic};

const LOAD: Fps = Fps(20_000.0);
const FRAMES: u64 = 30_000;
const WINDOW: Duration = Duration::from_millis(50);
/// Length of an engine's slots.
const SLOT_S: f64 = 0.008_388_608;
/// Slots of a window.
const MERGED: f64 = 6.0;
/// Most frames that a late sender may send at once.
const AT_ONCE: f64 = 64.0;

/// A trial with windows, and what they came to.
fn windows(trials: &mut Trials<'_>, load: Fps) -> Result<(TrialRecord, Windows), Skip> {
    let spec = TrialSpec {
        window: Some(WINDOW),
        ..spec(load, FRAMES)
    };
    let record = trials.run(&spec, &Stop::default()).unwrap();
    if record.frames.sent < FRAMES / 2 {
        return Err(not_tried(
            "the machine was too busy to send half of the frames",
        ));
    }
    let windows = record.windows.clone().unwrap();
    assert!((windows.length_s - MERGED * SLOT_S).abs() < 1e-9);
    assert_eq!(windows.sent.len(), windows.lost.len());
    assert!(windows.sent.iter().sum::<u64>() <= record.frames.sent);
    assert!(windows.lost.iter().sum::<u64>() <= record.frames.lost);
    let pairs = windows.sent.iter().zip(&windows.lost);
    assert!(
        pairs.clone().all(|(sent, lost)| lost <= sent),
        "{windows:?}"
    );
    Ok((record, windows))
}

/// A bridge that drops the first of every seven frames: so does every window.
pub fn share(tester: Tester) -> Result<(), Skip> {
    const EVERY: u64 = 7;
    for direction in [Direction::Uni, Direction::Bi] {
        let path = bridge();
        let mut engine = tester.open(&path, traffic(direction))?;
        let mut trials = Trials::new(engine.as_mut(), &path, 0);
        let record = first(&mut trials);
        assert_eq!(record.windows, None, "none were asked for");
        let rules = format!(
            "table bridge truth {{
                chain frames {{
                    type filter hook forward priority 0; policy accept;
                    numgen inc mod {EVERY} 0 drop
                }}
            }}"
        );
        run(path.dut(), "nft", &["-f", "-"], &rules)?;
        let (record, windows) = windows(&mut trials, LOAD)?;
        let (sent, lost): (u64, u64) = (windows.sent.iter().sum(), windows.lost.iter().sum());
        if direction == Direction::Bi {
            // Directions may start apart; what they share lies in the windows.
            assert!(sent > 0 && lost > 0, "{windows:?}");
            continue;
        }
        // Two slots at the ends, and those that make no window.
        let left_out = (MERGED + 1.0) * (LOAD.0 * SLOT_S + AT_ONCE);
        assert!(
            sent as f64 >= record.frames.sent as f64 - left_out,
            "{windows:?} {:?}",
            record.frames
        );
        // On a busy machine the path's first ring may overflow as well.
        let elsewhere = record
            .loss_ledger
            .iter()
            .any(|e| e.place != UNEXPLAINED && e.frames > 0);
        for (sent, lost) in windows.sent.iter().zip(&windows.lost) {
            assert!(*lost >= sent / EVERY, "{windows:?}");
            assert!(elsewhere || *lost <= sent.div_ceil(EVERY), "{windows:?}");
        }
    }
    Ok(())
}

/// A burst of loss in the middle is in the windows of that time and in no others.
pub fn burst(tester: Tester) -> Result<(), Skip> {
    const LOST: u64 = 300;
    let wire = wire()?;
    let mut engine = tester.open(&wire, traffic(Direction::Uni))?;
    let mut trials = Trials::new(engine.as_mut(), &wire, 0);
    let entered = first(&mut trials).frames.sent;
    // Three learning frames went first.
    wire.entered(Way::AToB, 3 + entered);
    wire.set(
        Way::AToB,
        Fault::Drop {
            every: FRAMES / 2,
            run: LOST,
            times: 1,
        },
    );
    wire.take_pause();
    let (record, windows) = windows(&mut trials, Fps(10_000.0))?;
    if record.pacing.refused > 0 {
        return Err(not_tried(
            "the machine was too busy for the sender's frames",
        ));
    }
    if record.frames.lost != LOST {
        stood_still(&wire)?;
    }
    assert_eq!(record.frames.lost, LOST, "{record:?}");
    assert_eq!(windows.lost.iter().sum::<u64>(), LOST, "{windows:?}");
    // Frames sent before the burst and up to its end, of which a slot's may be left out.
    let (mut before, left_out) = (0, (10_000.0 * SLOT_S + AT_ONCE) as u64);
    for (sent, lost) in windows.sent.iter().zip(&windows.lost) {
        let ends = before + sent + left_out;
        if *lost > 0 {
            assert!(before <= FRAMES / 2, "{windows:?}");
            assert!(ends > FRAMES / 2 - LOST, "{windows:?}");
        }
        before += sent;
    }
    Ok(())
}
