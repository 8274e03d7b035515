//! Test frames: headers, checksums, the stamp, flow ranges, templates and their recognition.
//!
//! A [`Template`] holds a frame ready to send; per frame only the stamp, the flow's addresses
//! and ports and two checksums are written. [`Expect::classify`] is its counterpart at the
//! receiver. Nothing here allocates per frame, and nothing here owns a socket or a clock: time
//! is an argument, in nanoseconds of a monotonic clock that sender and receiver share.
//!
//! Layout and limits: `docs/methodology/accounting.md`.

pub mod checksum;
pub mod connection;
pub mod ethernet;
pub mod flow;
pub mod ipv4;
pub mod ipv6;
pub mod mac;
pub mod mark;
pub mod mixed;
pub mod parse;
pub mod pattern;
pub mod picker;
pub mod ptp;
pub mod splitmix;
pub mod stamp;
pub mod tcp;
pub mod template;
pub mod udp;
pub mod vlan;

use nicety_model::FrameSize;

pub use connection::{Order, Tuples};
pub use flow::{Flow, FlowRange, Side};
pub use mac::MacAddr;
pub use mark::RunMark;
pub use mixed::{MixedExpect, MixedSpec, MixedTemplate};
pub use parse::{CheckCorruption, Expect, Seen};
pub use stamp::Stamp;
pub use template::{Template, TemplateSpec};
pub use vlan::VlanTag;

/// Why a frame could not be described or written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PacketError {
    /// The number of flows is outside 1 to 1,048,576.
    #[error("{flows} flows: the number of flows must be 1 to {max}", max = FlowRange::MAX)]
    Flows {
        /// What was asked for.
        flows: u32,
    },
    /// The number of stations at a port is outside 1 to 256.
    #[error("{stations} stations: a port has 1 to {max} of them", max = FlowRange::STATIONS_MAX)]
    Stations {
        /// What was asked for.
        stations: u32,
    },
    /// More connections than there are port numbers for.
    #[error("{count} connections of {hosts} hosts: there are at most {most}; use more hosts, up to {hosts_max}", hosts_max = Tuples::HOSTS_MAX)]
    Connections {
        /// What was asked for.
        count: u64,
        /// Hosts that open them.
        hosts: u32,
        /// Most that these hosts can open.
        most: u64,
    },
    /// A VLAN identifier that no frame can carry.
    #[error("VLAN {id}: an identifier must be 0 (priority only) to 4094")]
    VlanId {
        /// What was asked for.
        id: u16,
    },
    /// A priority code point above 7.
    #[error("VLAN priority {priority}: must be 0 to 7")]
    VlanPriority {
        /// What was asked for.
        priority: u8,
    },
    /// Not six pairs of hexadecimal digits.
    #[error("MAC address {text:?}: write six pairs of hexadecimal digits, like 02:00:00:00:00:01")]
    MacText {
        /// What was given.
        text: String,
    },
    /// A frame cannot come from a group.
    #[error("source MAC address {mac} is a group address: give the sender's own address")]
    MacGroup {
        /// What was given.
        mac: MacAddr,
    },
    /// Headers, tags and stamp need more.
    #[error(
        "a frame of {size} bytes is too small for its headers and the stamp: use {needed} or more"
    )]
    FrameTooSmall {
        /// The frame size, with FCS.
        size: FrameSize,
        /// Bytes needed, with FCS.
        needed: u16,
    },
    /// The buffer cannot hold the frame.
    #[error("a buffer of {have} bytes cannot hold a frame of {need}: make it larger")]
    BufferTooShort {
        /// Bytes needed, without FCS.
        need: usize,
        /// Bytes given.
        have: usize,
    },
}
