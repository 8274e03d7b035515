//! Single frames over a path, each followed from station to station: a burst of them, then their journeys.
//!
//! Path, ports and engine are those that a bench run of the same plan would have. The programs are those that tell
//! how long frames are where ([`Hops`]), here for every frame. Guests on the path run them too.

use std::time::Duration;

use nicety_account::journey::{Burst, join};
use nicety_fate::inside::Follow;
use nicety_fate::{Hops, Refusal, TesterPorts, Windows};
use nicety_host::placement::Placement;
use nicety_model::journey::{Journey, JourneyEnd};
use nicety_model::{CellKey, EngineChoice, Fps, FrameSize, Note, Plan};
use nicety_packet::RunMark;
use nicety_port::clock;
use nicety_port::{Engine, Stop, TrialOrder};
use nicety_trial::{DRAIN_MAX, Following};

use crate::engines::Engines;
use crate::error::RunError;
use crate::event::Observer;
use crate::guests::Guests;
use crate::paths::Paths;
use crate::setup_error::SetupError;
use crate::{fates, setup};

/// How long the last frames are waited for: a frame that is said to be lost must not be late, as behind a CPU that stood
/// still.
const LATE: Duration = Duration::from_millis(500);

/// What is to be traced over, and with what.
#[derive(Debug)]
pub struct TraceWanted {
    /// The plan.
    pub plan: Plan,
    /// Its cell.
    pub key: CellKey,
    /// What sends and counts.
    pub engine: EngineChoice,
}

/// A path, an engine on it, and the programs.
pub struct Tracer {
    engine: Box<dyn Engine>,
    hops: Hops,
    // It is removed when all that uses it is gone, so it comes behind that.
    paths: Paths,
    ports: [String; 2],
    /// Its interfaces, from A to B.
    places: Vec<String>,
    size: FrameSize,
    /// Streams, and what marks their frames.
    tester: (u32, RunMark),
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
    /// Guests of which nothing is known.
    pub notes: Vec<Note>,
}

impl Tracer {
    /// Opens the path of the cell that is wanted, from A to B. Nothing is sent but what shows switches where the ports are.
    ///
    /// # Errors
    /// What is wrong: the programs may not be loaded, the path or its ports cannot be had.
    pub fn open(
        wanted: TraceWanted,
        stop: &Stop,
        observer: &dyn Observer,
    ) -> Result<Self, RunError> {
        let TraceWanted { plan, key, engine } = wanted;
        // Before anything is built: most users may not load them.
        Hops::new(1, TesterPorts::default()).map_err(RunError::Trace)?;
        setup::rights(&plan, engine)?;
        let guests = Guests::prepare(&plan, observer);
        setup::acquire(&plan.paths)?;
        nicety_paths::sweep();
        let placement = setup::placement(&plan.paths)?;
        let mut paths = Paths::new(guests, Some(key.frame_size_bytes));
        let opened = Self::on(&mut paths, &key, engine, &placement, stop, observer);
        let opened = match opened {
            Err(_) if stop.is_set() => return Err(RunError::Interrupted),
            opened => opened?,
        };
        Ok(Self {
            engine: opened.engine,
            hops: opened.hops,
            paths,
            ports: opened.ports,
            places: opened.places,
            size: key.frame_size_bytes,
            tester: opened.tester,
            notes: opened.notes,
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
        let marked = (streams, tester.mark);
        let hops = Hops::new(streams, tester).map_err(RunError::Trace)?;
        opened.engine.learn().map_err(SetupError::from)?;
        let ports = path.ports().each_ref().map(|port| port.name.clone());
        let notes = path.facts().notes.iter().cloned().chain(opened.notes);
        let places = path.places().map_err(SetupError::from)?;
        Ok(Opened {
            engine: opened.engine,
            hops,
            ports,
            places: places.into_iter().map(|place| place.name).collect(),
            tester: marked,
            notes: notes.collect(),
        })
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
            drain_quiet: LATE,
            trial: self.counter,
            rest: None,
            catch_up: false,
            numbers: true,
        };
        let windows = Windows::new(order.frames(), clock::monotonic_ns());
        let guests = self.paths.now();
        let guests = guests.filter(|path| path.kernels().is_some());
        let windows = guests.map_or(windows, |_| windows.shared());
        let follow = Follow::new(order.trial, order.frames(), self.size, self.tester);
        let following = guests.and_then(|path| Following::begin(path, &follow, Some(windows)));
        self.hops
            .begin(order.trial, windows)
            .map_err(RunError::Trace)?;
        let report = self.engine.trial(&order, stop);
        let passed = self.hops.end();
        let report = report.map_err(SetupError::from)?;
        let passed = passed.map_err(RunError::Trace)?;
        let inside = following.map(Following::end).unwrap_or_default();
        let places: Vec<&str> = self.places.iter().map(String::as_str).collect();
        let (passed, _) = inside.weave(passed, &places, 0);
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
            notes: inside.notes,
        })
    }
}

struct Opened {
    engine: Box<dyn Engine>,
    hops: Hops,
    ports: [String; 2],
    places: Vec<String>,
    tester: (u32, RunMark),
    notes: Vec<Note>,
}

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
