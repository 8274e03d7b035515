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

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use nicety_packet::Template;

use crate::af_packet::socket::Socket;
use crate::af_packet::{PortSpec, Refusal, TrafficSpec, learning, templates};
use crate::clock::monotonic_ns;
use crate::engine::{Stop, TrialOrder, WorkerUse};
use crate::error::{PortError, PortFault};
use crate::marks::Made;
use crate::rest::Rests;
use crate::sending::{LEAD, LEARNING_FRAMES, Sending, by_stream};
use crate::stamped::Stamped;
use crate::xdp::receive::Receiver;
use crate::xdp_receive::{Senders, XdpReceiveEngine, receiver};
use tx::{FRAME_BYTES_MAX, TxSocket};
use worker::{Sender, Shared};

/// What it sends by.
const BY: &str = "AF_XDP";
/// How often the ports are looked at.
const LOOK: Duration = Duration::from_millis(20);

/// Largest frame, with its FCS of 4 bytes: what fits into a page with the room that drivers want
/// before it.
pub const FRAME_SIZE_MAX: u16 = FRAME_BYTES_MAX as u16 + 4;

/// The engine between two ports.
pub type AfXdp = XdpReceiveEngine<AfXdpSenders>;
/// The engine while its ports are opened.
pub type Opening = crate::xdp_receive::Opening<AfXdpSenders>;

/// The sending halves of both ports.
#[derive(Debug)]
pub struct AfXdpSenders {
    specs: [PortSpec; 2],
    traffic: TrafficSpec,
    templates: [Template; 2],
    /// Say when an interface goes down.
    ports: Vec<Socket>,
    /// By stream. Those without load still send learning frames.
    senders: Vec<Sender>,
    /// Programs at ports that only send, for their drivers.
    idle: Vec<Receiver>,
    cpus: Vec<Option<u32>>,
}

impl Senders for AfXdpSenders {
    const STEPS: bool = true;

    fn new(
        specs: &[PortSpec; 2],
        traffic: TrafficSpec,
        cpus: Vec<Option<u32>>,
    ) -> Result<Self, PortError> {
        let size = traffic.frame_size;
        specs.iter().try_for_each(|spec| spec.check_mtu(size))?;
        if size.bytes_without_fcs() > FRAME_BYTES_MAX {
            let why = format!(
                "it sends frames of up to {FRAME_SIZE_MAX} bytes, not of {}: use the engine xdp or af_packet",
                size.bytes()
            );
            return Err(PortError::send(&specs[0].interface, BY, why));
        }
        Ok(Self {
            templates: templates(specs.each_ref(), traffic)?,
            specs: specs.clone(),
            traffic,
            ports: Vec::new(),
            cpus: if cpus.is_empty() { vec![None] } else { cpus },
            senders: Vec::new(),
            idle: Vec::new(),
        })
    }

    /// A zero-copy driver sets up its queues for the socket only where a program is.
    fn open(&mut self, side: usize, receives: bool) -> Result<(), PortError> {
        let spec = &self.specs[side];
        if !receives && spec.refusal == Refusal::NotSent {
            // Many drivers make queues for XDP frames only while a program is attached. Where it
            // cannot be, the kernel copies, as it does for a veth.
            self.idle.extend(receiver(spec, self.traffic, side).ok());
        }
        let port = Socket::open(&spec.interface)?;
        port.bind_to_nothing()?;
        let socket = TxSocket::open(&port, self.templates[side].frame_bytes())?;
        self.ports.push(port);
        let template = self.templates[side].clone();
        self.senders.push(Sender {
            out: Stamped::new(socket, template, side as u8)?,
            refusal: spec.refusal,
            made: None,
        });
        self.senders.sort_by_key(|sender| sender.out.stream);
        Ok(())
    }

    fn name(&self, directions: usize, mode: &str) -> String {
        let mut copy_modes: Vec<_> = self.senders[..directions]
            .iter()
            .map(|sender| {
                if sender.out.socket.zero_copy() {
                    "zero-copy"
                } else {
                    "copy"
                }
            })
            .collect();
        copy_modes.dedup();
        format!(
            "af_xdp ({}, wake-up when needed; receive program {mode})",
            copy_modes.join(" and ")
        )
    }

    fn learn(&mut self) -> Result<(), PortError> {
        for Sender { out, .. } in &mut self.senders {
            let stations = out.stations();
            // One refused learning frame is made good by the next.
            let frames = (LEARNING_FRAMES * u64::from(stations)).min(out.socket.room() as u64);
            for number in 0..frames {
                out.stamp(0, &learning(number as u32 % stations))?;
                out.socket.hand_over(1);
                out.socket.send()?;
            }
        }
        Ok(())
    }

    fn trial(
        &mut self,
        directions: usize,
        order: &TrialOrder,
        stop: &Stop,
    ) -> Result<(Vec<Sending>, Vec<WorkerUse>), PortError> {
        let start_ns = monotonic_ns() + LEAD.as_nanos() as u64;
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
            works[n % threads].push((sender, order.pacer(start_ns)));
        }
        let (ports, interface) = (&self.ports, &self.specs[0].interface);
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
        let died = |_| PortError::new(interface, PortFault::Worker);
        let done = done.into_iter().map(|result| result.map_err(died)?);
        Ok(by_stream(done.collect::<Result<_, PortError>>()?))
    }

    fn made(&self, stream: usize) -> Option<Made> {
        self.senders.get(stream)?.made.clone()
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
