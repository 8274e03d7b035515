//! Switches that are programs: Open vSwitch and DPDK's testpmd, between the interfaces `d0` and
//! `d1` of a namespace of their own.
//!
//! Every one runs with its database, sockets and logs in a private directory, never as the
//! machine's own instance. It ends with the thread that started it, and the directory with the
//! path; what a killed nicety leaves is removed by the next one.

mod dpdk;
mod instance;
mod ovs;
mod ovs_counters;
mod ovs_dpdk;
mod pinned;
mod program;
mod run_dir;
mod telemetry;
mod testpmd;

use nicety_host::link::LinkCounters;

use crate::counters::{InterfaceCounters, Role};

pub use dpdk::{DpdkSpec, Vdev};
pub use ovs::{Datapath, OvsPath, OvsSpec};
pub use ovs_dpdk::OvsDpdkPath;
pub use run_dir::sweep;
pub use testpmd::TestpmdPath;

/// What a switch says of its own, as a place on the path.
fn place(name: &str, counters: LinkCounters) -> InterfaceCounters {
    InterfaceCounters {
        interface: name.to_owned(),
        role: Role::Inner,
        counters,
        qdiscs: Vec::new(),
    }
}
