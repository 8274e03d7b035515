//! The `af_packet` engine: packet sockets on both ports.
//!
//! Frames leave by `sendmmsg` past the queueing discipline and arrive in a memory-mapped ring
//! (TPACKET_V2); the kernel stamps arrivals when it writes them there. See
//! `docs/methodology/engines.md` for what was measured to choose this.

mod around;
pub mod connections;
mod mixed;
pub(crate) mod rx;
pub(crate) mod socket;
pub(crate) mod tx;
mod worker;

use std::sync::atomic::{AtomicBool, AtomicUsize};

use nicety_account::lost::Numbers;
use nicety_account::{Account, Latency, StreamTotals};
use nicety_model::interval::LatencyHistogram;
use nicety_model::{Direction, FrameSize, Shape};
use nicety_packet::{
    Expect, FlowRange, MacAddr, RunMark, Side, Stamp, Template, TemplateSpec, VlanTag,
};

pub use tx::Refusal;

use crate::clock::{monotonic_ns, realtime_offset_ns};
use crate::engine::{
    Arrivals, Engine, EngineReport, LostFrame, Slots, Stop, TimedFrame, TrialOrder, XdpCounts,
};
use crate::error::{PortError, PortFault};
use crate::pace::{Pacer, Timetable};
use crate::rest::Rests;
use crate::sending::{LEAD, Sending, by_stream, reports, start_spread_s};
use crate::slots::{SentTimes, together};
use crate::stamped::Stamped;
use around::{Around, Held, sent_ns};
use mixed::{Mixed, Out, Wanted};
use rx::RxRing;
use tx::TxSocket;
use worker::{Receiver, Sender, Shared, Work};

/// A step of the wall clock smaller than this is not told apart from reading it.
const CLOCK_STEP_NS: i64 = 20_000;

/// One end of the path, as the engine needs to know it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortSpec {
    /// Interface name in its own network namespace.
    pub interface: String,
    /// Address the tester's frames carry for this port.
    pub mac: MacAddr,
    /// MTU of the interface.
    pub mtu: u32,
    /// What a refused frame means here.
    pub refusal: Refusal,
    /// Whether the interface must be told to accept frames for `mac` (it is not its own).
    pub promiscuous: bool,
}

impl PortSpec {
    /// Fails where the interface cannot carry the frames.
    pub(crate) fn check_mtu(&self, frame_size: FrameSize) -> Result<(), PortError> {
        let needed = frame_size.mtu_needed();
        if self.mtu >= needed {
            return Ok(());
        }
        let fault = PortFault::Mtu {
            mtu: self.mtu,
            frame_size: frame_size.bytes(),
            needed,
        };
        Err(PortError::new(&self.interface, fault))
    }
}

/// What is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrafficSpec {
    /// Frame size.
    pub frame_size: FrameSize,
    /// Direction.
    pub direction: Direction,
    /// Flows per direction.
    pub flows: u32,
    /// Stations of either port that take turns: frame `n` goes from station `n mod stations` of
    /// one to that of the other, see [`MacAddr::station`]. One is the ports' addresses themselves.
    pub stations: u32,
    /// Tag of the frames as they are sent, part of the frame size; they may arrive without it or
    /// with another.
    pub vlan: Option<VlanTag>,
    /// What frames are beyond that. Of a mix, the frame size is that of the largest.
    pub shape: Shape,
    /// Whose frames they are; those of another shape have none.
    pub mark: RunMark,
}

impl TrafficSpec {
    /// Frames of one size of IPv4 and UDP, of one flow, without a tag, between the ports themselves.
    pub fn plain(frame_size: FrameSize, direction: Direction) -> Self {
        Self {
            frame_size,
            direction,
            flows: 1,
            stations: 1,
            vlan: None,
            shape: Shape::default(),
            mark: RunMark::NONE,
        }
    }
}

/// An opened port: its sockets belong to the interface's namespace, and may be used from any.
#[derive(Debug)]
pub struct PortSockets {
    spec: PortSpec,
    tx: TxSocket,
    rx: RxRing,
}

impl PortSockets {
    /// Opens the port's sockets. Must be called on a thread inside the interface's network
    /// namespace.
    pub fn open(spec: &PortSpec, frame_size: FrameSize) -> Result<Self, PortError> {
        spec.check_mtu(frame_size)?;
        let bytes = frame_size.bytes_without_fcs();
        Ok(Self {
            tx: TxSocket::open(&spec.interface, bytes, spec.refusal)?,
            rx: RxRing::open(&spec.interface, bytes, spec.promiscuous)?,
            spec: spec.clone(),
        })
    }
}

/// The engine between two ports.
#[derive(Debug)]
pub struct AfPacket {
    senders: Vec<Sender>,
    receivers: Vec<Receiver>,
    interfaces: [String; 2],
    cpus: Vec<Option<u32>>,
    /// Frames that the last trial sent, by stream.
    made: Vec<u64>,
    mark: RunMark,
    /// When each stream of the last trial began, its pace, and the trial's number.
    schedule: Schedule,
    /// When the frames of the last trial were due, by stream.
    timetables: Vec<Timetable>,
}

/// When the frames of a trial were due.
#[derive(Debug, Default)]
struct Schedule {
    trial: u8,
    /// First frame of each stream, in ns of the monotonic clock.
    first_ns: Vec<u64>,
    /// Frames per second.
    pace_fps: f64,
    realtime_offset_ns: i64,
}

impl Schedule {
    /// Time at which frame `number` of a stream was due, by the monotonic clock and since the Unix epoch, in ns.
    fn due(&self, stream: usize, number: u64) -> (u64, i64) {
        let first = self.first_ns.get(stream).copied().unwrap_or(0);
        let after = number as f64 / self.pace_fps.max(f64::MIN_POSITIVE) * 1e9;
        let due = first.saturating_add(after as u64);
        (due, self.unix(due))
    }

    /// The same time since the Unix epoch.
    fn unix(&self, monotonic_ns: u64) -> i64 {
        monotonic_ns as i64 + self.realtime_offset_ns
    }
}

impl AfPacket {
    /// Joins two opened ports. One worker thread runs per entry of `cpus`: the first sends, the
    /// last receives; with one entry the same thread does both by turns.
    pub fn new(
        a: PortSockets,
        b: PortSockets,
        traffic: TrafficSpec,
        cpus: Vec<Option<u32>>,
    ) -> Result<Self, PortError> {
        let interfaces = [a.spec.interface.clone(), b.spec.interface.clone()];
        let macs = [a.spec.mac, b.spec.mac];
        // Every port gets a sender: those without load still send learning frames.
        let sender = |port: &PortSpec, socket, to, side, stream| {
            let out = if traffic.shape.is_plain() {
                Out::Plain(Stamped::new(
                    socket,
                    template(port, to, traffic, side)?,
                    stream,
                )?)
            } else {
                Out::Mixed(Mixed::new(
                    socket,
                    mixed::template(port, to, traffic, side)?,
                    stream,
                )?)
            };
            let times = SentTimes::default();
            Ok::<_, PortError>(Sender { out, times })
        };
        let senders = vec![
            sender(&a.spec, a.tx, macs[1], Side::A, 0)?,
            sender(&b.spec, b.tx, macs[0], Side::B, 1)?,
        ];
        // Stream 0 arrives at B, stream 1 at A.
        let receiver = |spec: &PortSpec, ring, stream| {
            let mut account = Account::new(0, &[stream])
                .map_err(|source| PortError::new(&spec.interface, source))?;
            account.between(traffic.stations);
            if let Some(mix) = traffic.shape.imix {
                account.sized(mix);
            }
            // Both directions have the same headers.
            let expect = match &senders[0].out {
                Out::Plain(_) => {
                    Wanted::Plain(Expect::new(traffic.frame_size, traffic.vlan.is_some()))
                }
                Out::Mixed(mixed) => Wanted::Mixed(mixed.expect()),
            };
            Ok::<_, PortError>(Receiver {
                ring,
                expect,
                account,
                around: Around::default(),
            })
        };
        let mut receivers = vec![receiver(&b.spec, b.rx, 0)?];
        if traffic.direction == Direction::Bi {
            receivers.push(receiver(&a.spec, a.rx, 1)?);
        }
        let cpus = if cpus.is_empty() { vec![None] } else { cpus };
        Ok(Self {
            senders,
            receivers,
            interfaces,
            cpus,
            made: Vec::new(),
            mark: if traffic.shape.is_plain() {
                traffic.mark
            } else {
                RunMark::NONE
            },
            schedule: Schedule::default(),
            timetables: Vec::new(),
        })
    }

    /// Number of directions with load.
    fn directions(&self) -> usize {
        self.receivers.len()
    }
}

impl Engine for AfPacket {
    fn name(&self) -> String {
        "af_packet (sendmmsg, qdisc bypass; receive ring v2)".to_owned()
    }

    fn learn(&mut self) -> Result<(), PortError> {
        let mut senders = self.senders.iter_mut();
        senders.try_for_each(|sender| sender.out.learn())
    }

    fn trial(&mut self, order: &TrialOrder, stop: &Stop) -> Result<EngineReport, PortError> {
        let directions = self.directions();
        for receiver in &mut self.receivers {
            receiver.ring.take_drops()?;
            receiver.account.reset(order.trial);
            receiver.around.reset(order.trial);
            if order.numbers {
                receiver.account.keep_numbers(order.frames());
            }
            for sender in &self.senders {
                receiver
                    .account
                    .expect_at_most(sender.out.stream(), order.frames());
            }
        }
        for sender in &mut self.senders {
            sender.times.reset();
        }
        let offset = realtime_offset_ns();
        let start_ns = monotonic_ns() + LEAD.as_nanos() as u64;
        let shared = Shared {
            stop,
            failed: AtomicBool::new(false),
            sending: AtomicUsize::new(directions),
            deadline_ns: start_ns + order.longest_ns(),
            rests: Rests::new(order.rest, start_ns),
            drain_max_ns: order.drain_max.as_nanos() as u64,
            drain_quiet_ns: order.drain_quiet.as_nanos() as u64,
            realtime_offset_ns: offset,
            trial: order.trial,
        };
        let works = share_out(
            self.senders[..directions]
                .iter_mut()
                .map(|sender| (sender, order.pacer(start_ns))),
            self.receivers.iter_mut(),
            &self.cpus,
        );
        let done: Result<Vec<_>, PortError> = std::thread::scope(|scope| {
            let threads: Vec<_> = works
                .into_iter()
                .map(|work| scope.spawn(|| worker::run(work, &shared)))
                .collect();
            let died = |_| PortError::new(&self.interfaces[0], PortFault::Worker);
            let joined = threads.into_iter().map(|thread| thread.join());
            joined.map(|result| result.map_err(died)?).collect()
        });
        let (sendings, workers) = by_stream(done?);
        self.made = sendings.iter().map(|sending| sending.sent).collect();
        self.schedule = Schedule {
            trial: order.trial,
            first_ns: sendings.iter().map(|sending| sending.first_ns).collect(),
            pace_fps: order.pace().0,
            realtime_offset_ns: offset,
        };
        let timetables = sendings.iter().map(|sending| sending.timetable.clone());
        self.timetables = timetables.collect();
        let clock_stepped = (realtime_offset_ns() - offset).abs() > CLOCK_STEP_NS;
        let mut report = self.account(&sendings, order)?;
        report.workers = workers;
        report.clock_stepped = clock_stepped;
        report.interrupted = stop.is_set();
        if clock_stepped {
            report.latency = None;
            report.histogram = LatencyHistogram::default();
        }
        Ok(report)
    }

    fn receives_by_socket(&self) -> bool {
        true
    }

    fn steps(&self) -> bool {
        true
    }

    fn timetables(&self) -> &[Timetable] {
        &self.timetables
    }

    fn mark(&self) -> RunMark {
        self.mark
    }

    fn arrivals(&self) -> Option<Vec<Arrivals>> {
        let streams = self.receivers.iter().zip(&self.senders);
        let one = |((to, from), made): ((&Receiver, &Sender), &u64)| Arrivals {
            made: *made,
            given_up: 0,
            words: to.account.numbers(from.out.stream()).to_vec(),
        };
        Some(streams.zip(&self.made).map(one).collect())
    }

    fn keep_neighbours(&mut self, most: usize) -> bool {
        for (receiver, sender) in self.receivers.iter_mut().zip(&self.senders) {
            receiver.around = Around::new(sender.out.stream(), most);
        }
        true
    }

    fn neighbours(&mut self) -> Vec<LostFrame> {
        let streams = self.receivers.iter().zip(&self.senders).zip(&self.made);
        let mut all = Vec::new();
        for (place, ((receiver, sender), made)) in streams.enumerate() {
            let stream = sender.out.stream();
            let numbers = Numbers {
                stream,
                made: *made,
                arrived: receiver.account.numbers(stream),
                begun_unix_s: 0.0,
                rate_fps: self.schedule.pace_fps,
            };
            let lost = numbers.missing().flatten().take(receiver.around.most());
            for number in lost {
                let around = receiver.around.of(number);
                let sent = sent_ns(number, &around, self.schedule.pace_fps);
                let (tx_ns, unix_ns) = match sent {
                    Some(tx_ns) => (tx_ns, self.schedule.unix(tx_ns)),
                    None => self.schedule.due(place, number),
                };
                let stamp = Stamp {
                    stream,
                    trial: self.schedule.trial,
                    sequence: number as u32,
                    tx_ns,
                };
                // What was sent once can be made again.
                let Ok(bytes) = sender.out.made(&stamp) else {
                    continue;
                };
                let [before, after] = around.map(|held| held.map(|Held { frame, .. }| frame));
                all.push(LostFrame {
                    stream,
                    sent: TimedFrame {
                        unix_ns,
                        number,
                        bytes,
                    },
                    before,
                    after,
                });
            }
        }
        all.sort_by_key(|lost| lost.sent.unix_ns);
        all
    }

    fn slots(&self) -> Option<Slots> {
        let streams = self.receivers.iter().zip(&self.senders);
        let stretches: Option<Vec<_>> = streams
            .map(|(to, from)| from.times.stretch(to.account.arrived(from.out.stream())?))
            .collect();
        together(&stretches?)
    }
}

/// The stamp of a learning frame of a station.
pub(crate) fn learning(station: u32) -> Stamp {
    Stamp {
        sequence: station,
        ..Stamp::learning(0)
    }
}

/// The frames of both ports, sent to each other.
pub(crate) fn templates(
    [a, b]: [&PortSpec; 2],
    traffic: TrafficSpec,
) -> Result<[Template; 2], PortError> {
    if !traffic.shape.is_plain() {
        return Err(PortError::new(&a.interface, PortFault::NotPlain));
    }
    Ok([
        template(a, b.mac, traffic, Side::A)?,
        template(b, a.mac, traffic, Side::B)?,
    ])
}

/// The frames that `from` sends to `to`.
fn template(
    from: &PortSpec,
    to: MacAddr,
    traffic: TrafficSpec,
    side: Side,
) -> Result<Template, PortError> {
    FlowRange::new(traffic.flows, side)
        .and_then(|flows| flows.between(traffic.stations))
        .and_then(|flows| {
            Template::new(TemplateSpec {
                frame_size: traffic.frame_size,
                source_mac: from.mac,
                destination_mac: to,
                vlan: traffic.vlan,
                flows,
                mark: traffic.mark,
            })
        })
        .map_err(|source| PortError::new(&from.interface, source))
}

impl AfPacket {
    /// Closes the books of a trial.
    fn account(
        &mut self,
        sendings: &[Sending],
        order: &TrialOrder,
    ) -> Result<EngineReport, PortError> {
        let error = |source| PortError::new(&self.interfaces[1], source);
        let mut streams = Vec::new();
        let mut tester_drops = 0;
        let mut latency = Latency::new().map_err(error)?;
        for (receiver, sending) in self.receivers.iter_mut().zip(sendings) {
            tester_drops += receiver.ring.take_drops()?;
            let totals = StreamTotals {
                stream: sending.stream,
                intended: order.frames(),
                sent: sending.sent,
            };
            streams.extend(receiver.account.finish(&[totals]).map_err(error)?);
            receiver.account.merge_latency_into(&mut latency);
        }
        Ok(EngineReport {
            senders: reports(sendings, order.frames()),
            streams,
            latency: latency.summary(),
            histogram: latency.histogram(),
            clock_stepped: false,
            tester_drops,
            xdp: XdpCounts::default(),
            interrupted: false,
            start_spread_s: start_spread_s(sendings),
            workers: Vec::new(),
        })
    }
}

/// Gives every worker its share: a port's two halves meet on one worker when there are as many
/// workers as ports, and are apart when there are more.
fn share_out<'s>(
    senders: impl Iterator<Item = (&'s mut Sender, Pacer)>,
    receivers: impl Iterator<Item = &'s mut Receiver>,
    cpus: &[Option<u32>],
) -> Vec<Work<'s>> {
    let count = cpus.len();
    let mut works: Vec<Work<'s>> = cpus
        .iter()
        .map(|cpu| Work {
            cpu: *cpu,
            senders: Vec::new(),
            receivers: Vec::new(),
        })
        .collect();
    for (n, sender) in senders.enumerate() {
        works[n % count].senders.push(sender);
    }
    for (n, receiver) in receivers.enumerate() {
        works[(2 * count - 1 - n) % count].receivers.push(receiver);
    }
    works.retain(|work| !work.senders.is_empty() || !work.receivers.is_empty());
    works
}
