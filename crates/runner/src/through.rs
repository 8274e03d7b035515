//! Waits until frames come through an existing path: a bridge port that has just gone up forwards nothing for
//! twice its bridge's `forward_delay`, 30 s by default (IEEE 802.1D, net/bridge/br_stp_timer.c).

use std::time::{Duration, Instant};

use nicety_model::Fps;
use nicety_port::{Engine, PortError, Stop, TrialOrder};

use crate::event::{Event, Observer, Stage};

/// Longest wait.
const LONGEST: Duration = Duration::from_secs(30);
/// Between two looks.
const LOOK: Duration = Duration::from_millis(500);
/// Frames of a look, and their rate.
const FRAMES: f64 = 10.0;
const RATE: Fps = Fps(1_000.0);
/// Waits for late frames.
const DRAIN: Duration = Duration::from_millis(40);

/// Waits until frames of every stream arrive, half a minute at most; `observer` is told when that takes time.
/// A path that stays dead is left to the trials, which say so.
///
/// # Errors
/// When a port breaks.
pub fn wait(
    engine: &mut dyn Engine,
    ports: [&str; 2],
    stop: &Stop,
    observer: &dyn Observer,
) -> Result<(), PortError> {
    let begun = Instant::now();
    let mut reported = false;
    while !comes(engine, stop)? && !stop.is_set() && begun.elapsed() < LONGEST {
        if !std::mem::replace(&mut reported, true) {
            let at_most = LONGEST;
            observer.on(Event::Stage(Stage::Through { ports, at_most }));
        }
        std::thread::sleep(LOOK);
    }
    Ok(())
}

/// Whether frames of every stream arrive now.
fn comes(engine: &mut dyn Engine, stop: &Stop) -> Result<bool, PortError> {
    engine.learn()?;
    let order = TrialOrder {
        load: RATE,
        duration: Duration::from_secs_f64(FRAMES / RATE.0),
        then: None,
        drain_max: DRAIN,
        drain_quiet: DRAIN,
        trial: 0,
        rest: None,
        catch_up: false,
        numbers: false,
    };
    let streams = engine.trial(&order, stop)?.streams;
    Ok(streams.iter().all(|stream| stream.frames.received > 0))
}
