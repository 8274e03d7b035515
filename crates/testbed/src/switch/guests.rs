//! Open vSwitch between the tester's interfaces and a guest's: a bridge on either side.
//!
//! ```text
//!  d0 - br0 - t0 ==== guest ==== t1 - br1 - d1
//! ```

use nicety_host::net_error::NetError;
use nicety_host::netns::NetNs;
use nicety_host::openvswitch;

use super::Datapath;
use super::instance::{Instance, Setup, SwitchPort};
use super::ovs::{self, DAEMON};
use crate::counters::{InterfaceCounters, PathCounters};
use crate::error::PathError;
use crate::path::PathThread;

/// Interfaces on the switch, with their bridges.
const PORTS: [(&str, &str); 4] = [("br0", "d0"), ("br0", "t0"), ("br1", "t1"), ("br1", "d1")];

/// A running switch; gone when dropped.
#[derive(Debug)]
pub(crate) struct GuestSwitch {
    instance: Instance,
    datapath: Datapath,
}

impl GuestSwitch {
    /// Whether it is installed.
    pub(crate) fn check() -> Result<(), PathError> {
        DAEMON.find().map(drop)
    }

    /// Starts it on interfaces that are there.
    pub(crate) fn start(ns: &NetNs, cpus: &[u32]) -> Result<Self, PathError> {
        let datapath = match openvswitch::has_kernel_datapath(ns)? {
            true => Datapath::Kernel,
            false => Datapath::Userspace,
        };
        let instance = Instance::start(&Setup {
            ns,
            daemon: &DAEMON,
            cpus,
            config: Vec::new(),
            datapath_type: match datapath {
                Datapath::Kernel => "system",
                Datapath::Userspace => "netdev",
            },
            ports: PORTS
                .map(|(bridge, name)| SwitchPort {
                    bridge,
                    name,
                    columns: Vec::new(),
                })
                .into(),
            dpdk: false,
        })?;
        Ok(Self { instance, datapath })
    }

    /// What it is, for the run's notes.
    pub(crate) fn note(&self) -> String {
        let how = match self.datapath {
            Datapath::Kernel => "kernel datapath",
            Datapath::Userspace => "userspace datapath in one thread of ovs-vswitchd",
        };
        format!(
            "guest on ovs: {}, {how}, a bridge on either side",
            self.instance.version()
        )
    }

    /// Its threads that work for the path.
    pub(crate) fn threads(&self) -> Result<Vec<PathThread>, NetError> {
        self.instance.threads(match self.datapath {
            Datapath::Kernel => None,
            Datapath::Userspace => Some("ovs-vswitchd"),
        })
    }

    /// What it counts; every frame is looked up once on either side of the guest.
    pub(crate) fn place(&self, others: &PathCounters) -> Result<InterfaceCounters, NetError> {
        let arrived = PORTS.iter().filter_map(|(_, name)| others.of(name));
        let arrived: u64 = arrived.map(|counters| counters.rx_packets).sum();
        ovs::counted(&self.instance, self.datapath, arrived)
    }
}
