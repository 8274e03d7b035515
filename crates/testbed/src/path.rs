//! What every path offers, however it came to be.

use nicety_host::cpu_load::StatSample;
use nicety_host::link::Mac;
use nicety_host::napi::NapiThread;
use nicety_host::net_error::NetError;
use nicety_host::netns::NetNs;
use nicety_model::Note;

use crate::counters::PathCounters;
use crate::endpoints::EndpointSite;
use crate::error::PathError;

/// One of the two places where the tester attaches.
#[derive(Debug, Clone)]
pub struct Port {
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

/// A kernel thread that carries frames of the path.
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

/// A thread of the path that never sleeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Polling {
    /// The name its time is booked under.
    pub who: String,
    /// What it has counted; absent where its program does not.
    pub cycles: Option<Cycles>,
}

/// CPU cycles of a thread that polls, since it started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cycles {
    /// With frames to carry.
    pub busy: u64,
    /// In rounds that found none.
    pub idle: u64,
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

/// A switch between `d0` and `d1`.
#[derive(Debug, Clone, Copy)]
pub struct Middle<'p> {
    /// Namespace of both interfaces.
    pub ns: &'p NetNs,
    /// Whether a program carries the frames: it sees what arrives at `d0` and `d1` as it is, and
    /// knows nothing of checksums left to an interface or of segments put together.
    pub userspace: bool,
}

/// Two ports and what lies between them.
pub trait Path: Send + Sync {
    /// Kind as in a plan: `bridge`, `ports`, ...
    fn kind(&self) -> &'static str;

    /// Port A, port B.
    fn ports(&self) -> &[Port; 2];

    /// Every counter on the way, now.
    ///
    /// # Errors
    /// When the kernel does not answer, or a port is gone.
    fn counters(&self) -> Result<PathCounters, NetError>;

    /// What could not be had, one sentence each.
    fn notes(&self) -> &[Note];

    /// Kernel threads of the path that are known.
    fn threads(&self) -> &[PathThread];

    /// Those of its threads that poll, and what they have counted so far.
    fn polling(&self) -> Vec<Polling> {
        Vec::new()
    }

    /// Identifier of the VLAN tag that frames at the ports carry, in and out; none when they
    /// are untagged.
    fn vlan(&self) -> Option<u16> {
        None
    }

    /// Stations at either port between which frames are sent in turn, for a path that tells them
    /// apart: those of pair `n` pass through its guest `n`.
    fn stations(&self) -> u32 {
        1
    }

    /// What joins `d0` and `d1`, where the path was made here.
    fn middle(&self) -> Option<Middle<'_>> {
        None
    }

    /// Whether the ports are interfaces that were there before, connected with the path from outside.
    fn existing_ports(&self) -> bool {
        self.kind() == "ports"
    }

    /// Whether frames reach a port only when they are addressed to it, as on hardware. On the
    /// other paths the tester's stations have addresses of their own.
    fn own_stations(&self) -> bool {
        self.existing_ports()
    }

    /// Stops what works in the path by itself, so that it takes no CPU time until
    /// [`Path::go_on`]; false where that cannot be.
    fn stand_still(&self) -> bool {
        false
    }

    /// Goes on after [`Path::stand_still`]; false where it does not.
    fn go_on(&self) -> bool {
        true
    }

    /// Adds `pairs` pairs of endpoints, at most 100, on the same switch.
    ///
    /// # Errors
    /// [`PathError::NoNeighbours`] where there is no switch that others could join.
    fn neighbours(&mut self, pairs: u32) -> Result<Vec<[EndpointSite; 2]>, PathError> {
        let _ = pairs;
        Err(PathError::NoNeighbours { kind: self.kind() })
    }

    /// In whose context the path works.
    fn coupling(&self) -> Coupling;

    /// CPU time of the path's guests by their own count, at the last [`Path::counters`].
    fn guests(&self) -> Vec<(String, StatSample)> {
        Vec::new()
    }
}
