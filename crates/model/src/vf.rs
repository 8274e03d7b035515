//! SR-IOV NICs, their virtual functions, and ports limited by tc, as `nicety port` prints them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::bitrate::BitRate;

/// What `nicety port list` prints.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct VfReport {
    /// Schema version.
    pub schema: u32,
    /// NICs that can have virtual functions.
    pub nics: Vec<PhysicalFunction>,
    /// Taps, veths and macvtaps whose owners' traffic can be limited.
    pub ports: Vec<HostPort>,
}

/// A NIC. Absent values are not known or not supported; they are never 0.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct PhysicalFunction {
    /// Interface.
    pub interface: String,
    /// PCI address.
    pub pci: Option<String>,
    /// Driver.
    pub driver: Option<String>,
    /// Speed of the link in Mbit/s; absent when it is down.
    pub link_mbit: Option<u64>,
    /// Functions the hardware has.
    pub total: Option<u32>,
    /// Functions there are.
    pub enabled: u32,
    /// Functions the driver could not tell about just now.
    pub untold: u32,
    /// Its functions hang on a switch of its own (switchdev mode).
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub switchdev: bool,
    /// What the driver can do.
    pub can: Abilities,
    /// The functions told about.
    pub functions: Vec<VirtualFunction>,
}

/// What a driver can do for its functions, from a table of drivers.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Abilities {
    /// The driver is in the table.
    pub known: bool,
    /// Maximum rates it takes: `1..1000 Mbit/s`; absent when it cannot limit.
    pub max_rate: Option<String>,
    /// Minimum rates: `refused`, `honoured`, `relative`, `ignored` or `unknown`.
    pub min_rate: String,
    /// Counters: `registers` where these can be read, else the driver's: `none`, `live`, `every 2 s` or
    /// `unknown`.
    pub counters: String,
    /// Further remark.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub note: String,
}

/// A virtual function.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct VirtualFunction {
    /// Number.
    pub vf: u32,
    /// Hardware address.
    pub mac: Option<String>,
    /// VLAN; absent when there is none.
    pub vlan: Option<u32>,
    /// Priority in that VLAN.
    pub vlan_priority: Option<u32>,
    /// Spoof check; absent when the driver has none.
    pub spoof_check: Option<bool>,
    /// Trust; absent when the driver has none.
    pub trust: Option<bool>,
    /// Link state asked for: `auto`, `enable` or `disable`.
    pub link_state: Option<String>,
    /// Highest rate in Mbit/s, 0 for none; absent when the driver cannot limit.
    pub max_mbit: Option<u32>,
    /// Lowest rate in Mbit/s, 0 for none; absent when the driver has no minimum.
    pub min_mbit: Option<u32>,
    /// PCI address.
    pub pci: Option<String>,
    /// Driver it is bound to.
    pub driver: Option<String>,
    /// Interface that represents it on the NIC's own switch, in switchdev mode.
    pub representor: Option<String>,
    /// `devlink-rate` where the NIC's switch limits it, `tc police on eth3` where a policer on its
    /// representor does; absent for the driver's own rates.
    pub limited_by: Option<String>,
    /// Whether the NIC has taken that policer: else frames that it switches itself pass. Absent without one.
    pub in_hardware: Option<bool>,
    /// Kind of another program's qdisc in the policer's place.
    pub foreign: Option<String>,
    /// Who has it: an interface, `namespace blue (eth0)`, a virtual machine, `vfio`, `uio`, `nobody`.
    pub holder: String,
    /// What `nicety police` says of it; absent where none shares it.
    pub shared: Option<Shared>,
    /// Counters, where there are any.
    pub counters: Option<PortCounters>,
}

/// An interface whose owner's traffic can be limited.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Port")]
pub struct HostPort {
    /// Interface.
    pub interface: String,
    /// `tap`, `tun`, `veth` or `macvtap`.
    pub kind: String,
    /// Who has it: a guest, a container, a namespace; absent where that is not known.
    pub holder: Option<String>,
    /// Limit of what its owner sends; absent when there is none.
    pub limit: Option<BitRate>,
    /// Kind of another program's qdisc in the limit's place.
    pub foreign: Option<String>,
    /// What `nicety police` says of it; absent where none shares it.
    pub shared: Option<Shared>,
    /// Counters.
    pub counters: Option<PortCounters>,
}

/// Report of the daemon that shares a link on a function or port.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Shared {
    /// Tenant it belongs to.
    pub tenant: String,
    /// Hard limit of the tenant, for all its ports together, in bits per second.
    pub hard_bps: f64,
    /// Soft limit of the tenant's guest; absent when it has set none.
    pub soft_bps: Option<f64>,
}

/// Counters of a function or port, named from its owner's side. What is absent is not counted.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct PortCounters {
    /// Who counts: `registers` (of the physical function; bytes with FCS), `driver`, `interface`,
    /// `representor`, `limiter`, or `policer` (all that came to it; what it dropped is in it).
    pub source: String,
    /// Width of the byte counters in bits, where they wrap; frames wrap at 32 bits then.
    pub byte_bits: Option<u32>,
    /// Frames sent.
    pub tx_packets: u64,
    /// Bytes sent.
    pub tx_bytes: u64,
    /// Frames received.
    pub rx_packets: u64,
    /// Bytes received.
    pub rx_bytes: u64,
    /// Bytes sent to other functions of the NIC, which never left it.
    pub tx_local_bytes: Option<u64>,
    /// Frames sent but dropped.
    pub tx_dropped: Option<u64>,
    /// Frames that could not be received.
    pub rx_dropped: Option<u64>,
    /// Broadcast frames received.
    pub broadcast: Option<u64>,
    /// Multicast frames received.
    pub multicast: Option<u64>,
    /// Bits sent per second, without preamble and gap, where two samples were taken.
    pub tx_bps: Option<f64>,
    /// Bits received per second.
    pub rx_bps: Option<f64>,
    /// Bits sent per second to other functions of the NIC, which are in `tx_bps` too.
    pub tx_local_bps: Option<f64>,
}

/// How many functions a NIC has, as `nicety port functions --json` prints it.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct FunctionsReport {
    /// Schema version.
    pub schema: u32,
    /// Number of the transaction that undoes it; absent when nothing had to be changed.
    pub transaction: Option<u32>,
    /// The NIC.
    pub interface: String,
    /// Virtual functions before.
    pub from: u32,
    /// Virtual functions now.
    pub to: u32,
}

/// Result of setting a limit, as `nicety port limit --json` prints it.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct LimitReport {
    /// Schema version.
    pub schema: u32,
    /// Number of the transaction that undoes it; absent when nothing had to be changed.
    pub transaction: Option<u32>,
    /// Interface or function: `tap0`, `eth0/vf3`.
    pub port: String,
    /// Limit before, as the kernel told it.
    pub from: String,
    /// Limit now, read back.
    pub to: String,
    /// What was rounded.
    pub rounded: Option<String>,
    /// `nicety police` shares a link among ports of which this is one, and sets its limit again.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub policed: bool,
    /// Limit that another program has set in its place a moment later, as `nicety police` does.
    pub replaced: Option<String>,
    /// `holds`, `not-enforced`, `untested` (too little was sent) or `not-counted`.
    pub enforcement: String,
    /// Rate seen afterwards in bits per second, without preamble and gap.
    pub seen_bps: Option<f64>,
}
