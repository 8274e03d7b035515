//! A tester of tables of connections (RFC 9693): side A opens connections, side B keeps what it sees of them in a
//! table of its own, and answers each.
//!
//! Frames are those of the `af_packet` engine, of IPv4 or IPv6 and UDP or TCP, with four-tuples of [`Tuples`]. Those of
//! TCP acknowledge data from the first on: connection tracking picks them up as connections under way
//! (`nf_conntrack_tcp_loose`). The table holds what translation made
//! of each source, so that answers go where the first frame seemed to come from, and side A sees whether they were
//! translated back to the connection's own addresses.

mod frames;
mod poll;
mod table;

use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::time::Duration;

use nicety_model::{Direction, Fps, FrameSize, Shape};
use nicety_packet::{Flow, Order, RunMark, Tuples};

use super::{PortSockets, TrafficSpec};
use crate::clock::monotonic_ns;
use crate::engine::Stop;
use crate::error::{PortError, PortFault};
use crate::pace::{Arrears, Pacer};
use crate::sending::LEAD;

use frames::{Made, Wanted};
use poll::{In, Out, Shared, Task};
use table::{Access, Table};

/// Sending may take so many times as long as it should before what is left is given up: a fill counts all the same.
const PATIENCE: f64 = 10.0;
/// And so much longer, for short phases.
const SLACK: Duration = Duration::from_secs(5);

/// What the two sides do in a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// A sends the first frame of each connection; B notes them (RFC 9693, test phase 1).
    Open,
    /// B sends a frame back on each connection that it has noted (test phase 2, for validation).
    Answer,
    /// A sends on connections that are open.
    Forth,
    /// Both send on connections that are open (test phase 2).
    Both,
}

/// One phase.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PhaseOrder {
    /// What is sent.
    pub phase: Phase,
    /// Connections: those with numbers below this.
    pub connections: u32,
    /// Frames of each side that sends; of [`Phase::Open`] and [`Phase::Answer`] as many as connections.
    pub frames: u64,
    /// Rate of each side that sends.
    pub rate: Fps,
    /// A late sender makes up for up to 64 frames, see [`Arrears`]: for fills, whose rate is no figure.
    pub catch_up: bool,
    /// Longest wait for late frames.
    pub drain_max: Duration,
    /// The wait ends early when nothing has arrived for this long.
    pub drain_quiet: Duration,
}

/// What became of the frames of one side.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Way {
    /// Frames that were to be sent.
    pub intended: u64,
    /// Frames that were sent, those that the path's first ring refused included.
    pub sent: u64,
    /// Of these, frames that the path's first ring refused.
    pub refused: u64,
    /// Frames that arrived, each counted once.
    pub arrived: u64,
    /// Frames that arrived again.
    pub again: u64,
    /// Frames that arrived with addresses or ports that are not those of their connection; none of them has arrived.
    pub strange: u64,
    /// Frames per second that were sent.
    pub offered_fps: f64,
}

/// What happened in a phase.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PhaseReport {
    /// From A to B; absent where A sends nothing.
    pub forth: Option<Way>,
    /// From B to A; absent where B sends nothing.
    pub back: Option<Way>,
    /// Frames that the tester's own rings had no room for.
    pub tester_drops: u64,
    /// The phase was stopped before its end.
    pub interrupted: bool,
}

/// What the frames of connections are like.
#[derive(Debug, Clone, Copy)]
pub struct ConnectionFrames {
    /// Size of all.
    pub size: FrameSize,
    /// IP version and the header behind it; sizes, tags and popularity have no meaning here.
    pub shape: Shape,
    /// Whose frames they are.
    pub mark: RunMark,
}

/// The two sides.
#[derive(Debug)]
pub struct Connections {
    ports: [PortSockets; 2],
    frames: [Made; 2],
    wanted: Wanted,
    tuples: Tuples,
    /// Connections by the order in which frames follow each other on open ones.
    seed: u64,
    table: Table,
    cpus: Vec<Option<u32>>,
    trial: u8,
}

impl Connections {
    /// Joins two opened ports. The first of `cpus` sends and the last receives; with one the same thread does both.
    ///
    /// # Errors
    /// When frames of this size cannot be made for the ports.
    pub fn new(
        ports: [PortSockets; 2],
        frames: ConnectionFrames,
        tuples: Tuples,
        seed: u64,
        cpus: Vec<Option<u32>>,
    ) -> Result<Self, PortError> {
        let traffic = TrafficSpec {
            shape: frames.shape,
            mark: frames.mark,
            ..TrafficSpec::plain(frames.size, Direction::Bi)
        };
        let frames = Made::both([&ports[0].spec, &ports[1].spec], traffic)?;
        Ok(Self {
            wanted: frames[0].wanted(),
            frames,
            ports,
            tuples,
            seed,
            table: Table::default(),
            cpus: if cpus.is_empty() { vec![None] } else { cpus },
            trial: 0,
        })
    }

    /// Connections that there are tuples for.
    pub fn most(&self) -> u32 {
        self.tuples.count()
    }

    /// Connections that side B knows: frames of so many have reached it since they were last opened.
    pub fn known(&self) -> u64 {
        self.table.known()
    }

    /// Runs one phase and waits for late frames.
    ///
    /// # Errors
    /// When a port fails, or goes down.
    pub fn run(&mut self, order: &PhaseOrder, stop: &Stop) -> Result<PhaseReport, PortError> {
        self.trial = self.trial.wrapping_add(1);
        let connections = order.connections.min(self.tuples.count());
        let frames = match order.phase {
            Phase::Open | Phase::Answer => u64::from(connections),
            Phase::Forth | Phase::Both => order.frames,
        };
        if order.phase == Phase::Open {
            self.table.begin(connections);
        }
        for port in &self.ports {
            port.rx.take_drops()?;
        }
        let shuffled = Order::new(connections, self.seed ^ u64::from(self.trial));
        let sends = match order.phase {
            Phase::Open | Phase::Forth => [true, false],
            Phase::Answer => [false, true],
            Phase::Both => [true, true],
        };
        let start_ns = monotonic_ns() + LEAD.as_nanos() as u64;
        let length_s = frames as f64 / order.rate.0.max(1.0);
        let shared = Shared {
            stop,
            failed: AtomicBool::new(false),
            sending: AtomicUsize::new(sends.iter().filter(|sends| **sends).count()),
            deadline_ns: start_ns + (length_s * PATIENCE * 1e9) as u64 + SLACK.as_nanos() as u64,
            drain_max_ns: order.drain_max.as_nanos() as u64,
            drain_quiet_ns: order.drain_quiet.as_nanos() as u64,
            trial: self.trial,
            tuples: self.tuples,
            order: (order.phase != Phase::Open).then_some(shuffled),
            wanted: self.wanted.clone(),
        };
        let ways = self.work(sends, frames, order, start_ns, &shared)?;
        let mut report = PhaseReport {
            interrupted: stop.is_set(),
            ..PhaseReport::default()
        };
        for (side, way) in ways
            .into_iter()
            .enumerate()
            .filter(|(side, _)| sends[*side])
        {
            let way = Some(Way {
                intended: frames,
                ..way
            });
            match side {
                0 => report.forth = way,
                _ => report.back = way,
            }
        }
        for port in &self.ports {
            report.tester_drops += port.rx.take_drops()?;
        }
        Ok(report)
    }

    fn work(
        &mut self,
        sends: [bool; 2],
        frames: u64,
        order: &PhaseOrder,
        start_ns: u64,
        shared: &Shared<'_>,
    ) -> Result<[Way; 2], PortError> {
        let interface = self.ports[0].spec.interface.clone();
        let [a, b] = &mut self.ports;
        let (mut outs, mut ins) = (Vec::new(), Vec::new());
        let access = self.table.access(order.phase == Phase::Open);
        let pacer = || {
            let arrears = Arrears::of(order.rate, order.catch_up);
            Pacer::new(order.rate, arrears, frames, start_ns)
        };
        let halves = [(0, &mut a.tx, &mut b.rx), (1, &mut b.tx, &mut a.rx)];
        let (mut noting, known) = match access {
            Access::Note(entries) => (Some(entries), None),
            Access::Know(entries) => (None, Some(entries)),
        };
        for (side, tx, rx) in halves {
            if !sends[side] {
                continue;
            }
            outs.push(Out::new(
                side,
                tx,
                &self.frames[side],
                pacer(),
                known.filter(|_| side == 1),
            )?);
            let access = match (side, noting.take()) {
                (0, Some(entries)) => Some(Access::Note(entries)),
                _ => known.filter(|_| side == 0).map(Access::Know),
            };
            ins.push(In::new(side, rx, frames, access));
        }
        // One thread that sends, one that receives; or one that does both by turns.
        let tasks = match self.cpus.as_slice() {
            [cpu, .., last] => vec![
                Task::new(*cpu, outs, Vec::new()),
                Task::new(*last, Vec::new(), ins),
            ],
            one => vec![Task::new(one.first().copied().flatten(), outs, ins)],
        };
        let done: Result<Vec<_>, PortError> = std::thread::scope(|scope| {
            let threads: Vec<_> = tasks
                .into_iter()
                .map(|task| scope.spawn(|| task.run(shared)))
                .collect();
            let died = |_| PortError::new(&interface, PortFault::Worker);
            let joined = threads.into_iter().map(|thread| thread.join());
            joined.map(|result| result.map_err(died)?).collect()
        });
        let mut ways = [Way::default(); 2];
        for part in done?.into_iter().flatten() {
            part.add_to(&mut ways);
        }
        Ok(ways)
    }
}

/// The flow of an answer to a first frame that arrived as `seen`.
fn answer(seen: Flow) -> Flow {
    Flow {
        source: seen.destination,
        destination: seen.source,
        source_port: seen.destination_port,
        destination_port: seen.source_port,
    }
}
