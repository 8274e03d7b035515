//! Loads the programs that note when sampled frames pass which station, and reads what they noted.

use std::collections::HashMap as Known;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use aya::maps::{HashMap, MapData, MapError};
use aya::{BtfError, EbpfLoader, programs::ProgramError};
use nicety_account::hops::{Seen, Station};
use nicety_model::FateCause;
use nicety_port::xdp::mapping::Mapping;

use crate::gate::Gate;
use crate::kernel::Kernel;
use crate::layout::{RECORD_WORDS, RECORDS, StationKey, hop_order as order, station};
use crate::loaded::{Pair, WEAK, lacks, load_program, mapping, refused_load, tracing};
use crate::names::{TesterPorts, reason_name, text, used};
use crate::object;
use crate::programs::Programs;
use crate::refusal::{Refusal, refused};
use crate::symbols::{SYMBOLS, Symbols};
use crate::watch::{get, grace};

/// Programs and their tracepoints. Each kind of station is the number of its program.
const PASSES: [(&str, &str); 2] = [
    ("received", "netif_receive_skb"),
    ("sends", "net_dev_start_xmit"),
];
/// That of frames which are thrown away; of kernels with reasons, and of those without.
const FREES: Pair = ["frees_for", "frees_at"];
/// What each kind sees.
const DOES: [&str; 3] = ["received at", "sent at", "thrown away at"];
const SENT: u64 = 1;
const FREED: u64 = 2;
/// Where frames are thrown away that have not come to the port at which they are noted. All others there are
/// the tester's own: it throws away what it has counted.
const BEFORE_PORT: [&str; 5] = [
    "veth_xmit",
    "__dev_queue_xmit",
    "enqueue_to_backlog",
    "netif_rx",
    "tun_net_xmit",
];
/// Frames that a trial samples: enough for the 99.9th percentile, and few enough that most pass undisturbed.
const SAMPLED: f64 = 20_000.0;

/// The programs. Nothing is attached but between [`Self::begin`] and [`Self::end`], and there mostly by turns.
#[derive(Debug)]
pub struct Hops {
    programs: Arc<Mutex<Programs>>,
    kernel: &'static Kernel,
    order: Arc<Mapping>,
    gate: Option<Gate>,
    records: Mapping,
    stations: HashMap<MapData, StationKey, [u64; station::WORDS]>,
    tester: TesterPorts,
    /// Functions by place and callers: the kernel's list is long, and a run asks again and again.
    functions: Known<(u64, Vec<u64>), Option<String>>,
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
        let mut ebpf = EbpfLoader::new()
            .btf(Some(&kernel.types))
            .override_global("stream_count", &streams.max(1), true)
            .override_global("mark", &tester.mark(), true)
            .load(bytes)
            .map_err(|error| refused(&error))?;
        for (program, tracepoint) in PASSES {
            let loaded = tracing(&mut ebpf, program)?.load(tracepoint, &kernel.types);
            loaded.map_err(|error| match error {
                ProgramError::Btf(BtfError::UnknownBtfTypeName { .. }) => Refusal::NoTracepoint,
                error => refused_load(&error),
            })?;
        }
        let frees = load_program(&mut ebpf, kernel, FREES)?;
        let passes = PASSES.iter().map(|(program, _)| *program);
        let programs = passes.chain([frees]).collect();
        let stations = ebpf.take_map("stations").ok_or_else(|| lacks("stations"))?;
        Ok(Self {
            order: Arc::new(mapping(&ebpf, "order", order::WORDS)?),
            gate: None,
            records: mapping(&ebpf, "records", RECORDS * RECORD_WORDS)?,
            stations: stations
                .try_into()
                .map_err(|error: MapError| refused(&error))?,
            programs: Arc::new(Mutex::new(Programs::new(ebpf, programs))),
            kernel,
            tester,
            functions: Known::new(),
        })
    }

    /// Notes frames of `trial` (low byte of its counter) from now on, of which there are `frames`.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn begin(&mut self, trial: u8, frames: u64) -> Result<(), Refusal> {
        for word in self.order.words() {
            word.store(0, Ordering::Relaxed);
        }
        let known: Vec<StationKey> = self.stations.keys().filter_map(Result::ok).collect();
        for key in known {
            self.stations
                .remove(&key)
                .map_err(|error| refused(&error))?;
        }
        let share = SAMPLED / frames.max(1) as f64;
        let (programs, order) = (self.programs.clone(), self.order.clone());
        self.gate = Some(Gate::new(programs, order, trial, share)?);
        Ok(())
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
        let stations = self.named();
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

    /// The stations by their number.
    fn named(&mut self) -> Vec<Station> {
        let noted: Vec<(StationKey, [u64; station::WORDS])> =
            self.stations.iter().filter_map(Result::ok).collect();
        let places = noted
            .iter()
            .filter(|([_, kind, ..], _)| *kind == FREED)
            .map(|([_, _, location, _], words)| {
                (*location, used(&words[station::STACK..]).to_vec())
            });
        let new: Vec<(u64, Vec<u64>)> = places
            .filter(|place| !self.functions.contains_key(place))
            .collect();
        if !new.is_empty() {
            let addresses = new
                .iter()
                .flat_map(|(at, stack)| [*at].into_iter().chain(stack.clone()));
            // Where the list is hidden, reasons and interfaces remain.
            let list = std::fs::read(SYMBOLS).unwrap_or_default();
            let symbols = Symbols::find(addresses.collect(), &list);
            for place in new {
                let function = symbols.place(place.0, &place.1).map(str::to_owned);
                self.functions.insert(place, function);
            }
        }
        let mut numbered: Vec<(u64, Station)> = noted
            .iter()
            .map(|(key, words)| (words[station::NUMBER], self.station(*key, words)))
            .collect();
        numbered.sort_by_key(|(number, _)| *number);
        let mut stations = Vec::new();
        for (number, station) in numbered {
            // Two CPUs that saw one at the same moment have left a number out.
            while (stations.len() as u64) < number {
                stations.push(Station::default());
            }
            stations.push(station);
        }
        stations
    }

    fn station(&self, key: StationKey, words: &[u64; station::WORDS]) -> Station {
        let [_, kind, location, reason] = key;
        let device = text(&words[station::NAME..station::NAME + station::NAME_WORDS]);
        let device = device.unwrap_or_default();
        let stack = used(&words[station::STACK..]).to_vec();
        let function = self.functions.get(&(location, stack)).cloned().flatten();
        let before = |function: &String| BEFORE_PORT.iter().any(|of| function.starts_with(of));
        let mut ports = self.tester.ports.iter();
        let at_port = ports.any(|(name, ns)| *name == device && *ns == words[station::NETNS]);
        // Its own interface sends nothing there but what the tester sends.
        let arrives = at_port && kind != SENT && !function.as_ref().is_some_and(before);
        let does = usize::try_from(kind).ok().and_then(|kind| DOES.get(kind));
        let name = match arrives {
            true => format!("arrived at {device}"),
            false => format!("{} {device}", does.unwrap_or(&"at")),
        };
        let reason = u32::try_from(reason).ok();
        let reason = reason.and_then(|reason| reason_name(reason, &self.kernel.reasons));
        let weak = reason
            .as_deref()
            .is_some_and(|reason| WEAK.contains(&reason));
        let cause = (kind == FREED && !arrives).then(|| FateCause::Dropped {
            device: Some(device.clone()),
            function,
            reason,
        });
        Station {
            name,
            device,
            netns: words[station::NETNS],
            arrives,
            cause,
            copies: weak && !arrives,
        }
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
        station: (station & u64::from(u32::MAX)) as usize,
        cpu: (station >> 32) as u32,
    }
}
