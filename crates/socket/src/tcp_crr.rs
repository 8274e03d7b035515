//! Connect, request, response, close.
//!
//! The server closes first: then the TIME-WAIT state of RFC 9293 §3.6.1 stays there, where a
//! new connection request with a later time stamp may reuse it (§3.10.7.4), and the client does
//! not run out of ports after some 28,000 transactions.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::os::fd::{AsFd, OwnedFd};

use nicety_model::note::SockNote;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with, sockopt};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::time::Duration;

use crate::io_step::{self, Step, recv_some, send_some};
use crate::job::{GRACE, Job, Live, Patience, TICK, Tally};
use crate::tcp_rr::{EVENTS, wait};

/// One transaction under way.
struct Attempt {
    fd: OwnedFd,
    to_send: usize,
    to_receive: usize,
    intended_ns: u64,
    connected: bool,
}

/// One place for a transaction at a time.
struct Slot {
    index: u32,
    number: u64,
    attempt: Option<Attempt>,
}

struct Client<'a> {
    slots: Vec<Slot>,
    server: SocketAddr,
    job: &'a Job,
    live: &'a Live,
    tally: Tally,
    poller: OwnedFd,
    out: Vec<u8>,
    scratch: Vec<u8>,
    due: BinaryHeap<Reverse<(u64, usize)>>,
    open: usize,
}

/// The client's worker: as many transactions at once as it has flow numbers.
pub(crate) fn connect_and_request(
    flows: Vec<u32>,
    server: SocketAddr,
    job: &Job,
    live: &Live,
) -> io::Result<Tally> {
    let out = io_step::buffer(job.spec.message_bytes);
    let slot = |index| Slot {
        index,
        number: 0,
        attempt: None,
    };
    let mut client = Client {
        slots: flows.into_iter().map(slot).collect(),
        server,
        job,
        live,
        tally: Tally::with_latency(),
        poller: epoll::create(epoll::CreateFlags::CLOEXEC)?,
        scratch: out.clone(),
        out,
        due: BinaryHeap::new(),
        open: 0,
    };
    client.run()?;
    Ok(client.tally)
}

impl Client<'_> {
    fn run(&mut self) -> io::Result<()> {
        let mut room = [std::mem::MaybeUninit::uninit(); EVENTS];
        for place in 0..self.slots.len() {
            self.next(place, self.job.now_ns())?;
        }
        loop {
            let now = self.job.now_ns();
            let over = self.job.over(now);
            if self.job.hopeless(now) || (over && self.open == 0) {
                break;
            }
            while let Some(Reverse((due, place))) = self.due.peek().copied()
                && due <= self.job.now_ns()
                && !over
            {
                self.due.pop();
                self.begin(place, due)?;
            }
            if self.open == 0 && self.due.is_empty() {
                break;
            }
            let next = self.due.peek().filter(|_| !over);
            let limit = next.map_or(TICK, |Reverse((due, _))| {
                Duration::from_nanos(due.saturating_sub(self.job.now_ns())).min(TICK)
            });
            for event in wait(&self.poller, &mut room, limit)? {
                self.step(event.data.u64() as usize)?;
            }
        }
        if self.open > 0 && !self.job.stopped() {
            let open = self.open;
            self.tally.fault(format!(
                "{open} transactions were not over 2 s after the end"
            ));
        }
        if let Some(schedule) = self.job.schedule().filter(|_| !self.job.stopped()) {
            let end = self.job.end_ns() - 1;
            let unsent = self.slots.iter();
            let unsent = unsent.map(|s| schedule.due_by(s.index, end).saturating_sub(s.number));
            self.tally.behind(unsent.sum());
        }
        Ok(())
    }

    fn next(&mut self, place: usize, now: u64) -> io::Result<()> {
        match self.job.schedule() {
            None if self.job.over(now) => Ok(()),
            None => self.begin(place, now),
            Some(schedule) => {
                let slot = &self.slots[place];
                let due = schedule.due_ns(slot.index, slot.number);
                if due < self.job.end_ns() {
                    self.due.push(Reverse((due, place)));
                }
                Ok(())
            }
        }
    }

    fn begin(&mut self, place: usize, intended_ns: u64) -> io::Result<()> {
        let family = match self.server.ip() {
            IpAddr::V4(_) => AddressFamily::INET,
            IpAddr::V6(_) => AddressFamily::INET6,
        };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let fd = socket_with(family, SocketType::STREAM, flags, None)?;
        sockopt::set_tcp_nodelay(&fd, true)?;
        match connect(&fd, &self.server) {
            Ok(()) | Err(Errno::INPROGRESS) => {}
            Err(error) => {
                self.tally
                    .fault(format!("connect: {}", io::Error::from(error)));
                return Ok(());
            }
        }
        let data = EventData::new_u64(place as u64);
        epoll::add(&self.poller, &fd, data, EventFlags::OUT)?;
        let bytes = self.job.spec.message_bytes as usize;
        let slot = &mut self.slots[place];
        slot.number += 1;
        slot.attempt = Some(Attempt {
            fd,
            to_send: bytes,
            to_receive: bytes,
            intended_ns,
            connected: false,
        });
        self.open += 1;
        Ok(())
    }

    fn step(&mut self, place: usize) -> io::Result<()> {
        let Some(attempt) = &mut self.slots[place].attempt else {
            return Ok(());
        };
        if !attempt.connected {
            if let Err(error) = sockopt::socket_error(&attempt.fd)? {
                self.tally
                    .fault(format!("connect: {}", io::Error::from(error)));
                return self.over(place);
            }
            attempt.connected = true;
        }
        if attempt.to_send > 0 {
            match send_some(&attempt.fd, &self.out, &mut attempt.to_send)? {
                Step::Blocked => return Ok(()),
                Step::Closed => return self.broken(place),
                Step::Done => {
                    let data = EventData::new_u64(place as u64);
                    epoll::modify(&self.poller, &attempt.fd, data, EventFlags::IN)?;
                    return Ok(());
                }
            }
        }
        if attempt.to_receive > 0 {
            match recv_some(&attempt.fd, &mut self.scratch, &mut attempt.to_receive)? {
                Step::Blocked => return Ok(()),
                Step::Closed => return self.broken(place),
                Step::Done => {}
            }
        }
        // The transaction ends with the server's FIN.
        let mut one = 1;
        match recv_some(&attempt.fd, &mut self.scratch, &mut one)? {
            Step::Blocked => Ok(()),
            Step::Done => self.broken(place),
            Step::Closed => {
                let now = self.job.now_ns();
                let bytes = u64::from(self.job.spec.message_bytes);
                self.live.exchanged(bytes);
                self.tally
                    .record(now.saturating_sub(attempt.intended_ns), now);
                self.over(place)
            }
        }
    }

    fn broken(&mut self, place: usize) -> io::Result<()> {
        self.tally
            .fault("the other end closed a connection before its answer was complete");
        self.over(place)
    }

    fn over(&mut self, place: usize) -> io::Result<()> {
        self.slots[place].attempt = None;
        self.open -= 1;
        // A server that is gone refuses at once: no connection storm against it.
        if self.tally.faults.is_empty() {
            self.next(place, self.job.now_ns())
        } else {
            Ok(())
        }
    }
}

/// The server's worker; several share the listener. Connections from other hosts than the
/// client's are closed.
pub(crate) fn accept_and_answer(
    listener: &TcpListener,
    client: IpAddr,
    job: &Job,
    live: &Live,
) -> io::Result<Tally> {
    const LISTENER: u64 = u64::MAX;
    let mut tally = Tally::default();
    let bytes = job.spec.message_bytes as usize;
    let out = io_step::buffer(job.spec.message_bytes);
    let mut scratch = out.clone();
    let poller = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    let flags = EventFlags::IN | EventFlags::EXCLUSIVE;
    epoll::add(&poller, listener, EventData::new_u64(LISTENER), flags)?;
    let mut open = HashMap::new();
    let mut next_id = 0;
    let mut strangers = 0_u64;
    let mut room = [std::mem::MaybeUninit::uninit(); EVENTS];
    let mut patience = Patience::default();
    while !patience.is_over(job, TICK) && !job.hopeless(job.now_ns()) {
        for event in wait(&poller, &mut room, TICK)? {
            let id = event.data.u64();
            if id == LISTENER {
                while let Ok((stream, from)) = listener.accept() {
                    if from.ip().to_canonical() != client.to_canonical() {
                        strangers += 1;
                        continue;
                    }
                    stream.set_nonblocking(true)?;
                    stream.set_nodelay(true)?;
                    let data = EventData::new_u64(next_id);
                    epoll::add(&poller, stream.as_fd(), data, EventFlags::IN)?;
                    open.insert(next_id, (stream, bytes, bytes));
                    next_id += 1;
                }
                continue;
            }
            let Some((stream, to_receive, to_send)) = open.get_mut(&id) else {
                continue;
            };
            let mut step = recv_some(stream.as_fd(), &mut scratch, to_receive);
            if let Ok(Step::Done) = step {
                step = send_some(stream.as_fd(), &out, to_send);
            }
            match step {
                Ok(Step::Blocked) if *to_receive == 0 => {
                    let data = EventData::new_u64(id);
                    epoll::modify(&poller, stream.as_fd(), data, EventFlags::OUT)?;
                }
                Ok(Step::Blocked) => {}
                Ok(Step::Done) => {
                    live.exchanged(bytes as u64);
                    open.remove(&id);
                }
                // A client that was stopped leaves its last transactions unfinished.
                Ok(Step::Closed) | Err(_) => drop(open.remove(&id)),
            }
        }
    }
    if strangers > 0 {
        let connections = strangers;
        tally.notes.push(SockNote::Strangers { connections }.into());
    }
    tally.last_ns = job.now_ns().min(job.end_ns() + GRACE.as_nanos() as u64);
    Ok(tally)
}
