//! The program in the kernel, and its maps.

use std::os::fd::{AsFd, AsRawFd};

use aya::maps::{HashMap, Map, MapData};
use aya::programs::tp_btf::BtfTracePointLinkId;
use aya::programs::{BtfTracePoint, ProgramError};
use aya::{BtfError, Ebpf, EbpfLoader};
use nicety_account::inside::WEAK;
use nicety_port::xdp::mapping::Mapping;
use nicety_port::xdp::unsupported::errno;
use rustix::io::Errno;

use crate::kernel::Kernel;
use crate::layout::{CAUSES_MAX, Key, REASONS, cause, counts, order};
use crate::names::{REASON, Raw};
use crate::object;
use crate::pages;
use crate::refusal::{Refusal, refused};

/// The kernel's tracepoint.
const TRACEPOINT: &str = "kfree_skb";
/// The program with reasons, and that for kernels before 5.17.
const PROGRAMS: Pair = ["freed_for", "freed_at"];

/// Names of the program for kernels with reasons, and of that for kernels without.
pub(crate) type Pair = [&'static str; 2];

/// What the program is made for; constant to the verifier.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Settings {
    /// IPv4 total length of every frame.
    pub(crate) total_length: u32,
    /// Streams, numbered from 0.
    pub(crate) streams: u32,
    /// See [`crate::names::TesterPorts::mark`].
    pub(crate) mark: u32,
}

/// The program with room for so many numbers.
#[derive(Debug)]
pub(crate) struct Loaded {
    ebpf: Ebpf,
    program: &'static str,
    link: Option<BtfTracePointLinkId>,
    pub(crate) order: Mapping,
    pub(crate) counts: Mapping,
    pub(crate) bytes: Mapping,
    pub(crate) causes: HashMap<MapData, Key, [u64; cause::WORDS]>,
    numbers: HashMap<MapData, u32, u64>,
    pub(crate) words_per_stream: usize,
    /// Events missed before the noting began.
    pub(crate) missed_before: u64,
}

impl Loaded {
    /// Loads the program for trials of `frames` frames.
    ///
    /// # Errors
    /// When the kernel refuses it, or has no memory.
    pub(crate) fn new(
        kernel: &Kernel,
        settings: &Settings,
        words_per_stream: usize,
        frames: u64,
    ) -> Result<Self, Refusal> {
        let bytes = object::FATE.ok_or(Refusal::NotBuilt(object::MISSING))?;
        let mut weak = [0_u8; REASONS];
        for (value, name) in &kernel.reasons {
            let name = name.strip_prefix(REASON).unwrap_or(name);
            if let Some(weak) = weak.get_mut(*value as usize) {
                *weak = u8::from(WEAK.contains(&name));
            }
        }
        let words = words_per_stream * settings.streams as usize;
        let per_stream = words_per_stream as u32;
        let mut ebpf = pages::tell(&mut EbpfLoader::new())
            .btf(Some(&kernel.types))
            .override_global("words_per_stream", &per_stream, true)
            .override_global("stream_count", &settings.streams, true)
            .override_global("mark", &settings.mark, true)
            .override_global("total_length", &settings.total_length, true)
            .override_global("weak", &weak[..], true)
            .map_max_entries("fates", words as u32)
            .load(bytes)
            .map_err(|error| match errno(&error) {
                Some(number) if number == Errno::NOMEM.raw_os_error() => {
                    Refusal::NoMemory { frames }
                }
                _ => refused(&error),
            })?;
        let program = load_program(&mut ebpf, kernel, PROGRAMS)?;
        Ok(Self {
            order: mapping(&ebpf, "order", order::WORDS)?,
            counts: mapping(&ebpf, "counts", counts::WORDS)?,
            bytes: mapping(&ebpf, "fates", words)?,
            causes: ebpf
                .take_map("causes")
                .ok_or_else(|| lacks("causes"))?
                .try_into()
                .map_err(|error: aya::maps::MapError| refused(&error))?,
            numbers: ebpf
                .take_map("numbers")
                .ok_or_else(|| lacks("numbers"))?
                .try_into()
                .map_err(|error: aya::maps::MapError| refused(&error))?,
            ebpf,
            program,
            link: None,
            words_per_stream,
            missed_before: 0,
        })
    }

    /// Lets the program note.
    pub(crate) fn attach(&mut self) -> Result<(), Refusal> {
        if self.link.is_none() {
            let program = tracing(&mut self.ebpf, self.program)?;
            self.link = Some(program.attach().map_err(|error| refused(&error))?);
        }
        Ok(())
    }

    /// Ends that.
    pub(crate) fn detach(&mut self) {
        if let Some(link) = self.link.take()
            && let Ok(program) = tracing(&mut self.ebpf, self.program)
        {
            // Else it goes with the program.
            let _ = program.detach(link);
        }
    }

    /// Events that the program has missed so far.
    pub(crate) fn missed(&self) -> u64 {
        missed(&self.ebpf, self.program)
    }

    /// Has no cause be known.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub(crate) fn forget(&mut self) -> Result<(), Refusal> {
        let keys: Vec<Key> = self.causes.keys().filter_map(Result::ok).collect();
        for key in keys {
            self.causes.remove(&key).map_err(|error| refused(&error))?;
        }
        let numbers: Vec<u32> = self.numbers.keys().filter_map(Result::ok).collect();
        for number in numbers {
            self.numbers
                .remove(&number)
                .map_err(|error| refused(&error))?;
        }
        Ok(())
    }

    /// The causes, by their number.
    pub(crate) fn raws(&self) -> Vec<Raw> {
        let mut raws: Vec<Raw> = self
            .causes
            .iter()
            .filter_map(Result::ok)
            .map(|(key, words)| Raw { key, words })
            .collect();
        raws.sort_by_key(|raw| raw.words[cause::NUMBER]);
        raws.truncate(CAUSES_MAX as usize);
        raws
    }
}

/// Events that a program has missed so far, by the kernel's count (Linux 5.12).
pub(crate) fn missed(ebpf: &Ebpf, program: &str) -> u64 {
    let program = ebpf.program(program);
    let fd = program.and_then(|program| program.fd().ok());
    let number = fd.map(|fd| fd.as_fd().as_raw_fd());
    let info = number.and_then(|fd| {
        let told = std::fs::read_to_string(format!("/proc/thread-self/fdinfo/{fd}"));
        told.ok()
    });
    let missed = info.iter().flat_map(|info| info.lines());
    let missed = missed.filter_map(|line| line.strip_prefix("recursion_misses:"));
    missed
        .filter_map(|count| count.trim().parse::<u64>().ok())
        .sum()
}

/// Loads the program that fits the kernel, which gives reasons or does not; its name.
pub(crate) fn load_program(
    ebpf: &mut Ebpf,
    kernel: &Kernel,
    programs: Pair,
) -> Result<&'static str, Refusal> {
    let name = programs[usize::from(kernel.reasons.is_empty())];
    let loaded = tracing(ebpf, name)?.load(TRACEPOINT, &kernel.types);
    loaded.map(|()| name).map_err(|error| match error {
        ProgramError::Btf(BtfError::UnknownBtfTypeName { .. }) => Refusal::NoTracepoint,
        error => refused_load(&error),
    })
}

/// Loads programs of tracepoints that all kernels have alike.
pub(crate) fn load_passes(
    ebpf: &mut Ebpf,
    kernel: &Kernel,
    passes: &[(&str, &str)],
) -> Result<(), Refusal> {
    for (program, tracepoint) in passes {
        let loaded = tracing(ebpf, program)?.load(tracepoint, &kernel.types);
        loaded.map_err(|error| match error {
            ProgramError::Btf(BtfError::UnknownBtfTypeName { .. }) => Refusal::NoTracepoint,
            error => refused_load(&error),
        })?;
    }
    Ok(())
}

/// With what lines begin that say nothing of what is wrong, at the end of a verifier's log.
const FIGURES: [&str; 3] = ["processed ", "stack depth ", "verification time "];

/// As [`refused`]; of what the verifier refuses, its last word.
pub(crate) fn refused_load(error: &ProgramError) -> Refusal {
    match error {
        ProgramError::LoadError {
            io_error,
            verifier_log,
        } => {
            let log = verifier_log.to_string();
            let said = log.lines().rev().find(|line| {
                !line.trim().is_empty() && !FIGURES.iter().any(|of| line.starts_with(of))
            });
            match said {
                // BPF_FETCH, which was a reserved bit.
                Some(line) if line.contains("uses reserved fields") => Refusal::NoAtomics,
                Some(line) => Refusal::Kernel(format!("{io_error}: {}", line.trim())),
                None => refused(io_error),
            }
        }
        other => refused(other),
    }
}

pub(crate) fn tracing<'l>(
    ebpf: &'l mut Ebpf,
    name: &str,
) -> Result<&'l mut BtfTracePoint, Refusal> {
    let program = ebpf.program_mut(name).ok_or_else(|| lacks(name))?;
    program.try_into().map_err(|error| refused(&error))
}

pub(crate) fn mapping(ebpf: &Ebpf, name: &str, words: usize) -> Result<Mapping, Refusal> {
    let Some(Map::Array(map)) = ebpf.map(name) else {
        return Err(lacks(name));
    };
    Mapping::new(map.fd().as_fd(), words).map_err(|error| refused(&error))
}

/// The object is not the one this program was written for.
pub(crate) fn lacks(what: &str) -> Refusal {
    Refusal::Kernel(format!("the object has no {what}"))
}
