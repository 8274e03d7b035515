//! A path, an engine on it, and one interval of load after the other: what soaks and loads by hand share.

mod interval;
mod search;

use nicety_fate::{Fates, Refusal};
use nicety_host::fingerprint::{self, Measurer};
use nicety_host::placement::Placement;
use nicety_host::roots::Roots;
use nicety_model::note::TrialNote;
use nicety_model::plan::PathPlan;
use nicety_model::run::Naming;
use nicety_model::{CellKey, EngineChoice, FateMode, Fingerprint, Fps, Note, Plan};
use nicety_packet::{FlowRange, Side};
use nicety_port::Stop;
use nicety_trial::Trials;

use crate::engines::Engines;
use crate::error::RunError;
use crate::event::Observer;
use crate::guests::Guests;
use crate::machine::Machine;
use crate::paths::Paths;
use crate::setup_error::SetupError;
use crate::{fates, setup};

pub use interval::Measured;
pub use search::Whole;

/// What is to be loaded, and with what.
#[derive(Debug)]
pub struct Wanted {
    /// The plan.
    pub plan: Plan,
    /// Its cell.
    pub key: CellKey,
    /// What this host is called in results.
    pub naming: Naming,
    /// What sends and counts.
    pub engine: EngineChoice,
}

/// A machine that can load a path.
pub struct Constant {
    pub(crate) plan: Plan,
    pub(crate) key: CellKey,
    pub(crate) machine: Machine,
    paths: Paths,
    pub(crate) engines: Engines,
    host: Fingerprint,
    notes: Vec<Note>,
    pub(crate) stop: Stop,
}

/// An opened path that is loaded interval by interval.
pub struct Intervals<'a> {
    trials: Trials<'a>,
    pub(crate) key: CellKey,
    ports: [String; 2],
    engine: String,
    notes: Vec<Note>,
    fates: bool,
    number: u64,
}

impl Constant {
    /// Looks at the host and fetches what guests need; builds nothing yet. No thread may run yet: an ordinary
    /// user enters a user namespace.
    ///
    /// # Errors
    /// What is missing here, or [`RunError::Interrupted`].
    pub fn open(wanted: Wanted, stop: &Stop, observer: &dyn Observer) -> Result<Self, RunError> {
        let Wanted {
            plan,
            key,
            naming,
            engine,
        } = wanted;
        setup::rights(&plan, engine)?;
        // Facts first: some are hidden once the user namespace is entered.
        let measurer = Measurer {
            version: env!("CARGO_PKG_VERSION"),
            privileged: false,
        };
        let mut host = fingerprint::read(&Roots::live(), measurer);
        host.name(naming);
        let ports = plan.paths.iter().flat_map(PathPlan::interfaces).flatten();
        fingerprint::add_interfaces(&mut host, ports);
        let guests = Guests::prepare(&plan, observer);
        let (privileged, given_up) = setup::acquire(&plan.paths)?;
        host.privileged = privileged;
        nicety_paths::sweep();
        setup::check_ports(&plan, stop, observer)?;
        let mut notes: Vec<Note> = given_up.into_iter().chain(guests.note()).collect();
        let placement = setup::placement(&plan.paths)?;
        let (machine, unwatched) = Machine::new(placement, stop);
        if stop.is_set() {
            return Err(RunError::Interrupted);
        }
        notes.extend(machine.placement.notes.iter().cloned().chain(unwatched));
        notes.extend(machine.rest_note());
        Ok(Self {
            paths: Paths::new(guests, Some(key.frame_size_bytes)),
            engines: Engines::new(engine, stop.clone()),
            plan,
            key,
            machine,
            host,
            notes,
            stop: stop.clone(),
        })
    }

    /// The machine.
    pub fn host(&self) -> &Fingerprint {
        &self.host
    }

    /// What to know about it.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// Builds the path and opens the engine, and hands both to `body`. Afterwards they are gone, or kept where
    /// making them takes long.
    ///
    /// # Errors
    /// When they cannot be had, and those of `body`.
    pub fn run<T>(
        &mut self,
        fate: FateMode,
        observer: &dyn Observer,
        body: impl FnOnce(&mut Intervals<'_>) -> Result<T, RunError>,
    ) -> Result<T, RunError> {
        let Self {
            key,
            machine,
            paths,
            engines,
            stop,
            ..
        } = self;
        let placement: &Placement = &machine.placement;
        let interrupted = |error: SetupError| {
            if stop.is_set() {
                RunError::Interrupted
            } else {
                error.into()
            }
        };
        let path = paths.get(key, placement, stop, observer);
        let path = path.map_err(interrupted)?;
        let opened = engines.open(path, key, placement, observer);
        let mut opened = opened.map_err(interrupted)?;
        let mut notes: Vec<Note> = path.facts().notes.clone();
        notes.append(&mut opened.notes);
        let mut fates = match noting(fate, key, path, opened.engine.as_ref()) {
            None => None,
            Some(Ok(fates)) => Some(fates),
            Some(Err(why)) if fate == FateMode::Drops => {
                return Err(RunError::Fates { mode: fate, why });
            }
            Some(Err(why)) => {
                let why = why.to_string();
                notes.push(TrialNote::FatesUnknown { why }.into());
                None
            }
        };
        let engine = opened.engine.name();
        let noted = fates.is_some();
        let trials = machine
            .trials(opened.engine.as_mut(), path, 0)
            .noting(fates.as_mut())
            .in_parts();
        let mut intervals = Intervals {
            trials,
            key: key.clone(),
            ports: path.ports().each_ref().map(|port| port.name.clone()),
            engine,
            notes,
            fates: noted,
            number: 0,
        };
        body(&mut intervals)
    }

    /// The link's rate in frames per second, where a driver reports one that holds.
    pub(crate) fn line(&self) -> Option<Fps> {
        let speeds = self.host.interfaces.values();
        let speeds = speeds.filter_map(|facts| facts.speed_mbps);
        let mbps = speeds.filter(|mbps| *mbps > 0).min()?;
        self.key.path.interfaces()?;
        Some(self.key.line_rate(f64::from(mbps)))
    }
}

/// The program that notes why frames are lost; `None` where nobody asks for it.
fn noting(
    mode: FateMode,
    key: &CellKey,
    path: &dyn nicety_paths::Path,
    engine: &dyn nicety_port::Engine,
) -> Option<Result<Fates, Refusal>> {
    if mode == FateMode::Off || !fates::are_followed(key) {
        return None;
    }
    let (streams, tester) = fates::tester(key, path, engine);
    Some(Fates::new(key.frame_size_bytes, streams, tester))
}

impl Intervals<'_> {
    /// Ports A and B.
    pub fn ports(&self) -> [&str; 2] {
        self.ports.each_ref().map(String::as_str)
    }

    /// The engine and how it works here.
    pub fn engine(&self) -> &str {
        &self.engine
    }

    /// What to know about path and engine.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// Keeps the frames around up to `most` lost ones of every interval. False where the engine does not see
    /// whole frames.
    pub fn keep_neighbours(&mut self, most: usize) -> bool {
        self.trials.keep_neighbours(most)
    }

    /// The first lost frames of the last interval and their neighbours.
    pub fn neighbours(&mut self) -> Vec<nicety_port::LostFrame> {
        self.trials.neighbours()
    }

    /// Flows of either direction. Those of frames with other headers than IPv4 and UDP are not told apart.
    pub fn flows(&self) -> Vec<FlowRange> {
        if !self.key.shape.is_plain() {
            return Vec::new();
        }
        let sides: &[Side] = match self.key.direction {
            nicety_model::Direction::Uni => &[Side::A],
            nicety_model::Direction::Bi => &[Side::A, Side::B],
        };
        let range = |side: &Side| FlowRange::new(self.key.flows, *side).ok();
        sides.iter().filter_map(range).collect()
    }
}
