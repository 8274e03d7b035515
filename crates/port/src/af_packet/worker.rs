//! The poll loop: one thread sends what is due and reads what has come, never sleeping, so that
//! neither a wake-up nor a context switch enters the figures.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use nicety_account::Account;
use nicety_packet::{CheckCorruption, Seen};

use super::around::Around;
use super::mixed::{Out, Wanted};
use super::rx::{Received, RxRing};
use super::tx::BATCH;
use crate::clock::monotonic_ns;
use crate::engine::{Stop, WorkerUse};
use crate::error::PortError;
use crate::pace::Pacer;
use crate::pin;
use crate::rest::Rests;
use crate::sending::Sending;
use crate::slots::SentTimes;

/// Frames read from a ring before the sender gets its turn again.
const RX_BURST: usize = 64;
/// How often a port is asked whether it is still up.
const CHECK_NS: u64 = 50_000_000;

/// A port's sending half.
#[derive(Debug)]
pub(crate) struct Sender {
    pub(crate) out: Out,
    /// When the frames of the last trial were sent.
    pub(crate) times: SentTimes,
}

/// A port's receiving half.
#[derive(Debug)]
pub(crate) struct Receiver {
    pub(crate) ring: RxRing,
    pub(crate) expect: Wanted,
    pub(crate) account: Account,
    /// What is kept of frames around lost ones.
    pub(crate) around: Around,
}

/// What all workers of one trial share.
#[derive(Debug)]
pub(crate) struct Shared<'a> {
    pub(crate) stop: &'a Stop,
    /// A worker failed: the others end at once.
    pub(crate) failed: AtomicBool,
    /// Senders that have not finished.
    pub(crate) sending: AtomicUsize,
    /// End of sending, whatever is still due.
    pub(crate) deadline_ns: u64,
    /// Rests of every thread that sends.
    pub(crate) rests: Rests,
    pub(crate) drain_max_ns: u64,
    pub(crate) drain_quiet_ns: u64,
    pub(crate) realtime_offset_ns: i64,
    pub(crate) trial: u8,
}

/// A sender with its schedule, while a trial runs.
struct Active<'s> {
    sender: &'s mut Sender,
    pacer: Pacer,
    refused_by_path: u64,
    first_ns: u64,
    ended_ns: Option<u64>,
}

/// The work of one thread.
pub(crate) struct Work<'s> {
    pub(crate) cpu: Option<u32>,
    pub(crate) senders: Vec<(&'s mut Sender, Pacer)>,
    pub(crate) receivers: Vec<&'s mut Receiver>,
}

/// Runs one thread's share of a trial to the end of the drain.
pub(crate) fn run(
    work: Work<'_>,
    shared: &Shared<'_>,
) -> Result<(Vec<Sending>, WorkerUse), PortError> {
    let (result, used) = pin::measured(work.cpu, || {
        let result = poll(work.senders, work.receivers, shared);
        if result.is_err() {
            shared.failed.store(true, Ordering::Relaxed);
        }
        result
    });
    result.map(|sendings| (sendings, used))
}

fn poll(
    senders: Vec<(&mut Sender, Pacer)>,
    mut receivers: Vec<&mut Receiver>,
    shared: &Shared<'_>,
) -> Result<Vec<Sending>, PortError> {
    let mut senders: Vec<Active<'_>> = senders
        .into_iter()
        .map(|(sender, pacer)| Active {
            sender,
            pacer,
            refused_by_path: 0,
            first_ns: 0,
            ended_ns: None,
        })
        .collect();
    let mut last_frame_ns = 0;
    let mut drain_from_ns = None;
    let mut next_check_ns = 0;
    let mut rests = shared.rests;
    loop {
        let now = monotonic_ns();
        if shared.failed.load(Ordering::Relaxed) {
            break;
        }
        if now >= next_check_ns {
            next_check_ns = now + CHECK_NS;
            senders
                .iter()
                .try_for_each(|active| active.sender.out.check_up())?;
            receivers
                .iter()
                .try_for_each(|receiver| receiver.ring.check_up())?;
        }
        if senders.iter().any(|active| active.ended_ns.is_none())
            && let Some(rested_ns) = rests.take(now)
        {
            for active in &mut senders {
                active.pacer.rested(rested_ns);
            }
            continue;
        }
        for active in &mut senders {
            send(active, shared, now)?;
        }
        for receiver in &mut receivers {
            if receive(receiver, shared) > 0 {
                last_frame_ns = now;
            }
        }
        if shared.sending.load(Ordering::Acquire) == 0 {
            let since = *drain_from_ns.get_or_insert(now);
            let quiet = now.saturating_sub(last_frame_ns.max(since)) >= shared.drain_quiet_ns;
            if receivers.is_empty() || quiet || now - since >= shared.drain_max_ns {
                break;
            }
        }
    }
    let now = monotonic_ns();
    Ok(senders
        .iter()
        .map(|active| Sending {
            stream: active.sender.out.stream(),
            sent: active.pacer.used(),
            refused_by_path: active.refused_by_path,
            first_ns: active.first_ns,
            pacing: active.pacer.report(active.ended_ns.unwrap_or(now)),
            timetable: active.pacer.timetable().clone(),
        })
        .collect())
}

/// Sends what is due, or ends the sender.
fn send(active: &mut Active<'_>, shared: &Shared<'_>, now: u64) -> Result<(), PortError> {
    if active.ended_ns.is_some() {
        return Ok(());
    }
    if active.pacer.is_done() || now >= shared.deadline_ns || shared.stop.is_set() {
        active.ended_ns = Some(now);
        shared.sending.fetch_sub(1, Ordering::AcqRel);
        return Ok(());
    }
    let due = active.pacer.due(now, BATCH);
    if due == 0 {
        return Ok(());
    }
    let sender = &mut *active.sender;
    let first = active.pacer.used();
    let tx_ns = monotonic_ns();
    let sent = sender.out.send(due, first, shared.trial, tx_ns)?;
    if active.first_ns == 0 {
        active.first_ns = tx_ns;
    }
    active.refused_by_path += sent.refused as u64;
    let used = sent.accepted + sent.refused;
    sender.times.sent(tx_ns, used);
    active.pacer.sent(used, 0);
    Ok(())
}

/// Reads what has come; returns how many frames.
fn receive(receiver: &mut Receiver, shared: &Shared<'_>) -> usize {
    let Receiver {
        ring,
        expect,
        account,
        around,
    } = receiver;
    let keeps = around.is_on();
    let mut keep = |seen: &Seen, frame: &Received<'_>| {
        if let Seen::Ours(stamp) = seen {
            around.see(stamp, frame.realtime_ns, frame.bytes);
        }
    };
    let at_ns =
        |frame: &Received<'_>| (frame.realtime_ns - shared.realtime_offset_ns).max(0) as u64;
    match expect {
        Wanted::Plain(expect) => ring.poll(RX_BURST, |frame| {
            let seen = expect.classify(frame.bytes, CheckCorruption::Full);
            account.on_frame(&seen, at_ns(&frame));
            if keeps {
                keep(&seen, &frame);
            }
        }),
        Wanted::Mixed(expect) => ring.poll(RX_BURST, |frame| {
            let seen = expect.classify(frame.bytes, CheckCorruption::Full);
            account.on_frame(&seen, at_ns(&frame));
            if keeps {
                keep(&seen, &frame);
            }
        }),
    }
}
