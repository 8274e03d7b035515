//! Settings that can be changed while the host runs, and changes of them.

use derive_more::Display;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Words of a port whose root somebody has made so that nothing waits there, as libvirt does with its taps.
pub const NOQUEUE: &str = "noqueue";
/// End of the value of a [`Knob::PortRate`] that counts frames as long as they are on the wire.
pub const WIRE: &str = " wire";
/// Bytes that such a limit adds to every frame: FCS, preamble and gap (IEEE 802.3).
pub const WIRE_BYTES: u16 = 24;
/// Bytes on the wire of the longest ordinary frame: what counts as one packet where packets are limited. One that is
/// segmented later counts as its segments.
pub const PACKET_BYTES: u16 = 1538;
/// End of a value that limits packets too, behind their number in a second: `500mbit wire 10000pps`.
pub const PACKETS: &str = "pps";

/// One setting. Its value is text, as the kernel prints it and takes it.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Display, Serialize, Deserialize, JsonSchema,
)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Knob {
    /// A sysctl by name.
    #[display("{name}")]
    Sysctl {
        /// `net.core.rmem_max`.
        name: String,
    },
    /// A file below /sys.
    #[display("/sys/{path}")]
    SysFile {
        /// Path without `/sys/`: `class/net/eth0/queues/rx-0/rps_cpus`.
        path: String,
    },
    /// CPUs an interrupt may go to, as a CPU list.
    #[display("IRQ {irq} CPUs")]
    IrqAffinity {
        /// Number.
        irq: u32,
    },
    /// MTU in bytes.
    #[display("{interface} MTU")]
    Mtu {
        /// Interface.
        interface: String,
    },
    /// Length of a descriptor ring.
    #[display("{interface} {side} ring")]
    Ring {
        /// Interface.
        interface: String,
        /// Which.
        side: Side,
    },
    /// Number of channels.
    #[display("{interface} {side} channels")]
    Channels {
        /// Interface.
        interface: String,
        /// Which.
        side: Side,
    },
    /// A value of interrupt coalescing.
    #[display("{interface} {parameter}")]
    Coalesce {
        /// Interface.
        interface: String,
        /// Which.
        parameter: CoalesceParameter,
    },
    /// A feature switch: `on` or `off`.
    #[display("{interface} {feature}")]
    Feature {
        /// Interface.
        interface: String,
        /// The kernel's name: `rx-lro`.
        feature: String,
    },
    /// Rates of a virtual function in Mbit/s, 0 for none: `max 500 min 0`.
    #[display("{interface}/vf{vf} rate")]
    VfRate {
        /// Interface of the physical function.
        interface: String,
        /// Number of the virtual function.
        vf: u32,
    },
    /// How many virtual functions a NIC has (`sriov_numvfs`): `4`.
    #[display("{interface} virtual functions")]
    VfCount {
        /// Interface of the physical function.
        interface: String,
    },
    /// Limit of what the owner of a tap, veth or macvtap sends: `none`, `500mbit`, or
    /// `500mbit wire` where frames count as long as they are on the wire.
    #[display("{interface} rate")]
    PortRate {
        /// Interface.
        interface: String,
    },
    /// Limit of what the owner of a tap or veth receives, in the same words.
    #[display("{interface} receive rate")]
    ReceiveRate {
        /// Interface.
        interface: String,
    },
    /// CPUs a thread may run on, as a CPU list.
    #[display("thread {tid} ({name}) CPUs")]
    ThreadCpus {
        /// Thread id.
        tid: u32,
        /// Its name; another name means another thread.
        name: String,
    },
    /// A file of settings that nicety keeps for the next boot: its text, empty when it is not
    /// there.
    #[display("{path}")]
    File {
        /// Absolute path.
        path: String,
    },
}

crate::keywords::keywords! {
    /// What a ring or channel serves.
    Side {
        /// Receive.
        Rx = "rx",
        /// Transmit.
        Tx = "tx",
        /// Both; of channels only.
        Combined = "combined",
    }
}

crate::keywords::keywords! {
    /// A value of interrupt coalescing.
    CoalesceParameter {
        /// Wait after a received frame, in µs.
        RxUsecs = "rx-usecs",
        /// Wait after a sent frame, in µs.
        TxUsecs = "tx-usecs",
        /// The driver adapts the receive values: `on` or `off`.
        AdaptiveRx = "adaptive-rx",
    }
}

/// A setting and what it becomes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// The setting.
    pub knob: Knob,
    /// Value it has.
    pub from: String,
    /// Value it gets.
    pub to: String,
}

impl Knob {
    /// A sysctl.
    pub fn sysctl(name: &str) -> Self {
        Self::Sysctl {
            name: name.to_owned(),
        }
    }

    /// A file below /sys.
    pub fn sys_file(path: impl Into<String>) -> Self {
        Self::SysFile { path: path.into() }
    }

    /// A value of it in few words: of a file, its length.
    pub fn brief(&self, value: &str) -> String {
        match self {
            Self::File { .. } if value.is_empty() => "no file".to_owned(),
            Self::File { .. } => match value.lines().count() {
                1 => "1 line".to_owned(),
                lines => format!("{lines} lines"),
            },
            _ => value.to_owned(),
        }
    }

    /// Whether it is the same after the next boot, and in every network namespace.
    pub fn outlives_boot(&self) -> bool {
        matches!(self, Self::File { .. })
    }

    /// Changes of lower rank come first: each step may undo a later one. New channels bring new
    /// rings, interrupts and steering; a new ring resets the device, and so do virtual functions.
    pub fn rank(&self) -> u8 {
        match self {
            Self::Channels { .. } | Self::VfCount { .. } => 0,
            Self::Ring { .. } => 1,
            Self::Mtu { .. } => 2,
            Self::Feature { .. } => 3,
            Self::IrqAffinity { .. } => 4,
            Self::ThreadCpus { .. } => 5,
            Self::SysFile { .. } => 6,
            Self::Coalesce { .. } => 7,
            Self::Sysctl { .. } => 8,
            Self::VfRate { .. } | Self::PortRate { .. } | Self::ReceiveRate { .. } => 9,
            Self::File { .. } => 10,
        }
    }
}
