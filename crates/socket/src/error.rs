//! What can go wrong between two endpoints, each with what to do.

use std::io;

/// Why a socket workload could not be run.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    /// Nobody listens there.
    #[error("{to} refuses connections; start `nicety sock serve` there, or check the port")]
    NotThere {
        /// Address.
        to: String,
    },
    /// The connection cannot be made.
    #[error("cannot connect to {to}: {source}; check the address and what lies between")]
    Connect {
        /// Address.
        to: String,
        /// The kernel's answer.
        #[source]
        source: io::Error,
    },
    /// The name has no address of the family asked for.
    #[error("{host} has no {family} address; check the name, or leave the family to nicety")]
    NoAddress {
        /// As given.
        host: String,
        /// Family.
        family: &'static str,
    },
    /// The address cannot be listened on.
    #[error("cannot listen on {at}: {source}; choose another address or port")]
    Listen {
        /// Address.
        at: String,
        /// The kernel's answer.
        #[source]
        source: io::Error,
    },
    /// Whatever answers speaks something else.
    #[error("{peer} is no nicety socket server ({what}); check the port")]
    NotNicety {
        /// Address.
        peer: String,
        /// What it said.
        what: String,
    },
    /// No answer in time.
    #[error("{peer} did not {what} within {seconds} s; check that it is alive and reachable")]
    Silent {
        /// Address.
        peer: String,
        /// What it should have done.
        what: &'static str,
        /// Limit.
        seconds: u64,
    },
    /// The connection ended where it should not.
    #[error("{peer} closed the control connection while {during}; look at what it printed")]
    Closed {
        /// Address.
        peer: String,
        /// What was under way.
        during: &'static str,
    },
    /// Token refused.
    #[error("{peer} refuses the token; give the one that `nicety sock serve` printed")]
    Token {
        /// Address.
        peer: String,
    },
    /// Protocols differ.
    #[error(
        "{peer} runs nicety {theirs}, this is {ours}, and they do not understand each other; install the same version on both"
    )]
    Version {
        /// Address.
        peer: String,
        /// Its version.
        theirs: String,
        /// This one's.
        ours: String,
    },
    /// The server cannot or will not.
    #[error("{peer} refuses the test: {why}")]
    Refused {
        /// Address.
        peer: String,
        /// Its reason.
        why: String,
    },
    /// The parameters are out of range.
    #[error(transparent)]
    Ask(#[from] nicety_model::sock::SockAskError),
    /// The limit on open files is too low.
    #[error(
        "{flows} flows need {needed} open files and the limit is {limit}; raise it with `ulimit -n {needed}`, or use fewer flows"
    )]
    Files {
        /// Flows.
        flows: u32,
        /// Descriptors needed.
        needed: u64,
        /// Hard limit.
        limit: u64,
    },
    /// A CPU that is not there, or not for this process.
    #[error("CPU {cpu} is not for this process; write CPUs among {allowed}")]
    Cpu {
        /// The CPU.
        cpu: u32,
        /// Those it may use.
        allowed: String,
    },
    /// The kernel refused something.
    #[error("{what}: {source}")]
    Kernel {
        /// What was tried.
        what: String,
        /// The kernel's answer.
        #[source]
        source: io::Error,
    },
}

impl SocketError {
    /// An error of the kernel.
    pub(crate) fn kernel(what: impl Into<String>, source: impl Into<io::Error>) -> Self {
        Self::Kernel {
            what: what.into(),
            source: source.into(),
        }
    }

    /// Whether other arguments are what is needed, rather than another machine.
    pub fn is_bad_input(&self) -> bool {
        matches!(
            self,
            Self::Ask(_) | Self::Token { .. } | Self::NoAddress { .. } | Self::Cpu { .. }
        )
    }
}
