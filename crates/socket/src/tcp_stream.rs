//! Bulk data over TCP, in either direction.

use std::io;
use std::net::{Shutdown, TcpStream};

use nicety_model::note::SockNote;
use rustix::event::epoll::{self, EventFlags};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use crate::io_step;
use crate::job::{GRACE, Job, Live, Patience, TICK, Tally};
use crate::join::TcpFlow;
use crate::poller::{EVENTS, poller, wait};
use crate::sys;
use crate::tcp_rr::blocking;

/// What a receiver takes at once, as much as a sender gives by default.
const RECEIVE: u32 = 128 << 10;
/// Zero-copy sends between two looks at what became of them.
const REAP_EVERY: u32 = 16;

/// The sending worker.
pub(crate) fn push(flows: Vec<TcpFlow>, job: &Job, live: &Live) -> io::Result<Tally> {
    let mut tally = Tally::default();
    let out = io_step::buffer(job.spec.message_bytes);
    let mut zero_copy = ZeroCopy::new(job.spec.zero_copy, &flows, &mut tally);
    if let [flow] = flows.as_slice() {
        blocking(&flow.stream)?;
        loop {
            let now = job.now_ns();
            if job.over(now) {
                break;
            }
            tally.active(now);
            if !push_once(&flow.stream, &out, live, &mut zero_copy, &mut tally)? {
                break;
            }
        }
    } else {
        push_many(&flows, job, live, &out, &mut zero_copy, &mut tally)?;
    }
    tally.last_ns = job.now_ns();
    for flow in &flows {
        // The other end may be gone already.
        let _ = flow.stream.shutdown(Shutdown::Write);
    }
    Ok(tally)
}

fn push_many(
    flows: &[TcpFlow],
    job: &Job,
    live: &Live,
    out: &[u8],
    zero_copy: &mut ZeroCopy,
    tally: &mut Tally,
) -> io::Result<()> {
    let poller = poller(flows.iter().map(|flow| &flow.stream), EventFlags::OUT)?;
    let mut room = [std::mem::MaybeUninit::uninit(); EVENTS];
    let mut left = flows.len();
    while left > 0 {
        for event in wait(&poller, &mut room, TICK)? {
            let stream = &flows[event.data.u64() as usize].stream;
            if !push_once(stream, out, live, zero_copy, tally)? {
                epoll::delete(&poller, stream)?;
                left -= 1;
            }
        }
        let now = job.now_ns();
        if job.over(now) {
            break;
        }
        tally.active(now);
    }
    Ok(())
}

/// One write; says whether the connection is still good.
fn push_once(
    stream: &TcpStream,
    out: &[u8],
    live: &Live,
    zero_copy: &mut ZeroCopy,
    tally: &mut Tally,
) -> io::Result<bool> {
    match send(stream, out, SendFlags::NOSIGNAL | zero_copy.flag()) {
        Ok(sent) => {
            live.sent_bytes.add(sent as u64);
            zero_copy.sent(stream, tally);
            Ok(true)
        }
        Err(Errno::AGAIN | Errno::INTR) => Ok(true),
        // Too many zero-copy sends under way: their notices make room.
        Err(Errno::NOBUFS) if zero_copy.on => {
            zero_copy.reap(stream, tally);
            Ok(true)
        }
        Err(Errno::PIPE | Errno::CONNRESET) => {
            tally.fault("the other end closed a connection during the test");
            Ok(false)
        }
        Err(error) => Err(error.into()),
    }
}

/// The receiving worker: reads to the end of every stream.
pub(crate) fn pull(flows: Vec<TcpFlow>, job: &Job, live: &Live) -> io::Result<Tally> {
    let mut tally = Tally::default();
    let mut into = io_step::buffer(RECEIVE);
    let mut patience = Patience::default();
    let mut take = |stream: &TcpStream, tally: &mut Tally| -> io::Result<bool> {
        match recv(stream, &mut into[..], RecvFlags::empty()) {
            Ok((0, _)) => Ok(false),
            Ok((got, _)) => {
                live.received_bytes.add(got as u64);
                tally.active(job.now_ns());
                Ok(true)
            }
            Err(Errno::AGAIN | Errno::INTR) => Ok(true),
            Err(Errno::CONNRESET) => {
                tally.fault("the other end reset a connection");
                Ok(false)
            }
            Err(error) => Err(error.into()),
        }
    };
    let mut given_up =
        |job: &Job| patience.is_over(job, GRACE) || (job.client && job.hopeless(job.now_ns()));
    if let [flow] = flows.as_slice() {
        blocking(&flow.stream)?;
        while take(&flow.stream, &mut tally)? {
            if given_up(job) {
                break;
            }
        }
        return Ok(tally);
    }
    let poller = poller(flows.iter().map(|flow| &flow.stream), EventFlags::IN)?;
    let mut room = [std::mem::MaybeUninit::uninit(); EVENTS];
    let mut left = flows.len();
    while left > 0 && !given_up(job) {
        for event in wait(&poller, &mut room, TICK)? {
            let stream = &flows[event.data.u64() as usize].stream;
            if !take(stream, &mut tally)? {
                epoll::delete(&poller, stream)?;
                left -= 1;
            }
        }
    }
    Ok(tally)
}

/// MSG_ZEROCOPY as long as it saves a copy. Paths within a host copy after all, when the data
/// reaches the receiving socket, and say so; then it only costs (msg_zerocopy.rst, "Deferred
/// Copies").
struct ZeroCopy {
    on: bool,
    sends: u32,
}

impl ZeroCopy {
    fn new(wanted: bool, flows: &[TcpFlow], tally: &mut Tally) -> Self {
        let on = wanted
            && flows
                .iter()
                .all(|flow| sys::set_zero_copy(&flow.stream).is_ok());
        if on {
            tally.feature("MSG_ZEROCOPY");
        } else if wanted {
            tally.notes.push(SockNote::NoZeroCopy.into());
        }
        Self { on, sends: 0 }
    }

    fn flag(&self) -> SendFlags {
        if self.on {
            SendFlags::from_bits_retain(libc::MSG_ZEROCOPY as u32)
        } else {
            SendFlags::empty()
        }
    }

    fn sent(&mut self, stream: &TcpStream, tally: &mut Tally) {
        if self.on {
            self.sends += 1;
            if self.sends.is_multiple_of(REAP_EVERY) {
                self.reap(stream, tally);
            }
        }
    }

    fn reap(&mut self, stream: &TcpStream, tally: &mut Tally) {
        while let Ok(Some(done)) = sys::zero_copy_done(stream) {
            if done.copied && self.on {
                self.on = false;
                tally.features.retain(|name| name != "MSG_ZEROCOPY");
                tally.notes.push(SockNote::ZeroCopyCopied.into());
            }
        }
    }
}
