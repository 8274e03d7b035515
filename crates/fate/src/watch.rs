//! Loads the program, lets it note during trials, and reads what it noted.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use nicety_model::FrameSize;
use nicety_port::xdp::mapping::Mapping;
use rustix::thread::{MembarrierCommand, membarrier};

use crate::inside::Follow;
use crate::kernel::Kernel;
use crate::layout::{ARMED, Key, SKIPS, counts, order};
use crate::loaded::{Loaded, Settings, lacks};
use crate::names::{Named, Raw, TesterPorts};
use crate::object;
use crate::refusal::Refusal;
use crate::symbols::{SYMBOLS, Symbols};
use crate::xdp::{XdpEvents, XdpLost};

/// Most numbers of a stream that have a cause each: 128 MiB.
pub const NUMBERS_MAX: u64 = 1 << 27;
/// Numbers that there is room for at least.
const NUMBERS_MIN: u64 = 1 << 20;
/// Wait for programs under way where the kernel offers nothing better.
const GRACE: Duration = Duration::from_millis(50);
/// Ethernet header, which a frame's IPv4 packet is without.
const HEADER_BYTES: usize = 14;

/// The program, and what it noted. Nothing is attached but between [`Self::begin`] and [`Self::end`].
#[derive(Debug)]
pub struct Fates {
    kernel: &'static Kernel,
    settings: Settings,
    frame: FrameSize,
    tester: TesterPorts,
    /// Keys of causes that are the tester's own receipt.
    receipts: Vec<Key>,
    loaded: Option<Loaded>,
    /// Functions that were found so far.
    symbols: Symbols,
    /// Trials so far.
    trials: u64,
    /// Absent where the kernel takes none of its programs: what these count is unexplained then.
    xdp: Option<XdpEvents>,
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
    /// XDP frames lost where no number is in sight, of any frames.
    pub xdp: Vec<XdpLost>,
}

impl Fates {
    /// For trials with frames of this size and as many streams, numbered from 0, that end at `tester`.
    ///
    /// # Errors
    /// Why that is not possible here; found out by loading the program.
    pub fn new(frame: FrameSize, streams: u32, tester: TesterPorts) -> Result<Self, Refusal> {
        let mut fates = Self::ordinary(frame, streams, tester)?;
        fates.xdp = XdpEvents::new(fates.kernel).ok();
        Ok(fates)
    }

    /// The same for ordinary frames only: no XDP program is at work.
    ///
    /// # Errors
    /// As those of [`Self::new`].
    pub(crate) fn ordinary(
        frame: FrameSize,
        streams: u32,
        tester: TesterPorts,
    ) -> Result<Self, Refusal> {
        if object::FATE.is_none() {
            return Err(Refusal::NotBuilt(object::MISSING));
        }
        let mut fates = Self {
            kernel: Kernel::get()?,
            settings: Settings {
                total_length: frame.bytes_without_fcs().saturating_sub(HEADER_BYTES) as u32,
                streams: streams.max(1),
                mark: tester.mark(),
            },
            frame,
            tester,
            receipts: Vec::new(),
            loaded: None,
            symbols: Symbols::default(),
            trials: 0,
            xdp: None,
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
        loaded.forget()?;
        for (n, [location, device, _]) in self.receipts.iter().take(SKIPS).enumerate() {
            set(&loaded.order, order::SKIP_LOCATION + n, *location);
            set(&loaded.order, order::SKIP_DEVICE + n, *device);
        }
        self.trials += 1;
        set(&loaded.order, order::GENERATION, self.trials);
        loaded.missed_before = loaded.missed();
        set(&loaded.order, order::TRIAL, ARMED | u64::from(trial));
        loaded.attach()?;
        self.xdp.as_mut().map_or(Ok(()), XdpEvents::begin)
    }

    /// What a guest is asked that is to follow the same frames.
    pub fn follow(&self, trial: u8, frames: u64) -> Follow {
        let tester = (self.settings.streams, self.tester.mark);
        Follow::new(trial, frames, self.frame, tester)
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
        let xdp = self.xdp.as_mut().map(XdpEvents::end).unwrap_or_default();
        grace();
        let raws = loaded.raws();
        let mut addresses: Vec<u64> = raws.iter().flat_map(Raw::addresses).collect();
        // The kernel's list is long: frames are lost at the same places again and again.
        if !self.symbols.know(&addresses) {
            addresses.extend(self.symbols.addresses());
            // Where the list is hidden, reasons and interfaces remain.
            self.symbols = Symbols::find(addresses, &std::fs::read(SYMBOLS).unwrap_or_default());
        }
        let named = |raw: &Raw| raw.named(&self.symbols, &self.kernel.reasons, &self.tester);
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
            xdp,
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
            let words = words.next_power_of_two();
            self.loaded = Some(Loaded::new(self.kernel, &self.settings, words, frames)?);
        }
        Ok(())
    }
}

fn clear(words: &[AtomicU64]) {
    for word in words {
        word.store(0, Ordering::Relaxed);
    }
}

pub(crate) fn set(mapping: &Mapping, at: usize, value: u64) {
    if let Some(word) = mapping.words().get(at) {
        word.store(value, Ordering::SeqCst);
    }
}

pub(crate) fn get(mapping: &Mapping, at: usize) -> u64 {
    let word = mapping.words().get(at);
    word.map_or(0, |word| word.load(Ordering::Relaxed))
}

/// Waits until every program that runs now has ended: membarrier(2) waits for an RCU grace period.
pub(crate) fn grace() {
    if membarrier(MembarrierCommand::Global).is_err() {
        // Refused where CPUs run without a tick (nohz_full).
        std::thread::sleep(GRACE);
    }
}
