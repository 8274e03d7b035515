//! Packets that the kernel of a host drops, by whose they are, as `nicety drops` prints them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::keywords::keywords;

keywords! {
    /// What an owner of packets is.
    DropOwnerKind {
        /// A virtual machine.
        Guest = "guest",
        /// A virtual function of a NIC, by its interface or representor on this host.
        Function = "function",
        /// A container, or another process with a network namespace of its own.
        Container = "container",
        /// A network namespace with a name.
        Namespace = "namespace",
        /// A tap, veth or macvtap of which nobody says whose it is.
        Port = "port",
        /// The host itself.
        Host = "host",
    }
}

keywords! {
    /// Where a packet was going, seen from its owner.
    Towards {
        /// Its owner sent it.
        From = "from",
        /// It was for its owner.
        To = "to",
    }
}

/// Who owns packets.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct DropOwner {
    /// What it is.
    pub kind: DropOwnerKind,
    /// Its name: `web01`, `libvirt:web01/net0`, `eth0/vf3`, `docker 3f2a9c81d0aa`, `host`.
    pub name: String,
    /// Its interface on the host; absent for the host and for namespaces.
    pub interface: Option<String>,
}

impl DropOwner {
    /// The host itself.
    pub fn host() -> Self {
        Self {
            kind: DropOwnerKind::Host,
            name: "host".to_owned(),
            interface: None,
        }
    }
}

/// What `nicety drops` prints.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DropsReport {
    /// Schema version.
    pub schema: u32,
    /// Time that was watched, in seconds.
    pub seconds: f64,
    /// Packets that were dropped, those inside merged ones too; without copies.
    pub packets: u64,
    /// Times that the kernel threw something away: fewer where packets are merged.
    pub events: u64,
    /// Owners, most packets first.
    pub owners: Vec<OwnerDrops>,
    /// Packets for many other hosts that reached this one (`OTHERHOST`): nobody misses them. Those that all went to one
    /// hardware address are among their owner's.
    pub copies: u64,
    /// Packets at places for which the table had no room.
    pub uncounted: u64,
    /// What the counts do not hold.
    pub unseen: Vec<Unseen>,
}

/// Dropped packets of an owner.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OwnerDrops {
    /// The owner.
    pub owner: DropOwner,
    /// Packets.
    pub packets: u64,
    /// Where and why, most packets first.
    pub places: Vec<PlaceDrops>,
}

/// Dropped packets of an owner at one place for one reason.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlaceDrops {
    /// Packets.
    pub packets: u64,
    /// Times that the kernel threw something away.
    pub events: u64,
    /// Interface the packets were at; absent where the kernel does not say.
    pub device: Option<String>,
    /// Interface that had received them; absent where this host made them.
    pub received_at: Option<String>,
    /// Whether the owner sent them or was to get them; absent where nothing tells.
    pub towards: Option<Towards>,
    /// Function of the kernel; absent where symbols are hidden.
    pub function: Option<String>,
    /// The kernel's reason without its prefix, as in `QDISC_DROP`; absent before Linux 5.17.
    pub reason: Option<String>,
}

/// What the counts do not hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Unseen {
    /// What NICs drop themselves, and what guests drop inside.
    Outside,
    /// XDP programs at these interfaces drop frames before they are packets of the kernel.
    XdpPrograms {
        /// Interfaces.
        interfaces: Vec<String>,
    },
    /// Reasons: the kernel is older than 5.17.
    Reasons,
    /// Functions: the kernel hides its addresses from this user.
    Functions,
    /// Owners of ports: this user may not look into the processes of others.
    Owners,
    /// Drops during which the program itself was interrupted.
    Missed {
        /// Events.
        events: u64,
    },
}
