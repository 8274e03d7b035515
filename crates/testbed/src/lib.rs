//! Builds the paths that are measured, and removes them.
//!
//! Every path is a [`Path`]: two ports, the counters on the way, and what could not be had.
//! Paths made here live in network namespaces that only this process holds, so that nothing is
//! left of them however the process ends.

pub mod bridge;
pub mod counters;
pub mod direct;
pub mod endpoints;
pub mod error;
pub mod external;
mod found;
pub mod lab;
mod neighbours;
pub mod netns_guest;
pub mod path;
mod pci;
pub mod qemu;
mod rig;
mod sriov;
pub mod switch;
mod veth;
pub mod vlan_bridge;
pub mod vm;

pub use bridge::{BridgePath, BridgeSpec};
pub use counters::{PathCounters, ledger};
pub use direct::{DirectPath, DirectSpec};
pub use endpoints::{Between, EndpointSite, Endpoints};
pub use error::PathError;
pub use external::ExternalPath;
pub use netns_guest::{NetnsPath, NetnsSpec};
pub use nicety_model::path::Tagging;
pub use path::{Coupling, Cycles, Middle, Path, PathThread, Polling, Port};
pub use rig::RigSpec;
pub use switch::{
    Datapath, DpdkSpec, NicsSpec, OvsDpdkPath, OvsPath, OvsSpec, TestpmdNicsPath, TestpmdPath, Vdev,
};
pub use vlan_bridge::VlanBridgePath;
pub use vm::{VmPath, VmSpec};
