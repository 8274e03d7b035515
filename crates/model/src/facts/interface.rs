//! Interfaces: hardware, bridges, VLANs, taps, and how they are stacked.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::PcieLink;

/// Class of an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InterfaceClass {
    /// A function of a device: a NIC's port, or a virtual machine's paravirtual one.
    Hardware,
    /// A radio: what holds for NICs does not for it.
    Wireless,
    /// Kernel bridge.
    Bridge,
    /// VLAN on another interface.
    Vlan,
    /// Bond or team.
    Bond,
    /// Tap: Ethernet frames to a program.
    Tap,
    /// Tun: IP packets to a program.
    Tun,
    /// Tap on top of another interface.
    Macvtap,
    /// Interface with a MAC of its own on top of another one.
    Macvlan,
    /// One end of a cable to another namespace.
    Veth,
    /// Open vSwitch datapath or internal port.
    OpenVswitch,
    /// Anything else made of software.
    #[default]
    Virtual,
}

impl InterfaceClass {
    /// Class of an interface of this kind; `device` when sysfs shows a device behind it, `tap` when
    /// a tun carries Ethernet frames.
    pub fn of(kind: &str, device: bool, tap: bool) -> Self {
        match kind {
            "bridge" => Self::Bridge,
            "vlan" => Self::Vlan,
            "bond" | "team" => Self::Bond,
            "macvtap" | "ipvtap" => Self::Macvtap,
            "macvlan" | "ipvlan" => Self::Macvlan,
            "veth" => Self::Veth,
            "openvswitch" => Self::OpenVswitch,
            "tun" if tap => Self::Tap,
            "tun" => Self::Tun,
            _ if device => Self::Hardware,
            _ => Self::Virtual,
        }
    }
}

/// Facts from netlink and ethtool about one interface, without those from files.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct LinkFacts {
    /// Name.
    pub name: String,
    /// Number in its namespace.
    pub index: u32,
    /// Kind as the kernel names it; empty for hardware.
    pub kind: String,
    /// Set up by the administrator.
    pub up: bool,
    /// Has carrier.
    pub carrier: bool,
    /// MTU in bytes.
    pub mtu: u32,
    /// Largest MTU the driver takes, in bytes.
    pub mtu_max: Option<u32>,
    /// Bridge, bond or switch it belongs to.
    pub master: Option<String>,
    /// Interface it is stacked on, in the same namespace.
    pub lower: Option<String>,
    /// Other end of a veth, where that is in the same namespace (`iflink`).
    pub peer: Option<String>,
    /// Number of the VLAN.
    pub vlan: Option<u16>,
    /// Mode of a macvlan or macvtap.
    pub mode: Option<String>,
    /// Driver.
    pub driver: Option<String>,
    /// Driver version.
    pub driver_version: Option<String>,
    /// Firmware version.
    pub firmware: Option<String>,
    /// Bus address of the device.
    pub bus: Option<String>,
    /// Link speed in Mbit/s; of hardware only, a software link does not keep to what it states.
    pub speed_mbps: Option<u32>,
    /// Fastest mode that driver and PHY support, in Mbit/s (`supported` of ethtool's link settings).
    pub speed_max_mbps: Option<u32>,
    /// Queues.
    pub queues: QueuesFacts,
    /// Descriptor rings.
    pub rings: Option<RingsFacts>,
    /// Interrupt coalescing.
    pub coalescing: Option<Coalescing>,
    /// Offloads and other feature switches by the kernel's name.
    pub features: BTreeMap<String, FeatureFacts>,
    /// Receive side scaling.
    pub rss: Option<RssFacts>,
    /// Queueing disciplines.
    pub qdiscs: Vec<QdiscFacts>,
    /// Bridge settings.
    pub bridge: Option<BridgeFacts>,
    /// The kernel's counters that are not 0, since the interface was made.
    pub counters: BTreeMap<String, u64>,
    /// The driver's own counters that are not 0: of drops, and those that nicety knows.
    pub driver_drops: BTreeMap<String, u64>,
    /// Frames received by each queue, where the driver counts them and any came.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub queue_frames: BTreeMap<u32, u64>,
}

/// Facts about one interface.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct NetFacts {
    /// Its class.
    pub class: InterfaceClass,
    /// Facts from netlink and ethtool.
    #[serde(flatten)]
    pub link: LinkFacts,
    /// NUMA node of the device.
    pub numa_node: Option<u32>,
    /// SR-IOV.
    pub vfs: Option<VfFacts>,
    /// It is itself a virtual function.
    pub is_vf: bool,
    /// `full` or `half`, as sysfs has it while there is carrier.
    pub duplex: Option<String>,
    /// Its link to the host.
    pub pcie: Option<PcieLink>,
    /// Interrupts, as indices by number into the host's list.
    pub irqs: Vec<u32>,
    /// Steering of each receive queue.
    pub rx_steering: Vec<QueueSteering>,
    /// Steering of each transmit queue.
    pub tx_steering: Vec<QueueSteering>,
    /// Receives in kernel threads of its own.
    pub napi_threaded: Option<bool>,
    /// Each frame of a tap carries a header with what is left to do for it (`IFF_VNET_HDR` of
    /// include/uapi/linux/if_tun.h). Without one its guest has no checksum and no segmentation offload.
    pub vnet_hdr: Option<bool>,
    /// How a bond spreads frames.
    pub bond: Option<BondFacts>,
}

/// Queues. Absent where the driver does not say.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct QueuesFacts {
    /// Receive queues of the interface.
    pub rx: u32,
    /// Transmit queues of the interface.
    pub tx: u32,
    /// Combined channels in use.
    pub combined: Option<u32>,
    /// Most combined channels.
    pub combined_max: Option<u32>,
    /// Receive-only channels in use.
    pub rx_only: Option<u32>,
    /// Most receive-only channels.
    pub rx_only_max: Option<u32>,
    /// Transmit-only channels in use.
    pub tx_only: Option<u32>,
    /// Most transmit-only channels.
    pub tx_only_max: Option<u32>,
}

/// Descriptor rings, in descriptors.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RingsFacts {
    /// Receive ring.
    pub rx: u32,
    /// Longest receive ring.
    pub rx_max: u32,
    /// Transmit ring.
    pub tx: u32,
    /// Longest transmit ring.
    pub tx_max: u32,
}

/// Interrupt coalescing.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Coalescing {
    /// Wait this long after a received frame, in µs.
    pub rx_usecs: u32,
    /// Or until so many frames came.
    pub rx_frames: u32,
    /// Wait this long after a sent frame, in µs.
    pub tx_usecs: u32,
    /// Or until so many frames went.
    pub tx_frames: u32,
    /// The driver adapts the receive values by itself.
    pub adaptive_rx: bool,
    /// The driver adapts the transmit values by itself.
    pub adaptive_tx: bool,
}

/// A feature switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct FeatureFacts {
    /// In effect.
    pub on: bool,
    /// Can be changed.
    pub changeable: bool,
}

/// Receive side scaling.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RssFacts {
    /// Entries of the indirection table.
    pub entries: u32,
    /// Entries by receive queue.
    pub entries_by_queue: BTreeMap<u32, u32>,
    /// Whether the hash of UDP over IPv4 takes the ports in.
    pub udp4_ports: Option<bool>,
}

/// A queueing discipline.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct QdiscFacts {
    /// Kind: `mq`, `fq_codel`, `htb`.
    pub kind: String,
    /// At the root; otherwise below another one, or for what comes in.
    pub root: bool,
    /// Frames dropped.
    pub drops: Option<u64>,
    /// Its number as tc(8) writes it, of one that limits: `1:`, and `6e63:` of those that nicety makes.
    pub handle: Option<String>,
    /// Rate that it lets pass, in bit/s: of `tbf` and `cake`, of each flow of `fq` (`maxrate`), of the lowest policer of
    /// `ingress` and `clsact`.
    pub rate_bps: Option<u64>,
    /// What may wait in it: frames in `pfifo`, bytes in `bfifo`.
    pub limit: Option<u32>,
    /// Whether a filter of `ingress` or `clsact` polices.
    pub police: Option<bool>,
}

/// How a bond spreads frames over its links (Linux Documentation/networking/bonding.rst).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct BondFacts {
    /// Mode: `802.3ad`, `balance-xor`, `active-backup`.
    pub mode: String,
    /// What a frame's link is chosen by: `layer2`, `layer3+4`.
    pub xmit_hash_policy: Option<String>,
    /// Links that LACP has agreed on (`ad_num_ports`).
    pub ad_num_ports: Option<u32>,
}

/// Settings of a bridge.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct BridgeFacts {
    /// Passes frames to iptables.
    pub nf_call_iptables: Option<bool>,
    /// Passes frames to ip6tables.
    pub nf_call_ip6tables: Option<bool>,
    /// Passes frames to arptables.
    pub nf_call_arptables: Option<bool>,
    /// Filters by VLAN.
    pub vlan_filtering: Option<bool>,
    /// Snoops multicast.
    pub multicast_snooping: Option<bool>,
}

/// SR-IOV of a physical function.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct VfFacts {
    /// Virtual functions there are.
    pub count: u32,
    /// Most there can be.
    pub max: u32,
}

/// Steering of one queue.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct QueueSteering {
    /// Queue number.
    pub queue: u32,
    /// CPUs its frames are given to (RPS) or that use it (XPS); empty means no steering.
    pub cpus: Vec<u32>,
    /// Entries of its flow table (RFS), receive queues only.
    pub flow_entries: Option<u32>,
}

impl QueuesFacts {
    /// Queues that receive, one at least.
    pub fn receiving(&self) -> u32 {
        self.combined.unwrap_or(self.rx).max(1)
    }
}

/// Drivers of NICs that a hypervisor or a cloud makes.
const PARAVIRTUAL: [&str; 8] = [
    "ena",
    "gve",
    "hv_netvsc",
    "mana",
    "vif",
    "virtio_net",
    "vmxnet3",
    "xen-netfront",
];

impl NetFacts {
    /// Name.
    pub fn name(&self) -> &str {
        &self.link.name
    }

    /// Whether a feature is on; `None` when the driver does not know it.
    pub fn feature(&self, name: &str) -> Option<FeatureFacts> {
        self.link.features.get(name).copied()
    }

    /// A physical port that is up: what rules about NICs look at.
    pub fn is_active_nic(&self) -> bool {
        self.class == InterfaceClass::Hardware && self.link.up
    }

    /// Made by a hypervisor or a cloud: what it says of a wire or a slot is made up.
    pub fn is_paravirtual(&self) -> bool {
        let driver = self.link.driver.as_deref();
        driver.is_some_and(|driver| PARAVIRTUAL.contains(&driver))
    }

    /// A counter of the kernel, 0 when it never counted.
    pub fn counter(&self, name: &str) -> u64 {
        self.link.counters.get(name).copied().unwrap_or(0)
    }
}
