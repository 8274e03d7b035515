//! Loads the program, lets it note during trials, and reads what it noted.

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use aya::maps::{HashMap, Map, MapData};
use aya::programs::tp_btf::BtfTracePointLinkId;
use aya::programs::{BtfTracePoint, ProgramError};
use aya::{Btf, BtfError, Ebpf, EbpfLoader};
use nicety_model::FrameSize;
use nicety_port::xdp::mapping::Mapping;
use rustix::io::Errno;
use rustix::thread::{MembarrierCommand, membarrier};

use crate::btf;
use crate::layout::{ARMED, CAUSES_MAX, Key, REASONS, SKIPS, cause, counts, order};
use crate::names::{Named, REASON, Raw, TesterPorts};
use crate::object;
use crate::refusal::{Refusal, errno, refused};
use crate::symbols::Symbols;

/// Most numbers of a stream that have a cause each: 128 MiB.
pub const NUMBERS_MAX: u64 = 1 << 27;
/// Numbers that there is room for at least.
const NUMBERS_MIN: u64 = 1 << 20;
/// The kernel's tracepoint.
const TRACEPOINT: &str = "kfree_skb";
/// The program with reasons, and that for kernels before 5.17.
const PROGRAMS: [&str; 2] = ["freed_for", "freed_at"];
/// Copies are thrown away for these while the frame itself goes on.
const WEAK: [&str; 2] = ["OTHERHOST", "CONSUMED"];
/// The kernel's functions and where they are.
const SYMBOLS: &str = "/proc/kallsyms";
/// Wait for programs under way where the kernel offers nothing better.
const GRACE: Duration = Duration::from_millis(50);
/// Ethernet header, which a frame's IPv4 packet is without.
const HEADER_BYTES: usize = 14;

/// The program, and what it noted. Nothing is attached but between [`Self::begin`] and [`Self::end`].
#[derive(Debug)]
pub struct Fates {
    types: Btf,
    reasons: Vec<(u32, String)>,
    total_length: u32,
    streams: u32,
    tester: TesterPorts,
    /// Keys of causes that are the tester's own receipt.
    receipts: Vec<Key>,
    loaded: Option<Loaded>,
}

/// The program with room for so many numbers.
#[derive(Debug)]
struct Loaded {
    ebpf: Ebpf,
    program: &'static str,
    link: Option<BtfTracePointLinkId>,
    order: Mapping,
    counts: Mapping,
    bytes: Mapping,
    causes: HashMap<MapData, Key, [u64; cause::WORDS]>,
    words_per_stream: usize,
    /// Events missed before the noting began.
    missed_before: u64,
}

/// What was noted in a trial.
#[derive(Debug, Clone, Default)]
pub struct Noting {
    /// The causes.
    pub causes: Vec<Named>,
    /// By stream a byte for every number: a cause, or 0.
    pub bytes: Vec<Vec<u8>>,
    /// Test frames that were thrown away.
    pub events: u64,
    /// Frames inside merged ones.
    pub merged: u64,
    /// Events of any frames that the program did not see, because it was interrupted by them.
    pub missed: u64,
}

impl Fates {
    /// For trials with frames of this size and as many streams, numbered from 0, that end at `tester`.
    ///
    /// # Errors
    /// Why that is not possible here; found out by loading the program.
    pub fn new(frame: FrameSize, streams: u32, tester: TesterPorts) -> Result<Self, Refusal> {
        if object::FATE.is_none() {
            return Err(Refusal::NotBuilt(object::MISSING));
        }
        let raw = std::fs::read(btf::KERNEL).map_err(|error| match error.kind() {
            io::ErrorKind::PermissionDenied => Refusal::NotPermitted,
            _ => Refusal::NoTypes,
        })?;
        let types = Btf::from_sys_fs().map_err(|error| Refusal::Kernel(error.to_string()))?;
        let mut fates = Self {
            types,
            reasons: btf::enum_values(&raw, "skb_drop_reason").unwrap_or_default(),
            total_length: frame.bytes_without_fcs().saturating_sub(HEADER_BYTES) as u32,
            streams: streams.max(1),
            tester,
            receipts: Vec::new(),
            loaded: None,
        };
        fates.room(NUMBERS_MIN)?;
        Ok(fates)
    }

    /// Notes what becomes of the frames of `trial` (low byte of its counter), up to `frames` of each
    /// stream; of later ones nothing is known.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn begin(&mut self, trial: u8, frames: u64) -> Result<(), Refusal> {
        self.room(frames)?;
        let Some(loaded) = &mut self.loaded else {
            return Err(lacks("program"));
        };
        for words in [&loaded.bytes, &loaded.counts, &loaded.order] {
            clear(words.words());
        }
        for key in loaded.keys() {
            loaded
                .causes
                .remove(&key)
                .map_err(|error| refused(&error))?;
        }
        for (n, [location, device, _]) in self.receipts.iter().take(SKIPS).enumerate() {
            set(&loaded.order, order::SKIP_LOCATION + n, *location);
            set(&loaded.order, order::SKIP_DEVICE + n, *device);
        }
        loaded.missed_before = loaded.missed();
        set(&loaded.order, order::TRIAL, ARMED | u64::from(trial));
        loaded.attach()
    }

    /// Ends the noting; what was noted.
    ///
    /// # Errors
    /// When the kernel does not give it.
    pub fn end(&mut self) -> Result<Noting, Refusal> {
        let Some(loaded) = &mut self.loaded else {
            return Ok(Noting::default());
        };
        set(&loaded.order, order::TRIAL, 0);
        loaded.detach();
        grace();
        let raws = loaded.raws();
        let addresses: Vec<u64> = raws.iter().flat_map(Raw::addresses).collect();
        let symbols = match addresses.is_empty() {
            true => Symbols::default(),
            // Where the list is hidden, reasons and interfaces remain.
            false => Symbols::find(addresses, &std::fs::read(SYMBOLS).unwrap_or_default()),
        };
        let named = |raw: &Raw| raw.named(&symbols, &self.reasons, &self.tester);
        let words = loaded.bytes.words().chunks_exact(loaded.words_per_stream);
        let bytes = |words: &[AtomicU64]| {
            let words = words.iter().map(|word| word.load(Ordering::Relaxed));
            words.flat_map(u64::to_ne_bytes).collect()
        };
        Ok(Noting {
            causes: raws.iter().filter_map(named).collect(),
            bytes: words.map(bytes).collect(),
            events: get(&loaded.counts, counts::EVENTS),
            merged: get(&loaded.counts, counts::MERGED_FRAMES),
            missed: loaded.missed().saturating_sub(loaded.missed_before),
        })
    }

    /// Passes by from now on what the tester itself throws away after it was counted: `numbers` of
    /// causes in `noting`, of which those at its ports count. It costs time and tells nothing.
    pub fn pass_by(&mut self, noting: &Noting, numbers: impl Iterator<Item = usize>) {
        let numbers: Vec<usize> = numbers.collect();
        let own = noting
            .causes
            .iter()
            .filter(|named| named.at_port && numbers.contains(&named.number));
        for named in own {
            if !self.receipts.contains(&named.key) && self.receipts.len() < SKIPS {
                self.receipts.push(named.key);
            }
        }
    }

    /// Makes room for `frames` numbers of every stream, as far as that is possible.
    fn room(&mut self, frames: u64) -> Result<(), Refusal> {
        let words = frames.clamp(NUMBERS_MIN, NUMBERS_MAX).div_ceil(8) as usize;
        let enough = |loaded: &Loaded| loaded.words_per_stream >= words;
        if !self.loaded.as_ref().is_some_and(enough) {
            self.loaded = None;
            self.loaded = Some(self.load(words.next_power_of_two(), frames)?);
        }
        Ok(())
    }

    fn load(&self, words_per_stream: usize, frames: u64) -> Result<Loaded, Refusal> {
        let bytes = object::FATE.ok_or(Refusal::NotBuilt(object::MISSING))?;
        let mut weak = [0_u8; REASONS];
        for (value, name) in &self.reasons {
            let name = name.strip_prefix(REASON).unwrap_or(name);
            if let Some(weak) = weak.get_mut(*value as usize) {
                *weak = u8::from(WEAK.contains(&name));
            }
        }
        let words = words_per_stream * self.streams as usize;
        let per_stream = words_per_stream as u32;
        let mut ebpf = EbpfLoader::new()
            .btf(Some(&self.types))
            .override_global("words_per_stream", &per_stream, true)
            .override_global("stream_count", &self.streams, true)
            .override_global("total_length", &self.total_length, true)
            .override_global("weak", &weak[..], true)
            .map_max_entries("fates", words as u32)
            .load(bytes)
            .map_err(|error| match errno(&error) {
                Some(number) if number == Errno::NOMEM.raw_os_error() => {
                    Refusal::NoMemory { frames }
                }
                _ => refused(&error),
            })?;
        let program = load_program(&mut ebpf, &self.types, !self.reasons.is_empty())?;
        Ok(Loaded {
            order: mapping(&ebpf, "order", order::WORDS)?,
            counts: mapping(&ebpf, "counts", counts::WORDS)?,
            bytes: mapping(&ebpf, "fates", words)?,
            causes: ebpf
                .take_map("causes")
                .ok_or_else(|| lacks("causes"))?
                .try_into()
                .map_err(|error: aya::maps::MapError| refused(&error))?,
            ebpf,
            program,
            link: None,
            words_per_stream,
            missed_before: 0,
        })
    }
}

impl Loaded {
    fn attach(&mut self) -> Result<(), Refusal> {
        if self.link.is_none() {
            let program = tracing(&mut self.ebpf, self.program)?;
            self.link = Some(program.attach().map_err(|error| refused(&error))?);
        }
        Ok(())
    }

    fn detach(&mut self) {
        if let Some(link) = self.link.take()
            && let Ok(program) = tracing(&mut self.ebpf, self.program)
        {
            // Else it goes with the program.
            let _ = program.detach(link);
        }
    }

    /// Events that the program has missed so far, by the kernel's count (Linux 5.12).
    fn missed(&self) -> u64 {
        let program = self.ebpf.program(self.program);
        let fd = program.and_then(|program| program.fd().ok());
        let number = fd.map(|fd| fd.as_fd().as_raw_fd());
        let info = number.and_then(|fd| {
            let told = std::fs::read_to_string(format!("/proc/thread-self/fdinfo/{fd}"));
            told.ok()
        });
        let missed = info.iter().flat_map(|info| info.lines());
        let missed = missed.filter_map(|line| line.strip_prefix("recursion_misses:"));
        missed
            .filter_map(|count| count.trim().parse().ok())
            .sum::<u64>()
    }

    fn keys(&self) -> Vec<Key> {
        self.causes.keys().filter_map(Result::ok).collect()
    }

    fn raws(&self) -> Vec<Raw> {
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

/// Loads the program that fits the kernel, which gives reasons or does not; its name.
fn load_program(ebpf: &mut Ebpf, types: &Btf, reasons: bool) -> Result<&'static str, Refusal> {
    let name = PROGRAMS[usize::from(!reasons)];
    let loaded = tracing(ebpf, name)?.load(TRACEPOINT, types);
    loaded.map(|()| name).map_err(|error| match error {
        ProgramError::Btf(BtfError::UnknownBtfTypeName { .. }) => Refusal::NoTracepoint,
        error => refused_load(&error),
    })
}

/// As [`refused`]; of what the verifier refuses, its last word.
fn refused_load(error: &ProgramError) -> Refusal {
    match error {
        ProgramError::LoadError {
            io_error,
            verifier_log,
        } => {
            let log = verifier_log.to_string();
            let said = log
                .lines()
                .rev()
                .find(|line| !line.trim().is_empty() && !line.starts_with("processed "));
            match said {
                Some(line) => Refusal::Kernel(format!("{io_error}: {}", line.trim())),
                None => refused(io_error),
            }
        }
        other => refused(other),
    }
}

fn tracing<'l>(ebpf: &'l mut Ebpf, name: &str) -> Result<&'l mut BtfTracePoint, Refusal> {
    let program = ebpf.program_mut(name).ok_or_else(|| lacks(name))?;
    program.try_into().map_err(|error| refused(&error))
}

fn mapping(ebpf: &Ebpf, name: &str, words: usize) -> Result<Mapping, Refusal> {
    let Some(Map::Array(map)) = ebpf.map(name) else {
        return Err(lacks(name));
    };
    Mapping::new(map.fd().as_fd(), words).map_err(|error| refused(&error))
}

/// The object is not the one this program was written for.
fn lacks(what: &str) -> Refusal {
    Refusal::Kernel(format!("the object has no {what}"))
}

fn clear(words: &[AtomicU64]) {
    for word in words {
        word.store(0, Ordering::Relaxed);
    }
}

fn set(mapping: &Mapping, at: usize, value: u64) {
    if let Some(word) = mapping.words().get(at) {
        word.store(value, Ordering::SeqCst);
    }
}

fn get(mapping: &Mapping, at: usize) -> u64 {
    let word = mapping.words().get(at);
    word.map_or(0, |word| word.load(Ordering::Relaxed))
}

/// Waits until every program that runs now has ended: membarrier(2) waits for an RCU grace period.
fn grace() {
    if membarrier(MembarrierCommand::Global).is_err() {
        // Refused where CPUs run without a tick (nohz_full).
        std::thread::sleep(GRACE);
    }
}
