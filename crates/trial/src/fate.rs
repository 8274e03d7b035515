//! The fate of every lost frame, in trials that look for it.

use std::time::Duration;

use nicety_account::fate::{Beside, Noted, OneWay, Tally, by_way, explain};
use nicety_account::inside::{self, GuestFates};
use nicety_fate::{Noting, Refusal, XdpLost};
use nicety_model::fate::XdpCount;
use nicety_model::fate::{Way, WayFate};
use nicety_model::note::TrialNote;
use nicety_model::{FateCause, FateReport, Fps, FrameCounts, LossEntry, TrialRecord};
use nicety_paths::counters::{PathCounters, UNEXPLAINED};
use nicety_paths::path::Path;
use nicety_port::{Arrivals, Engine, EngineReport, Stop, TrialOrder};

use crate::loss_ledger::TESTER_RING;
use crate::{DRAIN_MAX, DRAIN_QUIET, Trials};

/// Frames by which the tester's own receipt is learned, and their load at most.
const RECEIPT_FRAMES: f64 = 1_000.0;
const RECEIPT_LOAD: Fps = Fps(100_000.0);

/// Interfaces of which a path that was made here says the namespace.
const MIDDLE: [&str; 2] = ["d0", "d1"];

impl Trials<'_> {
    /// Finds out with a few frames where the tester throws away what it has counted, so that the program
    /// passes that by. Where it fails, the trial merely takes a little longer.
    pub(crate) fn learn_receipt(&mut self, load: Fps, stop: &Stop) {
        if self.receipt {
            return;
        }
        self.receipt = true;
        self.counter = self.counter.wrapping_add(1);
        let load = Fps(load.0.min(RECEIPT_LOAD.0));
        let order = TrialOrder {
            load,
            duration: Duration::from_secs_f64(RECEIPT_FRAMES / load.0),
            then: None,
            drain_max: DRAIN_MAX,
            drain_quiet: DRAIN_QUIET,
            trial: self.counter,
            rest: None,
            catch_up: false,
            numbers: true,
        };
        let begun = match self.fates.as_deref_mut() {
            Some(fates) => fates.begin(order.trial, order.frames()).map(|()| true),
            None => return,
        };
        let sent = self.engine.trial(&order, stop);
        let noted = self.noted(begun);
        if let (Ok(_), Some(Ok(noting)), Some(arrivals)) = (sent, noted, self.engine.arrivals()) {
            let tally = tally(&tallies(&arrivals, &noting));
            if let Some(fates) = self.fates.as_deref_mut() {
                fates.pass_by(&noting, tally.receipts());
            }
        }
    }

    /// What was noted since `begun`, where something was to be.
    pub(crate) fn noted(
        &mut self,
        begun: Result<bool, Refusal>,
    ) -> Option<Result<Noting, Refusal>> {
        match begun {
            Ok(false) => None,
            Ok(true) => self.fates.as_deref_mut().map(nicety_fate::Fates::end),
            Err(why) => Some(Err(why)),
        }
    }
}

/// Of each stream its own.
fn tallies(arrivals: &[Arrivals], noting: &Noting) -> Vec<Tally> {
    let streams = arrivals.iter().zip(&noting.bytes);
    let tally = |(arrivals, causes): (&Arrivals, &Vec<u8>)| {
        let mut tally = Tally::default();
        tally.add(&Noted {
            arrived: &arrivals.words,
            made: arrivals.made,
            causes,
        });
        tally
    };
    streams.map(tally).collect()
}

/// Of all streams together.
fn tally(streams: &[Tally]) -> Tally {
    let mut all = Tally::default();
    for stream in streams {
        all.join(stream);
    }
    all
}

/// What else is known of a trial's path.
pub(crate) struct Seen<'s> {
    /// The path.
    pub(crate) path: &'s dyn Path,
    /// Its counters after the trial.
    pub(crate) after: &'s PathCounters,
    /// What its guests noted.
    pub(crate) guests: &'s [GuestFates],
}

/// Puts what was noted in the place of the ledger that counters alone make, or says why it was not.
pub(crate) fn add(
    record: &mut TrialRecord,
    noted: Result<Noting, Refusal>,
    engine: &dyn Engine,
    report: &EngineReport,
    seen: &Seen<'_>,
) {
    let (path, after) = (seen.path, seen.after);
    let mut noting = match noted {
        Ok(noting) => noting,
        Err(why) => {
            let why = why.to_string();
            record.notes.push(TrialNote::FatesUnknown { why }.into());
            return;
        }
    };
    let Some(arrivals) = engine.arrivals() else {
        let why = "this engine does not tell which frames arrived".to_owned();
        record.notes.push(TrialNote::FatesUnknown { why }.into());
        return;
    };
    let counters: Vec<LossEntry> = std::mem::take(&mut record.loss_ledger)
        .into_iter()
        .filter(|entry| entry.place != UNEXPLAINED)
        .collect();
    let port = |side: usize| path.ports()[side & 1].name.clone();
    let refused = report.senders.iter().filter(|_| report.xdp.refused_twice);
    let beside = Beside {
        // Stream 0 leaves port A, stream 1 port B.
        refused: refused
            .map(|sender| (port(usize::from(sender.stream)), sender.refused_by_path))
            .collect(),
        xdp: noting
            .xdp
            .iter()
            .filter(|lost| !at_port(path, lost) && on_path(path, after, lost))
            .map(|lost| {
                let cause = FateCause::Xdp {
                    device: lost.device.clone(),
                    event: lost.event,
                };
                (cause, lost.frames)
            })
            .collect(),
        sockets: vec![(port(1), report.tester_drops)],
        given_up: arrivals.iter().map(|stream| stream.given_up).sum(),
        merged: noting.merged,
        // Ordinary frames that it drops are seen.
        program: after
            .programs
            .first()
            .filter(|_| report.xdp.refused_twice)
            .cloned(),
        counters: counters
            .iter()
            .filter(|entry| entry.place != TESTER_RING)
            .cloned()
            .collect(),
    };
    let mut causes: Vec<_> = noting
        .causes
        .iter()
        .map(|named| (named.number, named.cause.clone()))
        .collect();
    for guest in seen.guests {
        inside::join(&mut noting.bytes, &mut causes, guest);
    }
    let tallies = tallies(&arrivals, &noting);
    let (mut lines, unexplained) = explain(&tally(&tallies), &causes, &beside);
    if unexplained > 0 {
        lines.push(LossEntry::counted(UNEXPLAINED, unexplained));
    }
    record.loss_ledger = lines;
    let hops = record.fate.take();
    let ways = match tallies.len() {
        2.. => ways(record, tallies, &arrivals, &beside, &causes, hops.as_ref()),
        _ => Vec::new(),
    };
    record.fate = Some(FateReport {
        events: noting.events,
        missed: noting.missed,
        unexplained,
        counters,
        xdp: noting.xdp.iter().map(counted).collect(),
        hops: hops.and_then(|fate| fate.hops),
        ways,
    });
}

/// What became of the frames of either way; `hops` has how long they were where.
fn ways(
    record: &TrialRecord,
    tallies: Vec<Tally>,
    arrivals: &[Arrivals],
    beside: &Beside,
    causes: &[(usize, FateCause)],
    hops: Option<&FateReport>,
) -> Vec<WayFate> {
    let mut refused = beside.refused.iter();
    let one = |(tally, arrivals): (Tally, &Arrivals)| OneWay {
        tally,
        // One for each stream, where there are any.
        refused: refused.next().cloned().into_iter().collect(),
        given_up: arrivals.given_up,
    };
    let streams: Vec<OneWay> = tallies.into_iter().zip(arrivals).map(one).collect();
    let ledgers = by_way(&streams, causes, &record.loss_ledger);
    let frames = record.streams.iter().map(|stream| stream.frames);
    let ways = ledgers.into_iter().zip(frames).zip(Way::BOTH);
    let way = |((ledger, frames), way): ((Vec<LossEntry>, FrameCounts), Way)| WayFate {
        way,
        sent: frames.sent,
        lost: frames.lost,
        ledger,
        hops: hops
            .and_then(|fate| fate.ways.iter().find(|of| of.way == way))
            .and_then(|of| of.hops.clone()),
    };
    ways.map(way).collect()
}

/// Whether it is at one of the tester's ports: what is refused there the engine has counted.
fn at_port(path: &dyn Path, lost: &XdpLost) -> bool {
    let mut ports = path.ports().iter();
    ports.any(|port| port.name == lost.device && port.ns.inode() == lost.netns)
}

/// Whether it may be on the path: between ports that were there before nobody knows the interfaces.
fn on_path(path: &dyn Path, after: &PathCounters, lost: &XdpLost) -> bool {
    if path.facts().existing_ports {
        return true;
    }
    // Other testers' paths have interfaces of these names.
    if let Some(middle) = path.facts().middle.as_ref()
        && MIDDLE.contains(&lost.device.as_str())
    {
        return lost.netns == middle.ns.inode();
    }
    let mut interfaces = after.interfaces.iter();
    interfaces.any(|of| of.interface == lost.device)
}

fn counted(lost: &XdpLost) -> XdpCount {
    XdpCount {
        device: lost.device.clone(),
        event: lost.event,
        frames: lost.frames,
    }
}
