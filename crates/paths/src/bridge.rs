//! The default path: two namespaces joined by a kernel bridge.
//!
//! ```text
//!  namespace A      namespace DUT       namespace B
//!      a ----------- d0 - br0 - d1 ---------- b
//! ```
//!
//! `a` and `b` are the tester's ports. `d0` and `d1` receive in NAPI threads of their own. All
//! three namespaces are held by file descriptors only; nothing is made in the caller's.
//!
//! Overload: between `a` and `d0` there is a ring of 256 frames (`VETH_RING_SIZE`,
//! drivers/net/veth.c). When the thread of `d0` falls behind, the kernel drops the frame on the
//! spot, counts it once in `a tx_dropped` and answers a packet socket with ENOBUFS. Such a frame
//! was offered and lost in the path. `sendmmsg` hides the error of a frame that is not the first:
//! a blocking call that accepts fewer frames than given has lost exactly one more.

use nicety_model::Note;
use nicety_model::note::PathNote;
use nicety_netdev::net_error::NetError;
use nicety_netdev::netns::NetNs;

use crate::counters::{PathCounters, Role};
use crate::error::PathError;
use crate::interface::CARRIER_LIMIT;
use crate::path::{Path, PathFacts};
use crate::resettable::Resettable;
use crate::rig::{Rig, RigSpec};

/// What the path shall be like.
pub type BridgeSpec = RigSpec;

/// Two namespaces joined by a kernel bridge; gone when dropped.
#[derive(Debug)]
pub struct BridgePath(Rig);

impl BridgePath {
    /// Builds the path and waits until it has carrier everywhere.
    ///
    /// # Errors
    /// [`NetError::NotPermitted`] for an ordinary user outside a user namespace of his own,
    /// [`NetError::Unsupported`] when the kernel lacks veth or bridge.
    pub fn build(spec: &BridgeSpec) -> Result<Self, PathError> {
        let mut rig = Rig::build("bridge", spec)?;
        rig.dut.links.add_bridge("br0")?;
        rig.enslave(["d0", "d1"], rig.dut.links.get("br0")?.index)?;
        rig.dut.set_up("br0")?;
        rig.dut.links.wait_carrier("br0", CARRIER_LIMIT)?;
        rig.facts
            .notes
            .extend(netfilter(&rig.dut.ns).map(Note::from));
        Ok(Self(rig))
    }

    /// Namespace of the bridge, for whoever wants to look or meddle in the middle of the path.
    pub fn dut(&self) -> &NetNs {
        &self.0.dut.ns
    }
}

/// What to say where a namespace's bridges hand IPv4 frames to netfilter. That is so in every new
/// namespace while the module br_netfilter is loaded (`brnf_init_net` in
/// net/bridge/br_netfilter_hooks.c), whatever the host's own setting.
fn netfilter(ns: &NetNs) -> Option<PathNote> {
    let read = || std::fs::read_to_string("/proc/sys/net/bridge/bridge-nf-call-iptables");
    let set = ns.run(read).ok()?.ok()?;
    (set.trim() != "0").then_some(PathNote::Netfilter)
}

impl Path for BridgePath {
    fn facts(&self) -> &PathFacts {
        &self.0.facts
    }

    fn counters(&self) -> Result<PathCounters, NetError> {
        self.0.counters(&[("br0", Role::Bridge)])
    }

    fn resettable(&self) -> Option<&dyn Resettable> {
        Some(&self.0)
    }
}
