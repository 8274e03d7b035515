//! The tester's own limit: what it can send and count when nothing stands in between.

use std::time::Duration;

use nicety_model::{Direction, Fps, FrameSize, Purpose, Validity};
use nicety_port::Stop;
use nicety_port::af_packet::TrafficSpec;
use nicety_port::auto::Choice;
use nicety_trial::{TrialError, TrialSpec};

use super::engines::Engines;
use super::machine::Machine;
use super::setup::{self, SetupError};

/// Length of one trial.
const TRIAL: Duration = Duration::from_millis(300);
/// More than any engine sends: the first trial finds out what "as fast as it can" is.
const FLAT_OUT: Fps = Fps(50e6);
/// Trials at most, the first included.
const TRIALS: u32 = 9;
/// Step down after a trial that lost frames.
const STEP: f64 = 0.87;

/// Why there is no limit.
#[derive(Debug, thiserror::Error)]
pub enum LimitError {
    /// The veth pair or its sockets cannot be had.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// A trial had no result.
    #[error(transparent)]
    Trial(#[from] TrialError),
}

/// Largest loss of a trial that still shows what the tester can do. It is not the goal: frames
/// that die while the machine stops the pair's receiving thread say nothing about the tester.
const LOSS: f64 = 0.01;

/// What the tester does when nothing stands in between.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limit {
    /// Frames per second and direction that it sends, receives and counts.
    pub load: Fps,
    /// Frames were lost at every load tried, as happens where the machine is not quiet: this is the
    /// most that was counted.
    pub lossy: bool,
}

/// Highest load per direction that the tester sends, receives and counts with the engine its cells
/// have, or `bound`; `None` when it counted nothing.
///
/// # Errors
/// When the pair cannot be built, or on an interruption.
pub fn measure(
    (size, direction): (FrameSize, Direction),
    bound: Option<Choice>,
    machine: &Machine,
    engines: &mut Engines,
    stop: &Stop,
) -> Result<Option<Limit>, LimitError> {
    let path = setup::direct(size, &machine.placement)?;
    let traffic = TrafficSpec {
        frame_size: size,
        direction,
        flows: 1,
        stations: 1,
        vlan: None,
    };
    // A veth pair always has its link.
    let opened = engines.open_bound(&path, traffic, bound, &machine.placement, &|_| ())?;
    let mut engine = opened.engine;
    let mut trials = machine.trials(engine.as_mut(), &path, 0);
    let mut load = FLAT_OUT;
    let mut counted = Fps(0.0);
    for index in 1..=TRIALS {
        let record = trials.run(&ask(load, index), stop)?;
        if record.validity == Validity::Valid && record.loss_ratio.0 <= LOSS {
            return Ok(Some(Limit { load, lossy: false }));
        }
        let both = Fps(record.pacing.offered_fps.min(record.forwarding_fps));
        counted = Fps(counted.0.max(both.0));
        load = if index == 1 {
            both
        } else {
            Fps((load.0 * STEP).min(record.pacing.offered_fps))
        };
        if load.0 < 1.0 {
            break;
        }
    }
    let limit = Limit {
        load: counted,
        lossy: true,
    };
    Ok((counted.0 >= 1.0).then_some(limit))
}

fn ask(load: Fps, index: u32) -> TrialSpec {
    TrialSpec {
        cell: "tester".to_owned(),
        repeat: 1,
        control: None,
        index,
        purpose: Purpose::WarmUp,
        load,
        duration: TRIAL,
        window: None,
    }
}
