//! Why a path cannot be had.

use nicety_host::net_error::NetError;

/// Why a path cannot be built or used.
#[derive(Debug, thiserror::Error)]
pub enum PathError {
    /// The kernel refused something.
    #[error(transparent)]
    Net(#[from] NetError),
    /// A port that is not there.
    #[error("port {name} does not exist{}", hint(near))]
    NoSuchPort {
        /// The name given.
        name: String,
        /// Names that look like it, or all there are when none does.
        near: Vec<String>,
    },
    /// One interface as both ports.
    #[error("port {name} is named twice: a path needs two different ports")]
    SamePort {
        /// The name given.
        name: String,
    },
    /// A port set down.
    #[error("port {name} is down: set it up first (ip link set {name} up)")]
    Down {
        /// The port.
        name: String,
    },
    /// A port without carrier.
    #[error("port {name} has no carrier: check the cable, or that the other end is up")]
    NoCarrier {
        /// The port.
        name: String,
    },
    /// A port that cannot carry Ethernet frames of a tester.
    #[error("port {name} cannot be used: {why}")]
    Unusable {
        /// The port.
        name: String,
        /// The reason.
        why: String,
    },
    /// An MTU below what the frame size needs.
    #[error("port {name} has MTU {mtu}, frames of {frame_size} bytes need {needed}: {remedy}")]
    MtuTooSmall {
        /// The port.
        name: String,
        /// Its MTU in bytes.
        mtu: u32,
        /// Frame size in bytes with FCS.
        frame_size: u16,
        /// MTU needed in bytes.
        needed: u32,
        /// What to do.
        remedy: String,
    },
}

fn hint(near: &[String]) -> String {
    if near.is_empty() {
        return String::new();
    }
    format!("; there is {}", near.join(", "))
}
