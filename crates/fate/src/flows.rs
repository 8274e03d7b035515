//! Where the first packets of sockets pass: loads the programs, and reads what they note.

use std::net::Ipv6Addr;
use std::sync::atomic::{AtomicU64, Ordering, fence};

use aya::EbpfLoader;
use nicety_account::flows::Sight;
use nicety_account::hops::Station;
use nicety_model::flow::{End, Flow, FlowFilter, Transport};
use nicety_port::xdp::mapping::Mapping;

use crate::kernel::Kernel;
use crate::layout::{FLOW_RECORD_WORDS, FLOW_RECORDS, flow_order as order, flow_record as place};
use crate::loaded::{Pair, load_passes, load_program, mapping};
use crate::names::TesterPorts;
use crate::object;
use crate::programs::Programs;
use crate::refusal::{Refusal, refused};
use crate::stations::Stations;
use crate::watch::get;

/// Programs and their tracepoints.
const PASSES: [(&str, &str); 3] = [
    ("received", "netif_receive_skb"),
    ("queued", "net_dev_queue"),
    ("sends", "net_dev_start_xmit"),
];
const FREES: Pair = ["frees_for", "frees_at"];
/// The upper byte of a record's number holds flags of TCP.
const FLAGS_SHIFT: u32 = 56;
const ACK: u64 = 0x10;

/// The programs, which note from [`Self::open`] until they are dropped.
#[derive(Debug)]
pub struct Flows {
    _programs: Programs,
    stations: Stations,
    order: Mapping,
    records: Mapping,
    /// Records read so far.
    read: u64,
}

/// What was noted since the reading before.
#[derive(Debug, Clone, Default)]
pub struct Followed {
    /// Packets at stations, in the order in which they were noted.
    pub sights: Vec<Sight>,
    /// All stations so far.
    pub stations: Vec<Station>,
    /// Sightings for which there was no room, since the beginning.
    pub unnoted: u64,
}

impl Flows {
    /// Follows packets that fit `filter` from now on.
    ///
    /// # Errors
    /// Why that is not possible here.
    pub fn open(filter: &FlowFilter) -> Result<Self, Refusal> {
        let bytes = object::FLOWS.ok_or(Refusal::NotBuilt(object::MISSING))?;
        let kernel = Kernel::get()?;
        let protocol = filter.transport.map_or(0, |of| u32::from(of.number()));
        let any = filter.ends.map(|end| u32::from(end.address.is_none()));
        let ports = filter
            .ends
            .map(|end| u32::from(end.port.unwrap_or(0).to_be()));
        let mut addresses = [0_u64; 4];
        for (words, end) in addresses.chunks_exact_mut(2).zip(filter.ends) {
            let bytes = end.address.unwrap_or(Ipv6Addr::UNSPECIFIED).octets();
            for (word, bytes) in words.iter_mut().zip(bytes.as_chunks().0) {
                *word = u64::from_ne_bytes(*bytes);
            }
        }
        let mut ebpf = EbpfLoader::new()
            .btf(Some(&kernel.types))
            .override_global("protocol", &protocol, true)
            .override_global("any_address", &any[..], true)
            .override_global("addresses", &addresses[..], true)
            .override_global("ports", &ports[..], true)
            .load(bytes)
            .map_err(|error| refused(&error))?;
        load_passes(&mut ebpf, kernel, &PASSES)?;
        let frees = load_program(&mut ebpf, kernel, FREES)?;
        let passes = PASSES.iter().map(|(program, _)| *program);
        let names = passes.chain([frees]).collect();
        let stations = Stations::new(&mut ebpf, kernel)?;
        let order = mapping(&ebpf, "order", order::WORDS)?;
        let records = mapping(&ebpf, "records", FLOW_RECORDS * FLOW_RECORD_WORDS)?;
        let mut programs = Programs::new(ebpf, names);
        programs.attach()?;
        Ok(Self {
            _programs: programs,
            stations,
            order,
            records,
            read: 0,
        })
    }

    /// What was noted since the reading before.
    pub fn read(&mut self) -> Followed {
        let noted = get(&self.order, order::RECORDS);
        let room = FLOW_RECORDS as u64;
        // What was written over is gone.
        let mut missed = noted.saturating_sub(self.read).saturating_sub(room);
        let mut sights = Vec::new();
        for number in noted.saturating_sub(room).max(self.read)..noted {
            match self.sight(number) {
                Some(sight) => sights.push(sight),
                None => missed += 1,
            }
        }
        self.read = noted;
        // A packet is at its station before the station is known here.
        let stations = self.stations.named(&TesterPorts::default());
        self.missed(missed);
        Followed {
            sights,
            stations,
            unnoted: get(&self.order, order::UNNOTED),
        }
    }

    /// Counts what was not read with what was not noted.
    fn missed(&self, more: u64) {
        if let Some(word) = self.order.words().get(order::UNNOTED) {
            word.fetch_add(more, Ordering::Relaxed);
        }
    }

    /// A record; `None` where it is not written yet, or already written over.
    fn sight(&self, number: u64) -> Option<Sight> {
        let at = (number as usize % FLOW_RECORDS) * FLOW_RECORD_WORDS;
        let words = self.records.words().get(at..at + FLOW_RECORD_WORDS)?;
        let written = || words[place::WRITTEN].load(Ordering::Acquire);
        let before = written();
        let copy: [u64; FLOW_RECORD_WORDS] = std::array::from_fn(|n| words.get(n).map_or(0, load));
        fence(Ordering::Acquire);
        let now = written();
        let own = now == before && now & ((1 << FLAGS_SHIFT) - 1) == number + 1;
        own.then(|| sight(&copy))
    }
}

fn load(word: &AtomicU64) -> u64 {
    word.load(Ordering::Relaxed)
}

fn sight(words: &[u64; FLOW_RECORD_WORDS]) -> Sight {
    let address = |at: usize| {
        let bytes: Vec<u8> = words[at..at + 2]
            .iter()
            .flat_map(|word| word.to_ne_bytes())
            .collect();
        <[u8; 16]>::try_from(bytes).map(Ipv6Addr::from).ok()
    };
    let bytes = words[place::PORTS].to_ne_bytes();
    let port = |at: usize| Some(u16::from_be_bytes([bytes[at], bytes[at + 1]]));
    let protocol = u32::from_ne_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]);
    let station = words[place::STATION];
    Sight {
        flow: Flow {
            transport: Transport::of_number(protocol as u8).unwrap_or(Transport::Tcp),
            ends: [
                End {
                    address: address(place::SOURCE),
                    port: port(0),
                },
                End {
                    address: address(place::DESTINATION),
                    port: port(2),
                },
            ],
        },
        answers: words[place::WRITTEN] >> FLAGS_SHIFT & ACK > 0,
        identity: words[place::IDENTITY],
        at_ns: words[place::AT],
        station: (station & u64::from(u32::MAX)) as usize,
        cpu: (station >> 32) as u32,
    }
}
