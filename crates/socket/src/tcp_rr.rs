//! Request and response on connections that stay.

use std::io;
use std::net::{Shutdown, TcpStream};

use rustix::event::epoll::{self, EventData, EventFlags};

use crate::io_step::{self, Step, recv_some, send_some};
use crate::job::{GRACE, Job, Live, Patience, TICK, Tally};
use crate::join::TcpFlow;
use crate::poller::{EVENTS, poller, wait};
use crate::turns::{Requests, Turns};

const CLOSED: &str = "the other end closed a connection during the test";

/// The client's worker.
pub(crate) fn request(mut flows: Vec<TcpFlow>, job: &Job, live: &Live) -> io::Result<Tally> {
    if flows.len() == 1
        && let Some(flow) = flows.pop()
    {
        let mut tally = Tally::with_latency();
        request_one(&flow, job, live, &mut tally)?;
        return Ok(tally);
    }
    let poller = poller(flows.iter().map(|flow| &flow.stream), EventFlags::IN)?;
    let numbers = flows.iter().map(|flow| flow.index);
    let mut requester = Requester {
        turns: Turns::new(numbers, job, live, poller),
        state: vec![Exchange::default(); flows.len()],
        flows,
    };
    requester.run()?;
    for flow in &requester.flows {
        // The other end may be gone already.
        let _ = flow.stream.shutdown(Shutdown::Write);
    }
    Ok(requester.turns.tally)
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

/// Where a connection stands.
#[derive(Debug, Clone, Copy, Default)]
struct Exchange {
    to_send: usize,
    to_receive: usize,
    intended_ns: u64,
    open: bool,
    dead: bool,
}

/// Many connections in one thread.
struct Requester<'a> {
    turns: Turns<'a>,
    flows: Vec<TcpFlow>,
    state: Vec<Exchange>,
}

impl<'a> Requests<'a> for Requester<'a> {
    const UNFINISHED: &'static str =
        "requests had no answer until the end of the test and 2 s beyond";

    fn turns(&mut self) -> &mut Turns<'a> {
        &mut self.turns
    }

    fn begin(&mut self, place: usize, intended_ns: u64) -> io::Result<()> {
        let bytes = self.turns.job.spec.message_bytes as usize;
        let state = &mut self.state[place];
        state.to_send = bytes;
        state.to_receive = bytes;
        state.intended_ns = intended_ns;
        state.open = true;
        self.turns.began(place);
        self.send(place)
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
        let step = recv_some(stream, &mut self.turns.scratch, &mut left)?;
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
                let now = self.turns.job.now_ns();
                let state = &mut self.state[place];
                state.open = false;
                self.turns.over();
                self.turns.answered(state.intended_ns, now);
                self.next(place, now)
            }
        }
    }
}

impl Requester<'_> {
    fn send(&mut self, place: usize) -> io::Result<()> {
        let stream = &self.flows[place].stream;
        match send_some(stream, &self.turns.out, &mut self.state[place].to_send)? {
            Step::Closed => self.closed(place),
            Step::Done => Ok(()),
            Step::Blocked => self.interest(place, EventFlags::OUT),
        }
    }

    fn interest(&self, place: usize, flags: EventFlags) -> io::Result<()> {
        let data = EventData::new_u64(place as u64);
        Ok(epoll::modify(
            &self.turns.poller,
            &self.flows[place].stream,
            data,
            flags,
        )?)
    }

    fn closed(&mut self, place: usize) -> io::Result<()> {
        let state = &mut self.state[place];
        if !state.dead {
            state.dead = true;
            if state.open {
                self.turns.over();
            }
            epoll::delete(&self.turns.poller, &self.flows[place].stream)?;
            self.turns.tally.fault(CLOSED);
        }
        Ok(())
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
