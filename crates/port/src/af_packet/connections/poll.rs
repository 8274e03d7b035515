//! The poll loop of a phase: sends what is due, reads what has come.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use nicety_packet::{Order, Stamp, Tuples};

use super::frames::{Made, Wanted};
use super::table::{Access, Entry};
use super::{Way, answer};
use crate::af_packet::rx::RxRing;
use crate::af_packet::tx::{BATCH, TxSocket};
use crate::clock::monotonic_ns;
use crate::engine::Stop;
use crate::error::PortError;
use crate::pace::Pacer;
use crate::pin;
use crate::stamped::Frames;

/// Frames read from a ring before the sender gets its turn again.
const RX_BURST: usize = 64;
/// How often a port is asked whether it is still up.
const CHECK_NS: u64 = 50_000_000;

/// What all threads of a phase share.
pub(super) struct Shared<'a> {
    pub(super) stop: &'a Stop,
    /// A thread failed: the other ends at once.
    pub(super) failed: AtomicBool,
    /// Senders that have not finished.
    pub(super) sending: AtomicUsize,
    pub(super) deadline_ns: u64,
    pub(super) drain_max_ns: u64,
    pub(super) drain_quiet_ns: u64,
    pub(super) trial: u8,
    pub(super) tuples: Tuples,
    /// Connections in the order of frames; absent while they are opened, one after the other.
    pub(super) order: Option<Order>,
    pub(super) wanted: Wanted,
}

impl Shared<'_> {
    /// The connection of a frame.
    fn connection(&self, frame: u64) -> u32 {
        match &self.order {
            Some(order) => order.at(frame),
            None => frame as u32,
        }
    }
}

/// A side that sends.
pub(super) struct Out<'a> {
    side: usize,
    socket: &'a mut TxSocket,
    frames: &'a Made,
    pacer: Pacer,
    /// For side B: whom it answers.
    known: Option<&'a [Entry]>,
    refused: u64,
    ended_ns: Option<u64>,
}

/// A side that receives what the other one sends.
pub(super) struct In<'a> {
    /// Who sends.
    from: usize,
    ring: &'a mut RxRing,
    access: Option<Access<'a>>,
    /// A bit for each frame.
    seen: Vec<u64>,
    frames: u64,
    way: Way,
}

/// The work of one thread.
pub(super) struct Task<'a> {
    cpu: Option<u32>,
    outs: Vec<Out<'a>>,
    ins: Vec<In<'a>>,
}

/// What one half of a way did.
pub(super) struct Part {
    side: usize,
    way: Way,
}

impl Part {
    pub(super) fn add_to(self, ways: &mut [Way; 2]) {
        let way = &mut ways[self.side];
        way.sent += self.way.sent;
        way.refused += self.way.refused;
        way.arrived += self.way.arrived;
        way.again += self.way.again;
        way.strange += self.way.strange;
        way.offered_fps += self.way.offered_fps;
    }
}

impl<'a> Out<'a> {
    pub(super) fn new(
        side: usize,
        socket: &'a mut TxSocket,
        frames: &'a Made,
        pacer: Pacer,
        known: Option<&'a [Entry]>,
    ) -> Result<Self, PortError> {
        for n in 0..BATCH {
            let prepared = frames.prepare(socket.frame(n));
            prepared.map_err(|source| PortError::new(socket.interface(), source))?;
        }
        Ok(Self {
            side,
            socket,
            frames,
            pacer,
            known,
            refused: 0,
            ended_ns: None,
        })
    }

    /// Sends what is due, or ends.
    fn send(&mut self, shared: &Shared<'_>, now: u64) -> Result<(), PortError> {
        if self.ended_ns.is_some() {
            return Ok(());
        }
        if self.pacer.is_done() || now >= shared.deadline_ns || shared.stop.is_set() {
            self.ended_ns = Some(now);
            shared.sending.fetch_sub(1, Ordering::AcqRel);
            return Ok(());
        }
        let due = self.pacer.due(now, BATCH);
        if due == 0 {
            return Ok(());
        }
        let first = self.pacer.used();
        // Connections that side B does not know cannot be answered: their frames are never made.
        let (mut made, mut void) = (0, 0);
        for frame in first..first + due as u64 {
            let connection = shared.connection(frame);
            let mut flow = shared.tuples.flow(connection);
            if let Some(known) = self.known {
                let entry = known.get(connection as usize).copied().unwrap_or_default();
                if !entry.is_known() {
                    void += 1;
                    continue;
                }
                flow = answer(entry.seen(flow));
            }
            let stamp = Stamp {
                stream: self.side as u8,
                trial: shared.trial,
                sequence: frame as u32,
                tx_ns: now,
            };
            let stamped = self.frames.stamp(self.socket.frame(made), &stamp, flow);
            stamped.map_err(|source| PortError::new(self.socket.interface(), source))?;
            made += 1;
        }
        let sent = match made {
            0 => Default::default(),
            made => self.socket.send(made)?,
        };
        self.refused += sent.refused as u64;
        // Behind gaps it is not known which frame a real interface took last: paths of tables are veths, which use
        // up every frame.
        self.pacer.sent(sent.accepted + sent.refused, void);
        Ok(())
    }

    fn part(&self, now: u64) -> Part {
        let pacing = self.pacer.report(self.ended_ns.unwrap_or(now));
        Part {
            side: self.side,
            way: Way {
                sent: self.pacer.used() - pacing.refused,
                refused: self.refused,
                offered_fps: pacing.offered_fps,
                ..Way::default()
            },
        }
    }
}

impl<'a> In<'a> {
    pub(super) fn new(
        from: usize,
        ring: &'a mut RxRing,
        frames: u64,
        access: Option<Access<'a>>,
    ) -> Self {
        Self {
            from,
            ring,
            access,
            seen: vec![0; frames.div_ceil(64) as usize],
            frames,
            way: Way::default(),
        }
    }

    /// Reads what has come; returns how many frames.
    fn receive(&mut self, shared: &Shared<'_>) -> usize {
        let Self {
            from,
            ring,
            access,
            seen,
            frames,
            way,
        } = self;
        ring.poll(RX_BURST, |frame| {
            let Some((stamp, flow)) = shared.wanted.seen(frame.bytes) else {
                return;
            };
            let number = u64::from(stamp.sequence);
            let ours = usize::from(stamp.stream) == *from && stamp.trial == shared.trial;
            if !ours || number >= *frames {
                return;
            }
            let connection = shared.connection(number);
            let own = shared.tuples.flow(connection);
            let right = match access {
                Some(Access::Note(_)) => {
                    (flow.destination, flow.destination_port)
                        == (own.destination, own.destination_port)
                }
                Some(Access::Know(entries)) => {
                    let entry = entries.get(connection as usize);
                    entry.is_some_and(|entry| entry.seen(own) == flow)
                }
                None => flow == answer(own),
            };
            if !right {
                way.strange += 1;
                return;
            }
            let (word, bit) = ((number / 64) as usize, 1 << (number % 64));
            if seen[word] & bit != 0 {
                way.again += 1;
                return;
            }
            seen[word] |= bit;
            way.arrived += 1;
            if let Some(Access::Note(entries)) = access
                && let Some(entry) = entries.get_mut(connection as usize)
            {
                *entry = Entry::of(&flow);
            }
        })
    }
}

impl<'a> Task<'a> {
    pub(super) fn new(cpu: Option<u32>, outs: Vec<Out<'a>>, ins: Vec<In<'a>>) -> Self {
        Self { cpu, outs, ins }
    }

    /// Runs the thread's share to the end of the drain.
    pub(super) fn run(mut self, shared: &Shared<'_>) -> Result<Vec<Part>, PortError> {
        let cpu = self.cpu;
        let (result, _) = pin::measured(cpu, || {
            let result = self.poll(shared);
            if result.is_err() {
                shared.failed.store(true, Ordering::Relaxed);
            }
            result
        });
        result?;
        let now = monotonic_ns();
        let outs = self.outs.iter().map(|out| out.part(now));
        let ins = self.ins.iter().map(|one| Part {
            side: one.from,
            way: one.way,
        });
        Ok(outs.chain(ins).collect())
    }

    fn poll(&mut self, shared: &Shared<'_>) -> Result<(), PortError> {
        let (mut last_frame_ns, mut next_check_ns) = (0, 0);
        let mut drain_from_ns = None;
        loop {
            let now = monotonic_ns();
            if shared.failed.load(Ordering::Relaxed) {
                return Ok(());
            }
            if now >= next_check_ns {
                next_check_ns = now + CHECK_NS;
                self.outs.iter().try_for_each(|out| out.socket.check_up())?;
                self.ins.iter().try_for_each(|one| one.ring.check_up())?;
            }
            for out in &mut self.outs {
                out.send(shared, now)?;
            }
            for one in &mut self.ins {
                if one.receive(shared) > 0 {
                    last_frame_ns = now;
                }
            }
            if shared.sending.load(Ordering::Acquire) == 0 {
                let since = *drain_from_ns.get_or_insert(now);
                let quiet = now.saturating_sub(last_frame_ns.max(since)) >= shared.drain_quiet_ns;
                if self.ins.is_empty() || quiet || now - since >= shared.drain_max_ns {
                    return Ok(());
                }
            }
        }
    }
}
