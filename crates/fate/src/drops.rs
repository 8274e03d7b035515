//! Counts the packets of the whole machine that the kernel throws away.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;

use aya::maps::{HashMap, MapData, MapError};
use aya::{Ebpf, EbpfLoader};
use nicety_account::drops::{Dropped, OTHERHOST, Place};
use nicety_port::xdp::mapping::Mapping;

use crate::kernel::Kernel;
use crate::layout::{PlaceKey, place, rest};
use crate::loaded::{Pair, lacks, load_program, mapping, missed, tracing};
use crate::names::{reason_name, reason_number, text, used};
use crate::object;
use crate::refusal::{Refusal, refused};
use crate::symbols::{SYMBOLS, Symbols};

/// Places that are kept apart, by function, reason and interfaces; 1.3 MiB.
pub const PLACES: u32 = 8192;
/// The program with reasons, and that for kernels before 5.17.
const PROGRAMS: Pair = ["dropped_for", "dropped_at"];

/// The program, which counts from [`Self::open`] until it is dropped; the kernel removes it with the process.
#[derive(Debug)]
pub struct Drops {
    kernel: &'static Kernel,
    ebpf: Ebpf,
    program: &'static str,
    places: HashMap<MapData, PlaceKey, Words>,
    room: usize,
    rest: Mapping,
    before: Before,
    /// Functions of the places that were asked for.
    functions: BTreeMap<u64, Option<String>>,
}

type Words = [u64; place::WORDS];

/// Counts of the reading before.
#[derive(Debug, Default)]
struct Before {
    places: BTreeMap<PlaceKey, [u64; 3]>,
    rest: u64,
    missed: u64,
}

/// What was dropped since the reading before.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Read {
    /// By place.
    pub drops: Vec<Dropped>,
    /// Packets at places for which there was no room.
    pub uncounted: u64,
    /// Events that the program did not see, because it was interrupted by them.
    pub missed: u64,
}

impl Drops {
    /// Counts from now on, with room for so many places: most often [`PLACES`].
    ///
    /// # Errors
    /// When the kernel refuses; found out before anything is counted.
    pub fn open(room: u32) -> Result<Self, Refusal> {
        let bytes = object::DROPS.ok_or(Refusal::NotBuilt(object::MISSING))?;
        let kernel = Kernel::get()?;
        let otherhost = reason_number(OTHERHOST, &kernel.reasons).unwrap_or(0);
        let mut ebpf = EbpfLoader::new()
            .btf(Some(&kernel.types))
            .map_max_entries("places", room.max(1))
            .override_global("otherhost", &otherhost, true)
            .load(bytes)
            .map_err(|error| refused(&error))?;
        let program = load_program(&mut ebpf, kernel, PROGRAMS)?;
        let places = ebpf.take_map("places").ok_or_else(|| lacks("places"))?;
        let drops = Self {
            places: places
                .try_into()
                .map_err(|error: MapError| refused(&error))?,
            rest: mapping(&ebpf, "rest", rest::WORDS)?,
            kernel,
            program,
            room: room.max(1) as usize,
            before: Before::default(),
            functions: BTreeMap::new(),
            ebpf,
        };
        drops.attached()
    }

    /// The link goes with the program.
    fn attached(mut self) -> Result<Self, Refusal> {
        let program = tracing(&mut self.ebpf, self.program)?;
        program.attach().map_err(|error| refused(&error))?;
        Ok(self)
    }

    /// Whether the kernel gives reasons.
    pub fn has_reasons(&self) -> bool {
        !self.kernel.reasons.is_empty()
    }

    /// Whether the kernel tells this user where its functions are; known after a reading that asked for them.
    pub fn has_functions(&self) -> bool {
        let mut known = self.functions.values();
        self.functions.is_empty() || known.any(Option::is_some)
    }

    /// What was dropped since the reading before. `functions` names those of the kernel, which costs some
    /// milliseconds when one is new.
    ///
    /// # Errors
    /// When the kernel does not give its counts.
    pub fn read(&mut self, functions: bool) -> Result<Read, Refusal> {
        let all: Result<Vec<(PlaceKey, Words)>, MapError> = self.places.iter().collect();
        let all = all.map_err(|error| refused(&error))?;
        if functions {
            self.learn(&all);
        }
        let mut drops = Vec::new();
        let mut idle = Vec::new();
        for (key, words) in &all {
            let now = [place::EVENTS, place::PACKETS, place::TURNS].map(|at| words[at]);
            let before = self.before.places.insert(*key, now).unwrap_or_default();
            let [events, packets, turns] = [0, 1, 2].map(|at| now[at].saturating_sub(before[at]));
            if events == 0 {
                idle.push(*key);
                continue;
            }
            drops.push(Dropped {
                place: self.place(key, words),
                events,
                packets,
                turns,
            });
        }
        // Interfaces come and go: their places make room before it is full.
        if all.len() > self.room / 4 * 3 {
            for key in idle {
                // A packet that is dropped there at this moment may be lost to the count.
                let _ = self.places.remove(&key);
                self.before.places.remove(&key);
            }
        }
        let uncounted = self.rest.words().get(rest::PACKETS);
        let uncounted = uncounted.map_or(0, |word| word.load(Ordering::Relaxed));
        let missed = missed(&self.ebpf, self.program);
        let read = Read {
            drops,
            uncounted: uncounted.saturating_sub(self.before.rest),
            missed: missed.saturating_sub(self.before.missed),
        };
        self.before.rest = uncounted;
        self.before.missed = missed;
        Ok(read)
    }

    /// Learns the functions of new places, all in one walk over the kernel's list.
    fn learn(&mut self, all: &[(PlaceKey, Words)]) {
        let new = |(key, _): &&(PlaceKey, Words)| !self.functions.contains_key(&key[0]);
        let new: Vec<&(PlaceKey, Words)> = all.iter().filter(new).collect();
        if new.is_empty() {
            return;
        }
        const STACK: std::ops::Range<usize> = place::STACK..place::STACK + place::STACK_WORDS;
        let stack = |words: &Words| used(&words[STACK]).to_vec();
        let addresses = new
            .iter()
            .flat_map(|(key, words)| std::iter::once(key[0]).chain(stack(words)));
        let addresses: BTreeSet<u64> = addresses.collect();
        let list = std::fs::read(SYMBOLS).unwrap_or_default();
        let symbols = Symbols::find(addresses.into_iter().collect(), &list);
        for (key, words) in new {
            let function = symbols.place(key[0], &stack(words));
            self.functions.insert(key[0], function.map(str::to_owned));
        }
    }

    fn place(&self, key: &PlaceKey, words: &Words) -> Place {
        let [location, _, _] = *key;
        let (netns, index) = halves(key[1]);
        let (received_at, reason) = halves(key[2]);
        Place {
            netns: u64::from(netns),
            index,
            device: text(&words[place::NAME..place::NAME + place::NAME_WORDS]),
            received_at,
            function: self.functions.get(&location).cloned().flatten(),
            reason: reason_name(reason, &self.kernel.reasons),
        }
    }
}

/// Two numbers that stand one behind the other in memory.
fn halves(word: u64) -> (u32, u32) {
    let bytes = word.to_ne_bytes();
    let (first, second) = bytes.split_at(4);
    let number = |bytes: &[u8]| bytes.try_into().map_or(0, u32::from_ne_bytes);
    (number(first), number(second))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_holds_two_numbers() {
        let bytes: Vec<u8> = [7_u32, 9].into_iter().flat_map(u32::to_ne_bytes).collect();
        let word = u64::from_ne_bytes(bytes.try_into().unwrap());
        assert_eq!(halves(word), (7, 9));
    }
}
