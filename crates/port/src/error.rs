use std::io;

use crate::lack::{Lack, Why};
use crate::xdp::unsupported::Unsupported;

/// A port that cannot be opened, or failed in use.
#[derive(Debug, thiserror::Error)]
pub enum PortError {
    /// A system call on the port failed.
    #[error("{interface}: cannot {operation}: {source}{hint}", hint = hint(source))]
    System {
        /// Interface of the port.
        interface: String,
        /// What was tried.
        operation: &'static str,
        /// The kernel's answer.
        #[source]
        source: io::Error,
    },
    /// The interface went down or away while in use.
    #[error(
        "{interface}: the interface went down or away during the trial; bring it back and run again"
    )]
    Down {
        /// Interface of the port.
        interface: String,
    },
    /// A worker thread of the engine died.
    #[error("{interface}: the engine's worker stopped unexpectedly; this is a defect of nicety")]
    Worker {
        /// Interface of the port.
        interface: String,
    },
    /// The frames for this port cannot be made.
    #[error("{interface}: {source}")]
    Packet {
        /// Interface of the port.
        interface: String,
        /// What is wrong with them.
        #[source]
        source: nicety_packet::PacketError,
    },
    /// The account of received frames could not be opened or closed.
    #[error("{interface}: {source}")]
    Account {
        /// Interface of the port.
        interface: String,
        /// What is wrong.
        #[source]
        source: nicety_account::AccountError,
    },
    /// The interface cannot carry the frame.
    #[error(
        "{interface}: MTU {mtu} is too small for frames of {frame_size} bytes; it needs {needed}"
    )]
    Mtu {
        /// Interface of the port.
        interface: String,
        /// Its MTU.
        mtu: u32,
        /// Frame size asked for, with FCS.
        frame_size: u16,
        /// MTU the frame needs.
        needed: u32,
    },
    /// The port carries an XDP program of somebody else.
    #[error("{interface}: carries the XDP program {program} (id {id}) already; {remedy}")]
    XdpBusy {
        /// Interface of the port.
        interface: String,
        /// Name of the program, as its owner gave it.
        program: String,
        /// Its number, as in `bpftool prog`.
        id: u32,
        /// What to do.
        remedy: String,
    },
    /// The receive program cannot be used on this port.
    #[error("{interface}: cannot count frames by XDP: {why}")]
    XdpReceive {
        /// Interface of the port.
        interface: String,
        /// The reason, and what to do.
        why: Why,
    },
    /// More frames than can be told apart.
    #[error(
        "{interface}: a trial of {frames} frames is too long to account, at most {max} frames per stream can be; make it shorter or slower"
    )]
    TrialTooLong {
        /// Interface of the port.
        interface: String,
        /// Frames of the longest stream.
        frames: u64,
        /// Most frames of a stream.
        max: u64,
    },
    /// The `xdp` engine cannot be had here.
    #[error("{interface}: {source}")]
    Xdp {
        /// Interface of the port.
        interface: String,
        /// What is missing.
        #[source]
        source: Unsupported,
    },
    /// The `af_xdp` engine cannot be had here.
    #[error("{interface}: cannot send by AF_XDP: {why}")]
    AfXdp {
        /// Interface of the port.
        interface: String,
        /// The reason, and what to do.
        why: Why,
    },
    /// The `pktgen` engine cannot be had here, or failed in use.
    #[error("{interface}: cannot send by pktgen: {why}")]
    Pktgen {
        /// Interface of the port.
        interface: String,
        /// The reason, and what to do.
        why: Why,
    },
    /// The driver does not take the frames a BPF program makes.
    #[error("{interface}: the driver took none of {frames} XDP frames: {why}")]
    NotApplied {
        /// Interface of the port.
        interface: String,
        /// Frames that were made for nothing.
        frames: u64,
        /// The driver's answer, and what to do.
        why: String,
    },
}

impl PortError {
    /// What is lacking, where somebody can give it.
    pub fn lacks(&self) -> Option<Lack> {
        match self {
            Self::System { source, .. } => {
                (source.kind() == io::ErrorKind::PermissionDenied).then_some(Lack::Root)
            }
            Self::XdpReceive { why, .. } | Self::AfXdp { why, .. } | Self::Pktgen { why, .. } => {
                why.lacks
            }
            Self::Xdp { source, .. } => source.lacks(),
            _ => None,
        }
    }

    pub(crate) fn packet(interface: &str, source: nicety_packet::PacketError) -> Self {
        Self::Packet {
            interface: interface.to_owned(),
            source,
        }
    }

    pub(crate) fn account(interface: &str, source: nicety_account::AccountError) -> Self {
        Self::Account {
            interface: interface.to_owned(),
            source,
        }
    }

    pub(crate) fn xdp(interface: &str, source: Unsupported) -> Self {
        Self::Xdp {
            interface: interface.to_owned(),
            source,
        }
    }

    pub(crate) fn pktgen(interface: &str, why: impl Into<Why>) -> Self {
        Self::Pktgen {
            interface: interface.to_owned(),
            why: why.into(),
        }
    }

    /// The last error of the C library as an error of `interface`.
    pub(crate) fn last(interface: &str, operation: &'static str) -> Self {
        Self::system(interface, operation, io::Error::last_os_error())
    }

    /// `source` as an error of `interface`; a vanished interface gets its own words.
    pub(crate) fn system(interface: &str, operation: &'static str, source: io::Error) -> Self {
        match source.raw_os_error() {
            Some(libc::ENETDOWN | libc::ENXIO | libc::ENODEV) => Self::Down {
                interface: interface.to_owned(),
            },
            _ => Self::System {
                interface: interface.to_owned(),
                operation,
                source,
            },
        }
    }
}

/// What to do about the errors users meet.
fn hint(source: &io::Error) -> &'static str {
    match source.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => "; packet sockets need root or CAP_NET_RAW",
        Some(libc::ENOMEM | libc::ENOBUFS) => "; not enough kernel memory for the receive ring",
        _ => "",
    }
}
