//! Loss beside the goal of 0.01 %: the ratio is exact, and every search judges it as it should.

use nicety_model::plan::Preset;
use nicety_model::{Direction, Fps, LossRatio, TrialRecord};
use nicety_search::{Outcome, Seen, Settings};
use nicety_testkit::runner::Skip;
use nicety_testkit::wire::Fault;

use crate::calm::not_tried;
use crate::directions::over_wire;
use crate::stage::Tester;

const GOAL: f64 = 0.0001;
const LOAD: Fps = Fps(20_000.0);
const FRAMES: u64 = 200_000;

/// Those that judge whole trials.
const PRESETS: [Preset; 4] = [Preset::Binary, Preset::Std, Preset::Csit, Preset::Rfc2544];

/// Frames from which 19 lost ones are within the goal; up to [`FRAMES`], 21 are beyond it.
const ENOUGH: u64 = 190_001;

/// A trial that loses `times` single frames, all of them early.
fn losing(tester: Tester, times: u64) -> Result<TrialRecord, Skip> {
    let drop = Fault::Drop {
        every: 1_000,
        run: 1,
        times,
    };
    let (record, wires) = over_wire(tester, [drop, Fault::None], Direction::Uni, |run| {
        run(LOAD, FRAMES)
    })?;
    let frames = &record.frames;
    assert_eq!((frames.lost, wires[0].dropped), (times, times));
    if frames.sent < ENOUGH {
        let sent = frames.sent;
        return Err(not_tried(format!(
            "the machine was too busy: {sent} of {FRAMES} frames sent"
        )));
    }
    let ratio = times as f64 / frames.sent as f64;
    assert!((record.loss_ratio.0 - ratio).abs() < 1e-15);
    Ok(record)
}

/// What a search says of a path whose every trial at its highest load ends like `record`, and
/// that loses nothing below.
fn judged(preset: Preset, record: &TrialRecord) -> Outcome {
    let settings = Settings::of(preset, GOAL);
    let mut search = settings.search(Fps(100.0), LOAD).unwrap();
    while let Some(request) = search.next_trial() {
        let at_load = request.load == LOAD;
        search.observe(&Seen {
            load: request.load,
            carried: request.load,
            duration: request.duration,
            wall: request.duration,
            loss_ratio: if at_load {
                record.loss_ratio
            } else {
                LossRatio::default()
            },
            windows: None,
            single: None,
            clean: 1.0,
            forwarding: request.load,
        });
    }
    search.outcome()
}

pub fn under(tester: Tester) -> Result<(), Skip> {
    let record = losing(tester, 19)?;
    for preset in PRESETS {
        let outcome = judged(preset, &record);
        assert_eq!(outcome.lower, Some(LOAD), "{preset:?}");
        assert!(outcome.at_max && outcome.upper.is_none(), "{preset:?}");
    }
    Ok(())
}

pub fn over(tester: Tester) -> Result<(), Skip> {
    let record = losing(tester, 21)?;
    for preset in PRESETS {
        let outcome = judged(preset, &record);
        assert_eq!(outcome.upper, Some(LOAD), "{preset:?}");
        assert!(
            outcome.lower < Some(LOAD) && outcome.width_met,
            "{preset:?}"
        );
    }
    Ok(())
}
