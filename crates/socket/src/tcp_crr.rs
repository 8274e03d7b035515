//! Connect, request, response, close.
//!
//! The server closes first: then the TIME-WAIT state of RFC 9293 §3.6.1 stays there, where a
//! new connection request with a later time stamp may reuse it (§3.10.7.4), and the client does
//! not run out of ports after some 28,000 transactions.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::os::fd::{AsFd, OwnedFd};

use nicety_model::note::SockNote;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with, sockopt};

use crate::io_step::{self, Step, recv_some, send_some};
use crate::job::{GRACE, Job, Live, Patience, TICK, Tally};
use crate::poller::{EVENTS, wait};
use crate::turns::{Requests, Turns};

/// One transaction under way.
struct Attempt {
    fd: OwnedFd,
    to_send: usize,
    to_receive: usize,
    intended_ns: u64,
    connected: bool,
}

struct Client<'a> {
    turns: Turns<'a>,
    server: SocketAddr,
    /// One transaction at a time at each place.
    attempts: Vec<Option<Attempt>>,
}

/// The client's worker: as many transactions at once as it has flow numbers.
pub(crate) fn connect_and_request(
    flows: Vec<u32>,
    server: SocketAddr,
    job: &Job,
    live: &Live,
) -> io::Result<Tally> {
    let mut client = Client {
        server,
        attempts: flows.iter().map(|_| None).collect(),
        turns: Turns::new(
            flows.into_iter(),
            job,
            live,
            epoll::create(epoll::CreateFlags::CLOEXEC)?,
        ),
    };
    client.run()?;
    Ok(client.turns.tally)
}

impl<'a> Requests<'a> for Client<'a> {
    const UNFINISHED: &'static str = "transactions were not over 2 s after the end";

    fn turns(&mut self) -> &mut Turns<'a> {
        &mut self.turns
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
                self.unconnected(error);
                return Ok(());
            }
        }
        let data = EventData::new_u64(place as u64);
        epoll::add(&self.turns.poller, &fd, data, EventFlags::OUT)?;
        let bytes = self.turns.job.spec.message_bytes as usize;
        self.attempts[place] = Some(Attempt {
            fd,
            to_send: bytes,
            to_receive: bytes,
            intended_ns,
            connected: false,
        });
        self.turns.began(place);
        Ok(())
    }

    fn ready(&mut self, place: usize) -> io::Result<()> {
        let Some(attempt) = &mut self.attempts[place] else {
            return Ok(());
        };
        if !attempt.connected {
            if let Err(error) = sockopt::socket_error(&attempt.fd)? {
                self.unconnected(error);
                return self.over(place);
            }
            attempt.connected = true;
        }
        if attempt.to_send > 0 {
            match send_some(&attempt.fd, &self.turns.out, &mut attempt.to_send)? {
                Step::Blocked => return Ok(()),
                Step::Closed => return self.broken(place),
                Step::Done => {
                    let data = EventData::new_u64(place as u64);
                    epoll::modify(&self.turns.poller, &attempt.fd, data, EventFlags::IN)?;
                    return Ok(());
                }
            }
        }
        if attempt.to_receive > 0 {
            match recv_some(
                &attempt.fd,
                &mut self.turns.scratch,
                &mut attempt.to_receive,
            )? {
                Step::Blocked => return Ok(()),
                Step::Closed => return self.broken(place),
                Step::Done => {}
            }
        }
        // The transaction ends with the server's FIN.
        let mut one = 1;
        match recv_some(&attempt.fd, &mut self.turns.scratch, &mut one)? {
            Step::Blocked => Ok(()),
            Step::Done => self.broken(place),
            Step::Closed => {
                let now = self.turns.job.now_ns();
                self.turns.answered(attempt.intended_ns, now);
                self.over(place)
            }
        }
    }
}

impl Client<'_> {
    fn unconnected(&mut self, error: Errno) {
        let error = io::Error::from(error);
        self.turns.tally.fault(format!("connect: {error}"));
    }

    fn broken(&mut self, place: usize) -> io::Result<()> {
        let why = "the other end closed a connection before its answer was complete";
        self.turns.tally.fault(why);
        self.over(place)
    }

    fn over(&mut self, place: usize) -> io::Result<()> {
        self.attempts[place] = None;
        self.turns.over();
        // A server that is gone refuses at once: no connection storm against it.
        if self.turns.tally.faults.is_empty() {
            self.next(place, self.turns.job.now_ns())
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
