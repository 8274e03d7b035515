//! Measures the tester's own limit: what it can send and count when nothing stands in between.

use nicety_model::{Fps, LimitKey, Purpose};
use nicety_port::Stop;
use nicety_port::af_packet::TrafficSpec;
use nicety_search::tester_limit::{Limit, LimitSearch, TRIAL};
use nicety_trial::{TrialError, TrialSpec};

use crate::builder;
use crate::engines::Engines;
use crate::event::Event;
use crate::machine::Machine;
use crate::setup_error::SetupError;

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

/// Highest load per direction that the tester sends, receives and counts with the engine its cells
/// have that share it; `None` when it counted nothing.
///
/// # Errors
/// When the pair cannot be built, or on an interruption.
pub fn measure(
    of: LimitKey,
    machine: &Machine,
    engines: &mut Engines,
    stop: &Stop,
) -> Result<Option<Limit>, LimitError> {
    let path = builder::direct(of.frame_size, &machine.placement)?;
    let traffic = TrafficSpec {
        frame_size: of.frame_size,
        direction: of.direction,
        flows: 1,
        stations: 1,
        vlan: None,
        shape: of.shape,
        mark: nicety_packet::RunMark::NONE,
    };
    // A veth pair always has its link.
    let silent = |_: Event<'_>| ();
    let opened = engines.open_for(of, &path, traffic, &machine.placement, &silent)?;
    let mut engine = opened.engine;
    let mut trials = machine.trials(engine.as_mut(), &path, 0);
    let mut search = LimitSearch::default();
    while let Some((index, load)) = search.next() {
        search.observe(&trials.run(&ask(load, index), stop)?);
    }
    Ok(search.limit())
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
        then: None,
        window: None,
    }
}
