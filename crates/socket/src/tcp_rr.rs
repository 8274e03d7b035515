//! Request and response on connections that stay.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use rustix::event::epoll::{self, Event, EventData, EventFlags};

use crate::io_step::{self, Step, recv_some, send_some};
use crate::job::{GRACE, Job, Live, Patience, TICK, Tally};
use crate::join::TcpFlow;

const CLOSED: &str = "the other end closed a connection during the test";

/// The client's worker.
pub(crate) fn request(mut flows: Vec<TcpFlow>, job: &Job, live: &Live) -> io::Result<Tally> {
    let mut tally = Tally::with_latency();
    if flows.len() == 1
        && let Some(flow) = flows.pop()
    {
        request_one(&flow, job, live, &mut tally)?;
    } else {
        Requester::new(flows, job, live, &mut tally)?.run()?;
    }
    Ok(tally)
}

/// The server's worker.
pub(crate) fn respond(mut flows: Vec<TcpFlow>, job: &Job, live: &Live) -> io::Result<Tally> {
    let mut tally = Tally::default();
    if flows.len() == 1
        && let Some(flow) = flows.pop()
    {
        respond_one(&flow.stream, job, live)?;
    } else {
        respond_many(&flows, job, live, &mut tally)?;
    }
    Ok(tally)
}

/// Makes a socket block for at most a tick at a time. Request and response do without: a time
/// limit arms a timer in every wait, which a stream notices less.
pub(crate) fn blocking(stream: &TcpStream) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(TICK))?;
    stream.set_write_timeout(Some(TICK))
}

/// Waits in the kernel without a time limit: [`Workers`](crate::workers::Workers) shuts the connection down
/// when waiting has become hopeless.
fn request_one(flow: &TcpFlow, job: &Job, live: &Live, tally: &mut Tally) -> io::Result<()> {
    let stream = &flow.stream;
    stream.set_nonblocking(false)?;
    let bytes = job.spec.message_bytes as usize;
    let out = io_step::buffer(job.spec.message_bytes);
    let mut scratch = out.clone();
    let schedule = job.schedule();
    let mut number = 0;
    let mut now = job.now_ns();
    'test: while !job.over(now) {
        let intended = match schedule {
            None => now,
            Some(schedule) => {
                let due = schedule.due_ns(flow.index, number);
                if due >= job.end_ns() {
                    break;
                }
                job.sleep_until(due);
                if job.stopped() {
                    break;
                }
                due
            }
        };
        let (mut to_send, mut to_receive) = (bytes, bytes);
        loop {
            let step = match to_send {
                0 => recv_some(stream, &mut scratch, &mut to_receive)?,
                _ => send_some(stream, &out, &mut to_send)?,
            };
            match step {
                Step::Done if to_receive == 0 => break,
                Step::Done => {}
                Step::Closed if !job.hopeless(job.now_ns()) => {
                    tally.fault(CLOSED);
                    break 'test;
                }
                Step::Closed => {
                    if !job.stopped() {
                        tally.fault("no answer came until the end of the test and 2 s beyond");
                    }
                    break 'test;
                }
                // A signal.
                Step::Blocked => {}
            }
        }
        now = job.now_ns();
        number += 1;
        live.exchanged(bytes as u64);
        tally.record(now.saturating_sub(intended), now);
    }
    if let Some(schedule) = schedule
        && tally.faults.is_empty()
        && !job.stopped()
    {
        tally.behind(
            schedule
                .due_by(flow.index, job.end_ns() - 1)
                .saturating_sub(number),
        );
    }
    // The other end may be gone already.
    let _ = stream.shutdown(Shutdown::Write);
    Ok(())
}

/// Waits as [`request_one`] does.
fn respond_one(stream: &TcpStream, job: &Job, live: &Live) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    let bytes = job.spec.message_bytes as usize;
    let out = io_step::buffer(job.spec.message_bytes);
    let mut scratch = out.clone();
    loop {
        let (mut to_send, mut to_receive) = (bytes, bytes);
        loop {
            let step = match to_receive {
                0 => send_some(stream, &out, &mut to_send)?,
                _ => recv_some(stream, &mut scratch, &mut to_receive)?,
            };
            match step {
                Step::Done if to_send == 0 => break,
                Step::Done => {}
                Step::Closed => return Ok(()),
                Step::Blocked => {}
            }
        }
        live.exchanged(bytes as u64);
    }
}

/// A poller with the sockets of `streams`, each known by its place.
pub(crate) fn poller<'a>(
    streams: impl Iterator<Item = &'a Arc<TcpStream>>,
    flags: EventFlags,
) -> io::Result<rustix::fd::OwnedFd> {
    let poller = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    for (place, stream) in streams.enumerate() {
        stream.set_nonblocking(true)?;
        epoll::add(&poller, stream, EventData::new_u64(place as u64), flags)?;
    }
    Ok(poller)
}

/// Waits for events, at most `limit`; interrupted is nothing happened.
pub(crate) fn wait<'e>(
    poller: &rustix::fd::OwnedFd,
    room: &'e mut [std::mem::MaybeUninit<Event>],
    limit: Duration,
) -> io::Result<&'e mut [Event]> {
    let limit = rustix::event::Timespec {
        tv_sec: limit.as_secs() as _,
        tv_nsec: limit.subsec_nanos() as _,
    };
    match epoll::wait(poller, room, Some(&limit)) {
        Ok((events, _)) => Ok(events),
        Err(rustix::io::Errno::INTR) => Ok(&mut []),
        Err(error) => Err(error.into()),
    }
}

/// Room for the events of one wait.
pub(crate) const EVENTS: usize = 128;

/// Where a connection stands.
#[derive(Debug, Clone, Copy, Default)]
struct Exchange {
    to_send: usize,
    to_receive: usize,
    intended_ns: u64,
    /// Requests begun.
    number: u64,
    open: bool,
    dead: bool,
}

/// Many connections in one thread.
struct Requester<'a> {
    flows: Vec<TcpFlow>,
    state: Vec<Exchange>,
    job: &'a Job,
    live: &'a Live,
    tally: &'a mut Tally,
    poller: rustix::fd::OwnedFd,
    out: Vec<u8>,
    scratch: Vec<u8>,
    /// Open loop: next request of every connection that waits for its time.
    due: BinaryHeap<Reverse<(u64, usize)>>,
    open: usize,
}

impl<'a> Requester<'a> {
    fn new(
        flows: Vec<TcpFlow>,
        job: &'a Job,
        live: &'a Live,
        tally: &'a mut Tally,
    ) -> io::Result<Self> {
        let poller = poller(flows.iter().map(|flow| &flow.stream), EventFlags::IN)?;
        let out = io_step::buffer(job.spec.message_bytes);
        Ok(Self {
            state: vec![Exchange::default(); flows.len()],
            scratch: out.clone(),
            due: BinaryHeap::new(),
            open: 0,
            flows,
            job,
            live,
            tally,
            poller,
            out,
        })
    }

    fn run(&mut self) -> io::Result<()> {
        let mut room = [std::mem::MaybeUninit::uninit(); EVENTS];
        for place in 0..self.flows.len() {
            self.next(place, self.job.now_ns())?;
        }
        loop {
            let mut now = self.job.now_ns();
            let over = self.job.over(now);
            if self.job.hopeless(now) || (over && self.open == 0) {
                break;
            }
            while let Some(Reverse((due, place))) = self.due.peek().copied()
                && due <= now
                && !over
            {
                self.due.pop();
                self.begin(place, due)?;
                now = self.job.now_ns();
            }
            if self.open == 0 && self.due.is_empty() {
                break;
            }
            let next = self.due.peek().filter(|_| !over);
            let limit = next.map_or(TICK, |Reverse((due, _))| {
                Duration::from_nanos(due.saturating_sub(now)).min(TICK)
            });
            for event in wait(&self.poller, &mut room, limit)? {
                self.ready(event.data.u64() as usize)?;
            }
        }
        self.finish();
        Ok(())
    }

    fn finish(&mut self) {
        if self.open > 0 && !self.job.stopped() {
            let open = self.open;
            self.tally.fault(format!(
                "{open} requests had no answer until the end of the test and 2 s beyond"
            ));
        }
        if let Some(schedule) = self.job.schedule().filter(|_| !self.job.stopped()) {
            let end = self.job.end_ns() - 1;
            let unsent = self.flows.iter().zip(&self.state).map(|(flow, state)| {
                schedule
                    .due_by(flow.index, end)
                    .saturating_sub(state.number)
            });
            self.tally.behind(unsent.sum());
        }
        for flow in &self.flows {
            // The other end may be gone already.
            let _ = flow.stream.shutdown(Shutdown::Write);
        }
    }

    /// Begins the next request of a connection, now or when it is due.
    fn next(&mut self, place: usize, now: u64) -> io::Result<()> {
        match self.job.schedule() {
            None if self.job.over(now) => Ok(()),
            None => self.begin(place, now),
            Some(schedule) => {
                let due = schedule.due_ns(self.flows[place].index, self.state[place].number);
                if due < self.job.end_ns() {
                    self.due.push(Reverse((due, place)));
                }
                Ok(())
            }
        }
    }

    fn begin(&mut self, place: usize, intended_ns: u64) -> io::Result<()> {
        let bytes = self.job.spec.message_bytes as usize;
        let state = &mut self.state[place];
        state.to_send = bytes;
        state.to_receive = bytes;
        state.intended_ns = intended_ns;
        state.number += 1;
        state.open = true;
        self.open += 1;
        self.send(place)
    }

    fn send(&mut self, place: usize) -> io::Result<()> {
        let stream = &self.flows[place].stream;
        match send_some(stream, &self.out, &mut self.state[place].to_send)? {
            Step::Closed => self.closed(place),
            Step::Done => Ok(()),
            Step::Blocked => self.interest(place, EventFlags::OUT),
        }
    }

    fn interest(&self, place: usize, flags: EventFlags) -> io::Result<()> {
        let data = EventData::new_u64(place as u64);
        Ok(epoll::modify(
            &self.poller,
            &self.flows[place].stream,
            data,
            flags,
        )?)
    }

    fn closed(&mut self, place: usize) -> io::Result<()> {
        let state = &mut self.state[place];
        if !state.dead {
            state.dead = true;
            self.open -= usize::from(state.open);
            epoll::delete(&self.poller, &self.flows[place].stream)?;
            self.tally.fault(CLOSED);
        }
        Ok(())
    }

    fn ready(&mut self, place: usize) -> io::Result<()> {
        if self.state[place].dead {
            return Ok(());
        }
        if self.state[place].open && self.state[place].to_send > 0 {
            self.send(place)?;
            if self.state[place].to_send == 0 && !self.state[place].dead {
                self.interest(place, EventFlags::IN)?;
            }
            return Ok(());
        }
        let stream = &self.flows[place].stream;
        // An idle connection that becomes readable was closed, or says too much.
        let mut left = self.state[place].to_receive.max(1);
        let step = recv_some(stream, &mut self.scratch, &mut left)?;
        if !self.state[place].open {
            return match step {
                Step::Blocked => Ok(()),
                _ => self.closed(place),
            };
        }
        self.state[place].to_receive = left;
        match step {
            Step::Blocked => Ok(()),
            Step::Closed => self.closed(place),
            Step::Done => {
                let now = self.job.now_ns();
                let bytes = u64::from(self.job.spec.message_bytes);
                let state = &mut self.state[place];
                state.open = false;
                self.open -= 1;
                self.live.exchanged(bytes);
                self.tally
                    .record(now.saturating_sub(state.intended_ns), now);
                self.next(place, now)
            }
        }
    }
}

fn respond_many(flows: &[TcpFlow], job: &Job, live: &Live, tally: &mut Tally) -> io::Result<()> {
    let bytes = job.spec.message_bytes as usize;
    let out = io_step::buffer(job.spec.message_bytes);
    let mut scratch = out.clone();
    let fresh = Exchange {
        to_receive: bytes,
        to_send: bytes,
        ..Exchange::default()
    };
    let mut state = vec![fresh; flows.len()];
    let poller = poller(flows.iter().map(|flow| &flow.stream), EventFlags::IN)?;
    let mut room = [std::mem::MaybeUninit::uninit(); EVENTS];
    let mut patience = Patience::default();
    let mut left = flows.len();
    while left > 0 && !patience.is_over(job, GRACE) {
        for event in wait(&poller, &mut room, TICK)? {
            let place = event.data.u64() as usize;
            let (stream, state) = (&flows[place].stream, &mut state[place]);
            let was_sending = state.to_receive == 0;
            let mut step = recv_some(stream, &mut scratch, &mut state.to_receive);
            if let Ok(Step::Done) = step {
                step = send_some(stream, &out, &mut state.to_send);
            }
            let data = EventData::new_u64(place as u64);
            match step {
                Ok(Step::Done) => {
                    *state = fresh;
                    live.exchanged(bytes as u64);
                    if was_sending {
                        epoll::modify(&poller, stream, data, EventFlags::IN)?;
                    }
                }
                Ok(Step::Blocked) if state.to_receive == 0 && !was_sending => {
                    epoll::modify(&poller, stream, data, EventFlags::OUT)?;
                }
                Ok(Step::Blocked) => {}
                Ok(Step::Closed) | Err(_) => {
                    if let Err(error) = step {
                        tally.fault(error.to_string());
                    }
                    epoll::delete(&poller, stream)?;
                    left -= 1;
                }
            }
        }
    }
    Ok(())
}
