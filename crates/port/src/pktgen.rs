//! The `pktgen` engine: the kernel's own generator makes and paces frames, a program on the way out
//! of the port turns them into test frames, and they are counted by the receive program of
//! [`crate::xdp`]. For real NICs whose driver transmits no frames of BPF programs, and for frames
//! that do not fit into the page that these and AF_XDP want. What it does and does not do:
//! `docs/methodology/engines.md`.

mod control;
mod device_log;
mod program;
mod send;
mod text;

use std::ops::Range;

use nicety_model::Direction;

use crate::af_packet::{PortSpec, TrafficSpec};
use crate::engine::{Engine, EngineReport, Part, Slots, Stop, TrialOrder};
use crate::error::PortError;
use crate::xdp::receive::Receiver;
use crate::xdp::receivers::Receivers;
pub use control::there;
use send::Senders;

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
    /// Makes the frames. The pktgen threads of the first CPUs in `cpus` send, one per direction;
    /// with one entry, one thread sends for both.
    ///
    /// # Errors
    /// When the frames cannot be made.
    pub fn new(
        specs: [PortSpec; 2],
        traffic: TrafficSpec,
        cpus: &[Option<u32>],
    ) -> Result<Self, PortError> {
        Ok(Self {
            senders: Senders::new(specs.clone(), traffic, cpus)?,
            specs,
            traffic,
            receivers: Receivers::default(),
        })
    }

    /// Opens port `side`: 0 is A, 1 is B; B first, it is the one that receives in any case.
    /// Must be called on a thread inside its network namespace.
    ///
    /// # Errors
    /// When there is no pktgen, somebody else uses it, or the interface takes no program.
    pub fn open(&mut self, side: usize) -> Result<(), PortError> {
        // Stream 0 arrives at B, stream 1 at A.
        if side == 1 || self.traffic.direction == Direction::Bi {
            let stream = 1 - side as u8;
            let receiver = Receiver::open(&self.specs[side], self.traffic, &[stream])?;
            self.receivers.push(receiver);
        }
        self.senders.open(side, self.traffic)
    }

    /// The engine, once both ports are open.
    pub fn finish(self) -> Pktgen {
        Pktgen {
            interface: self.specs.map(|spec| spec.interface)[1].clone(),
            senders: self.senders,
            receivers: self.receivers,
        }
    }
}

/// The engine between two ports.
#[derive(Debug)]
pub struct Pktgen {
    interface: String,
    senders: Senders,
    receivers: Receivers,
}

impl Engine for Pktgen {
    fn name(&self) -> String {
        format!(
            "pktgen (queue_xmit, stamped in tc; receive program {})",
            self.receivers.mode()
        )
    }

    fn learn(&mut self) -> Result<(), PortError> {
        self.senders.learn()
    }

    fn trial(&mut self, order: &TrialOrder, stop: &Stop) -> Result<EngineReport, PortError> {
        self.receivers.reset(order)?;
        let (sendings, workers) = self.senders.trial(order, stop)?;
        self.receivers.drain(order)?;
        let report = self
            .receivers
            .report(&sendings, workers, order, &self.interface)?;
        Ok(EngineReport {
            interrupted: stop.is_set(),
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
