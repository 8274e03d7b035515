//! Request and response in datagrams: what is lost is given up after a time-out that follows
//! the measured round trip, counted, and not asked again.

use std::io;
use std::net::UdpSocket;
use std::time::Duration;

use nicety_account::workload::{Answer, OpenRequests, Schedule, sequence_of, write_sequence};
use nicety_model::note::SockNote;
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use crate::hello;
use crate::io_step;
use crate::job::{Job, Live, TICK, Tally, add};
use crate::join::UdpFlow;
use crate::poller::{EVENTS, poller, wait};
use crate::sys;

/// Every datagram fits.
const LARGEST: u32 = 1 << 16;
/// How often flows of a busy worker are looked at for requests to give up.
const SWEEP_NS: u64 = 2_000_000;

/// How long an answer is waited for at the end of the test, whatever the round trip.
const LAST_NS: u64 = 200_000_000;

/// A flow of the client.
struct Requester<'a> {
    flow: UdpFlow,
    requests: OpenRequests,
    job: &'a Job,
    live: &'a Live,
    schedule: Option<Schedule>,
}

/// What a look at a socket brought.
#[derive(PartialEq, Eq)]
enum Look {
    Answered,
    Nothing,
    Refused,
}

impl<'a> Requester<'a> {
    fn new(flow: UdpFlow, job: &'a Job, live: &'a Live) -> Self {
        Self {
            flow,
            requests: OpenRequests::expecting(job.round_trip_ns),
            job,
            live,
            schedule: job.schedule(),
        }
    }

    /// When the next request should be sent; `None` when there is none left.
    fn due(&self, now_ns: u64) -> Option<u64> {
        match self.schedule {
            None => Some(now_ns),
            Some(schedule) => Some(schedule.due_ns(self.flow.index, self.requests.next_number()))
                .filter(|due| *due < self.job.end_ns()),
        }
    }

    /// Sends the next request; says whether the server still takes them.
    fn send(&mut self, out: &mut [u8], intended_ns: u64) -> io::Result<bool> {
        write_sequence(out, self.requests.next_number());
        let now = self.job.now_ns();
        match send(&self.flow.socket, out, SendFlags::empty()) {
            Ok(_) => {
                self.live.sent_bytes.add(out.len() as u64);
            }
            // Not sent for want of room: as lost as if the first queue had dropped it.
            Err(Errno::NOBUFS | Errno::AGAIN | Errno::INTR | Errno::PERM) => {}
            Err(Errno::CONNREFUSED) => return Ok(false),
            Err(error) => return Err(error.into()),
        }
        self.requests.sent(intended_ns.min(now), now);
        Ok(true)
    }

    fn look(&mut self, scratch: &mut [u8], tally: &mut Tally) -> io::Result<Look> {
        let got = match recv(&self.flow.socket, &mut scratch[..], RecvFlags::empty()) {
            Ok((got, _)) => got,
            Err(Errno::AGAIN | Errno::INTR) => return Ok(Look::Nothing),
            Err(Errno::CONNREFUSED) => return Ok(Look::Refused),
            Err(error) => return Err(error.into()),
        };
        let message = &scratch[..got];
        if hello::is_either(message, &self.job.key) {
            return Ok(Look::Nothing);
        }
        let now = self.job.now_ns();
        let (low, bits) = sequence_of(message);
        let answer = if got == self.job.spec.message_bytes as usize {
            self.requests.answered(low, bits, now)
        } else {
            Answer::Unexpected
        };
        let (latency_ns, look) = match answer {
            Answer::Unexpected => return Ok(Look::Nothing),
            Answer::Open { latency_ns } => (latency_ns, Look::Answered),
            Answer::Late { latency_ns } => (latency_ns, Look::Nothing),
        };
        self.live.transactions.add(1);
        self.live.received_bytes.add(got as u64);
        tally.record(latency_ns, now);
        Ok(look)
    }

    fn give_up(&mut self, now_ns: u64) -> bool {
        // The last request delays nobody: it gets time even from a busy machine.
        let end = self.job.end_ns();
        if (end..end + LAST_NS).contains(&now_ns) {
            return false;
        }
        let given_up = self.requests.give_up(now_ns);
        if given_up {
            self.live.timeouts.add(1);
        }
        given_up
    }

    fn finish(self, tally: &mut Tally) {
        let counts = self.requests.counts();
        add(tally.requests.get_or_insert_default(), &counts);
        if let Some(schedule) = self.schedule.filter(|_| !self.job.stopped()) {
            let due = schedule.due_by(self.flow.index, self.job.end_ns() - 1);
            tally.behind(due.saturating_sub(counts.sent));
        }
    }
}

const REFUSED: &str = "the other end closed its port during the test";

/// The client's worker.
pub(crate) fn request(mut flows: Vec<UdpFlow>, job: &Job, live: &Live) -> io::Result<Tally> {
    let mut tally = Tally::with_latency();
    let mut out = io_step::buffer(job.spec.message_bytes);
    if flows.len() == 1
        && let Some(flow) = flows.pop()
    {
        let mut requester = Requester::new(flow, job, live);
        request_one(&mut requester, &mut out, &mut tally)?;
        requester.finish(&mut tally);
    } else {
        let requesters = flows
            .into_iter()
            .map(|flow| Requester::new(flow, job, live));
        let mut requesters: Vec<Requester<'_>> = requesters.collect();
        request_many(&mut requesters, &mut out, &mut tally)?;
        requesters
            .into_iter()
            .for_each(|requester| requester.finish(&mut tally));
    }
    Ok(tally)
}

/// Longest and shortest the socket blocks at once.
struct Limit {
    set_ns: u64,
}

impl Limit {
    /// Sets the receive time-out, when it is far from what is set: it costs a system call.
    fn want(&mut self, socket: &UdpSocket, ns: u64) -> io::Result<()> {
        let ns = ns.clamp(1_000_000, TICK.as_nanos() as u64);
        if self.set_ns.abs_diff(ns) > self.set_ns / 4 {
            socket.set_read_timeout(Some(Duration::from_nanos(ns)))?;
            self.set_ns = ns;
        }
        Ok(())
    }
}

fn request_one(requester: &mut Requester<'_>, out: &mut [u8], tally: &mut Tally) -> io::Result<()> {
    let job = requester.job;
    requester.flow.socket.set_nonblocking(false)?;
    requester.flow.socket.set_write_timeout(Some(TICK))?;
    let mut limit = Limit { set_ns: 0 };
    let mut scratch = io_step::buffer(LARGEST);
    let mut now = job.now_ns();
    loop {
        let over = job.over(now);
        if !requester.requests.is_open() {
            let Some(due) = requester.due(now).filter(|_| !over) else {
                return Ok(());
            };
            if due > now {
                job.sleep_until(due);
                now = job.now_ns();
                continue;
            }
            if !requester.send(out, due)? {
                tally.fault(REFUSED);
                return Ok(());
            }
            let wait_ns = requester.requests.deadline_ns().unwrap_or(now) - now.min(job.now_ns());
            limit.want(&requester.flow.socket, wait_ns)?;
        }
        match requester.look(&mut scratch, tally)? {
            Look::Answered => now = tally.last_ns,
            Look::Nothing => {
                now = job.now_ns();
                requester.give_up(now);
                if job.stopped() || job.hopeless(now) {
                    return Ok(());
                }
            }
            Look::Refused => {
                tally.fault(REFUSED);
                return Ok(());
            }
        }
    }
}

fn request_many(
    requesters: &mut [Requester<'_>],
    out: &mut [u8],
    tally: &mut Tally,
) -> io::Result<()> {
    let Some(job) = requesters.first().map(|requester| requester.job) else {
        return Ok(());
    };
    let poller = poller(requesters.iter().map(|r| &r.flow.socket), EventFlags::IN)?;
    let mut scratch = io_step::buffer(LARGEST);
    let mut room = [std::mem::MaybeUninit::uninit(); EVENTS];
    let mut swept_ns = 0;
    // When a flow without an open request should send, in an open loop.
    let mut next_due = Some(0);
    loop {
        let now = job.now_ns();
        let over = job.over(now);
        let sweep = now >= swept_ns + SWEEP_NS;
        if sweep || next_due.is_some_and(|due| due <= now) {
            swept_ns = now;
            next_due = None;
            for requester in requesters.iter_mut() {
                requester.give_up(now);
                if requester.requests.is_open() || over {
                    continue;
                }
                match requester.due(now) {
                    Some(due) if due > now => {
                        next_due = Some(next_due.map_or(due, |least: u64| least.min(due)));
                    }
                    Some(due) if !requester.send(out, due)? => {
                        tally.fault(REFUSED);
                        return Ok(());
                    }
                    Some(_) | None => {}
                }
            }
        }
        let open = requesters
            .iter()
            .any(|requester| requester.requests.is_open());
        if job.stopped() || job.hopeless(now) || (over && !open) || (!open && next_due.is_none()) {
            return Ok(());
        }
        let until = next_due.map_or(SWEEP_NS, |due| due.saturating_sub(now).min(SWEEP_NS));
        for event in wait(&poller, &mut room, Duration::from_nanos(until))? {
            let requester = &mut requesters[event.data.u64() as usize];
            match requester.look(&mut scratch, tally)? {
                Look::Nothing => {}
                Look::Refused => {
                    tally.fault(REFUSED);
                    return Ok(());
                }
                Look::Answered => {
                    let now = tally.last_ns;
                    if job.over(now) {
                        continue;
                    }
                    match requester.due(now) {
                        Some(due) if due <= now => {
                            requester.send(out, due)?;
                        }
                        Some(due) => {
                            next_due = Some(next_due.map_or(due, |least| least.min(due)));
                        }
                        None => {}
                    }
                }
            }
        }
    }
}

/// The server's worker: sends back what comes.
pub(crate) fn respond(flows: Vec<UdpFlow>, job: &Job, live: &Live) -> io::Result<Tally> {
    let mut tally = Tally::default();
    let mut scratch = io_step::buffer(LARGEST);
    if let [flow] = flows.as_slice() {
        // Until Crew shuts the socket down: a time limit would arm a timer in every wait.
        flow.socket.set_nonblocking(false)?;
        while !job.stopped() {
            echo(flow, job, live, &mut scratch)?;
        }
    } else {
        let poller = poller(flows.iter().map(|flow| &flow.socket), EventFlags::IN)?;
        let mut room = [std::mem::MaybeUninit::uninit(); EVENTS];
        while !job.stopped() {
            for event in wait(&poller, &mut room, TICK)? {
                echo(&flows[event.data.u64() as usize], job, live, &mut scratch)?;
            }
        }
    }
    let drops: u64 = flows
        .iter()
        .filter_map(|f| sys::socket_drops(&f.socket))
        .sum();
    if drops > 0 {
        let requests = drops;
        tally.notes.push(SockNote::BufferFull { requests }.into());
    }
    Ok(tally)
}

fn echo(flow: &UdpFlow, job: &Job, live: &Live, scratch: &mut [u8]) -> io::Result<()> {
    match recv(&flow.socket, &mut scratch[..], RecvFlags::empty()) {
        Ok((got, _)) if hello::flow_of(&scratch[..got], &job.key) == Some(flow.index) => {
            // The reply to the greeting was lost.
            let reply = hello::reply(&job.key, flow.index);
            let _ = send(&flow.socket, &reply, SendFlags::empty());
        }
        // Shut down, or a stranger's: requests have a byte at least.
        Ok((0, _)) => {}
        Ok((got, _)) => {
            live.received_bytes.add(got as u64);
            // What cannot be sent now is lost, as datagrams are.
            if send(&flow.socket, &scratch[..got], SendFlags::empty()).is_ok() {
                live.transactions.add(1);
                live.sent_bytes.add(got as u64);
            }
        }
        // A client that has left refuses; the control connection says when that is the end.
        Err(Errno::AGAIN | Errno::INTR | Errno::CONNREFUSED) => {}
        Err(error) => return Err(error.into()),
    }
    Ok(())
}
