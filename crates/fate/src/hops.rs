//! Loads the programs that note when sampled frames pass which station, and reads what they noted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use aya::maps::{HashMap, MapData, MapError};
use aya::programs::BtfTracePoint;
use aya::programs::tp_btf::BtfTracePointLinkId;
use aya::{BtfError, Ebpf, EbpfLoader, programs::ProgramError};
use nicety_account::hops::{Seen, Station};
use nicety_port::xdp::mapping::Mapping;

use crate::gate::Gate;
use crate::kernel::Kernel;
use crate::layout::{RECORD_WORDS, RECORDS, StationKey, hop_order as order, station};
use crate::loaded::{lacks, mapping, refused_load, tracing};
use crate::names::{TesterPorts, text};
use crate::object;
use crate::refusal::{Refusal, refused};
use crate::watch::{get, grace};

/// Programs, their tracepoints, and what they see.
const PROGRAMS: [(&str, &str, &str); 3] = [
    ("received", "netif_receive_skb", "received at"),
    ("sends", "net_dev_start_xmit", "sent at"),
    ("frees", "kfree_skb", "thrown away at"),
];
/// The kind of the last one.
const FREES: u64 = 2;
/// Frames that a trial samples: enough for the 99.9th percentile, and few enough that most pass undisturbed.
const SAMPLED: f64 = 20_000.0;

/// The programs. Nothing is attached but between [`Self::begin`] and [`Self::end`].
#[derive(Debug)]
pub struct Hops {
    ebpf: Ebpf,
    links: Vec<(&'static str, BtfTracePointLinkId)>,
    order: Arc<Mapping>,
    gate: Option<Gate>,
    records: Mapping,
    stations: HashMap<MapData, StationKey, [u64; station::WORDS]>,
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
        let mut ebpf = EbpfLoader::new()
            .btf(Some(&kernel.types))
            .override_global("stream_count", &streams.max(1), true)
            .load(bytes)
            .map_err(|error| refused(&error))?;
        for (program, tracepoint, _) in PROGRAMS {
            let loaded = tracing(&mut ebpf, program)?.load(tracepoint, &kernel.types);
            loaded.map_err(|error| match error {
                ProgramError::Btf(BtfError::UnknownBtfTypeName { .. }) => Refusal::NoTracepoint,
                error => refused_load(&error),
            })?;
        }
        let stations = ebpf.take_map("stations").ok_or_else(|| lacks("stations"))?;
        Ok(Self {
            order: Arc::new(mapping(&ebpf, "order", order::WORDS)?),
            gate: None,
            records: mapping(&ebpf, "records", RECORDS * RECORD_WORDS)?,
            stations: stations
                .try_into()
                .map_err(|error: MapError| refused(&error))?,
            ebpf,
            links: Vec::new(),
            tester,
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
        for (program, _, _) in PROGRAMS {
            let link = tracing(&mut self.ebpf, program)?
                .attach()
                .map_err(|error| refused(&error))?;
            self.links.push((program, link));
        }
        let share = SAMPLED / frames.max(1) as f64;
        self.gate = Some(Gate::new(self.order.clone(), trial, share)?);
        Ok(())
    }

    /// Ends the noting; what was noted.
    pub fn end(&mut self) -> Passed {
        self.gate = None;
        for (program, link) in self.links.drain(..) {
            if let Some(program) = self.ebpf.program_mut(program)
                && let Ok(program) = <&mut BtfTracePoint>::try_from(program)
            {
                // Else it goes with the program.
                let _ = program.detach(link);
            }
        }
        grace();
        let count = get(&self.order, order::RECORDS);
        let kept = usize::try_from(count).map_or(RECORDS, |count| count.min(RECORDS));
        let records = self.records.words().chunks_exact(RECORD_WORDS).take(kept);
        Passed {
            seen: records.map(seen).collect(),
            stations: self.named(),
            unnoted: get(&self.order, order::UNNOTED) + count.saturating_sub(RECORDS as u64),
        }
    }

    /// The stations by their number.
    fn named(&self) -> Vec<Station> {
        let mut numbered: Vec<(u64, Station)> = self
            .stations
            .iter()
            .filter_map(Result::ok)
            .map(|([_, kind], words)| (words[station::NUMBER], self.station(kind, &words)))
            .collect();
        numbered.sort_by_key(|(number, _)| *number);
        let mut stations = Vec::new();
        for (number, station) in numbered {
            // Two CPUs that saw one at the same moment have left a number out.
            while (stations.len() as u64) < number {
                stations.push(Station {
                    name: String::new(),
                    arrives: false,
                    loses: false,
                });
            }
            stations.push(station);
        }
        stations
    }

    fn station(&self, kind: u64, words: &[u64; station::WORDS]) -> Station {
        let device = text(&words[station::NAME..]).unwrap_or_default();
        let mut ports = self.tester.ports.iter();
        let arrives = ports.any(|(name, ns)| *name == device && *ns == words[station::NETNS]);
        // Its own interface sends nothing there but what the tester sends.
        let arrives = arrives && kind != 1;
        let does = usize::try_from(kind)
            .ok()
            .and_then(|kind| PROGRAMS.get(kind));
        let does = does.map_or("at", |(_, _, does)| does);
        Station {
            name: match arrives {
                true => format!("arrived at {device}"),
                false => format!("{does} {device}"),
            },
            arrives,
            loses: kind == FREES,
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
