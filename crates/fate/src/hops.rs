//! Loads the programs that note when sampled frames pass which station, and reads what they noted.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use aya::EbpfLoader;
use nicety_account::hops::{Seen, Station};
use nicety_port::xdp::mapping::Mapping;

use crate::gate::Gate;
use crate::kernel::Kernel;
use crate::layout::{RECORD_WORDS, RECORDS, hop_order as order};
use crate::loaded::{Pair, load_passes, load_program, mapping};
use crate::names::TesterPorts;
use crate::object;
use crate::pages;
use crate::programs::Programs;
use crate::refusal::{Refusal, refused};
use crate::stations::Stations;
use crate::watch::{get, grace};
use crate::windows::Windows;

/// Programs and their tracepoints. Each kind of station is the number of its program.
const PASSES: [(&str, &str); 2] = [
    ("received", "netif_receive_skb"),
    ("sends", "net_dev_start_xmit"),
];
/// That of frames which are thrown away; of kernels with reasons, and of those without.
const FREES: Pair = ["frees_for", "frees_at"];
/// The programs. Nothing is attached but between [`Self::begin`] and [`Self::end`], and there mostly by turns.
#[derive(Debug)]
pub struct Hops {
    programs: Arc<Mutex<Programs>>,
    order: Arc<Mapping>,
    gate: Option<Gate>,
    records: Mapping,
    stations: Stations,
    tester: TesterPorts,
}

/// What was noted in a trial.
#[derive(Debug, Clone, Default)]
pub struct Passed {
    /// Frames at stations, in the order in which they were noted.
    pub seen: Vec<Seen>,
    /// The stations.
    pub stations: Vec<Station>,
    /// Times that there was no room.
    pub unnoted: u64,
}

impl Hops {
    /// For trials with so many streams, numbered from 0, that end at `tester`.
    ///
    /// # Errors
    /// Why that is not possible here; found out by loading the programs.
    pub fn new(streams: u32, tester: TesterPorts) -> Result<Self, Refusal> {
        let bytes = object::HOPS.ok_or(Refusal::NotBuilt(object::MISSING))?;
        let kernel = Kernel::get()?;
        let mut ebpf = pages::tell(&mut EbpfLoader::new())
            .btf(Some(&kernel.types))
            .override_global("stream_count", &streams.max(1), true)
            .override_global("mark", &tester.mark(), true)
            .load(bytes)
            .map_err(|error| refused(&error))?;
        load_passes(&mut ebpf, kernel, &PASSES)?;
        let frees = load_program(&mut ebpf, kernel, FREES)?;
        let passes = PASSES.iter().map(|(program, _)| *program);
        let programs = passes.chain([frees]).collect();
        let stations = Stations::new(&mut ebpf, kernel)?;
        Ok(Self {
            order: Arc::new(mapping(&ebpf, "order", order::WORDS)?),
            gate: None,
            records: mapping(&ebpf, "records", RECORDS * RECORD_WORDS)?,
            stations,
            programs: Arc::new(Mutex::new(Programs::new(ebpf, programs))),
            tester,
        })
    }

    /// Notes frames of `trial` (low byte of its counter) that are sent in `windows`.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn begin(&mut self, trial: u8, windows: Windows) -> Result<(), Refusal> {
        let (programs, order) = self.clear()?;
        self.gate = Some(Gate::new(programs, order, trial, windows)?);
        Ok(())
    }

    /// The same in a guest: `windows` follow the clock of the host, which stamps the frames.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub(crate) fn begin_inside(&mut self, trial: u8, windows: Windows) -> Result<(), Refusal> {
        let (programs, order) = self.clear()?;
        self.gate = Some(Gate::standing(programs, order, trial, windows)?);
        Ok(())
    }

    fn clear(&mut self) -> Result<(Arc<Mutex<Programs>>, Arc<Mapping>), Refusal> {
        // What was begun before ends.
        self.gate = None;
        for word in self.order.words() {
            word.store(0, Ordering::Relaxed);
        }
        self.stations.clear()?;
        Ok((self.programs.clone(), self.order.clone()))
    }

    /// Ends the noting; what was noted.
    ///
    /// # Errors
    /// When the kernel refused to go on meanwhile.
    pub fn end(&mut self) -> Result<Passed, Refusal> {
        self.gate.take().map_or(Ok(()), Gate::end)?;
        grace();
        let count = get(&self.order, order::RECORDS);
        let kept = usize::try_from(count).map_or(RECORDS, |count| count.min(RECORDS));
        let stations = self.stations.named(&self.tester);
        // Places that are one in words are one station, those above all where the tester throws away what it has
        // counted.
        let same: Vec<usize> = stations
            .iter()
            .enumerate()
            .map(|(n, station)| stations.iter().position(|of| of == station).unwrap_or(n))
            .collect();
        let records = self.records.words().chunks_exact(RECORD_WORDS).take(kept);
        let seen = records.map(seen).map(|seen| Seen {
            station: same.get(seen.station).copied().unwrap_or(seen.station),
            ..seen
        });
        Ok(Passed {
            seen: seen.collect(),
            stations,
            unnoted: get(&self.order, order::UNNOTED) + count.saturating_sub(RECORDS as u64),
        })
    }
}

fn seen(record: &[AtomicU64]) -> Seen {
    let word = |at: usize| {
        record
            .get(at)
            .map_or(0, |word| word.load(Ordering::Relaxed))
    };
    let station = word(3);
    Seen {
        frame: word(0),
        sent_ns: word(1),
        at_ns: word(2),
        station: (station & u64::from(u16::MAX)) as usize,
        merged: (station >> 16) as u16,
        cpu: (station >> 32) as u32,
    }
}
