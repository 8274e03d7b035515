//! What is behind a port: one that asks and waits for answers, or one that floods.

use std::fs::File;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use nicety_packet::MacAddr;
use nicety_packet::{ethernet, ipv4, udp};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::Flood;
use crate::flows::SINK;

/// Nobody has this address: what is sent there is on the uplink, and no process of the sink wakes up for it.
const NOBODY: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 253);
/// Of whoever answers.
pub const ANSWERS: u16 = 7;
const ASKS: u16 = 40_000;
/// Between two questions.
const EVERY: Duration = Duration::from_millis(1);
/// An answer that takes longer counts as taking that long.
const PATIENCE: Duration = Duration::from_millis(50);
/// Bytes of a small datagram: a frame of 60 bytes.
const SMALL: usize = 18;
const LARGE: usize = 1472;
const HEADERS: usize = ethernet::HEADER_BYTES + ipv4::HEADER_BYTES + udp::HEADER_BYTES;
/// `struct virtio_net_hdr` before every frame of a tap.
const VNET: usize = 10;

/// A guest.
pub enum Guest {
    /// A container: sockets of its own kernel.
    Sockets(UdpSocket),
    /// A machine: frames through the descriptor of a tap or macvtap.
    Frames(Machine),
}

pub struct Machine {
    pub tap: File,
    pub mac: MacAddr,
    pub address: Ipv4Addr,
    /// Of the sink.
    pub to: MacAddr,
}

impl Machine {
    /// A datagram as it goes into the tap.
    fn frame(&self, to: (Ipv4Addr, u16), from: u16, data: &[u8]) -> Vec<u8> {
        let mut frame = vec![0; VNET + HEADERS];
        frame.extend_from_slice(data);
        let (_, packet) = frame.split_at_mut(VNET);
        let length = (udp::HEADER_BYTES + data.len()) as u16;
        if let Some((head, rest)) = packet.split_first_chunk_mut() {
            ethernet::write(head, self.to, self.mac, 0x0800);
            if let Some((head, rest)) = rest.split_first_chunk_mut() {
                ipv4::write(head, 0, length + 20, [self.address, to.0]);
                if let Some(head) = rest.first_chunk_mut() {
                    // Without a checksum, as IPv4 allows.
                    udp::write(head, from, to.1, length);
                }
            }
        }
        frame
    }

    /// The data of an answer to this machine.
    fn answer(frame: &[u8]) -> Option<&[u8]> {
        let packet = frame.get(VNET..)?;
        let head = ethernet::EthernetHeader::new(packet)?;
        let datagram = packet.get(ethernet::HEADER_BYTES + ipv4::HEADER_BYTES..)?;
        let from = udp::UdpHeader::new(datagram)?.source();
        (head.ether_type() == 0x0800 && from == ANSWERS)
            .then(|| datagram.get(udp::HEADER_BYTES..))?
    }
}

impl Guest {
    fn ask(&self, number: u64) -> std::io::Result<()> {
        let data = number.to_be_bytes();
        match self {
            Self::Sockets(socket) => socket.send_to(&data, (SINK, ANSWERS)).map(drop),
            Self::Frames(machine) => {
                let frame = machine.frame((SINK, ANSWERS), ASKS, &data);
                (&machine.tap).write(&frame).map(drop)
            }
        }
    }

    /// Whether the answer to a question has come before `until`.
    fn waits(&self, number: u64, until: Instant) -> Result<bool> {
        let mut buffer = [0; 2048];
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(false);
            }
            let time = Timespec::try_from(left).ok();
            let ready = match self {
                Self::Sockets(socket) => {
                    poll(&mut [PollFd::new(socket, PollFlags::IN)], time.as_ref())
                }
                Self::Frames(machine) => poll(
                    &mut [PollFd::new(&machine.tap, PollFlags::IN)],
                    time.as_ref(),
                ),
            };
            if ready? == 0 {
                continue;
            }
            let read = match self {
                Self::Sockets(socket) => socket.recv(&mut buffer),
                Self::Frames(machine) => (&machine.tap).read(&mut buffer),
            };
            let Ok(read) = read else { continue };
            let got = buffer
                .get(..read)
                .context("a read is no longer than its buffer")?;
            let data = match self {
                Self::Sockets(_) => Some(got),
                Self::Frames(_) => Machine::answer(got),
            };
            if data.is_some_and(|data| data.starts_with(&number.to_be_bytes())) {
                return Ok(true);
            }
        }
    }

    /// Asks a thousand times a second; how long each answer took, in µs. One that could not be asked in time because an
    /// earlier one was late counts from when it should have been asked.
    pub fn round_trips(&self, time: Duration) -> Result<Vec<f64>> {
        let count = (time.as_secs_f64() / EVERY.as_secs_f64()) as u32;
        let begin = Instant::now();
        let mut times = Vec::new();
        for number in 0..count {
            let due = begin + EVERY * number;
            let early = due.saturating_duration_since(Instant::now());
            std::thread::sleep(early);
            let from = if early.is_zero() { due } else { Instant::now() };
            let asked = Instant::now();
            // A full queue is an answer that does not come.
            let _ = self.ask(number.into());
            let came = self.waits(number.into(), asked + PATIENCE)?;
            let took = if came {
                from.elapsed()
            } else {
                from.elapsed().max(PATIENCE)
            };
            times.push(took.as_secs_f64() * 1e6);
        }
        Ok(times)
    }

    /// Sends as much as goes, until it is over; how many datagrams.
    pub fn flood(&self, flood: Flood, over: &AtomicBool) -> u64 {
        let data = [0; LARGE];
        let data = match flood {
            Flood::Large => &data[..],
            Flood::Small | Flood::Flows => &data[..SMALL],
        };
        let mut sent = 0;
        let mut flow = 0u16;
        let mut frame = match self {
            Self::Frames(machine) => machine.frame((NOBODY, 9), ASKS, data),
            Self::Sockets(_) => Vec::new(),
        };
        while !over.load(Ordering::Relaxed) {
            if flood == Flood::Flows {
                flow = flow.wrapping_add(1);
            }
            let done = match self {
                Self::Sockets(socket) => socket.send_to(data, (NOBODY, 1024 | flow)),
                Self::Frames(machine) => {
                    // The port to which it goes; nothing else is checked of it.
                    let at = VNET + ethernet::HEADER_BYTES + ipv4::HEADER_BYTES + 2;
                    if let Some(port) = frame.get_mut(at..at + 2) {
                        port.copy_from_slice(&(1024 | flow).to_be_bytes());
                    }
                    (&machine.tap).write(&frame)
                }
            };
            sent += u64::from(done.is_ok());
        }
        sent
    }
}
