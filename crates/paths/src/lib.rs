//! Builds the paths that are measured, and removes them.
//!
//! Every path is a [`Path`]: two ports, the counters on the way, and what the machine could not
//! provide. Paths made here live in network namespaces that only this process holds, so nothing
//! is left of them, even after a crash.

pub mod bridge;
pub mod bundle;
pub mod counters;
pub mod direct;
mod driver;
mod endpoint_site;
pub mod endpoints;
pub mod error;
pub mod external;
mod function_rig;
mod guest;
mod interface;
mod inventory;
pub mod memory;
pub mod module;
mod neighbours;
pub mod netkit;
pub mod netns_guest;
mod networks;
mod nics;
pub mod path;
mod receive_threads;
pub mod resettable;
mod rig;
pub mod routed;
mod routes;
mod run_dir;
mod session;
mod site;
mod sriov;
pub mod sub_interface;
pub mod switch;
pub mod tc_redirect;
mod tool;
pub mod tun;
pub mod tunnel;
mod veth;
mod vlan;
pub mod vlan_bridge;
pub mod vm;
pub mod xdp_redirect;

pub use bridge::{BridgePath, BridgeSpec};
pub use bundle::{BundleDriver, BundlePath, BundleSpec};
pub use counters::{Cycles, PathCounters, Polling, ledger};
pub use direct::{DirectPath, DirectSpec};
pub use endpoint_site::EndpointSite;
pub use endpoints::{Between, Endpoints};
pub use error::PathError;
pub use external::ExternalPath;
pub use netkit::{NetkitPath, NetkitSpec};
pub use netns_guest::{NetnsPath, NetnsSpec};
pub use nicety_model::path::Tagging;
pub use path::{
    Coupling, Kernels, Middle, Neighbours, Path, PathFacts, PathPort, PathThread, Pausable,
    add_neighbours,
};
pub use resettable::{Receipt, Resettable};
pub use rig::{END_MACS, RigSpec};
pub use routed::{RoutedPath, RoutedSpec, TableFacts, TrackingPath, TrackingSpec};
pub use run_dir::sweep;
pub use session::RaisedSession;
pub use sub_interface::{SubInterfacePath, SubInterfaceSpec};
pub use switch::{
    Datapath, DpdkSpec, NicsSpec, OvnPath, OvnSpec, OvsDpdkPath, OvsPath, OvsSpec, TestpmdNicsPath,
    TestpmdPath, Vdev,
};
pub use tc_redirect::TcRedirectPath;
pub use tunnel::{TunnelPath, TunnelSpec};
pub use vlan_bridge::VlanBridgePath;
pub use vm::{VmPath, VmSpec};
pub use xdp_redirect::XdpRedirectPath;
