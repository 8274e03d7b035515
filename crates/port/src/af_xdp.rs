//! The `af_xdp` engine: frames leave through AF_XDP sockets and are counted by the receive
//! program of [`crate::xdp`]. For drivers that do not transmit the frames of a BPF program, and
//! kernels before 5.18, which cannot make them.
//!
//! Frames are filled here, paced as in [`crate::af_packet`]; the kernel copies them, or the driver
//! reads them where they are. See `docs/methodology/engines.md`.

mod ring;
mod socket;
mod tx;
mod worker;

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use nicety_model::Direction;
use nicety_packet::Template;

use crate::af_packet::socket::Socket;
use crate::af_packet::{PortSpec, Refusal, TrafficSpec, learning, templates};
use crate::clock::monotonic_ns;
use crate::engine::{Engine, EngineReport, Part, Slots, Stop, TrialOrder};
use crate::error::PortError;
use crate::pace::Pacer;
use crate::rest::Rests;
use crate::sending::{LEAD, LEARNING_FRAMES};
use crate::xdp::receive::Receiver;
use crate::xdp::receivers::Receivers;
use tx::{FRAME_BYTES_MAX, TxSocket};
use worker::{Sender, Shared};

/// How often the ports are looked at.
const LOOK: Duration = Duration::from_millis(20);

/// An engine whose ports are not all opened yet: every port is in a namespace of its own, and
/// must be opened there.
#[derive(Debug)]
pub struct Opening {
    specs: [PortSpec; 2],
    traffic: TrafficSpec,
    templates: [Template; 2],
    ports: Vec<Socket>,
    cpus: Vec<Option<u32>>,
    senders: Vec<Sender>,
    receivers: Receivers,
    idle: Vec<Receiver>,
}

impl Opening {
    /// Makes the frames. One thread sends per direction, on the first entries of `cpus`; with one
    /// entry, one thread sends for both.
    ///
    /// # Errors
    /// When a port cannot carry the frames, or they are larger than [`FRAME_SIZE_MAX`].
    pub fn new(
        specs: [PortSpec; 2],
        traffic: TrafficSpec,
        cpus: Vec<Option<u32>>,
    ) -> Result<Self, PortError> {
        let size = traffic.frame_size;
        specs.iter().try_for_each(|spec| spec.check_mtu(size))?;
        if size.bytes_without_fcs() > FRAME_BYTES_MAX {
            return Err(PortError::AfXdp {
                interface: specs[0].interface.clone(),
                why: format!(
                    "it sends frames of up to {} bytes, not of {}: use the engine xdp or af_packet",
                    FRAME_SIZE_MAX,
                    size.bytes()
                ),
            });
        }
        Ok(Self {
            templates: templates(specs.each_ref(), traffic)?,
            specs,
            traffic,
            ports: Vec::new(),
            cpus: if cpus.is_empty() { vec![None] } else { cpus },
            senders: Vec::new(),
            receivers: Receivers::default(),
            idle: Vec::new(),
        })
    }

    /// Opens port `side`: 0 is A, 1 is B; B first, it is the one that receives in any case.
    /// Must be called on a thread inside its network namespace.
    ///
    /// # Errors
    /// When the interface does not take the receiving program or the socket.
    pub fn open(&mut self, side: usize) -> Result<(), PortError> {
        let spec = &self.specs[side];
        // Stream 0 arrives at B, stream 1 at A. The program comes first: a zero-copy driver sets
        // up its queues for the socket only where a program is.
        let program = || Receiver::open(spec, self.traffic, &[1 - side as u8]);
        if side == 1 || self.traffic.direction == Direction::Bi {
            self.receivers.push(program()?);
        } else if spec.refusal == Refusal::NotSent {
            // Many drivers make queues for XDP frames only while a program is attached. Where it
            // cannot be, the kernel copies, as it does for a veth.
            self.idle.extend(program().ok());
        }
        let port = Socket::open(&spec.interface)?;
        port.bind_to_nothing()?;
        let socket = TxSocket::open(&port, self.templates[side].frame_bytes())?;
        self.ports.push(port);
        let template = self.templates[side].clone();
        let sender = Sender::new(socket, template, side as u8, spec.refusal)?;
        self.senders.push(sender);
        Ok(())
    }

    /// The engine, once both ports are open.
    pub fn finish(mut self) -> AfXdp {
        self.senders.sort_by_key(|sender| sender.stream);
        AfXdp {
            interfaces: self.specs.map(|spec| spec.interface),
            ports: self.ports,
            senders: self.senders,
            receivers: self.receivers,
            _idle: self.idle,
            cpus: self.cpus,
        }
    }
}

/// Largest frame, with its FCS of 4 bytes: what fits into a page with the room that drivers want
/// before it.
pub const FRAME_SIZE_MAX: u16 = FRAME_BYTES_MAX as u16 + 4;

/// The engine between two ports.
#[derive(Debug)]
pub struct AfXdp {
    interfaces: [String; 2],
    /// Say when an interface goes down.
    ports: Vec<Socket>,
    /// By stream. Those without load still send learning frames.
    senders: Vec<Sender>,
    receivers: Receivers,
    /// Programs at ports that only send, for their drivers.
    _idle: Vec<Receiver>,
    cpus: Vec<Option<u32>>,
}

impl Engine for AfXdp {
    fn name(&self) -> String {
        let mut copy_modes: Vec<_> = self.senders[..self.receivers.directions()]
            .iter()
            .map(|sender| match sender.socket.zero_copy() {
                true => "zero-copy",
                false => "copy",
            })
            .collect();
        copy_modes.dedup();
        format!(
            "af_xdp ({}, wake-up when needed; receive program {})",
            copy_modes.join(" and "),
            self.receivers.mode()
        )
    }

    fn learn(&mut self) -> Result<(), PortError> {
        for sender in &mut self.senders {
            let stations = sender.template.spec().flows.stations();
            // One refused learning frame is made good by the next.
            let frames = (LEARNING_FRAMES * u64::from(stations)).min(sender.socket.room() as u64);
            for number in 0..frames {
                sender.stamp(0, &learning(number as u32 % stations))?;
                sender.socket.hand_over(1);
                sender.socket.send()?;
            }
        }
        Ok(())
    }

    fn trial(&mut self, order: &TrialOrder, stop: &Stop) -> Result<EngineReport, PortError> {
        self.receivers.reset(order)?;
        let start_ns = monotonic_ns() + LEAD.as_nanos() as u64;
        let directions = self.receivers.directions();
        let threads = directions.min(self.cpus.len());
        let shared = Shared {
            stop,
            failed: AtomicBool::new(false),
            sending: AtomicUsize::new(threads),
            watcher: std::thread::current(),
            deadline_ns: start_ns + order.longest_ns(),
            rests: Rests::new(order.rest, start_ns),
            trial: order.trial,
        };
        let mut works: Vec<Vec<_>> = (0..threads).map(|_| Vec::new()).collect();
        for (n, sender) in self.senders[..directions].iter_mut().enumerate() {
            let pacer = Pacer::new(order.pace(), order.arrears(), order.frames(), start_ns);
            works[n % threads].push((sender, pacer));
        }
        let (ports, interface) = (&self.ports, &self.interfaces[0]);
        let (watched, done) = std::thread::scope(|scope| {
            let shared = &shared;
            let threads: Vec<_> = works
                .into_iter()
                .zip(&self.cpus)
                .map(|(senders, cpu)| scope.spawn(move || worker::run(*cpu, senders, shared)))
                .collect();
            let finished = || threads.iter().all(|thread| thread.is_finished());
            let watched = watch(ports, shared, finished);
            let joined: Vec<_> = threads.into_iter().map(|thread| thread.join()).collect();
            (watched, joined)
        });
        // A port that went down explains whatever else failed.
        watched?;
        let died = |_| PortError::Worker {
            interface: interface.clone(),
        };
        let done: Vec<_> = done
            .into_iter()
            .map(|result| result.map_err(died)?)
            .collect::<Result<_, PortError>>()?;
        let (sendings, workers): (Vec<_>, _) = done.into_iter().unzip();
        let mut sendings: Vec<_> = sendings.into_iter().flatten().collect();
        sendings.sort_by_key(|sending| sending.stream);
        self.receivers.drain(order)?;
        let interface = &self.interfaces[1];
        let report = self
            .receivers
            .report(&sendings, workers, order, interface)?;
        Ok(EngineReport {
            interrupted: stop.is_set(),
            ..report
        })
    }

    fn part(&self, spans: &[Range<u64>]) -> Option<Part> {
        self.receivers
            .part(|stream| self.senders.get(stream)?.numbers(spans))
    }

    fn slots(&self) -> Option<Slots> {
        self.receivers
            .slots(|stream| self.senders.get(stream)?.by_slot())
    }
}

/// Waits for the senders, and ends them when a port goes down.
fn watch(
    ports: &[Socket],
    shared: &Shared<'_>,
    finished: impl Fn() -> bool,
) -> Result<(), PortError> {
    loop {
        let up = ports.iter().try_for_each(Socket::check_up);
        if up.is_err() {
            shared.failed.store(true, Ordering::Relaxed);
            return up;
        }
        // A thread that died has not said so.
        if shared.sending.load(Ordering::Acquire) == 0 || finished() {
            return Ok(());
        }
        std::thread::park_timeout(LOOK);
    }
}

#[cfg(test)]
mod tests;
