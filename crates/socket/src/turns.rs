//! Requests of many places in one thread: when each begins its next one, and the wait for what is under
//! way.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::mem::MaybeUninit;
use std::time::Duration;

use rustix::fd::OwnedFd;

use crate::io_step;
use crate::job::{Job, Live, TICK, Tally};
use crate::poller::{EVENTS, wait};

/// Who has a turn when, and what all places share.
pub(crate) struct Turns<'a> {
    pub(crate) job: &'a Job,
    pub(crate) live: &'a Live,
    pub(crate) tally: Tally,
    pub(crate) poller: OwnedFd,
    pub(crate) out: Vec<u8>,
    pub(crate) scratch: Vec<u8>,
    /// Number of each place's flow, and requests begun there.
    places: Vec<(u32, u64)>,
    /// Open loop: next request of every place that waits for its time.
    due: BinaryHeap<Reverse<(u64, usize)>>,
    /// Requests under way.
    open: usize,
}

impl<'a> Turns<'a> {
    pub(crate) fn new(
        flows: impl Iterator<Item = u32>,
        job: &'a Job,
        live: &'a Live,
        poller: OwnedFd,
    ) -> Self {
        let out = io_step::buffer(job.spec.message_bytes);
        Self {
            job,
            live,
            tally: Tally::with_latency(),
            poller,
            scratch: out.clone(),
            out,
            places: flows.map(|flow| (flow, 0)).collect(),
            due: BinaryHeap::new(),
            open: 0,
        }
    }

    /// A request has begun.
    pub(crate) fn began(&mut self, place: usize) {
        self.places[place].1 += 1;
        self.open += 1;
    }

    /// One is over, well or not.
    pub(crate) fn over(&mut self) {
        self.open -= 1;
    }

    /// A request that was due at `intended_ns` was answered at `now`.
    pub(crate) fn answered(&mut self, intended_ns: u64, now: u64) {
        self.live.exchanged(self.job.spec.message_bytes.into());
        self.tally.record(now.saturating_sub(intended_ns), now);
    }

    /// Says what was not answered, or not begun in time.
    fn finish(&mut self, unfinished: &str) {
        if self.job.stopped() {
            return;
        }
        if self.open > 0 {
            self.tally.fault(format!("{} {unfinished}", self.open));
        }
        if let Some(schedule) = self.job.schedule() {
            let end = self.job.end_ns() - 1;
            let places = self.places.iter();
            let unsent =
                places.map(|(flow, begun)| schedule.due_by(*flow, end).saturating_sub(*begun));
            self.tally.behind(unsent.sum());
        }
    }
}

/// What a request is at one of the places.
pub(crate) trait Requests<'a> {
    /// What is wrong with those that are under way at the end: `3 requests had no answer`.
    const UNFINISHED: &'static str;

    fn turns(&mut self) -> &mut Turns<'a>;

    /// Begins a request.
    fn begin(&mut self, place: usize, intended_ns: u64) -> io::Result<()>;

    /// Goes on where the poller has something.
    fn ready(&mut self, place: usize) -> io::Result<()>;

    /// Begins the next request of a place, now or when it is due.
    fn next(&mut self, place: usize, now: u64) -> io::Result<()> {
        let turns = self.turns();
        let (flow, number) = turns.places[place];
        match turns.job.schedule() {
            None if turns.job.over(now) => Ok(()),
            None => self.begin(place, now),
            Some(schedule) => {
                let due = schedule.due_ns(flow, number);
                if due < turns.job.end_ns() {
                    turns.due.push(Reverse((due, place)));
                }
                Ok(())
            }
        }
    }

    /// Has all places send requests to the end of the test.
    fn run(&mut self) -> io::Result<()> {
        let job = self.turns().job;
        let mut room = [MaybeUninit::uninit(); EVENTS];
        for place in 0..self.turns().places.len() {
            self.next(place, job.now_ns())?;
        }
        loop {
            let mut now = job.now_ns();
            let over = job.over(now);
            if job.hopeless(now) || (over && self.turns().open == 0) {
                break;
            }
            while let Some(Reverse((due, place))) = self.turns().due.peek().copied()
                && due <= now
                && !over
            {
                self.turns().due.pop();
                self.begin(place, due)?;
                now = job.now_ns();
            }
            let turns = self.turns();
            if turns.open == 0 && turns.due.is_empty() {
                break;
            }
            let next = turns.due.peek().filter(|_| !over);
            let limit = next.map_or(TICK, |Reverse((due, _))| {
                Duration::from_nanos(due.saturating_sub(now)).min(TICK)
            });
            for event in wait(&turns.poller, &mut room, limit)? {
                self.ready(event.data.u64() as usize)?;
            }
        }
        self.turns().finish(Self::UNFINISHED);
        Ok(())
    }
}
