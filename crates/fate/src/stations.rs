//! The stations that programs have seen, in words.

use std::collections::HashMap as Known;

use aya::Ebpf;
use aya::maps::{HashMap, MapData, MapError};
use nicety_account::hops::Station;
use nicety_account::inside::WEAK;
use nicety_model::FateCause;

use crate::kernel::Kernel;
use crate::layout::{StationKey, station};
use crate::loaded::lacks;
use crate::names::{TesterPorts, reason_name, text, used};
use crate::refusal::{Refusal, refused};
use crate::symbols::{SYMBOLS, Symbols};

/// What each kind sees, by the numbers of `enum kind` in `bpf/stations.bpf.h`.
const DOES: [&str; 4] = ["received at", "sent at", "thrown away at", "queued at"];
const SENT: u64 = 1;
const FREED: u64 = 2;
const QUEUED: u64 = 3;
/// A place without an interface.
const NOWHERE: &str = "thrown away in the kernel";
/// Where frames are thrown away that have not come to the port at which they are noted. All others there are
/// the tester's own: it throws away what it has counted.
const BEFORE_PORT: [&str; 5] = [
    "veth_xmit",
    "__dev_queue_xmit",
    "enqueue_to_backlog",
    "netif_rx",
    "tun_net_xmit",
];

/// The map of them.
#[derive(Debug)]
pub(crate) struct Stations {
    map: HashMap<MapData, StationKey, [u64; station::WORDS]>,
    kernel: &'static Kernel,
    /// Functions by place and callers: the kernel's list is long, and a run asks again and again.
    functions: Known<(u64, Vec<u64>), Option<String>>,
}

impl Stations {
    /// Those of the programs of `ebpf`.
    ///
    /// # Errors
    /// When it has none.
    pub(crate) fn new(ebpf: &mut Ebpf, kernel: &'static Kernel) -> Result<Self, Refusal> {
        let map = ebpf.take_map("stations").ok_or_else(|| lacks("stations"))?;
        Ok(Self {
            map: map.try_into().map_err(|error: MapError| refused(&error))?,
            kernel,
            functions: Known::new(),
        })
    }

    /// Has none be known.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub(crate) fn clear(&mut self) -> Result<(), Refusal> {
        let known: Vec<StationKey> = self.map.keys().filter_map(Result::ok).collect();
        for key in known {
            self.map.remove(&key).map_err(|error| refused(&error))?;
        }
        Ok(())
    }

    /// The stations by their number.
    pub(crate) fn named(&mut self, tester: &TesterPorts) -> Vec<Station> {
        let noted: Vec<(StationKey, [u64; station::WORDS])> =
            self.map.iter().filter_map(Result::ok).collect();
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
            .map(|(key, words)| (words[station::NUMBER], self.station(*key, words, tester)))
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

    fn station(
        &self,
        key: StationKey,
        words: &[u64; station::WORDS],
        tester: &TesterPorts,
    ) -> Station {
        let [_, kind, location, reason] = key;
        let device = text(&words[station::NAME..station::NAME + station::NAME_WORDS]);
        let known = device.is_some();
        let device = device.unwrap_or_default();
        let stack = used(&words[station::STACK..]).to_vec();
        let function = self.functions.get(&(location, stack)).cloned().flatten();
        let before = |function: &String| BEFORE_PORT.iter().any(|of| function.starts_with(of));
        let mut ports = tester.ports.iter();
        let at_port = ports.any(|(name, ns)| *name == device && *ns == words[station::NETNS]);
        // Its own interface sends nothing there but what the tester sends.
        let arrives =
            at_port && ![SENT, QUEUED].contains(&kind) && !function.as_ref().is_some_and(before);
        let does = usize::try_from(kind).ok().and_then(|kind| DOES.get(kind));
        let name = if arrives {
            format!("arrived at {device}")
        } else if known {
            format!("{} {device}", does.unwrap_or(&"at"))
        } else {
            NOWHERE.to_owned()
        };
        let reason = u32::try_from(reason).ok();
        let reason = reason.and_then(|reason| reason_name(reason, &self.kernel.reasons));
        let weak = reason
            .as_deref()
            .is_some_and(|reason| WEAK.contains(&reason));
        let cause = (kind == FREED && !arrives).then(|| FateCause::Dropped {
            device: known.then(|| device.clone()),
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
            clock_error_ns: None,
        }
    }
}
