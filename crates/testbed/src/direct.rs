//! A veth pair and nothing else: what the tester can do without a path.
//!
//! The ends are set up like the first hop of [`BridgePath`](crate::bridge::BridgePath), both
//! receive in NAPI threads of their own, so that sending costs the tester what it costs in front
//! of a path.

use nicety_host::link::Mac;
use nicety_host::napi;
use nicety_host::net_error::NetError;
use nicety_model::FrameSize;
use nicety_model::Note;

use crate::counters::PathCounters;
use crate::error::PathError;
use crate::path::{Coupling, Path, PathThread, Port};
use crate::rig::port_counters;
use crate::veth::{self, End, Site};

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
    ports: [Port; 2],
    threads: Vec<PathThread>,
    notes: Vec<Note>,
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
        veth::set_up(&a, "a")?;
        veth::set_up(&b, "b")?;
        let first = spec.path_cpus.first().copied();
        let second = spec.path_cpus.get(1).copied().or(first);
        let mut threads = veth::threads(&b, "b", &|_| first, &mut notes)?;
        threads.extend(veth::threads(&a, "a", &|_| second, &mut notes)?);
        veth::note_unpinned(&threads, &mut notes);
        Ok(Self {
            ports: [a.port("a")?, b.port("b")?],
            sites: [a, b],
            threads,
            notes,
        })
    }
}

impl Path for DirectPath {
    fn kind(&self) -> &'static str {
        "direct"
    }

    fn ports(&self) -> &[Port; 2] {
        &self.ports
    }

    fn counters(&self) -> Result<PathCounters, NetError> {
        let [a, b] = &self.sites;
        Ok(PathCounters(vec![
            port_counters("a", a.links.get("a")?.counters),
            port_counters("b", b.links.get("b")?.counters),
        ]))
    }

    fn notes(&self) -> &[Note] {
        &self.notes
    }

    fn threads(&self) -> &[PathThread] {
        &self.threads
    }

    fn coupling(&self) -> Coupling {
        let threaded = |name| self.threads.iter().any(|t| t.interface == name);
        if threaded("a") && threaded("b") {
            Coupling::Decoupled
        } else {
            Coupling::SenderContext
        }
    }
}
