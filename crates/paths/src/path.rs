//! What every path offers, however it came to be.

use std::time::Duration;

use nicety_model::{BuiltPlace, Note};
use nicety_netdev::link::Mac;
use nicety_netdev::napi::NapiThread;
use nicety_netdev::net_error::NetError;
use nicety_netdev::netns::NetNs;
use serde_json::Value;

use crate::counters::{InterfaceCounters, PathCounters};
use crate::endpoint_site::EndpointSite;
use crate::error::PathError;
use crate::resettable::Resettable;

/// Two ports and what lies between them; gone when dropped.
pub trait Path: Send + Sync {
    /// What does not change as long as it is there.
    fn facts(&self) -> &PathFacts;

    /// Every counter on the way, now.
    ///
    /// # Errors
    /// When the kernel does not answer, or a port is gone.
    fn counters(&self) -> Result<PathCounters, NetError>;

    /// Its places that count frames, in the order in which frames from A to B meet them.
    ///
    /// # Errors
    /// As [`Path::counters`].
    fn places(&self) -> Result<Vec<BuiltPlace>, NetError> {
        let queues = &self.facts().queues;
        let queues = |name: &str| queues.iter().find(|(of, _)| of == name);
        let places = self.counters()?.interfaces.into_iter();
        let place = |place: InterfaceCounters| BuiltPlace {
            queues: queues(&place.interface).map(|(_, count)| *count),
            name: place.interface,
        };
        Ok(places.map(place).collect())
    }

    /// Port A, port B.
    fn ports(&self) -> &[PathPort; 2] {
        &self.facts().ports
    }

    /// For a path that can stand still.
    fn pausable(&self) -> Option<&dyn Pausable> {
        None
    }

    /// For a path that can be reset.
    fn resettable(&self) -> Option<&dyn Resettable> {
        None
    }

    /// For a path through guests whose kernels are not the host's.
    fn kernels(&self) -> Option<&dyn Kernels> {
        None
    }

    /// For a path with a switch that others can join.
    fn neighbours(&mut self) -> Option<&mut dyn Neighbours> {
        None
    }
}

/// A path that works by itself, and can be stopped.
pub trait Pausable {
    /// Stops it, so that it takes no CPU time; whether it stands.
    fn pause(&self) -> bool;

    /// Lets it go on; whether it does.
    fn resume(&self) -> bool;
}

/// Kernels of guests, which see what the host's does not.
pub trait Kernels {
    /// Names of the guests, with which the names of their places begin: `guest`, or `guest0` where there are several.
    fn names(&self) -> Vec<String>;

    /// Lets guest `number` do some work for at most `limit`, and returns what came of it. A guest may answer anything.
    ///
    /// # Errors
    /// [`NetError::Silent`] when it has ended or does not answer.
    fn work(&self, number: usize, work: Value, limit: Duration) -> Result<Value, NetError>;
}

/// A path with a switch that others can join.
pub trait Neighbours {
    /// Adds `pairs` pairs of endpoints, at most 100, on the same switch.
    ///
    /// # Errors
    /// [`PathError::NoNeighbours`] where the switch takes none after all.
    fn add(&mut self, pairs: u32) -> Result<Vec<[EndpointSite; 2]>, PathError>;
}

/// Adds `pairs` pairs of endpoints, at most 100, on the switch of `path`.
///
/// # Errors
/// [`PathError::NoNeighbours`] where there is no switch that others could join.
pub fn add_neighbours(
    path: &mut dyn Path,
    pairs: u32,
) -> Result<Vec<[EndpointSite; 2]>, PathError> {
    let kind = path.facts().kind;
    let switch = path.neighbours();
    switch.ok_or(PathError::NoNeighbours { kind })?.add(pairs)
}

/// What does not change as long as a path is there.
#[derive(Debug, Clone)]
pub struct PathFacts {
    /// Kind as in a plan: `bridge`, `ports`, ...
    pub kind: &'static str,
    /// Port A, port B.
    pub ports: [PathPort; 2],
    /// In whose context it works.
    pub coupling: Coupling,
    /// Its threads that are known.
    pub threads: Vec<PathThread>,
    /// Receive queues of places whose number is known.
    pub queues: Vec<(String, u32)>,
    /// What could not be had, one sentence each.
    pub notes: Vec<Note>,
    /// Identifier of the VLAN tag that frames at the ports carry, in and out; none when they are
    /// untagged.
    pub vlan: Option<u16>,
    /// Stations at either port between which frames are sent in turn, for a path that tells them
    /// apart: those of pair `n` pass through its guest `n`.
    pub stations: u32,
    /// Whether the ports are interfaces that were there before, connected with the path from outside.
    pub existing_ports: bool,
    /// Whether frames reach a port only when they are addressed to it, as on hardware. On the other
    /// paths the tester's stations have addresses of their own.
    pub own_stations: bool,
    /// What joins `d0` and `d1`, where the path was made here.
    pub middle: Option<Middle>,
}

impl PathFacts {
    /// A path that was made here, with nothing special about it.
    pub fn new(kind: &'static str, ports: [PathPort; 2], coupling: Coupling) -> Self {
        Self {
            kind,
            ports,
            coupling,
            threads: Vec::new(),
            queues: Vec::new(),
            notes: Vec::new(),
            vlan: None,
            stations: 1,
            existing_ports: false,
            own_stations: false,
            middle: None,
        }
    }
}

/// One of the two places where the tester attaches.
#[derive(Debug, Clone)]
pub struct PathPort {
    /// Namespace of the interface; sockets for it are opened inside.
    pub ns: NetNs,
    /// Name of the interface.
    pub name: String,
    /// Number of the interface in its namespace.
    pub index: u32,
    /// Hardware address.
    pub mac: Mac,
    /// Largest payload of a frame in bytes, without Ethernet header and FCS.
    pub mtu: u32,
    /// Link speed in Mbit/s as the driver states it; a veth states 10000 and does not keep to it.
    pub speed_mbps: Option<u32>,
}

/// A thread that carries frames of the path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathThread {
    /// Interface whose frames it receives.
    pub interface: String,
    /// The thread.
    pub thread: NapiThread,
    /// CPUs it may run on, read back from the kernel.
    pub cpus: Vec<u32>,
    /// Why the scheduler places it; absent when it is pinned as asked.
    pub unpinned: Option<String>,
    /// Whether it has the highest weight among ordinary threads.
    pub preferred: bool,
}

/// In whose context the path works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coupling {
    /// In threads of its own: what the path cannot carry is lost in it, the sender goes on.
    Decoupled,
    /// In the sender's own system call: overload slows the sender and nothing is lost.
    SenderContext,
    /// Not built by us, so not known; the trials will tell.
    Unknown,
}

impl Coupling {
    /// Of a path into which frames get through `interfaces`: decoupled where each has a receive
    /// thread among `threads`.
    pub(crate) fn of(threads: &[PathThread], interfaces: [&str; 2]) -> Self {
        let threaded = |name: &str| threads.iter().any(|thread| thread.interface == name);
        if interfaces.into_iter().all(threaded) {
            Self::Decoupled
        } else {
            Self::SenderContext
        }
    }
}

/// A switch between `d0` and `d1`.
#[derive(Debug, Clone)]
pub struct Middle {
    /// Namespace of both interfaces.
    pub ns: NetNs,
    /// Whether a program carries the frames, in user space or before the kernel has made a packet of them: it sees what arrives at `d0` and `d1` as it is, and
    /// knows nothing of checksums left to an interface or of segments put together.
    pub userspace: bool,
}
