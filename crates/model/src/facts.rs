//! Facts about a host, its interfaces and its virtual machines, as read at one moment.
//!
//! A missing value is unknown or not there; it is never 0. Rules decide on these values alone,
//! so a recorded host gives the same answers as a live one.

mod conntrack;
mod cpu;
mod firewall;
mod interface;
mod irq;
mod memory;
mod owner;
mod pci;
mod tcp;
mod vm;
pub mod way;
mod window;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

pub use conntrack::ConntrackFacts;
pub use cpu::{CpuFacts, CpuIdle, CpuSeatFacts, IdleState, NodeFacts};
pub use firewall::FirewallChain;
pub use interface::{
    BondFacts, BridgeFacts, Coalescing, FeatureFacts, InterfaceClass, LinkFacts, NetFacts,
    QdiscFacts, QueueSteering, QueuesFacts, RingsFacts, RssFacts, VfFacts,
};
pub use irq::IrqFacts;
pub use memory::{HugePages, MemoryFacts};
pub use owner::{Owner, OwnerKind, Services};
pub use pci::{PcieLink, UserFunction};
pub use tcp::TcpFacts;
pub use vm::{VmFacts, VmKind, VmNic, VmThread, XenFacts};
pub use window::WindowFacts;

use crate::note::Note;
use crate::run::Fingerprint;

/// All facts of `nicety inspect`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct HostFacts {
    /// Schema version.
    pub schema: u32,
    /// The machine as a run's `host.json` describes it, without interfaces.
    pub host: Fingerprint,
    /// CPUs.
    pub cpu: CpuFacts,
    /// Memory and huge pages.
    pub memory: MemoryFacts,
    /// Interfaces in the kernel's order, loopback left out.
    pub interfaces: Vec<NetFacts>,
    /// Interrupts that belong to an interface, by number.
    pub irqs: Vec<IrqFacts>,
    /// Frames per CPU since boot, all interfaces together.
    pub softnet: Vec<SoftnetFacts>,
    /// Counts of the window; absent when the counters were read once.
    pub window: Option<WindowFacts>,
    /// Virtual machines.
    pub vms: Vec<VmFacts>,
    /// Xen's facts, as its first domain sees them.
    pub xen: Option<XenFacts>,
    /// Settings by sysctl name.
    pub sysctl: BTreeMap<String, String>,
    /// Parameters of kernel modules by `module.parameter`.
    pub module_parameters: BTreeMap<String, String>,
    /// IOMMU groups by type (`DMA`, `DMA-FQ`, `identity`).
    pub iommu_groups: BTreeMap<String, u32>,
    /// Network functions that a program or a guest drives.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub user_functions: Vec<UserFunction>,
    /// UDP datagrams dropped because a socket's buffer was full, since boot
    /// (`RcvbufErrors` of /proc/net/snmp and `Udp6RcvbufErrors` of /proc/net/snmp6).
    pub udp_rcvbuf_errors: Option<u64>,
    /// The table of tracked connections, where the host tracks any.
    pub conntrack: Option<ConntrackFacts>,
    /// TCP connections to other hosts, where there are any and ss(8) is there.
    pub tcp: Option<TcpFacts>,
    /// The firewall's chains that have rules, read only while bridge netfilter is on; absent when
    /// they could not be read.
    pub firewall: Option<Vec<FirewallChain>>,
    /// Services that change network settings by themselves.
    pub services: Services,
    /// Settings made at boot, and by which file or program.
    pub owners: Vec<Owner>,
    /// What could not be read, and why.
    pub notes: Vec<Note>,
}

/// Frames one CPU took in, since boot or in a window: `/proc/net/softnet_stat` and
/// `/proc/softirqs`. The kernel's counters are 32 bits wide and wrap.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SoftnetFacts {
    /// CPU number.
    pub cpu: u32,
    /// Frames taken in.
    pub processed: u64,
    /// Frames dropped because the backlog was full.
    pub dropped: u64,
    /// Times the budget ran out with work left.
    pub time_squeeze: u64,
    /// Wake-ups by another CPU for receive packet steering.
    pub received_rps: u64,
    /// `NET_RX` soft interrupts.
    pub net_rx: Option<u64>,
}

impl HostFacts {
    /// An interface by name.
    pub fn interface(&self, name: &str) -> Option<&NetFacts> {
        self.interfaces.iter().find(|net| net.link.name == name)
    }

    /// Interfaces stacked on or enslaved to `name`: ports of a bridge or bond.
    pub fn ports<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a NetFacts> {
        self.interfaces
            .iter()
            .filter(move |net| net.link.master.as_deref() == Some(name))
    }

    /// Value of a sysctl that is a whole number.
    pub fn sysctl_number(&self, name: &str) -> Option<u64> {
        self.sysctl.get(name)?.trim().parse().ok()
    }

    /// Last number of a sysctl of several numbers: the maximum of `tcp_rmem`.
    pub fn sysctl_last(&self, name: &str) -> Option<u64> {
        self.sysctl
            .get(name)?
            .split_whitespace()
            .last()?
            .parse()
            .ok()
    }
}
