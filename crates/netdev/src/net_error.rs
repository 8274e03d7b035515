//! Errors of namespaces, interfaces and what hangs on them.

use std::fmt::Display;
use std::io;
use std::time::Duration;

use nicety_model::interface_name::BadInterfaceName;
use nicety_model::{Coded, ProblemCode};
use rustix::io::Errno;

/// Why the kernel (or this program, before asking it) refused something about an interface.
///
/// Every variant says what was tried (`operation`) on what (`object`, an interface with its
/// namespace, or a file).
#[derive(Debug, thiserror::Error)]
pub enum NetError {
    /// EPERM or EACCES.
    #[error(
        "{operation} {object}: not permitted: this needs root, or a user namespace that owns the network namespace"
    )]
    NotPermitted {
        /// What was tried.
        operation: &'static str,
        /// On what.
        object: String,
        /// The kernel's answer.
        #[source]
        source: io::Error,
    },
    /// What changes interfaces needs a capability that this process has not.
    #[error("{what} requires CAP_NET_ADMIN in this network namespace; {remedy}")]
    NoNetAdmin {
        /// What was to begin: `police run`.
        what: String,
        /// How to get the right.
        remedy: &'static str,
    },
    /// EROFS: /proc/sys or /sys as containers have them.
    #[error("{operation} {object}: read-only, as in a container; run nicety on the host")]
    ReadOnly {
        /// What was tried.
        operation: &'static str,
        /// On what.
        object: String,
    },
    /// EEXIST.
    #[error("{operation} {object}: the name is taken")]
    Exists {
        /// What was tried.
        operation: &'static str,
        /// On what.
        object: String,
        /// The kernel's answer.
        #[source]
        source: io::Error,
    },
    /// ENODEV, ENXIO, or ENOENT.
    #[error("{operation} {object}: no such interface or file")]
    NotFound {
        /// What was tried.
        operation: &'static str,
        /// On what.
        object: String,
        /// The kernel's answer.
        #[source]
        source: io::Error,
    },
    /// EOPNOTSUPP or ENOSYS: the kernel or the driver cannot do it.
    #[error("{operation} {object}: not supported by this kernel or driver")]
    Unsupported {
        /// What was tried.
        operation: &'static str,
        /// On what.
        object: String,
        /// The kernel's answer.
        #[source]
        source: io::Error,
    },
    /// A name the kernel would refuse or cut.
    #[error("interface name {name:?} {why}")]
    BadName {
        /// The name.
        name: String,
        /// What is wrong with it.
        why: BadInterfaceName,
    },
    /// The state waited for did not come.
    #[error("{operation} {object}: not within {} ms", after.as_millis())]
    TimedOut {
        /// What was waited for.
        operation: &'static str,
        /// Of what.
        object: String,
        /// The time given by the caller.
        after: Duration,
    },
    /// The kernel accepted a value and then reports another one.
    #[error("{operation} {object}: asked for {wanted}, the kernel says {actual}")]
    NotApplied {
        /// What was tried.
        operation: &'static str,
        /// On what.
        object: String,
        /// Value asked for.
        wanted: String,
        /// Value read back.
        actual: String,
    },
    /// An answer that could not be understood.
    #[error("{operation} {object}: unreadable answer: {detail}")]
    BadReply {
        /// What was asked.
        operation: &'static str,
        /// About what.
        object: String,
        /// What is wrong with the answer.
        detail: String,
    },
    /// A virtual machine on the way does not answer.
    #[error("{object}: {why}")]
    Silent {
        /// Which.
        object: String,
        /// What is known about it.
        why: String,
    },
    /// Any other error of the kernel.
    #[error("{operation} {object}: {source}")]
    Kernel {
        /// What was tried.
        operation: &'static str,
        /// On what.
        object: String,
        /// The kernel's answer.
        #[source]
        source: io::Error,
    },
}

impl Coded for NetError {
    fn code(&self) -> ProblemCode {
        match self {
            Self::NotPermitted { .. } | Self::NoNetAdmin { .. } | Self::ReadOnly { .. } => {
                ProblemCode::NoPrivilege
            }
            Self::Unsupported { .. } => ProblemCode::KernelLacks,
            Self::TimedOut { .. } | Self::Silent { .. } => ProblemCode::KernelSilent,
            _ => ProblemCode::KernelRefused,
        }
    }
}

impl NetError {
    /// Sorts an error of the kernel into the variants.
    pub fn new(
        operation: &'static str,
        object: impl Display,
        source: impl Into<io::Error>,
    ) -> Self {
        let (object, source) = (object.to_string(), source.into());
        match source.raw_os_error().map(Errno::from_raw_os_error) {
            Some(Errno::PERM | Errno::ACCESS) => Self::NotPermitted {
                operation,
                object,
                source,
            },
            Some(Errno::ROFS) => Self::ReadOnly { operation, object },
            Some(Errno::EXIST) => Self::Exists {
                operation,
                object,
                source,
            },
            Some(Errno::NODEV | Errno::NXIO | Errno::NOENT) => Self::NotFound {
                operation,
                object,
                source,
            },
            Some(Errno::OPNOTSUPP | Errno::NOSYS) => Self::Unsupported {
                operation,
                object,
                source,
            },
            _ => Self::Kernel {
                operation,
                object,
                source,
            },
        }
    }

    /// The same for an attribute that is only there where the kernel can do what it is for.
    pub(crate) fn unsupported_where_missing(self) -> Self {
        match self {
            Self::NotFound {
                operation,
                object,
                source,
            } => Self::Unsupported {
                operation,
                object,
                source,
            },
            other => other,
        }
    }

    /// An answer that could not be understood.
    pub(crate) fn bad_reply(
        operation: &'static str,
        object: impl Display,
        detail: impl Display,
    ) -> Self {
        Self::BadReply {
            operation,
            object: object.to_string(),
            detail: detail.to_string(),
        }
    }

    /// Whether the kernel refused for want of privilege.
    pub fn is_not_permitted(&self) -> bool {
        matches!(self, Self::NotPermitted { .. } | Self::NoNetAdmin { .. })
    }

    /// Whether the kernel had no room for its answer.
    pub(crate) fn is_too_long(&self) -> bool {
        match self {
            Self::Kernel { source, .. } => source.raw_os_error() == Some(libc::EMSGSIZE),
            _ => false,
        }
    }

    /// Whether the interface or file does not exist.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::NotFound { .. })
    }

    /// Whether the kernel or driver lacks the feature.
    pub fn is_unsupported(&self) -> bool {
        matches!(self, Self::Unsupported { .. })
    }
}
