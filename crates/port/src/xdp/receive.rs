//! The receive half: an XDP program on the port accounts every test frame and drops it; what is
//! not a test frame goes on into the network stack.
//!
//! The counts mean what they mean in [`nicety_account::Account`], with two differences, both
//! stated in `docs/methodology/engines.md`: every number of the trial has a bit, so none is ever
//! too late; and order is judged per receive queue (in generic mode per CPU).

mod device;
mod layout;
mod modes;
mod program;
mod totals;

use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use nicety_account::{AccountError, Latency, StreamTotals};
use nicety_model::StreamCounts;
use nicety_model::note::TrialNote;
use nicety_netdev::ethtool::Ethtool;
use nicety_netdev::netns::NetNs;
use nicety_packet::checksum::Sum;
use nicety_packet::pattern::pattern;
use nicety_packet::stamp::{STAMP_BYTES, STREAM_LEARNING};
use nicety_packet::{ethernet, ipv4, udp, vlan};

use rustix::thread::{MembarrierCommand, membarrier};

use super::attach::{self, Mode};
use super::unsupported::errno;
use crate::af_packet::socket::Socket;
use crate::af_packet::{PortSpec, TrafficSpec};
use crate::error::{PortError, PortFault};
use crate::lack::{Lack, Why};
use layout::{JUMPS_MAX, ORDER_ARMED, cpu, lane, stream};
use modes::{describe, modes, try_mode};
use program::{LoadError, Program, Settings};
use totals::Judged;

/// Most frames of a stream in one trial: their bits fill 256 MiB.
pub const FRAMES_MAX: u64 = 1 << 31;
/// Bits every stream has from the start; more are taken when a trial needs them.
const CAPACITY_MIN: u64 = 1 << 23;
/// Wait for programs under way where the kernel offers nothing better.
const GRACE: Duration = Duration::from_millis(50);
/// `XDP_DROP` of linux/bpf.h: the program took the frame.
pub const XDP_DROP: u32 = 1;
/// `XDP_PASS`: the frame is somebody else's.
pub const XDP_PASS: u32 = 2;

/// A program that runs on frames given to it instead of an interface's, at a time given to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bench {
    /// Arrival time of every frame in ns of the monotonic clock; 0 takes the clock.
    pub arrival_ns: u64,
    /// Jumps remembered for the extent of reordering, a power of two up to 16,384.
    pub jumps: u32,
    /// The program for frames in several buffers.
    pub fragments: bool,
    /// Every frame takes the number after the last of its CPU, so that one fed many times costs what
    /// many frames cost.
    pub renumber: bool,
    /// Order is judged per CPU, as in generic mode.
    pub lane_per_cpu: bool,
}

impl Default for Bench {
    fn default() -> Self {
        Self {
            arrival_ns: 0,
            jumps: JUMPS_MAX,
            fragments: false,
            renumber: false,
            lane_per_cpu: false,
        }
    }
}

/// Where the program is attached. The link goes first when dropped.
#[derive(Debug)]
struct Attached {
    link: OwnedFd,
    socket: Socket,
}

/// Accounts what arrives at one port. Ends with its value: the kernel takes the program off the
/// interface when the process ends, however it ends.
#[derive(Debug)]
pub struct Receiver {
    attached: Option<Attached>,
    program: Program,
    settings: Settings,
    interface: String,
    mode: String,
    assumed_dropped: bool,
    limit: u64,
    judged: Judged,
}

impl Receiver {
    /// Attaches the program to the port, in the driver if that can be had, else in the network
    /// stack. Must be called on a thread inside the interface's network namespace; it may be
    /// used from any. Nothing is counted before [`Self::reset`].
    ///
    /// # Errors
    /// [`PortFault::XdpBusy`] when another program is attached: it is left alone.
    pub fn open(
        spec: &PortSpec,
        traffic: TrafficSpec,
        expected_streams: &[u8],
    ) -> Result<Self, PortError> {
        let name = spec.interface.as_str();
        check_streams(expected_streams).map_err(|source| PortError::new(name, source))?;
        spec.check_mtu(traffic.frame_size)?;
        let unusable = |error: PortError, why: &str| match error.fault {
            PortFault::Down => PortError::xdp_receive(name, why),
            _ => error,
        };
        let socket = Socket::open(name)
            .map_err(|error| unusable(error, "there is no interface of this name"))?;
        if spec.promiscuous {
            socket.promiscuous()?;
        }
        socket
            .check_up()
            .map_err(|error| unusable(error, "the interface is down: bring it up first"))?;
        let ethtool = NetNs::current().and_then(|ns| Ethtool::open(&ns)).ok();
        let queues = device::receive_queues(ethtool.as_ref(), name);
        let mut settings = settings(traffic, expected_streams, Bench::default());
        let mut refusals = Vec::new();
        for (mode, fragments) in modes(spec.mtu) {
            settings.fragments = fragments;
            settings.lane_is_cpu = mode == Mode::Generic;
            settings.lanes = match mode {
                Mode::Native => queues,
                Mode::Generic => cpus(),
            };
            let program = match Program::load(&settings) {
                Ok(program) => program,
                // Fragments need a newer kernel than the rest.
                Err(LoadError::Program(_)) if fragments => continue,
                Err(error) => return Err(unloadable(name, &settings, &error)),
            };
            match try_mode(&program, &socket, mode)? {
                Ok(link) => {
                    return Ok(Self {
                        attached: Some(Attached { link, socket }),
                        program,
                        settings,
                        interface: name.to_owned(),
                        mode: describe(mode, &refusals),
                        assumed_dropped: mode == Mode::Native
                            && device::counts_as_dropped(ethtool.as_ref(), name),
                        limit: 0,
                        judged: Judged::default(),
                    });
                }
                Err(why) => refusals.push(why),
            }
        }
        refusals.dedup();
        let why = format!("the interface takes no program: {}", refusals.join("; "));
        Err(PortError::xdp_receive(name, why))
    }

    /// A receiver without an interface, for checks and for measuring the program: frames come
    /// from [`Self::feed`].
    ///
    /// # Errors
    /// When the program cannot be loaded.
    pub fn unattached(
        traffic: TrafficSpec,
        expected_streams: &[u8],
        bench: Bench,
    ) -> Result<Self, PortError> {
        let interface = "no interface".to_owned();
        check_streams(expected_streams).map_err(|source| PortError::new(&interface, source))?;
        let settings = settings(traffic, expected_streams, bench);
        let program =
            Program::load(&settings).map_err(|error| unloadable(&interface, &settings, &error))?;
        Ok(Self {
            attached: None,
            program,
            settings,
            interface,
            mode: "fed".to_owned(),
            assumed_dropped: false,
            limit: 0,
            judged: Judged::default(),
        })
    }

    /// Whether the driver may count what the program has taken as `rx_dropped`.
    pub(crate) fn counts_assumed_dropped(&self) -> bool {
        self.assumed_dropped
    }

    /// Runs the program `repeat` times on a frame (without FCS) as if it arrived at queue 0.
    /// Returns what the program does with it ([`XDP_DROP`], [`XDP_PASS`]) and the mean time of
    /// one run.
    ///
    /// # Errors
    /// When the kernel refuses to run it.
    pub fn feed(&self, frame: &[u8], repeat: u32) -> Result<(u32, Duration), PortError> {
        let ran = self
            .program
            .run(frame, repeat)
            .map_err(|error| unloadable(&self.interface, &self.settings, &error))?;
        Ok((ran.return_value, ran.duration))
    }

    /// How the program runs: `native`, or `generic` and why not native.
    pub fn mode(&self) -> &str {
        &self.mode
    }

    /// Starts the account of `trial` (low byte of its counter), in which no stream has more than
    /// `limit_frames` frames. What was counted before is forgotten.
    ///
    /// # Errors
    /// [`PortFault::TrialTooLong`]; or when the kernel has no memory for a bit per frame.
    pub fn reset(&mut self, trial: u8, limit_frames: u64) -> Result<(), PortError> {
        if limit_frames > FRAMES_MAX {
            let fault = PortFault::TrialTooLong {
                frames: limit_frames,
                max: FRAMES_MAX,
            };
            return Err(PortError::new(&self.interface, fault));
        }
        self.stop();
        if limit_frames > self.settings.capacity {
            self.grow(limit_frames)?;
        }
        let words = (self.settings.capacity / 64) as usize;
        let used = self.limit.div_ceil(64) as usize;
        for stream in self.program.seen.words().chunks_exact(words) {
            clear(&stream[..used.min(words)]);
        }
        for table in [
            &self.program.cpus,
            &self.program.streams,
            &self.program.lanes,
        ] {
            clear(table.words());
        }
        self.limit = limit_frames;
        self.judged = Judged::default();
        self.order(ORDER_ARMED | u64::from(trial) << 32 | limit_frames);
        Ok(())
    }

    /// Distinct frames that have arrived since [`Self::reset`], over all streams; those of
    /// numbers that were never sent among them. Takes no system call.
    pub fn received_so_far(&self) -> u64 {
        totals::sum(self.program.cpus.words(), cpu::WORDS, cpu::RECEIVED)
    }

    /// Whether the interface is still there and up.
    ///
    /// # Errors
    /// [`PortFault::Down`] when it is not.
    pub fn check_up(&self) -> Result<(), PortError> {
        match &self.attached {
            Some(attached) => attached.socket.check_up(),
            None => Ok(()),
        }
    }

    /// Closes the account with what the senders say, as [`nicety_account::Account::finish`] does;
    /// nothing is counted from here on until [`Self::reset`]. The latencies are of all streams.
    ///
    /// # Errors
    /// When totals of a stream are missing.
    pub fn finish(
        &mut self,
        totals: &[StreamTotals],
    ) -> Result<(Vec<StreamCounts>, Latency), PortError> {
        self.stop();
        let error = |source| PortError::new(&self.interface, source);
        let streams = self.settings.streams.len();
        let words = (self.settings.capacity / 64) as usize;
        let lane_words = self.settings.lanes as usize * lane::WORDS;
        let (seen, lanes, rare) = (
            self.program.seen.words().chunks_exact(words),
            self.program.lanes.words().chunks_exact(lane_words),
            self.program.streams.words(),
        );
        let cpus = self.program.cpus.words();
        let port = |at| totals::sum(cpus, cpu::WORDS, at);
        let (mut foreign, mut corrupt) = (port(cpu::FOREIGN), port(cpu::CORRUPT));
        let mut judged = Judged::default();
        let mut counts = Vec::with_capacity(streams);
        for (n, ((stream, seen), lanes)) in self
            .settings
            .streams
            .iter()
            .zip(seen)
            .zip(lanes)
            .enumerate()
        {
            let totals = totals
                .iter()
                .find(|totals| totals.stream == *stream)
                .ok_or_else(|| error(AccountError::NoTotals { stream: *stream }))?;
            let rare = rare.chunks_exact(stream::WORDS).skip(n).step_by(streams);
            let mut one = totals::stream_counts(totals, self.limit, seen, lanes, rare, &mut judged);
            // What belongs to no stream stands in the first one, so that sums are right.
            one.frames.corrupt += std::mem::take(&mut corrupt);
            one.frames.foreign += std::mem::take(&mut foreign);
            one.stations = totals::stations(totals.sent, self.settings.stations, seen);
            counts.push(one);
        }
        let mut latency = Latency::new().map_err(error)?;
        totals::add_latency(cpus, &mut latency);
        self.judged = judged;
        Ok((counts, latency))
    }

    /// How many of the numbers in `numbers` have not arrived since [`Self::reset`], of the first
    /// stream.
    pub fn missing(&self, numbers: Range<u64>) -> u64 {
        totals::missing(self.program.seen.words(), numbers)
    }

    /// A bit for each of the first `numbers` numbers of the first stream that has arrived since
    /// [`Self::reset`].
    pub(crate) fn arrived(&self, numbers: u64) -> Vec<u64> {
        let words = self.program.seen.words().iter();
        let words = words.take(numbers.div_ceil(64) as usize);
        words.map(|word| word.load(Ordering::Relaxed)).collect()
    }

    /// What the figures of the last [`Self::finish`] know less exactly than those of one queue.
    pub fn notes(&self) -> Vec<TrialNote> {
        let mut notes = Vec::new();
        if self.judged.lanes > 1 {
            notes.push(TrialNote::OrderByLane {
                interface: self.interface.clone(),
                lanes: self.judged.lanes as u64,
                cpus: self.settings.lane_is_cpu,
            });
        }
        if self.judged.extent_open > 0 {
            notes.push(TrialNote::ExtentAtLeast {
                interface: self.interface.clone(),
                frames: self.judged.extent_open,
                gaps: self.settings.jumps.into(),
            });
        }
        notes
    }

    /// Counts nothing from here on, and waits until no CPU is inside the program.
    fn stop(&self) {
        let Some(order) = self.program.order.words().first() else {
            return;
        };
        if order.swap(0, Ordering::SeqCst) & ORDER_ARMED != 0 {
            grace();
        }
    }

    fn order(&self, order: u64) {
        if let Some(word) = self.program.order.words().first() {
            word.store(order, Ordering::SeqCst);
        }
    }

    /// Takes room for `frames` frames per stream: a program with larger maps replaces the one
    /// that is attached.
    fn grow(&mut self, frames: u64) -> Result<(), PortError> {
        let settings = Settings {
            capacity: frames.next_power_of_two(),
            ..self.settings.clone()
        };
        let failed = |error: LoadError| unloadable(&self.interface, &settings, &error);
        let program = Program::load(&settings).map_err(failed)?;
        if let Some(attached) = &self.attached {
            attach::replace(attached.link.as_fd(), program.fd().map_err(failed)?).map_err(
                |error| PortError::system(&self.interface, "replace the receive program", error),
            )?;
        }
        self.program = program;
        self.settings = settings;
        Ok(())
    }
}

fn settings(traffic: TrafficSpec, streams: &[u8], bench: Bench) -> Settings {
    let link = ethernet::HEADER_BYTES + traffic.vlan.map_or(0, |_| vlan::TAG_BYTES);
    let bytes = traffic.frame_size.bytes_without_fcs() - link;
    // At most 9000, and at least 42.
    let total_length = bytes as u16;
    let head = ipv4::HEADER_BYTES + udp::HEADER_BYTES + STAMP_BYTES;
    let constant = Sum::default()
        .add_u16(u16::from(ipv4::PROTOCOL_UDP))
        .add_u16(total_length - ipv4::HEADER_BYTES as u16)
        .add_bytes(pattern(bytes.saturating_sub(head)));
    Settings {
        total_length,
        constant_sum: u16::from_ne_bytes(constant.fold().to_be_bytes()),
        streams: streams.to_vec(),
        stations: traffic.stations,
        capacity: CAPACITY_MIN,
        lanes: if bench.lane_per_cpu { cpus() } else { 1 },
        lane_is_cpu: bench.lane_per_cpu,
        jumps: bench.jumps.next_power_of_two().min(JUMPS_MAX),
        fixed_time_ns: bench.arrival_ns,
        fragments: bench.fragments,
        renumber: bench.renumber,
    }
}

/// The rules of [`nicety_account::Account::new`].
fn check_streams(streams: &[u8]) -> Result<(), AccountError> {
    if streams.is_empty() {
        return Err(AccountError::NoStreams);
    }
    for (n, stream) in streams.iter().enumerate() {
        if *stream == STREAM_LEARNING {
            return Err(AccountError::ReservedStream { stream: *stream });
        }
        if streams[..n].contains(stream) {
            return Err(AccountError::StreamTwice { stream: *stream });
        }
    }
    Ok(())
}

fn unloadable(interface: &str, settings: &Settings, error: &LoadError) -> PortError {
    let why = match errno(error) {
        Some(libc::EPERM | libc::EACCES) => Why::lacks(
            Lack::Root,
            "BPF programs may not be loaded: run as root, or with CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON (unprivileged BPF is off, or the kernel is locked down)",
        ),
        Some(libc::ENOMEM | libc::E2BIG) => format!(
            "the kernel has no memory for {} MiB that tell the frames apart: make the trial shorter, or raise the control group's memory limit",
            settings.seen_bytes() >> 20
        )
        .into(),
        _ => one_line(error),
    };
    PortError::xdp_receive(interface, why)
}

/// A verifier's log is long; its first line says what is wrong.
fn one_line(error: &LoadError) -> Why {
    let words = error.to_string();
    let words = words.lines().next().unwrap_or_default();
    match error {
        LoadError::NotBuilt(_) => Why::lacks(Lack::Build, words),
        _ => words.into(),
    }
}

fn cpus() -> u32 {
    aya::util::nr_cpus().map_or(1, |cpus| cpus as u32)
}

fn clear(words: &[AtomicU64]) {
    for word in words {
        word.store(0, Ordering::Relaxed);
    }
}

/// Waits until every program that runs now has ended: membarrier(2) waits for an RCU grace
/// period, and XDP programs run inside RCU read sections.
fn grace() {
    if membarrier(MembarrierCommand::Global).is_err() {
        // Refused where CPUs run without a tick (nohz_full).
        std::thread::sleep(GRACE);
    }
}
