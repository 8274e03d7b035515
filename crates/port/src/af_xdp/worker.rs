//! One thread's share of a trial: it sends what is due and never sleeps.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::Thread;

use super::tx::TxSocket;
use crate::af_packet::Refusal;
use crate::clock::monotonic_ns;
use crate::engine::{Stop, WorkerUse};
use crate::error::PortError;
use crate::marks::{Made, Marks};
use crate::pace::Pacer;
use crate::pin;
use crate::rest::Rests;
use crate::sending::Sending;
use crate::stamped::{Frames, Stamped};

/// Longest time for the driver to take the last frames.
const FLUSH_NS: u64 = 500_000_000;

/// A port's sending half.
#[derive(Debug)]
pub(crate) struct Sender {
    pub(crate) out: Stamped<TxSocket>,
    pub(crate) refusal: Refusal,
    /// When the frames of the last trial were made; absent where numbers were given up, and which
    /// ones is not known.
    pub(crate) made: Option<Made>,
}

/// What all threads of one trial share.
#[derive(Debug)]
pub(crate) struct Shared<'a> {
    pub(crate) stop: &'a Stop,
    /// A thread failed, or a port went down: all end at once.
    pub(crate) failed: AtomicBool,
    /// Threads that send.
    pub(crate) sending: AtomicUsize,
    /// Waits for them.
    pub(crate) watcher: Thread,
    /// End of sending, whatever is still due.
    pub(crate) deadline_ns: u64,
    /// Rests of every thread.
    pub(crate) rests: Rests,
    pub(crate) trial: u8,
}

/// A sender with its schedule, while a trial runs.
struct Active<'s> {
    sender: &'s mut Sender,
    pacer: Pacer,
    /// Frames that the driver took and lost.
    refused: u64,
    marks: Marks,
    first_ns: u64,
    last_ns: u64,
    /// Nothing new is sent from here on.
    closed_ns: Option<u64>,
    ended: bool,
}

/// Sends one thread's share of a trial.
pub(crate) fn run(
    cpu: Option<u32>,
    senders: Vec<(&mut Sender, Pacer)>,
    shared: &Shared<'_>,
) -> Result<(Vec<Sending>, WorkerUse), PortError> {
    let (result, used) = pin::measured(cpu, || {
        let result = send_all(senders, shared);
        if result.is_err() {
            shared.failed.store(true, Ordering::Relaxed);
        }
        shared.sending.fetch_sub(1, Ordering::Release);
        shared.watcher.unpark();
        result
    });
    result.map(|sendings| (sendings, used))
}

fn send_all(
    senders: Vec<(&mut Sender, Pacer)>,
    shared: &Shared<'_>,
) -> Result<Vec<Sending>, PortError> {
    let active = |(sender, pacer)| Active {
        sender,
        pacer,
        refused: 0,
        marks: Marks::new(),
        first_ns: 0,
        last_ns: 0,
        closed_ns: None,
        ended: false,
    };
    let mut senders: Vec<_> = senders.into_iter().map(active).collect();
    let mut rests = shared.rests;
    while !senders.iter().all(|active| active.ended) && !shared.failed.load(Ordering::Relaxed) {
        let now = monotonic_ns();
        if let Some(rested_ns) = rests.take(now) {
            for active in &mut senders {
                active.pacer.rested(rested_ns);
            }
            continue;
        }
        for active in &mut senders {
            if !active.ended {
                active.step(shared, now)?;
            }
        }
    }
    senders.into_iter().map(Active::account).collect()
}

impl Active<'_> {
    /// Sends what is due, or ends the sender when all is taken.
    fn step(&mut self, shared: &Shared<'_>, now: u64) -> Result<(), PortError> {
        if self.closed_ns.is_none() {
            if self.pacer.is_done() || now >= shared.deadline_ns || shared.stop.is_set() {
                self.closed_ns = Some(now);
            } else {
                self.hand_over(shared.trial, now)?;
            }
        }
        let socket = &mut self.sender.out.socket;
        self.refused += socket.send()?;
        let Some(closed_ns) = self.closed_ns else {
            return Ok(());
        };
        // What is in the ring cannot be taken back: it is sent, and counted.
        self.ended = socket.waiting() == 0;
        if !self.ended && now.saturating_sub(closed_ns) > FLUSH_NS {
            let error = io::Error::from_raw_os_error(libc::ETIMEDOUT);
            let interface = socket.interface();
            return Err(PortError::system(interface, "have the driver send", error));
        }
        Ok(())
    }

    fn hand_over(&mut self, trial: u8, now: u64) -> Result<(), PortError> {
        let due = self.pacer.due(now, self.sender.out.socket.room());
        if due == 0 {
            return Ok(());
        }
        let first = self.pacer.used();
        let tx_ns = monotonic_ns();
        self.sender.out.stamp_all(due, first, trial, tx_ns)?;
        self.sender.out.socket.hand_over(due);
        self.marks.made(tx_ns, first);
        self.pacer.sent(due, 0);
        if self.first_ns == 0 {
            self.first_ns = tx_ns;
        }
        self.last_ns = tx_ns;
        Ok(())
    }

    /// The books.
    fn account(self) -> Result<Sending, PortError> {
        let used = self.pacer.used();
        let end_ns = self.closed_ns.unwrap_or_else(monotonic_ns);
        let mut pacing = self.pacer.report(end_ns);
        let (refused_by_path, not_sent) = match self.sender.refusal {
            Refusal::LostInPath => (self.refused, 0),
            Refusal::NotSent => (0, self.refused),
        };
        let given_up = not_sent + self.sender.out.socket.take_invalid()?;
        if given_up > 0 {
            pacing.refused += given_up;
            pacing.offered_fps *= (used - given_up) as f64 / used as f64;
        }
        self.sender.made = (given_up == 0).then_some(Made {
            marks: self.marks,
            ends: [self.first_ns, self.last_ns],
            count: used,
        });
        Ok(Sending {
            stream: self.sender.out.stream,
            sent: used - given_up,
            refused_by_path,
            first_ns: self.first_ns,
            pacing,
            timetable: self.pacer.timetable().clone(),
        })
    }
}
