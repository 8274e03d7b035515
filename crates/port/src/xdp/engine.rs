//! The engine: both ports' senders and receivers, and what they say together.

use std::ops::Range;

use nicety_model::Direction;

use super::receive::Receiver;
use super::receivers::Receivers;
use super::send::Senders;
use crate::af_packet::{PortSpec, TrafficSpec};
use crate::engine::{Engine, EngineReport, Part, Slots, Stop, TrialOrder, XdpCounts};
use crate::error::PortError;

/// An engine whose ports are not all opened yet: every port is in a namespace of its own, and
/// must be opened there.
#[derive(Debug)]
pub struct Opening {
    specs: [PortSpec; 2],
    traffic: TrafficSpec,
    senders: Senders,
    receivers: Receivers,
}

impl Opening {
    /// Loads the sending programs. One thread sends per direction, on the first entries of
    /// `cpus`; with one entry, one thread sends for both.
    ///
    /// # Errors
    /// [`PortError::Xdp`] when the kernel, the user or the frame size does not allow it.
    pub fn new(
        specs: [PortSpec; 2],
        traffic: TrafficSpec,
        cpus: Vec<Option<u32>>,
    ) -> Result<Self, PortError> {
        Ok(Self {
            senders: Senders::load(specs.clone(), traffic, cpus)?,
            specs,
            traffic,
            receivers: Receivers::default(),
        })
    }

    /// Opens port `side`: 0 is A, 1 is B; B first, it is the one that receives in any case.
    /// Must be called on a thread inside its network namespace.
    ///
    /// # Errors
    /// When the interface does not take the receiving program, or cannot carry the frames.
    pub fn open(&mut self, side: usize) -> Result<(), PortError> {
        self.senders.attach(side)?;
        // Stream 0 arrives at B, stream 1 at A.
        if side == 1 || self.traffic.direction == Direction::Bi {
            let stream = 1 - side as u8;
            let receiver = Receiver::open(&self.specs[side], self.traffic, &[stream])?;
            self.receivers.push(receiver);
        }
        Ok(())
    }

    /// The engine, once both ports are open.
    pub fn finish(self) -> Xdp {
        Xdp {
            interfaces: self.specs.map(|spec| spec.interface),
            senders: self.senders,
            receivers: self.receivers,
        }
    }
}

/// The engine between two ports.
#[derive(Debug)]
pub struct Xdp {
    interfaces: [String; 2],
    senders: Senders,
    receivers: Receivers,
}

impl Engine for Xdp {
    fn name(&self) -> String {
        format!(
            "xdp (live frames; receive program {})",
            self.receivers.mode()
        )
    }

    fn learn(&mut self) -> Result<(), PortError> {
        self.senders.learn()
    }

    fn trial(&mut self, order: &TrialOrder, stop: &Stop) -> Result<EngineReport, PortError> {
        self.receivers.reset(order)?;
        let (sendings, workers) = self
            .senders
            .trial(self.receivers.directions(), order, stop)?;
        self.receivers.drain(order)?;
        let interface = &self.interfaces[1];
        let report = self
            .receivers
            .report(&sendings, workers, order, interface)?;
        Ok(EngineReport {
            interrupted: stop.is_set(),
            xdp: XdpCounts {
                refused_twice: true,
                ..report.xdp
            },
            ..report
        })
    }

    fn part(&self, spans: &[Range<u64>]) -> Option<Part> {
        self.receivers
            .part(|stream| self.senders.numbers(stream, spans))
    }

    fn slots(&self) -> Option<Slots> {
        self.receivers.slots(|stream| self.senders.by_slot(stream))
    }
}
