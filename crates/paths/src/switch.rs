//! Switches that are programs: Open vSwitch and DPDK's testpmd, between the interfaces `d0` and
//! `d1` of a namespace of their own, or between these and guests.
//!
//! Every one runs with its database, sockets and logs in a private directory, never as the
//! machine's own instance. It ends with the process that started it, and the directory with the
//! path; what a killed nicety leaves is removed by the next one.

mod dpdk;
mod guests;
mod instance;
mod ovn;
mod ovs;
mod ovs_counters;
mod ovs_dpdk;
mod ovs_pmd;
mod pinned;
mod program;
mod restartable;
mod telemetry;
mod testpmd;
mod testpmd_nics;

use crate::error::PathError;

pub use dpdk::DpdkSpec;
pub(crate) use guests::{GuestSwitch, GuestSwitchSpec, plug, port as guest_port};
pub use nicety_model::path::{Datapath, Vdev};
pub use ovn::{OvnPath, OvnSpec};
pub use ovs::{OvsPath, OvsSpec};
pub use ovs_dpdk::OvsDpdkPath;
pub use testpmd::TestpmdPath;
pub use testpmd_nics::{NicsSpec, TestpmdNicsPath};

/// Whether the programs of the switches are installed, by the word plans write for the switch.
/// Nothing is started.
///
/// # Errors
/// [`PathError::NotInstalled`] for each whose package is missing, [`PathError::NoDevice`] where one always needs a
/// device that is not here.
pub fn installed() -> [(&'static str, Result<(), PathError>); 4] {
    [
        ("ovs", instance::all_there(&ovs::DAEMON)),
        ("ovn", ovn::all_there()),
        (
            "ovs-dpdk",
            instance::all_there(&ovs_dpdk::DAEMON).and_then(|()| crate::tun::taps_there()),
        ),
        ("testpmd", testpmd::TESTPMD.find().map(drop)),
    ]
}
