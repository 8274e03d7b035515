use std::io;

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
}

impl PortError {
    pub(crate) fn account(interface: &str, source: nicety_account::AccountError) -> Self {
        Self::Account {
            interface: interface.to_owned(),
            source,
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
