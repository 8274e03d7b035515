//! A veth pair and nothing else: what the tester can do without a path.
//!
//! The ends are set up like the first hop of [`BridgePath`](crate::bridge::BridgePath), both
//! receive in NAPI threads of their own, so that sending costs the tester what it costs in front
//! of a path.

use nicety_model::FrameSize;
use nicety_netdev::link::Mac;
use nicety_netdev::napi;
use nicety_netdev::net_error::NetError;

use crate::counters::{InterfaceCounters, PathCounters};
use crate::error::PathError;
use crate::path::{Coupling, Path, PathFacts};
use crate::receive_threads;
use crate::site::Site;
use crate::veth::{self, End};

const MAC_A: Mac = Mac([0x02, 0x6e, 0x69, 0, 0, 0x1a]);
const MAC_B: Mac = Mac([0x02, 0x6e, 0x69, 0, 0, 0x1b]);

/// What the pair shall be like.
#[derive(Debug, Clone)]
pub struct DirectSpec {
    /// CPUs for the receiving threads: the first for frames from A to B, the second, or the
    /// first again, for the other way.
    pub path_cpus: Vec<u32>,
    /// Largest frame it has to carry.
    pub largest_frame: FrameSize,
    /// Queues of either end, at least 1.
    pub queues: u32,
}

/// Two namespaces joined by a veth pair; gone when dropped.
#[derive(Debug)]
pub struct DirectPath {
    sites: [Site; 2],
    facts: PathFacts,
}

impl DirectPath {
    /// Builds the pair and waits for carrier.
    ///
    /// # Errors
    /// As [`BridgePath::build`](crate::bridge::BridgePath::build).
    pub fn build(spec: &DirectSpec) -> Result<Self, PathError> {
        let mut notes = Vec::new();
        let a = Site::create("A", &mut notes)?;
        let b = Site::create("B", &mut notes)?;
        let end = |site, name, mac| End { site, name, mac };
        veth::connect(
            end(&a, "a", MAC_A),
            end(&b, "b", MAC_B),
            spec.largest_frame.mtu_needed().max(1500),
            spec.queues.max(1),
        )?;
        // The pair is the far side of itself: the other direction needs the switches too.
        b.ethtool.set_features("b", &napi::SENDER_FEATURES)?;
        a.ethtool.set_features("a", &napi::RECEIVER_FEATURES)?;
        a.set_up("a")?;
        b.set_up("b")?;
        let first = spec.path_cpus.first().copied();
        let second = spec.path_cpus.get(1).copied().or(first);
        let mut threads = receive_threads::start(&b, "b", &|_| first, &mut notes)?;
        threads.extend(receive_threads::start(&a, "a", &|_| second, &mut notes)?);
        receive_threads::note_unpinned(&threads, &mut notes);
        let coupling = Coupling::of(&threads, ["a", "b"]);
        let ports = [a.port("a")?, b.port("b")?];
        Ok(Self {
            sites: [a, b],
            facts: PathFacts {
                threads,
                notes,
                ..PathFacts::new("direct", ports, coupling)
            },
        })
    }
}

impl Path for DirectPath {
    fn facts(&self) -> &PathFacts {
        &self.facts
    }

    fn counters(&self) -> Result<PathCounters, NetError> {
        let ports = self.sites.iter().zip(["a", "b"]);
        let ports = ports.map(|(site, name)| {
            let counters = site.links.get(name)?.counters;
            Ok(InterfaceCounters::port(name, counters))
        });
        Ok(ports.collect::<Result<Vec<_>, _>>()?.into())
    }
}
