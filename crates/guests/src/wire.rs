//! What host and guest say to each other: one JSON object per line over a virtio-serial port.

use std::collections::BTreeMap;
use std::net::IpAddr;

use nicety_model::Note;
use nicety_model::facts::QdiscFacts;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Path of [`GuestConfig`] in the initramfs.
pub const CONFIG: &str = "/nicety/vm.json";
/// Name of the guest's port.
pub const PORT_NAME: &str = "org.nicety.vm";

/// What the guest is told in its initramfs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuestConfig {
    /// Hardware addresses of NIC 0 and NIC 1.
    pub macs: [[u8; 6]; 2],
    /// Stations beyond the guest for which NIC 0 and NIC 1 have to take frames, where they are
    /// hardware that takes none but its own.
    pub stations: Option<[[u8; 6]; 2]>,
    /// Whether other guests are behind the same port. The addresses of NIC 0 and NIC 1 are then
    /// those of stations at the other side, to which the guest forwards, and frames for groups would
    /// go round through the others for ever.
    #[serde(default)]
    pub shared: bool,
    /// MTU of both in bytes.
    pub mtu: u32,
    /// Queues of either, where the driver can have more than one.
    pub queues: u32,
    /// Descriptors per ring, where the driver can change them.
    pub ring: Option<u32>,
    /// Whether the guest computes checksums and cuts segments itself: what carries its frames on the
    /// host does neither.
    #[serde(default)]
    pub whole_frames: bool,
    /// Sockets end in the guest, which does not forward then.
    #[serde(default)]
    pub serve: Option<Serve>,
}

/// What a guest needs to be an endpoint of socket workloads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Serve {
    /// Addresses of NIC 0 with the lengths of their prefixes; a server listens on each.
    pub addresses: Vec<(IpAddr, u8)>,
    /// Port of the control connection.
    pub port: u16,
    /// What clients have to show.
    pub token: String,
}

/// What the guest says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FromGuest {
    /// First, when it forwards.
    Hello(Hello),
    /// The answer to [`Request`].
    Report(Report),
}

/// The guest forwards.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hello {
    /// Kernel release.
    pub release: String,
    /// CPUs online.
    pub cpus: u32,
    /// NIC 0 and NIC 1.
    pub nics: Vec<NicFacts>,
    /// What it could not do, one sentence each.
    pub notes: Vec<Note>,
}

/// One NIC as the guest sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NicFacts {
    /// Name there.
    pub name: String,
    /// Driver.
    pub driver: String,
    /// Queues in use.
    pub queues: u32,
    /// Descriptors of a receive and a transmit ring, where the driver tells.
    pub rings: Option<(u32, u32)>,
    /// Features that device and driver agreed on, a bit for each; of a virtio device.
    #[serde(default)]
    pub features: Option<u64>,
    /// What the IOMMU before the device does, where there is one.
    #[serde(default)]
    pub iommu: Option<String>,
}

/// Asks for a [`Report`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// Comes back in the report.
    pub number: u64,
    /// Work to be done before it, in words of those who gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<Value>,
}

/// The guest's counters.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Report {
    /// Number of the [`Request`].
    pub number: u64,
    /// The lines of `/proc/stat` that begin with `cpu`.
    pub stat: String,
    /// Counters by interface and name.
    pub nics: BTreeMap<String, BTreeMap<String, u64>>,
    /// Queueing disciplines by interface: what they drop is in no counter of the interface.
    pub qdiscs: BTreeMap<String, Vec<QdiscFacts>>,
    /// What came of the work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub done: Option<Value>,
}
