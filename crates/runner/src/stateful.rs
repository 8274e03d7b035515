//! Tables of connections (RFC 9693): builds a router whose table can be read, and runs the phases that
//! [`nicety_search::stateful`] asks for.

mod bench;
mod filling;
mod goodput;
mod removal;
mod room;
mod setup_rate;
mod stalls;

use std::sync::Arc;
use std::time::Duration;

use nicety_host::clock;
use nicety_host::fingerprint::{self, Measurer};
use nicety_host::placement::Placement;
use nicety_host::roots::{ProcRoot, Roots};
use nicety_model::run::Naming;
use nicety_model::stateful::{EntryState, Setback, StatefulReport, TableFacts, TableStage};
use nicety_model::{CellKey, EngineChoice, EngineName, Fps, Note, PathSpec, Plan, SCHEMA, Shape};
use nicety_netdev::conntrack::Conntrack;
use nicety_packet::Tuples;
use nicety_packet::connection::addresses_needed;
use nicety_paths::{Path, RigSpec, TrackingPath, TrackingSpec};
use nicety_port::Stop;
use nicety_port::af_packet::PortSockets;
use nicety_port::af_packet::connections::{ConnectionFrames, Connections};

use crate::error::RunError;
use crate::setup_error::SetupError;
use crate::{builder, machine, priority, setup};

use bench::Bench;
use stalls::Watch;

/// Share of the table that setup, removal and goodput fill at most: what is above it belongs to the capacity.
const ROOM: f64 = 0.9;
/// Connections of removal and goodput, where nothing else was asked for, and the table has room.
const CONNECTIONS: u64 = 1_000_000;
/// Bytes that an entry takes with its extensions, generously, and with what the tester keeps of it.
const ENTRY_BYTES: u64 = 1024;

/// What is to be measured.
#[derive(Debug)]
pub struct StatefulWanted {
    /// The plan.
    pub plan: Plan,
    /// Its cell.
    pub key: CellKey,
    /// What this host is called in results.
    pub naming: Naming,
    /// What of the table.
    pub stages: Vec<TableStage>,
    /// Connections for removal and goodput.
    pub connections: Option<u64>,
    /// Most connections that are opened to find the capacity.
    pub most: u64,
    /// Hosts that open connections.
    pub hosts: u32,
    /// Addresses that their sources are translated to.
    pub addresses: Option<u32>,
    /// Ports of each that translation has.
    pub ports: Option<u16>,
    /// Length of a trial.
    pub trial: Duration,
    /// Repeats of each figure.
    pub repeats: u32,
    /// Highest rate that is tried.
    pub max_rate: Fps,
    /// Share of frames that goodput may lose.
    pub loss: f64,
}

/// What is going on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum StatefulEvent {
    /// Connections are opened.
    Open {
        /// For what.
        stage: TableStage,
        /// How many.
        connections: u64,
        /// Rate per second.
        rate: Fps,
    },
    /// Frames are sent on open connections.
    Carry {
        /// Connections.
        connections: u64,
        /// What the kernel has seen of them.
        state: EntryState,
        /// Rate per second and direction.
        rate: Fps,
    },
    /// What came of it.
    Tried {
        /// What went wrong.
        setback: Option<Setback>,
    },
}

/// Whoever is told.
pub type Say<'a> = &'a mut dyn FnMut(StatefulEvent);

/// A path with a table, and a tester on it.
pub struct Stateful {
    wanted: StatefulWanted,
    report: StatefulReport,
    placement: Placement,
    stop: Stop,
    most: u64,
}

impl Stateful {
    /// Looks at the host; builds nothing yet. No thread may run yet: an ordinary user enters a user namespace.
    ///
    /// # Errors
    /// [`RunError::NoTable`] for a path without one; what is missing here.
    pub fn open(wanted: StatefulWanted, stop: &Stop) -> Result<Self, RunError> {
        let key = &wanted.key;
        if !matches!(&key.path, PathSpec::Routed(ask) if ask.tracks()) {
            return Err(RunError::NoTable(key.path_name()));
        }
        let headers_only = Shape {
            family: None,
            protocol: None,
            ..key.shape
        };
        if !headers_only.is_plain() {
            return Err(RunError::NotOneFrame(key.name()));
        }
        // One more than may stay has to be tried.
        Tuples::new(wanted.most + 1, wanted.hosts, 0)?;
        setup::rights(&wanted.plan, EngineChoice::Only(EngineName::AfPacket))?;
        let measurer = Measurer {
            version: env!("CARGO_PKG_VERSION"),
            privileged: false,
        };
        let mut host = fingerprint::read(&Roots::live(), measurer);
        host.name(wanted.naming.clone());
        let entry_bytes = ProcRoot::live().text("slabinfo");
        let entry_bytes = entry_bytes.and_then(|text| room::entry_bytes(&text));
        let memory = ProcRoot::live().text("meminfo");
        let memory = memory.and_then(|text| room::available_bytes(&text));
        let most = memory.map_or(wanted.most, |bytes| wanted.most.min(bytes / ENTRY_BYTES));
        let (privileged, given_up) = setup::acquire(&wanted.plan.paths)?;
        host.privileged = privileged;
        nicety_paths::sweep();
        let placement = setup::placement(&wanted.plan.paths)?;
        if stop.is_set() {
            return Err(RunError::Interrupted);
        }
        let report = StatefulReport {
            schema: SCHEMA,
            started: clock::rfc3339(clock::unix_time()),
            path: key.path_name(),
            frame_size_bytes: key.frame_size_bytes.bytes(),
            family: key.shape.family,
            protocol: key.shape.protocol,
            trial_s: wanted.trial.as_secs_f64(),
            host,
            table: TableFacts {
                entry_bytes,
                ..TableFacts::default()
            },
            setup: None,
            capacity: None,
            filling: Vec::new(),
            teardown: Vec::new(),
            goodput: Vec::new(),
            notes: given_up
                .into_iter()
                .chain(placement.notes.iter().cloned())
                .collect(),
            complete: false,
        };
        Ok(Self {
            wanted,
            report,
            placement,
            stop: stop.clone(),
            most,
        })
    }

    /// Measures all that was asked for, or what there was time for before `stop`.
    ///
    /// # Errors
    /// When the path cannot be had, or a port or the kernel fails.
    pub fn run(mut self, say: Say<'_>) -> Result<StatefulReport, RunError> {
        let path = self.build()?;
        self.report.notes.extend(path.facts().notes.iter().cloned());
        let max = path.table().most;
        let engine = self.engine(&path)?;
        self.report.table = TableFacts {
            max,
            buckets: path.table().buckets,
            timeout_s: path.table().timeouts_s[0],
            ..self.report.table
        };
        let table = Conntrack::open(path.router()).map_err(SetupError::from)?;
        let (_raised, priority) = priority::raise();
        let (stalls, unwatched) = machine::watch(&self.placement);
        let notes = priority.map(Note::from).into_iter().chain(unwatched);
        self.report.notes.extend(notes);
        let bench = Bench {
            engine,
            table: Arc::new(table),
            max,
            stop: self.stop.clone(),
            watch: Watch::new(stalls, &path),
            trial: self.wanted.trial,
            repeats: self.wanted.repeats,
            max_rate: self.wanted.max_rate,
            loss: self.wanted.loss,
            payload: setup_rate::payload(self.wanted.key.frame_size_bytes, &self.wanted.key.shape),
            room: room::usable(max, self.most, ROOM),
            safe: None,
        };
        match self.stages(bench, say) {
            Ok(()) => self.report.complete = true,
            Err(RunError::Interrupted) => {}
            Err(error) => return Err(error),
        }
        Ok(self.report)
    }

    fn stages(&mut self, mut bench: Bench, say: Say<'_>) -> Result<(), RunError> {
        let wanted = |stage| self.wanted.stages.contains(&stage);
        if wanted(TableStage::Setup) {
            let setup = bench.setup(say)?;
            bench.safe = setup.per_s.map(|figure| figure.median * bench::SAFE);
            self.report.setup = Some(setup);
        }
        if bench.safe.is_none() {
            bench.safe = Some(bench.guess_safe(say)?);
        }
        if wanted(TableStage::Capacity) {
            let (capacity, filling) = bench.capacity(self.most, say)?;
            self.report.filling = filling;
            if let Some(entries) = capacity.entries.filter(|_| capacity.overflowed.is_some()) {
                bench.room = bench.room.min((entries as f64 * ROOM) as u64);
            }
            self.report.capacity = Some(capacity);
        }
        let full = self
            .wanted
            .connections
            .unwrap_or(CONNECTIONS.min(bench.room));
        if wanted(TableStage::Teardown) {
            for entries in sizes(full, 10) {
                self.report.teardown.push(bench.teardown(entries, say)?);
            }
        }
        if wanted(TableStage::Goodput) {
            for state in EntryState::ALL {
                for entries in sizes(full, 1000) {
                    self.report
                        .goodput
                        .push(bench.goodput(entries, state, say)?);
                }
            }
        }
        Ok(())
    }

    fn build(&mut self) -> Result<TrackingPath, RunError> {
        let PathSpec::Routed(ask) = &self.wanted.key.path else {
            return Err(RunError::NoTable(self.wanted.key.path_name()));
        };
        let hosts = self.wanted.hosts;
        let needed = addresses_needed(self.most + 1, hosts);
        let addresses = self.wanted.addresses.unwrap_or(needed);
        let tuples = Tuples::new(self.most + 1, hosts, 0)?;
        self.report.table.hosts = hosts;
        self.report.table.addresses = if ask.snat() { addresses } else { 0 };
        self.report.table.ports = self.wanted.ports.filter(|_| ask.snat());
        self.report.table.destination_ports = tuples.destination_ports();
        let spec = TrackingSpec {
            rig: RigSpec {
                path_cpus: builder::path_cpus(&self.placement),
                largest_frame: self.wanted.key.frame_size_bytes,
                queues: builder::QUEUES,
            },
            ask: ask.clone(),
            ipv6: self.wanted.key.shape.is_ipv6(),
            tcp: self.wanted.key.shape.is_tcp(),
            stations: setup::own_stations(),
            hosts,
            addresses,
            ports: self.wanted.ports,
        };
        Ok(TrackingPath::build(&spec).map_err(SetupError::from)?)
    }

    fn engine(&self, path: &TrackingPath) -> Result<Connections, RunError> {
        let size = self.wanted.key.frame_size_bytes;
        let specs = setup::specs(path)?;
        let open = |side: usize| -> Result<PortSockets, SetupError> {
            let ns = &path.ports()[side].ns;
            Ok(ns.run(|| PortSockets::open(&specs[side], size))??)
        };
        let mark = nicety_port::run_mark();
        // Another order in every run, the same within it.
        let seed = u64::from(mark.identification());
        let tuples = Tuples::new(self.most + 1, self.wanted.hosts, seed)?;
        let cpus = setup::cpus(&self.placement);
        let frames = ConnectionFrames {
            size,
            shape: self.wanted.key.shape,
            mark,
        };
        let opened = Connections::new([open(0)?, open(1)?], frames, tuples, seed, cpus);
        Ok(opened.map_err(SetupError::from)?)
    }
}

/// A small part of the table, and all of it.
fn sizes(full: u64, part: u64) -> Vec<u64> {
    let mut sizes = vec![(full / part).max(1), full];
    sizes.dedup();
    sizes
}
