//! Engines whose frames are counted by the receive program of [`crate::xdp`], whatever sends them.

use std::ops::Range;

use nicety_model::Direction;
use nicety_packet::RunMark;

use crate::af_packet::{PortSpec, TrafficSpec};
use crate::engine::{
    Arrivals, Engine, EngineReport, Part, Slots, Stop, TrialOrder, WorkerUse, XdpCounts,
};
use crate::error::PortError;
use crate::marks::Made;
use crate::pace::Timetable;
use crate::sending::Sending;
use crate::xdp::receive::Receiver;
use crate::xdp::receivers::Receivers;

/// What sends from both ports.
pub trait Senders: Sized {
    /// Whether frames that the driver refuses are counted a second time, as taken.
    const REFUSED_TWICE: bool = false;
    /// Whether the load may become another while a trial runs.
    const STEPS: bool = false;

    /// Makes the frames. One thread sends per direction, on the first entries of `cpus`; with one
    /// entry, one thread sends for both.
    ///
    /// # Errors
    /// When the kernel, the user or the frame size does not allow it.
    fn new(
        specs: &[PortSpec; 2],
        traffic: TrafficSpec,
        cpus: Vec<Option<u32>>,
    ) -> Result<Self, PortError>;

    /// Attaches port `side` before a receiver is opened there, inside its network namespace.
    ///
    /// # Errors
    /// When the interface cannot carry the frames.
    fn attach(&mut self, _side: usize) -> Result<(), PortError> {
        Ok(())
    }

    /// Opens port `side` once a receiver is there, where one `receives`.
    ///
    /// # Errors
    /// When the interface takes no frames in this way.
    fn open(&mut self, _side: usize, _receives: bool) -> Result<(), PortError> {
        Ok(())
    }

    /// The engine's name; `mode` is how the receive programs run.
    fn name(&self, directions: usize, mode: &str) -> String;

    /// Sends learning frames from both ports.
    ///
    /// # Errors
    /// What the ports say.
    fn learn(&mut self) -> Result<(), PortError>;

    /// Sends one trial's frames from the first `directions` ports and returns when they are sent.
    ///
    /// # Errors
    /// What the ports say.
    fn trial(
        &mut self,
        directions: usize,
        order: &TrialOrder,
        stop: &Stop,
    ) -> Result<(Vec<Sending>, Vec<WorkerUse>), PortError>;

    /// When `stream`'s frames of the last trial were made; `None` where numbers were given up, and which
    /// ones is not known.
    fn made(&self, stream: usize) -> Option<Made>;
}

/// An engine whose ports are not all opened yet: every port is in a namespace of its own, and
/// must be opened there.
#[derive(Debug)]
pub struct Opening<S> {
    specs: [PortSpec; 2],
    traffic: TrafficSpec,
    senders: S,
    receivers: Receivers,
}

impl<S: Senders> Opening<S> {
    /// Makes the frames. One thread sends per direction, on the first entries of `cpus`; with one
    /// entry, one thread sends for both.
    ///
    /// # Errors
    /// When the kernel, the user or the frame size does not allow it.
    pub fn new(
        specs: [PortSpec; 2],
        traffic: TrafficSpec,
        cpus: Vec<Option<u32>>,
    ) -> Result<Self, PortError> {
        Ok(Self {
            senders: S::new(&specs, traffic, cpus)?,
            specs,
            traffic,
            receivers: Receivers::default(),
        })
    }

    /// Opens port `side`: 0 is A, 1 is B; B first, it is the one that receives in any case.
    /// Must be called on a thread inside its network namespace.
    ///
    /// # Errors
    /// When the interface does not take the receiving program, or cannot send the frames.
    pub fn open(&mut self, side: usize) -> Result<(), PortError> {
        self.senders.attach(side)?;
        let receives = side == 1 || self.traffic.direction == Direction::Bi;
        if receives {
            let receiver = receiver(&self.specs[side], self.traffic, side)?;
            self.receivers.push(receiver);
        }
        self.senders.open(side, receives)
    }

    /// The engine, once both ports are open.
    pub fn finish(self) -> XdpReceiveEngine<S> {
        let [_, b] = self.specs;
        XdpReceiveEngine {
            interface: b.interface,
            senders: self.senders,
            receivers: self.receivers,
            timetables: Vec::new(),
            mark: self.traffic.mark,
        }
    }
}

/// The receive program of port `side`: stream 0 arrives at B, stream 1 at A.
pub(crate) fn receiver(
    spec: &PortSpec,
    traffic: TrafficSpec,
    side: usize,
) -> Result<Receiver, PortError> {
    Receiver::open(spec, traffic, &[1 - side as u8])
}

/// The engine between two ports.
#[derive(Debug)]
pub struct XdpReceiveEngine<S> {
    /// Interface of port B.
    interface: String,
    pub(crate) senders: S,
    receivers: Receivers,
    /// When the frames of the last trial were due, by stream.
    timetables: Vec<Timetable>,
    mark: RunMark,
}

impl<S: Senders> Engine for XdpReceiveEngine<S> {
    fn name(&self) -> String {
        let directions = self.receivers.directions();
        self.senders.name(directions, &self.receivers.mode())
    }

    fn learn(&mut self) -> Result<(), PortError> {
        self.senders.learn()
    }

    fn trial(&mut self, order: &TrialOrder, stop: &Stop) -> Result<EngineReport, PortError> {
        self.receivers.reset(order)?;
        let directions = self.receivers.directions();
        let (sendings, workers) = self.senders.trial(directions, order, stop)?;
        self.receivers.drain(order)?;
        let timetables = sendings.iter().map(|sending| sending.timetable.clone());
        self.timetables = timetables.collect();
        let report = self
            .receivers
            .report(&sendings, workers, order, &self.interface)?;
        Ok(EngineReport {
            interrupted: stop.is_set(),
            xdp: XdpCounts {
                refused_twice: S::REFUSED_TWICE,
                ..report.xdp
            },
            ..report
        })
    }

    fn steps(&self) -> bool {
        S::STEPS
    }

    fn timetables(&self) -> &[Timetable] {
        &self.timetables
    }

    fn part(&self, spans: &[Range<u64>]) -> Option<Part> {
        self.receivers
            .part(|stream| self.senders.made(stream)?.numbers(spans))
    }

    fn mark(&self) -> RunMark {
        self.mark
    }

    fn arrivals(&self) -> Option<Vec<Arrivals>> {
        Some(self.receivers.arrivals())
    }

    fn slots(&self) -> Option<Slots> {
        self.receivers
            .slots(|stream| self.senders.made(stream)?.by_slot())
    }
}
