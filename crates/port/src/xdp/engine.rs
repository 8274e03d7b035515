//! The engine: both ports' senders and receivers, and what they say together.

use std::time::{Duration, Instant};

use nicety_account::{Latency, StreamTotals};
use nicety_model::{Direction, StreamCounts};

use super::receive::Receiver;
use super::send::{Senders, Sending};
use crate::af_packet::{PortSpec, TrafficSpec};
use crate::engine::{Engine, EngineReport, SenderReport, Stop, TrialOrder};
use crate::error::PortError;

/// How often the receivers are asked for new frames while the path drains.
const LOOK: Duration = Duration::from_millis(1);

/// An engine whose ports are not all opened yet: every port is in a namespace of its own, and
/// must be opened there.
#[derive(Debug)]
pub struct Opening {
    specs: [PortSpec; 2],
    traffic: TrafficSpec,
    senders: Senders,
    receivers: Vec<Receiver>,
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
            receivers: Vec::new(),
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
    /// The receiver of stream 0, and that of stream 1 when there are two directions.
    receivers: Vec<Receiver>,
}

impl Engine for Xdp {
    fn name(&self) -> String {
        let modes: Vec<_> = self.receivers.iter().map(Receiver::mode).collect();
        let mode = match modes.as_slice() {
            [a, b] if a != b => format!("{a}; {b}"),
            [mode, ..] => (*mode).to_owned(),
            [] => String::new(),
        };
        format!("xdp (live frames; receive program {mode})")
    }

    fn learn(&mut self) -> Result<(), PortError> {
        self.senders.learn()
    }

    fn trial(&mut self, order: &TrialOrder, stop: &Stop) -> Result<EngineReport, PortError> {
        for receiver in &mut self.receivers {
            receiver.reset(order.trial, order.frames())?;
        }
        let (sendings, workers) = self.senders.trial(self.receivers.len(), order, stop)?;
        self.drain(order)?;
        let mut streams = Vec::new();
        let latency_error = |source| PortError::account(&self.interfaces[1], source);
        let mut latency = Latency::new().map_err(latency_error)?;
        for (receiver, sending) in self.receivers.iter_mut().zip(&sendings) {
            let (counts, seen) = receiver.finish(&[StreamTotals {
                stream: sending.stream,
                intended: order.frames(),
                sent: sending.sent,
            }])?;
            streams.extend(counts);
            latency.merge(&seen);
        }
        Ok(EngineReport {
            workers,
            interrupted: stop.is_set(),
            latency: latency.summary(),
            ..report(&sendings, streams, order)
        })
    }
}

impl Xdp {
    /// Waits for frames under way.
    fn drain(&self, order: &TrialOrder) -> Result<(), PortError> {
        let begun = Instant::now();
        let count = || self.receivers.iter().map(Receiver::received_so_far).sum();
        let (mut seen, mut changed): (u64, _) = (count(), begun);
        while changed.elapsed() < order.drain_quiet && begun.elapsed() < order.drain_max {
            std::thread::sleep(LOOK);
            let now = count();
            if now != seen {
                (seen, changed) = (now, Instant::now());
            }
        }
        self.receivers.iter().try_for_each(Receiver::check_up)
    }
}

/// What is known when all is sent and counted.
fn report(sendings: &[Sending], streams: Vec<StreamCounts>, order: &TrialOrder) -> EngineReport {
    let starts = || sendings.iter().map(|s| s.first_ns).filter(|ns| *ns > 0);
    let spread = starts().max().unwrap_or(0) - starts().min().unwrap_or(0);
    EngineReport {
        senders: sendings
            .iter()
            .map(|sending| SenderReport {
                stream: sending.stream,
                intended: order.frames(),
                sent: sending.sent,
                refused_by_path: sending.refused_by_path,
                pacing: sending.pacing,
            })
            .collect(),
        streams,
        latency: None,
        // Both ends read the monotonic clock.
        clock_stepped: false,
        // The receiving program has no ring that could be full.
        tester_drops: 0,
        by_xdp: true,
        interrupted: false,
        start_spread_s: spread as f64 * 1e-9,
        workers: Vec::new(),
    }
}
