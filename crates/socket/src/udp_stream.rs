//! Datagrams one after another, numbered where they have room for it.
//!
//! With offload the kernel cuts one send into many datagrams (UDP_SEGMENT) and hands
//! neighbouring ones over in one piece (UDP_GRO). What is on the wire stays datagrams of the
//! size asked for; what lies within a host may carry them in one piece.

use std::io;
use std::net::UdpSocket;
use std::time::Duration;

use nicety_account::{Arrival, Tracker};
use nicety_model::note::SockNote;
use nicety_model::sock::DatagramCounts;
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net::sockopt;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use crate::hello;
use crate::io_step;
use crate::job::{Job, Live, Patience, TICK, Tally};
use crate::join::UdpFlow;
use crate::poller::{EVENTS, poller, wait};
use crate::sys;

/// Mark before the number, so that strange datagrams do not count.
const MARK: u32 = 0x4e43_5459;
/// Mark and number.
const HEADER: usize = 8;
/// Segments of one send that every kernel with UDP_SEGMENT takes (UDP_MAX_SEGMENTS was 64
/// before Linux 6.9, include/linux/udp.h).
const MOST_SEGMENTS: usize = 64;
/// Largest payload of one send, 65,535 less headers.
const LARGEST_SEND: usize = 65_487;
/// Receive buffer asked for; the kernel grants what net.core.rmem_max allows.
const BUFFER: usize = 8 << 20;
/// Quiet after which nothing more is on the way.
const DRAIN: Duration = Duration::from_millis(200);
/// Numbers a flow's receiver tells apart.
const WINDOW: usize = 1 << 16;
/// Longest a paced sender puts datagrams off to send several at once.
const BATCH_NS: u64 = 200_000;
/// How long after the end a paced sender may send what was due before it: a sender that was kept
/// from its CPU catches up, one that cannot keep the rate does not.
const CATCH_UP_NS: u64 = 500_000_000;

/// One flow of the sender.
struct Sender {
    flow: UdpFlow,
    out: Vec<u8>,
    /// Datagrams in `out`.
    segments: usize,
    next: u64,
}

impl Sender {
    fn new(flow: UdpFlow, job: &Job, tally: &mut Tally) -> Self {
        let bytes = job.spec.message_bytes as usize;
        let segments = if job.spec.offload {
            segments(&flow.socket, bytes)
        } else {
            1
        };
        let on = segments > 1 && sys::set_udp_segment(&flow.socket, bytes as u16).is_ok();
        let segments = if on { segments } else { 1 };
        if on {
            tally.feature(&format!("UDP_SEGMENT x{segments}"));
        }
        let message = io_step::buffer(job.spec.message_bytes);
        let mut out = message.repeat(segments);
        if bytes >= HEADER {
            for part in out.chunks_mut(bytes) {
                part[..4].copy_from_slice(&MARK.to_be_bytes());
            }
        }
        Self {
            flow,
            out,
            segments,
            next: 0,
        }
    }

    /// Sends up to `most` datagrams in one call; says whether anybody still listens.
    fn send(&mut self, most: u64, live: &Live, tally: &mut Tally) -> io::Result<bool> {
        let count = self.segments.min(most.max(1) as usize);
        let bytes = self.out.len() / self.segments;
        if bytes >= HEADER {
            let numbered = self.out.chunks_mut(bytes).take(count).enumerate();
            for (place, part) in numbered {
                let number = (self.next + place as u64) as u32;
                part[4..HEADER].copy_from_slice(&number.to_be_bytes());
            }
        }
        match send(
            &self.flow.socket,
            &self.out[..bytes * count],
            SendFlags::empty(),
        ) {
            Ok(sent) => {
                self.next += count as u64;
                live.sent_bytes.add(sent as u64);
                Ok(true)
            }
            Err(Errno::CONNREFUSED) => {
                tally.fault("the other end closed its port during the test");
                Ok(false)
            }
            // Full queues: not sent and not numbered, so not lost either.
            Err(Errno::NOBUFS | Errno::AGAIN | Errno::INTR) => Ok(true),
            // The interface cannot cut (udp(7)).
            Err(Errno::IO | Errno::INVAL | Errno::MSGSIZE) if self.segments > 1 => {
                sys::set_udp_segment(&self.flow.socket, 0)?;
                self.out.truncate(bytes);
                self.segments = 1;
                tally.features.clear();
                tally.notes.push(SockNote::NoUdpSegment.into());
                Ok(true)
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// Datagrams of `bytes` that one send may hold: only such as need no fragments can be cut.
fn segments(socket: &UdpSocket, bytes: usize) -> usize {
    let (mtu, headers) = match socket.local_addr() {
        Ok(address) if address.is_ipv6() => (sockopt::ipv6_mtu(socket), 48),
        _ => (sockopt::ip_mtu(socket), 28),
    };
    let room = mtu.map_or(0, |mtu| mtu as usize).saturating_sub(headers);
    if bytes <= room {
        (LARGEST_SEND / bytes).clamp(1, MOST_SEGMENTS)
    } else {
        1
    }
}

/// The sending worker.
pub(crate) fn push(flows: Vec<UdpFlow>, job: &Job, live: &Live) -> io::Result<Tally> {
    let mut tally = Tally::default();
    let mut senders = Vec::new();
    for flow in flows {
        flow.socket.set_nonblocking(false)?;
        flow.socket.set_write_timeout(Some(TICK))?;
        senders.push(Sender::new(flow, job, &mut tally));
    }
    let schedule = job.schedule();
    'test: loop {
        let mut next_due = u64::MAX;
        for sender in &mut senders {
            let now = job.now_ns();
            let late = schedule.is_some() && now < job.end_ns() + CATCH_UP_NS;
            if job.stopped() || (job.over(now) && !late) {
                break 'test;
            }
            let due = schedule.map_or(u64::MAX, |schedule| {
                let count = schedule.due_by(sender.flow.index, now.min(job.end_ns() - 1));
                let due = count.saturating_sub(sender.next);
                let next = sender.next + due.max(1);
                next_due = next_due.min(schedule.due_ns(sender.flow.index, next - 1));
                due
            });
            if due == 0 {
                continue;
            }
            tally.active(now);
            if !sender.send(due, live, &mut tally)? {
                break 'test;
            }
        }
        if schedule.is_some() {
            let now = job.now_ns();
            if now >= job.end_ns() && next_due >= job.end_ns() {
                break;
            }
            if next_due > now {
                job.sleep_until(next_due.min(job.end_ns()).max(now + 1));
            } else if next_due + BATCH_NS > now {
                // Several are due within a moment: one call for them.
                job.sleep_until(now + BATCH_NS / 4);
            }
        }
    }
    if let Some(schedule) = schedule.filter(|_| !job.stopped()) {
        let unsent = senders.iter().map(|sender| {
            let due = schedule.due_by(sender.flow.index, job.end_ns() - 1);
            due.saturating_sub(sender.next)
        });
        let unsent: u64 = unsent.sum();
        if unsent as f64 > 0.001 * job.spec.rate_per_s.unwrap_or(0.0) {
            tally
                .notes
                .push(SockNote::RateMissedBySender { unsent }.into());
        }
    }
    tally.last_ns = job.now_ns();
    tally.first_ns.get_or_insert(0);
    tally.datagrams = Some(DatagramCounts {
        datagrams: senders.iter().map(|sender| sender.next).sum(),
        ..DatagramCounts::default()
    });
    Ok(tally)
}

/// One flow of the receiver.
struct Receiver {
    flow: UdpFlow,
    tracker: Tracker,
}

/// The receiving worker: until nothing more comes after the client is done.
pub(crate) fn pull(flows: Vec<UdpFlow>, job: &Job, live: &Live) -> io::Result<Tally> {
    let mut tally = Tally::default();
    let mut counts = DatagramCounts::default();
    let mut receivers = Vec::new();
    let mut buffer_bytes = usize::MAX;
    for flow in flows {
        if job.spec.offload && sys::set_udp_gro(&flow.socket).is_ok() {
            tally.feature("UDP_GRO");
        }
        // Root may exceed net.core.rmem_max; others get what it allows.
        if sockopt::set_socket_recv_buffer_size_force(&flow.socket, BUFFER).is_err() {
            let _ = sockopt::set_socket_recv_buffer_size(&flow.socket, BUFFER);
        }
        buffer_bytes = buffer_bytes.min(sockopt::socket_recv_buffer_size(&flow.socket)?);
        receivers.push(Receiver {
            flow,
            tracker: Tracker::new(WINDOW),
        });
    }
    tally.feature(&format!("receive buffer {} KiB", buffer_bytes >> 10));
    let mut scratch = vec![0; 1 << 16];
    let mut quiet = Patience::default();
    let mut seen_at_stop = None;
    let mut idle = |tally: &Tally| {
        // Patience starts anew whenever something came.
        if job.stopped() && seen_at_stop != Some(tally.last_ns) {
            seen_at_stop = Some(tally.last_ns);
            quiet = Patience::default();
        }
        quiet.is_over(job, DRAIN) || job.hopeless(job.now_ns())
    };
    if let [receiver] = receivers.as_mut_slice() {
        receiver.flow.socket.set_nonblocking(false)?;
        receiver.flow.socket.set_read_timeout(Some(TICK))?;
        loop {
            let got = take(receiver, job, live, &mut scratch, &mut counts)?;
            if got {
                tally.active(job.now_ns());
            }
            if (!got || job.stopped()) && idle(&tally) {
                break;
            }
        }
    } else {
        let poller = poller(receivers.iter().map(|r| &r.flow.socket), EventFlags::IN)?;
        let mut room = [std::mem::MaybeUninit::uninit(); EVENTS];
        while !idle(&tally) {
            for event in wait(&poller, &mut room, TICK)? {
                let receiver = &mut receivers[event.data.u64() as usize];
                if take(receiver, job, live, &mut scratch, &mut counts)? {
                    tally.active(job.now_ns());
                }
            }
        }
    }
    counts.socket_dropped = receivers
        .iter()
        .map(|receiver| sys::socket_drops(&receiver.flow.socket))
        .sum();
    tally.datagrams = Some(counts);
    Ok(tally)
}

/// Takes what one call gives; says whether it was anything of this test.
fn take(
    receiver: &mut Receiver,
    job: &Job,
    live: &Live,
    scratch: &mut [u8],
    counts: &mut DatagramCounts,
) -> io::Result<bool> {
    let got = match recv(&receiver.flow.socket, &mut scratch[..], RecvFlags::empty()) {
        Ok((got, _)) => got,
        Err(Errno::AGAIN | Errno::INTR | Errno::CONNREFUSED) => return Ok(false),
        Err(error) => return Err(error.into()),
    };
    let all = &scratch[..got];
    if hello::is_either(all, &job.key) {
        if hello::flow_of(all, &job.key) == Some(receiver.flow.index) {
            let reply = hello::reply(&job.key, receiver.flow.index);
            let _ = send(&receiver.flow.socket, &reply, SendFlags::empty());
        }
        return Ok(false);
    }
    let bytes = job.spec.message_bytes as usize;
    if got == 0 || !got.is_multiple_of(bytes) {
        counts.foreign += 1;
        return Ok(false);
    }
    if bytes < HEADER {
        counts.datagrams += (got / bytes) as u64;
        live.received_bytes.add(got as u64);
        return Ok(true);
    }
    let (mut duplicate, mut reordered) = (0, 0);
    for part in all.chunks_exact(bytes) {
        let word =
            |at: usize| u32::from_be_bytes([part[at], part[at + 1], part[at + 2], part[at + 3]]);
        if word(0) != MARK {
            counts.foreign += 1;
            continue;
        }
        counts.datagrams += 1;
        live.received_bytes.add(bytes as u64);
        match receiver.tracker.on_arrival(word(4)) {
            Arrival::InOrder => {}
            Arrival::Duplicate => duplicate += 1,
            _ => reordered += 1,
        }
    }
    *counts.duplicate.get_or_insert(0) += duplicate;
    *counts.reordered.get_or_insert(0) += reordered;
    Ok(true)
}
