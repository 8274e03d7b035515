//! Single frames over a path, each followed from station to station: a burst of them, then their journeys.
//!
//! Path, ports and engine are those that a bench run of the same plan would have. The programs are those that tell
//! how long frames are where ([`Hops`]), here for every frame.

use std::time::Duration;

use nicety_account::journey::{Burst, join};
use nicety_fate::{Hops, Refusal, TesterPorts, Windows};
use nicety_guests::bundle::MIRROR;
use nicety_host::placement::Placement;
use nicety_model::journey::{Journey, JourneyEnd};
use nicety_model::{CellKey, EngineChoice, Fps, Note, Plan};
use nicety_port::clock;
use nicety_port::{Engine, Stop, TrialOrder};
use nicety_trial::{DRAIN_MAX, DRAIN_QUIET};

use crate::engines::Engines;
use crate::error::RunError;
use crate::event::Observer;
use crate::guests::Guests;
use crate::paths::Paths;
use crate::setup_error::SetupError;
use crate::{fates, setup};

/// A path, an engine on it, and the programs.
pub struct Tracer {
    engine: Box<dyn Engine>,
    hops: Hops,
    // It is removed when all that uses it is gone, so it comes behind that.
    _paths: Paths,
    ports: [String; 2],
    notes: Vec<Note>,
    counter: u8,
    sent: u64,
    begun_ns: u64,
}

/// What came of a burst.
#[derive(Debug, Clone, Default)]
pub struct Traced {
    /// The frames.
    pub journeys: Vec<Journey>,
    /// Times that there was no room to note a frame.
    pub unnoted: u64,
    /// The burst was stopped before its end.
    pub interrupted: bool,
}

impl Tracer {
    /// Opens the path of the first cell of `plan`, from A to B. Nothing is sent but what shows switches where the ports are.
    ///
    /// # Errors
    /// What is wrong: the programs may not be loaded, the path or its ports cannot be had.
    pub fn open(
        plan: &Plan,
        engine: EngineChoice,
        stop: &Stop,
        observer: &dyn Observer,
    ) -> Result<Self, RunError> {
        // Before anything is built: most users may not load them.
        Hops::new(1, TesterPorts::default()).map_err(RunError::Trace)?;
        setup::rights(plan, engine)?;
        let guests = Guests::prepare(plan, None, MIRROR.to_owned(), observer);
        setup::acquire(&plan.paths)?;
        nicety_paths::sweep();
        let key = plan
            .buildable_cells()
            .next()
            .ok_or(RunError::NoSuchCell(0))?;
        let placement = setup::placement(&plan.paths)?;
        let mut paths = Paths::new(guests, Some(key.frame_size_bytes));
        let opened = Self::on(&mut paths, &key, engine, &placement, stop, observer);
        let (engine, hops, ports, notes) = match opened {
            Err(_) if stop.is_set() => return Err(RunError::Interrupted),
            opened => opened?,
        };
        Ok(Self {
            engine,
            hops,
            _paths: paths,
            ports,
            notes,
            counter: 0,
            sent: 0,
            begun_ns: clock::monotonic_ns(),
        })
    }

    fn on(
        paths: &mut Paths,
        key: &CellKey,
        engine: EngineChoice,
        placement: &Placement,
        stop: &Stop,
        observer: &dyn Observer,
    ) -> Result<Opened, RunError> {
        let path = paths.get(key, placement, stop, observer)?;
        let mut engines = Engines::new(engine, stop.clone());
        let mut opened = engines.open(path, key, placement, observer)?;
        let (streams, tester) = fates::tester(key, path, opened.engine.as_ref());
        let hops = Hops::new(streams, tester).map_err(RunError::Trace)?;
        opened.engine.learn().map_err(SetupError::from)?;
        let ports = path.ports().each_ref().map(|port| port.name.clone());
        let notes = path.facts().notes.iter().cloned().chain(opened.notes);
        Ok((opened.engine, hops, ports, notes.collect()))
    }

    /// Ports A and B.
    pub fn ports(&self) -> [&str; 2] {
        self.ports.each_ref().map(String::as_str)
    }

    /// What to know about path and engine.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// Sends so many frames at `rate`, waits for late ones, and tells of each.
    ///
    /// # Errors
    /// When the path or the engine breaks.
    pub fn burst(&mut self, frames: u64, rate: Fps, stop: &Stop) -> Result<Traced, RunError> {
        self.counter = self.counter.wrapping_add(1);
        let order = TrialOrder {
            load: rate,
            duration: Duration::from_secs_f64(frames as f64 / rate.0),
            then: None,
            drain_max: DRAIN_MAX,
            drain_quiet: DRAIN_QUIET,
            trial: self.counter,
            rest: None,
            catch_up: false,
            numbers: true,
        };
        self.hops
            .begin(
                order.trial,
                Windows::new(order.frames(), clock::monotonic_ns()),
            )
            .map_err(RunError::Trace)?;
        let report = self.engine.trial(&order, stop);
        let passed = self.hops.end();
        let report = report.map_err(SetupError::from)?;
        let passed = passed.map_err(RunError::Trace)?;
        let arrivals = self.engine.arrivals();
        let arrivals = arrivals.as_ref().and_then(|streams| streams.first());
        let sent = report.senders.first().map_or(0, |sender| sender.sent);
        let burst = Burst {
            before: self.sent,
            made: arrivals.map_or(sent, |of| of.made),
            arrived: arrivals.map(|of| of.words.as_slice()),
            begun_ns: self.begun_ns,
        };
        self.sent += burst.made;
        let mut journeys = join(passed.seen, &passed.stations, &burst);
        if report.interrupted {
            // The others were not waited for.
            journeys.retain(|journey| {
                matches!(
                    journey.end,
                    JourneyEnd::Received { .. } | JourneyEnd::Dropped { .. }
                )
            });
        }
        Ok(Traced {
            journeys,
            unnoted: passed.unnoted,
            interrupted: report.interrupted,
        })
    }
}

type Opened = (Box<dyn Engine>, Hops, [String; 2], Vec<Note>);

/// Why frames cannot be followed, in words for a trace.
pub(crate) fn refusal(why: &Refusal) -> String {
    match why {
        Refusal::NotPermitted => {
            "it needs BPF programs and packet sockets: run it as root".to_owned()
        }
        Refusal::Kernel(why) => format!("the kernel refuses the programs: {why}"),
        why => why.to_string(),
    }
}
