use std::error::Error;
use std::fmt;
use std::io;

use crate::lack::{Lack, Why};
use crate::xdp::unsupported::Unsupported;
use nicety_model::{Coded, ProblemCode};

/// A port that cannot be opened, or failed in use.
#[derive(Debug)]
pub struct PortError {
    /// Interface of the port.
    pub interface: String,
    /// What is wrong with it.
    pub fault: PortFault,
}

/// What is wrong with a port.
#[derive(Debug, thiserror::Error)]
pub enum PortFault {
    /// A system call on the port failed.
    #[error("cannot {operation}: {source}{hint}", hint = hint(source))]
    System {
        /// What was tried.
        operation: &'static str,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The interface went down or away while in use.
    #[error("the interface went down or away during the trial; bring it back and run again")]
    Down,
    /// A worker thread of the engine died.
    #[error("the engine's worker stopped unexpectedly; this is a defect of nicety")]
    Worker,
    /// The frames for this port cannot be made.
    #[error("{0}")]
    Packet(#[from] nicety_packet::PacketError),
    /// The account of received frames could not be opened or closed.
    #[error("{0}")]
    Account(#[from] nicety_account::AccountError),
    /// The interface cannot carry the frame.
    #[error("MTU {mtu} is too small for frames of {frame_size} bytes; it needs {needed}")]
    Mtu {
        /// Its MTU.
        mtu: u32,
        /// Frame size asked for, with FCS.
        frame_size: u16,
        /// MTU the frame needs.
        needed: u32,
    },
    /// The port carries an XDP program of somebody else.
    #[error("carries the XDP program {program} (id {id}) already; {remedy}")]
    XdpBusy {
        /// Name of the program, as its owner gave it.
        program: String,
        /// Its number, as in `bpftool prog`.
        id: u32,
        /// What to do.
        remedy: String,
    },
    /// The receive program cannot be used on this port.
    #[error("cannot count frames by XDP: {0}")]
    XdpReceive(Why),
    /// More frames than can be told apart.
    #[error(
        "a trial of {frames} frames is too long to account, at most {max} frames per stream can be; make it shorter or slower"
    )]
    TrialTooLong {
        /// Frames of the longest stream.
        frames: u64,
        /// Most frames of a stream.
        max: u64,
    },
    /// The `xdp` engine cannot be had here.
    #[error("{0}")]
    Xdp(#[from] Unsupported),
    /// An engine that sends by something of the kernel's cannot be had here, or failed in use.
    #[error("cannot send by {by}: {why}")]
    Send {
        /// What it sends by.
        by: &'static str,
        /// What is in its way.
        why: Why,
    },
    /// Frames that this engine does not send.
    #[error(
        "engine af_packet alone sends mixes of sizes, IPv6, TCP, DSCP, VLAN tags that the plan asks for, and flows by popularity"
    )]
    NotPlain,
    /// The driver does not take the frames a BPF program makes.
    #[error("the driver took none of {frames} XDP frames: {why}")]
    NotApplied {
        /// Frames that were made for nothing.
        frames: u64,
        /// The driver's answer, and what to do.
        why: String,
    },
}

impl Coded for PortError {
    fn code(&self) -> ProblemCode {
        match (self.lacks(), &self.fault) {
            (Some(Lack::Build), _) => ProblemCode::BuiltWithoutBpf,
            (Some(Lack::Root), _) => ProblemCode::NoPrivilege,
            (Some(Lack::Module(_) | Lack::Linux(_)), _) => ProblemCode::KernelLacks,
            (None, PortFault::Down) => ProblemCode::PortDown,
            (None, PortFault::Mtu { .. }) => ProblemCode::FrameTooLarge,
            _ => ProblemCode::EngineUnavailable,
        }
    }
}

impl fmt::Display for PortError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.interface, self.fault)
    }
}

impl Error for PortError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.fault.source()
    }
}

impl PortError {
    /// What is lacking, where somebody can give it.
    pub fn lacks(&self) -> Option<Lack> {
        match &self.fault {
            PortFault::System { source, .. } => {
                (source.kind() == io::ErrorKind::PermissionDenied).then_some(Lack::Root)
            }
            PortFault::XdpReceive(why) | PortFault::Send { why, .. } => why.lacks,
            PortFault::Xdp(source) => source.lacks(),
            _ => None,
        }
    }

    pub(crate) fn new(interface: &str, fault: impl Into<PortFault>) -> Self {
        Self {
            interface: interface.to_owned(),
            fault: fault.into(),
        }
    }

    pub(crate) fn send(interface: &str, by: &'static str, why: impl Into<Why>) -> Self {
        let why = why.into();
        Self::new(interface, PortFault::Send { by, why })
    }

    pub(crate) fn xdp_receive(interface: &str, why: impl Into<Why>) -> Self {
        Self::new(interface, PortFault::XdpReceive(why.into()))
    }

    /// `source` as an error of `interface`; a vanished interface gets its own words.
    pub(crate) fn system(
        interface: &str,
        operation: &'static str,
        source: impl Into<io::Error>,
    ) -> Self {
        let source = source.into();
        let fault = match source.raw_os_error() {
            Some(libc::ENETDOWN | libc::ENXIO | libc::ENODEV) => PortFault::Down,
            _ => PortFault::System { operation, source },
        };
        Self::new(interface, fault)
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
