//! Both ports' sending for one trial: which thread sends what, and what ends it.

use std::os::linux::fs::MetadataExt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use nicety_model::{Direction, Fps, FrameSize};
use nicety_packet::Template;
use nicety_packet::stamp::STREAM_LEARNING;

use super::abi::{self, Sent, Shape};
use super::interrupt::wake_in_time;
use super::transmit::Transmitter;
use super::unsupported::Unsupported;
use crate::af_packet::socket::Socket;
use crate::af_packet::{PortSpec, Refusal, TrafficSpec, templates};
use crate::clock::monotonic_ns;
use crate::engine::{Stop, TrialOrder, WorkerUse};
use crate::error::{PortError, PortFault};
use crate::marks::Made;
use crate::pace::{Arrears, Timetable};
use crate::rest::{Rest, Rests};
use crate::sending::{LEARNING_FRAMES, Sending, pace};
use crate::xdp_receive::Senders;

/// How often the ports and the wish to stop are looked at.
const LOOK: Duration = Duration::from_millis(20);
/// The same while senders start and end: what passes between the last frame and the end of the
/// call.
const LOOK_CLOSELY: Duration = Duration::from_micros(200);
/// Rate of learning frames.
const LEARNING_RATE: Fps = Fps(10_000.0);

/// Rates from which a batch of the kernel holds more than one run of the program, with the runs it
/// holds, sent or not.
///
/// A batch is also the number of pages that the kernel keeps to use again (`pool_size` in
/// net/bpf/test_run.c). What comes back beyond goes to the page allocator, from the path's CPU, and
/// there some 2,000 pages at a time with interrupts off: 0.4 ms in which the path stands still. On
/// the other hand a frame leaves with its batch or with fifteen others, so it may wait for as many
/// runs of 50 ns. So batches are as large as the rate makes pages, and as small as the time between
/// frames wants.
const BATCHES: [(f64, u32); 4] = [(0.0, 1), (50_000.0, 32), (150_000.0, 128), (1e6, BATCH_MAX)];
/// `TEST_XDP_MAX_BATCH` of net/bpf/test_run.c.
const BATCH_MAX: u32 = 256;

/// Frames per batch of the kernel at `rate` of one sending thread.
pub(crate) fn batch(rate: Fps) -> u32 {
    let fitting = BATCHES.iter().rev().find(|(from, _)| rate.0 >= *from);
    fitting.map_or(1, |(_, frames)| *frames)
}

/// Frames that may follow one look at the clock at `rate`: those that leave together.
fn follow(rate: Fps) -> u32 {
    if rate.0 < FOLLOW_FROM { 0 } else { 15 }
}

/// Rate from which frames are not waited for one by one.
const FOLLOW_FROM: f64 = 900_000.0;

/// A port in its namespace.
#[derive(Debug)]
struct Attached {
    /// Says when the interface goes down, and keeps it promiscuous where that is wanted.
    socket: Socket,
    netns: u64,
}

/// A port as a sender.
#[derive(Debug)]
struct XdpPort {
    spec: PortSpec,
    shape: Shape,
    attached: Option<Attached>,
}

/// The sending halves of both ports.
#[derive(Debug)]
pub struct XdpSenders {
    ports: [XdpPort; 2],
    /// One per sending thread: one for both ports, or one each.
    transmitters: Vec<Transmitter>,
    cpus: Vec<Option<u32>>,
    frame_size: FrameSize,
    /// Stations of either port.
    stations: u32,
}

/// Something to send.
#[derive(Debug, Clone, Copy)]
struct Job {
    /// How many of the ports send, the first one first.
    ports: usize,
    learning: bool,
    trial: u8,
    /// On average over the time of sending.
    rate: Fps,
    frames: u64,
    /// Longest time of sending.
    run_ns: u64,
    rest: Option<Rest>,
    catch_up: bool,
}

/// What the threads of one job share.
struct Shared<'a> {
    stop: &'a Stop,
    failed: AtomicBool,
    sending: AtomicUsize,
    /// Sending threads.
    threads: usize,
    /// Time of sending, if all goes well.
    sending_ns: u64,
    rest: Option<Rest>,
}

impl Senders for XdpSenders {
    const REFUSED_TWICE: bool = true;

    /// Loads the programs. Both directions get a CPU each where there are two.
    fn new(
        specs: &[PortSpec; 2],
        traffic: TrafficSpec,
        cpus: Vec<Option<u32>>,
    ) -> Result<Self, PortError> {
        let templates = templates(specs.each_ref(), traffic)?;
        let threads = match traffic.direction {
            Direction::Bi if cpus.len() > 1 => 2,
            _ => 1,
        };
        let load = |n: usize| {
            let (spec, template): (&PortSpec, &Template) = (&specs[n], &templates[n]);
            Transmitter::load(template.bytes())
                .map_err(|source| PortError::new(&spec.interface, source))
        };
        let transmitters = (0..threads).map(load).collect::<Result<_, _>>()?;
        let shapes = templates.each_ref().map(Shape::of);
        let [a, b] = specs.clone();
        let [shape_a, shape_b] = shapes;
        let port = |spec, shape| XdpPort {
            spec,
            shape,
            attached: None,
        };
        Ok(Self {
            ports: [port(a, shape_a), port(b, shape_b)],
            transmitters,
            cpus,
            frame_size: traffic.frame_size,
            stations: traffic.stations,
        })
    }

    /// Binds port `side` (0 or 1) to its interface. Must be called inside its namespace.
    fn attach(&mut self, side: usize) -> Result<(), PortError> {
        let (thread, index) = self.place(side);
        let port = &mut self.ports[side];
        let interface = &port.spec.interface;
        port.spec.check_mtu(self.frame_size)?;
        let socket = Socket::open(interface)?;
        if port.spec.promiscuous {
            socket.promiscuous()?;
        }
        socket.bind_to_nothing()?;
        let netns = std::fs::metadata("/proc/thread-self/ns/net")
            .map_err(|source| PortError::system(interface, "identify the namespace of", source))?
            .st_ino();
        self.transmitters[thread]
            .join(index, socket.index())
            .map_err(|source| PortError::new(interface, source))?;
        port.attached = Some(Attached { socket, netns });
        Ok(())
    }

    fn name(&self, _directions: usize, mode: &str) -> String {
        format!("xdp (live frames; receive program {mode})")
    }

    /// Sends learning frames from both ports.
    fn learn(&mut self) -> Result<(), PortError> {
        let job = Job {
            ports: 2,
            learning: true,
            trial: 0,
            rate: LEARNING_RATE,
            frames: LEARNING_FRAMES * u64::from(self.stations),
            run_ns: 100_000_000,
            rest: None,
            catch_up: false,
        };
        self.run(&job, &Stop::default()).map(drop)
    }

    /// Sends one trial's frames from the first `ports` ports and returns when they are sent.
    fn trial(
        &mut self,
        directions: usize,
        order: &TrialOrder,
        stop: &Stop,
    ) -> Result<(Vec<Sending>, Vec<WorkerUse>), PortError> {
        let job = Job {
            ports: directions,
            learning: false,
            trial: order.trial,
            rate: order.load,
            frames: order.frames(),
            run_ns: order.longest_ns(),
            rest: order.rest,
            catch_up: order.catch_up,
        };
        self.run(&job, stop)
    }

    /// When port `side` made which frames in the last trial.
    fn made(&self, side: usize) -> Option<Made> {
        let (thread, index) = self.place(side);
        let transmitter = &self.transmitters[thread];
        let sent = transmitter.maps.sent(index).ok()?;
        // A number that was given up was never sent, and which ones were is not known.
        if self.ports[side].spec.refusal == Refusal::NotSent && sent.refused > 0 {
            return None;
        }
        Some(sent.frames(transmitter.maps.marks(index).ok()?))
    }
}

impl XdpSenders {
    /// The thread that sends for `side`, and the stream's index there.
    fn place(&self, side: usize) -> (usize, u32) {
        match self.transmitters.len() {
            1 => (0, side as u32),
            _ => (side, 0),
        }
    }

    fn run(&mut self, job: &Job, stop: &Stop) -> Result<(Vec<Sending>, Vec<WorkerUse>), PortError> {
        let threads = job.ports.min(self.transmitters.len());
        let streams = (job.ports / threads) as u32;
        let pace = pace(job.rate, job.rest);
        let batch = batch(Fps(pace.0 * f64::from(streams)));
        for thread in 0..threads {
            let first = thread * streams as usize;
            let words: Vec<_> = (first..first + streams as usize)
                .map(|side| self.stream(job, side, pace))
                .collect();
            let interface = &self.ports[first].spec.interface;
            self.transmitters[thread]
                .prepare(&words)
                .map_err(|source| PortError::new(interface, source))?;
        }
        let shared = Shared {
            stop,
            failed: AtomicBool::new(false),
            sending: AtomicUsize::new(threads),
            threads,
            sending_ns: ((job.frames as f64 * 1e9 / job.rate.0) as u64).min(job.run_ns),
            rest: job.rest,
        };
        let this = &*self;
        let (workers, watched) = std::thread::scope(|scope| {
            let shared = &shared;
            let senders: Vec<_> = (0..threads)
                .map(|n| scope.spawn(move || this.send(n, streams, batch, shared)))
                .collect();
            let watcher = scope.spawn(move || this.watch(streams, shared));
            let workers: Vec<_> = senders.into_iter().map(|thread| thread.join()).collect();
            (workers, watcher.join())
        });
        let interface = &self.ports[0].spec.interface;
        let died = |_| PortError::new(interface, PortFault::Worker);
        // A port that went down explains whatever else failed.
        watched.map_err(died)??;
        let workers = workers
            .into_iter()
            .map(|worker| {
                worker
                    .map_err(died)?
                    .map_err(|source| PortError::new(interface, source))
            })
            .collect::<Result<Vec<_>, _>>()?;
        let sendings = (0..job.ports)
            .map(|side| self.account(side))
            .collect::<Result<_, _>>()?;
        Ok((sendings, workers))
    }

    fn stream(&self, job: &Job, side: usize, pace: Fps) -> abi::Stream {
        let port = &self.ports[side];
        let interface = port.attached.as_ref();
        abi::Sending {
            shape: &port.shape,
            stream: if job.learning {
                STREAM_LEARNING
            } else {
                side as u8
            },
            trial: job.trial,
            rate: pace,
            arrears: Arrears::of(pace, job.catch_up),
            frames: job.frames,
            follow: follow(pace),
            run_ns: job.run_ns,
            interface: interface.map_or((0, 0), |at| (at.socket.index(), at.netns)),
        }
        .stream()
    }

    /// The work of sending thread `n`.
    fn send(
        &self,
        n: usize,
        streams: u32,
        batch: u32,
        shared: &Shared<'_>,
    ) -> Result<WorkerUse, Unsupported> {
        let cpu = self.cpus.get(n % self.cpus.len().max(1)).copied().flatten();
        let until = (shared.stop, &shared.failed);
        let result = self.transmitters[n].send(streams, batch, cpu, shared.rest, until);
        if result.is_err() {
            shared.failed.store(true, Ordering::Release);
        }
        shared.sending.fetch_sub(1, Ordering::AcqRel);
        result
    }

    /// Starts the senders together, and ends their calls of the kernel when they are done, when
    /// the trial is to stop, and when a port goes down.
    fn watch(&self, streams: u32, shared: &Shared<'_>) -> Result<(), PortError> {
        wake_in_time();
        let threads = &self.transmitters[..shared.threads];
        let mut end_ns = None;
        let mut rests = Rests::new(None, 0);
        let mut down = Ok(());
        while shared.sending.load(Ordering::Acquire) > 0 {
            if down.is_ok() {
                down = self.check_up();
                if down.is_err() {
                    shared.failed.store(true, Ordering::Release);
                }
            }
            // Programs that cannot be read are left to their senders, who read them too.
            let all = |is: fn(&Transmitter, u32) -> Result<bool, Unsupported>| {
                threads
                    .iter()
                    .all(|thread| is(thread, streams).unwrap_or(true))
            };
            if end_ns.is_none() && all(Transmitter::ready) {
                for thread in threads {
                    if thread.maps.open_gate().is_err() {
                        shared.failed.store(true, Ordering::Release);
                    }
                }
                let now = monotonic_ns();
                end_ns = Some(now.saturating_add(shared.sending_ns));
                rests = Rests::new(shared.rest, now);
            }
            let now = monotonic_ns();
            let left_ns = end_ns.map_or(0, |end| end.saturating_sub(now));
            let rest = left_ns > 0 && rests.begins(now).is_some();
            let cut = shared.stop.is_set() || shared.failed.load(Ordering::Acquire);
            for thread in threads {
                if cut || rest || (left_ns == 0 && thread.ended(streams).unwrap_or(true)) {
                    thread.interrupt();
                }
            }
            std::thread::sleep(if cut || left_ns == 0 {
                LOOK_CLOSELY
            } else {
                Duration::from_nanos(left_ns)
                    .min(LOOK)
                    .min(rests.left(monotonic_ns()))
            });
        }
        down
    }

    /// Fails when a port went down.
    fn check_up(&self) -> Result<(), PortError> {
        let mut sockets = self.ports.iter().filter_map(|port| port.attached.as_ref());
        sockets.try_for_each(|attached| attached.socket.check_up())
    }

    /// The books of port `side`.
    fn account(&self, side: usize) -> Result<Sending, PortError> {
        let (thread, index) = self.place(side);
        let spec = &self.ports[side].spec;
        let error = |source| PortError::new(&spec.interface, source);
        let transmitter = &self.transmitters[thread];
        let sent = transmitter.maps.sent(index).map_err(error)?;
        let lateness = transmitter.maps.lateness(index).map_err(error)?;
        let lost = sent.failed + sent.undelivered();
        if lost > 0 {
            self.check_up()?;
            let fault = PortFault::NotApplied {
                frames: lost,
                why: why(&sent, spec.refusal),
            };
            return Err(PortError::new(&spec.interface, fault));
        }
        let given_up = match spec.refusal {
            Refusal::LostInPath => 0,
            Refusal::NotSent => sent.refused,
        };
        Ok(Sending {
            stream: side as u8,
            sent: sent.made - given_up,
            refused_by_path: sent.refused - given_up,
            first_ns: sent.first_ns,
            pacing: sent.pacing(&lateness, given_up),
            timetable: Timetable::default(),
        })
    }
}

/// Why a driver did not take frames.
fn why(sent: &Sent, refusal: Refusal) -> String {
    match (sent.error, refusal) {
        // A veth says that it transmits only while its far end receives in NAPI; before Linux
        // 6.3 it refused every frame instead (veth_xdp_xmit in drivers/net/veth.c).
        (0 | libc::ENXIO, Refusal::LostInPath) => {
            "the far end of the veth pair does not receive in NAPI; turn on GRO there (ethtool -K \
             IFACE gro on)"
                .to_owned()
        }
        (0, _) => "it does not transmit XDP frames".to_owned(),
        (error, _) => std::io::Error::from_raw_os_error(error).to_string(),
    }
}

#[cfg(test)]
mod tests;
