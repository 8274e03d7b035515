//! The maps in which a sending program is told what to send, and tells what it has sent.

use std::sync::{Mutex, PoisonError};

use aya::Ebpf;
use aya::maps::{Array, Map, MapData};

use super::abi::{LATENESS_WORDS, MARK_WORDS, Sent, Stream, StreamWords};
use super::object::{lacks, map};
use super::unsupported::{Unsupported, refused};
use crate::marks::Marks;

/// The maps of one or more streams.
pub(crate) struct StreamMaps {
    pub(super) streams: Array<MapData, StreamWords>,
    // Opened while a thread uses the others.
    gate: Mutex<Array<MapData, u64>>,
    lateness: Array<MapData, [u64; LATENESS_WORDS]>,
    marks: Array<MapData, [u64; MARK_WORDS]>,
}

impl StreamMaps {
    /// Takes those of a program that was loaded.
    pub(crate) fn take(loaded: &mut Ebpf) -> Result<Self, Unsupported> {
        Ok(Self {
            streams: map(take(loaded, "streams")?)?,
            gate: Mutex::new(map(take(loaded, "gate")?)?),
            lateness: map(take(loaded, "lateness")?)?,
            marks: map(take(loaded, "marks")?)?,
        })
    }

    /// Sets up the streams of a trial. Nothing is sent before [`Self::open_gate`].
    pub(crate) fn prepare(&mut self, streams: &[Stream]) -> Result<(), Unsupported> {
        let set = |error| refused(&error);
        self.set_gate(0)?;
        for (index, stream) in (0..).zip(streams) {
            self.streams.set(index, stream.words(), 0).map_err(set)?;
            let empty = [0; LATENESS_WORDS];
            self.lateness.set(index, empty, 0).map_err(set)?;
            self.marks.set(index, [0; MARK_WORDS], 0).map_err(set)?;
        }
        Ok(())
    }

    /// Lets the trial begin.
    pub(crate) fn open_gate(&self) -> Result<(), Unsupported> {
        self.set_gate(1)
    }

    fn set_gate(&self, open: u64) -> Result<(), Unsupported> {
        let mut gate = self.gate.lock().unwrap_or_else(PoisonError::into_inner);
        gate.set(0, open, 0).map_err(|error| refused(&error))
    }

    /// What became of stream `index` so far.
    pub(crate) fn sent(&self, index: u32) -> Result<Sent, Unsupported> {
        let words = self.streams.get(&index, 0);
        let stream = Stream::of(words.map_err(|error| refused(&error))?);
        Ok(Sent::read(&stream))
    }

    /// Lateness histogram of stream `index`.
    pub(crate) fn lateness(&self, index: u32) -> Result<Vec<u32>, Unsupported> {
        let words = self.lateness.get(&index, 0);
        Ok(halves(&words.map_err(|error| refused(&error))?))
    }

    /// Which frames of stream `index` were made when.
    pub(crate) fn marks(&self, index: u32) -> Result<Marks, Unsupported> {
        let words = self.marks.get(&index, 0);
        let words = words.map_err(|error| refused(&error))?;
        Ok(Marks::of(halves(&words)))
    }
}

/// A map of a program that was loaded.
pub(crate) fn take(loaded: &mut Ebpf, name: &str) -> Result<Map, Unsupported> {
    loaded.take_map(name).ok_or_else(|| lacks(name))
}

/// The 32-bit numbers in an array of words.
fn halves(words: &[u64]) -> Vec<u32> {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let (counts, _) = bytes.as_chunks::<4>();
    counts.iter().map(|c| u32::from_ne_bytes(*c)).collect()
}
