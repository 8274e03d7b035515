//! Loads the receive program for one kind of traffic.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use aya::maps::Map;
use aya::programs::{ProgramFd, TestRun, TestRunOptions, TestRunResult, Xdp};
use aya::{Ebpf, EbpfError, EbpfLoader};
use nicety_packet::pattern::pattern;

use super::layout::{self, cpu, lane, stream};

use crate::xdp::mapping::Mapping;
use crate::xdp::object;

/// What the program is made for; all of it is constant to the verifier.
#[derive(Debug, Clone)]
pub(super) struct Settings {
    /// IPv4 total length of every frame.
    pub(super) total_length: u16,
    /// One's complement sum of what every UDP checksum has in common.
    pub(super) constant_sum: u16,
    /// Streams that are expected.
    pub(super) streams: Vec<u8>,
    /// Pairs of stations that take turns in every stream; the program need not know.
    pub(super) stations: u32,
    /// Numbers with a bit, per stream: a multiple of 64.
    pub(super) capacity: u64,
    /// Order is judged in as many lanes at most, per stream.
    pub(super) lanes: u32,
    /// A lane is a CPU, not a receive queue.
    pub(super) lane_is_cpu: bool,
    /// Jumps a lane remembers, a power of two.
    pub(super) jumps: u32,
    /// Arrival time of every frame; 0 takes the clock.
    pub(super) fixed_time_ns: u64,
    /// Frames may come in several buffers (Linux 5.18).
    pub(super) fragments: bool,
    /// Every frame takes the number after the last.
    pub(super) renumber: bool,
}

impl Settings {
    /// Bytes of the bits of all streams.
    pub(super) fn seen_bytes(&self) -> u64 {
        self.capacity / 8 * self.streams.len() as u64
    }

    fn program(&self) -> &'static str {
        if self.fragments {
            "nicety_receive_frags"
        } else {
            "nicety_receive"
        }
    }
}

/// Why the program could not be loaded.
#[derive(Debug, thiserror::Error)]
pub(super) enum LoadError {
    #[error("not built in: {0}")]
    NotBuilt(&'static str),
    #[error(transparent)]
    Bpf(#[from] EbpfError),
    #[error(transparent)]
    Program(#[from] aya::programs::ProgramError),
    #[error("cannot map {0}: {1}")]
    Map(&'static str, #[source] io::Error),
    #[error("the object has no {0}")]
    Missing(&'static str),
    #[error("CPUs cannot be counted: {0}")]
    Cpus(#[source] io::Error),
}

/// The program in the kernel, and its maps.
#[derive(Debug)]
pub(super) struct Program {
    ebpf: Ebpf,
    name: &'static str,
    pub(super) order: Mapping,
    pub(super) seen: Mapping,
    pub(super) cpus: Mapping,
    pub(super) streams: Mapping,
    pub(super) lanes: Mapping,
}

impl Program {
    /// Loads the program; it counts nothing until a trial is ordered.
    pub(super) fn load(settings: &Settings) -> Result<Self, LoadError> {
        let bytes = object::RECEIVE.ok_or(LoadError::NotBuilt(object::MISSING))?;
        let cpus = aya::util::nr_cpus().map_err(|(_, error)| LoadError::Cpus(error))?;
        let streams = settings.streams.len();
        let words_per_stream = (settings.capacity / 64) as u32;
        let lanes = settings.lanes as usize * streams;
        let mut fill = [0; layout::PATTERN_BYTES];
        let known = pattern(fill.len());
        fill[..known.len()].copy_from_slice(known);
        let mut index = [u8::MAX; 256];
        for (n, stream) in settings.streams.iter().enumerate() {
            index[usize::from(*stream)] = n as u8;
        }
        let (total_length, constant_sum, count, by_cpu, renumber) = (
            u32::from(settings.total_length),
            u32::from(settings.constant_sum),
            streams as u32,
            u32::from(settings.lane_is_cpu),
            u32::from(settings.renumber),
        );
        let words = [words_per_stream as usize * streams, cpus * streams, lanes];
        let mut ebpf = EbpfLoader::new()
            .override_global("total_length", &total_length, true)
            .override_global("constant_sum", &constant_sum, true)
            .override_global("stream_count", &count, true)
            .override_global("words_per_stream", &words_per_stream, true)
            .override_global("lanes_per_stream", &settings.lanes, true)
            .override_global("jumps_kept", &settings.jumps, true)
            .override_global("lane_is_cpu", &by_cpu, true)
            .override_global("renumber", &renumber, true)
            .override_global("fixed_time", &settings.fixed_time_ns, true)
            .override_global("stream_index", &index[..], true)
            .override_global("pattern", &fill[..], true)
            .map_max_entries("seen", words[0] as u32)
            .map_max_entries("cpus", cpus as u32)
            .map_max_entries("streams", words[1] as u32)
            .map_max_entries("lanes", lanes as u32)
            .map_max_entries("rings", lanes as u32)
            .load(bytes)?;
        let name = settings.program();
        xdp_mut(&mut ebpf, name)?.load()?;
        Ok(Self {
            order: mapping(&ebpf, "order", 1)?,
            seen: mapping(&ebpf, "seen", words[0])?,
            cpus: mapping(&ebpf, "cpus", cpus * cpu::WORDS)?,
            streams: mapping(&ebpf, "streams", words[1] * stream::WORDS)?,
            lanes: mapping(&ebpf, "lanes", words[2] * lane::WORDS)?,
            ebpf,
            name,
        })
    }

    /// The program's descriptor.
    pub(super) fn fd(&self) -> Result<BorrowedFd<'_>, LoadError> {
        let fd: &ProgramFd = xdp(&self.ebpf, self.name)?.fd()?;
        Ok(fd.as_fd())
    }

    /// Runs the program on a frame in memory, as if it had arrived.
    pub(super) fn run(&self, frame: &[u8], repeat: u32) -> Result<TestRunResult, LoadError> {
        let context = context(frame);
        Ok(xdp(&self.ebpf, self.name)?.test_run(TestRunOptions {
            data_in: Some(frame),
            ctx_in: Some(&context),
            repeat,
            ..TestRunOptions::new()
        })?)
    }
}

/// `struct xdp_md` (linux/bpf.h) for a frame that fills its buffer: only its end is not zero.
fn context(frame: &[u8]) -> [u8; 24] {
    let mut context = [0; 24];
    context[4..8].copy_from_slice(&(frame.len() as u32).to_ne_bytes());
    context
}

fn xdp<'e>(ebpf: &'e Ebpf, name: &'static str) -> Result<&'e Xdp, LoadError> {
    let program = ebpf.program(name).ok_or(LoadError::Missing(name))?;
    Ok(program.try_into()?)
}

fn xdp_mut<'e>(ebpf: &'e mut Ebpf, name: &'static str) -> Result<&'e mut Xdp, LoadError> {
    let program = ebpf.program_mut(name).ok_or(LoadError::Missing(name))?;
    Ok(program.try_into()?)
}

fn mapping(ebpf: &Ebpf, name: &'static str, words: usize) -> Result<Mapping, LoadError> {
    let Some(Map::Array(map)) = ebpf.map(name) else {
        return Err(LoadError::Missing(name));
    };
    Mapping::new(map.fd().as_fd(), words).map_err(|error| LoadError::Map(name, error))
}
