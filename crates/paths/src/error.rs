//! Why a path cannot be had.

use nicety_guests::QemuError;
use nicety_model::{Coded, ProblemCode, Remedy};
use nicety_netdev::net_error::NetError;

/// Why a path cannot be built or used.
#[derive(Debug, thiserror::Error)]
pub enum PathError {
    /// The kernel refused something.
    #[error(transparent)]
    Net(#[from] NetError),
    /// QEMU, a kernel or the guest made of them cannot be had.
    #[error("{}", .0.what())]
    Qemu(#[from] QemuError),
    /// QEMU and a kernel cannot be had, which every path with guests meets.
    #[error("{why}")]
    NoBundle {
        /// Which kind of problem it is.
        code: ProblemCode,
        /// What is missing.
        why: String,
        /// What to do.
        remedy: Remedy,
    },
    /// This machine has not what a guest, or its switch, is asked to have.
    #[error("{why}")]
    Guest {
        /// What is missing.
        why: String,
        /// What to do.
        remedy: Remedy,
    },
    /// A path on which nobody else can be.
    #[error("{kind} has no switch on this host that neighbours could join")]
    NoNeighbours {
        /// Kind of the path.
        kind: &'static str,
    },
    /// Nobody wants the path any more.
    #[error("stopped while the path was built")]
    Stopped,
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
    /// A switch whose package is missing.
    #[error("{program} is not installed")]
    NotInstalled {
        /// The program.
        program: &'static str,
        /// Debian's package of it.
        package: &'static str,
    },
    /// A program of the path that ended, or did not do what it should.
    #[error("{program}: {what}{}", quoted(last))]
    Program {
        /// The program.
        program: &'static str,
        /// What happened.
        what: String,
        /// The end of its log.
        last: String,
    },
    /// More polling threads than CPUs.
    #[error(
        "{wanted} polling threads need {wanted} CPUs beside the tester's, there {} {have}",
        if *have == 1 { "is" } else { "are" }
    )]
    TooFewCpus {
        /// Threads asked for.
        wanted: u32,
        /// CPUs for the path.
        have: usize,
    },
    /// Frames above what the path can carry.
    #[error("{what} carry frames of up to {largest} bytes, not {frame_size}")]
    FrameTooLarge {
        /// Who carries them.
        what: &'static str,
        /// Frame size asked for, in bytes with FCS.
        frame_size: u16,
        /// Largest frame size in bytes with FCS.
        largest: u16,
    },
    /// More queues than the one there is.
    #[error("{what} has one queue, not {queues}")]
    OneQueueOnly {
        /// Who has it.
        what: &'static str,
        /// Queues asked for.
        queues: u32,
    },
    /// More queues than a driver has.
    #[error("{what} has at most {most} queues, not {queues}")]
    TooManyQueues {
        /// Who has them.
        what: &'static str,
        /// Queues asked for.
        queues: u32,
        /// Most there can be.
        most: u32,
    },
    /// A kernel without what the path is made of.
    #[error("the kernel has no {what}")]
    NoKernelSupport {
        /// What is missing.
        what: &'static str,
        /// How to get it.
        remedy: Remedy,
    },
    /// A device that the path is made with and that is not in `/dev`, as in most containers.
    #[error("there is no {device} here")]
    NoDevice {
        /// Its file.
        device: &'static str,
        /// How to get it.
        remedy: Remedy,
    },
    /// A file or program of the path that cannot be had.
    #[error("{operation} {object}: {source}")]
    Io {
        /// What was tried.
        operation: &'static str,
        /// On what.
        object: String,
        /// The system's answer.
        source: std::io::Error,
    },
}

impl Coded for PathError {
    fn code(&self) -> ProblemCode {
        match self {
            Self::Net(error) => error.code(),
            Self::Qemu(error) => error.code(),
            Self::NoBundle { code, .. } => *code,
            Self::Guest { .. } | Self::TooFewCpus { .. } => ProblemCode::MachineLacks,
            Self::NoNeighbours { .. } => ProblemCode::NoNeighbours,
            Self::Stopped => ProblemCode::Interrupted,
            Self::NoSuchPort { .. } => ProblemCode::NoSuchPort,
            Self::SamePort { .. } | Self::Unusable { .. } | Self::MtuTooSmall { .. } => {
                ProblemCode::PortUnusable
            }
            Self::Down { .. } | Self::NoCarrier { .. } => ProblemCode::PortDown,
            Self::NotInstalled { .. } => ProblemCode::NotInstalled,
            Self::FrameTooLarge { .. } => ProblemCode::FrameTooLarge,
            Self::OneQueueOnly { .. } | Self::TooManyQueues { .. } => ProblemCode::TooManyQueues,
            Self::NoKernelSupport { .. } | Self::NoDevice { .. } => ProblemCode::KernelLacks,
            Self::Program { .. } | Self::Io { .. } => ProblemCode::PathFailed,
        }
    }
}

impl PathError {
    /// A kernel without `what`, which modprobe(8) may load as `module`.
    pub(crate) fn no_module(what: &'static str, module: &str) -> Self {
        Self::NoKernelSupport {
            what,
            remedy: Remedy::here(format!(
                "modprobe {module} as root, or measure in the lab (nicety lab run)"
            )),
        }
    }

    pub(crate) fn io(
        operation: &'static str,
        object: impl std::fmt::Display,
        source: std::io::Error,
    ) -> Self {
        Self::Io {
            operation,
            object: object.to_string(),
            source,
        }
    }

    /// Whether whatever is sent over this path meets the same: the machine or the path's own
    /// parameters are the cause, not the frame size, and nothing of the moment.
    pub fn lasts(&self) -> bool {
        match self {
            Self::Net(error) => error.is_unsupported() || error.is_not_permitted(),
            Self::NoBundle { .. }
            | Self::Guest { .. }
            | Self::NotInstalled { .. }
            | Self::TooFewCpus { .. }
            | Self::OneQueueOnly { .. }
            | Self::TooManyQueues { .. }
            | Self::NoKernelSupport { .. }
            | Self::NoDevice { .. }
            | Self::NoSuchPort { .. }
            | Self::SamePort { .. }
            | Self::Unusable { .. } => true,
            _ => false,
        }
    }

    /// Whether larger frames than this path carries are the cause.
    pub fn is_frame_size(&self) -> bool {
        matches!(self, Self::FrameTooLarge { .. } | Self::MtuTooSmall { .. })
    }

    /// What to do about it, where that is known.
    pub fn remedy(&self) -> Option<Remedy> {
        Some(match self {
            Self::Qemu(error) => return error.remedy(),
            Self::NoBundle { remedy, .. }
            | Self::Guest { remedy, .. }
            | Self::NoKernelSupport { remedy, .. }
            | Self::NoDevice { remedy, .. } => remedy.clone(),
            Self::NotInstalled { package, .. } => Remedy::here(format!("apt install {package}")),
            Self::TooFewCpus { have, .. } => {
                Remedy::plan(format!("write cores = {} or less", (*have).max(1)))
            }
            Self::FrameTooLarge { largest, .. } => {
                Remedy::plan(format!("write frame_sizes of at most {largest}"))
            }
            Self::OneQueueOnly { .. } => Remedy::plan("write queues = 1 or vdev = \"af_packet\""),
            Self::TooManyQueues { most, .. } => {
                Remedy::plan(format!("write queues = {most} or less"))
            }
            Self::NoNeighbours { .. } => Remedy::plan(
                "write neighbours for a bridge, Open vSwitch, or guests on one of them",
            ),
            _ => return None,
        })
    }
}

fn quoted(log: &str) -> String {
    if log.is_empty() {
        String::new()
    } else {
        format!(": {log}")
    }
}

fn hint(near: &[String]) -> String {
    if near.is_empty() {
        return String::new();
    }
    format!("; there is {}", near.join(", "))
}
