//! What can go wrong between two endpoints, each with what to do.

use std::fmt;
use std::io;

use nicety_model::problem::write_line;
use nicety_model::sock::SockSpecError;
use nicety_model::{Coded, ProblemCode, Remedy};

/// Why a socket workload could not be run.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    /// Nobody listens there.
    NotThere {
        /// Address.
        to: String,
    },
    /// The connection cannot be made.
    Connect {
        /// Address.
        to: String,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The name has no address of the family asked for.
    NoAddress {
        /// As given.
        host: String,
        /// Family.
        family: &'static str,
    },
    /// The address cannot be listened on.
    Listen {
        /// Address.
        at: String,
        /// The kernel's answer.
        source: io::Error,
    },
    /// Whatever answers speaks something else.
    NotNicety {
        /// Address.
        peer: String,
        /// What it said.
        what: String,
    },
    /// No answer in time.
    Silent {
        /// Address.
        peer: String,
        /// What it should have done.
        what: &'static str,
        /// Limit.
        seconds: u64,
    },
    /// The connection ended where it should not.
    Closed {
        /// Address.
        peer: String,
        /// What was under way.
        during: &'static str,
    },
    /// Token refused.
    Token {
        /// Address.
        peer: String,
    },
    /// Protocols differ.
    Version {
        /// Address.
        peer: String,
        /// Its version.
        theirs: String,
        /// This one's.
        ours: String,
    },
    /// The server cannot or will not.
    Refused {
        /// Address.
        peer: String,
        /// Its reason.
        why: String,
        /// What it says is to be done.
        remedy: Option<String>,
    },
    /// The parameters are out of range.
    Spec(SockSpecError),
    /// The limit on open files is too low.
    Files {
        /// Flows.
        flows: u32,
        /// Descriptors needed.
        needed: u64,
        /// Hard limit.
        limit: u64,
    },
    /// A CPU that is not there, or not for this process.
    Cpu {
        /// The CPU.
        cpu: u32,
        /// Those it may use.
        allowed: String,
    },
    /// The kernel refused something.
    Kernel {
        /// What was tried.
        what: String,
        /// The kernel's answer.
        source: io::Error,
    },
}

impl SocketError {
    /// What is wrong.
    pub fn what(&self) -> String {
        match self {
            Self::NotThere { to } => format!("{to} refuses connections"),
            Self::Connect { to, source } => format!("cannot connect to {to}: {source}"),
            Self::NoAddress { host, family } => format!("{host} has no {family} address"),
            Self::Listen { at, source } => format!("cannot listen on {at}: {source}"),
            Self::NotNicety { peer, what } => {
                format!("{peer} is not a nicety socket server ({what})")
            }
            Self::Silent {
                peer,
                what,
                seconds,
            } => format!("{peer} did not {what} within {seconds} s"),
            Self::Closed { peer, during } => {
                format!("{peer} closed the control connection while {during}")
            }
            Self::Token { peer } => format!("{peer} refuses the token"),
            Self::Version { peer, theirs, ours } => format!(
                "{peer} runs nicety {theirs}, this is {ours}, and they do not understand each other"
            ),
            Self::Refused { peer, why, .. } => format!("{peer} refuses the test: {why}"),
            Self::Spec(error) => error.problem().what,
            Self::Files {
                flows,
                needed,
                limit,
            } => format!("{flows} flows need {needed} open files and the limit is {limit}"),
            Self::Cpu { cpu, .. } => format!("CPU {cpu} is not for this process"),
            Self::Kernel { what, source } => format!("{what}: {source}"),
        }
    }

    /// What to do about it, where that is known.
    pub fn remedy(&self) -> Option<Remedy> {
        let fixed = match self {
            Self::NotThere { .. } => "start `nicety sock serve` there, or check the port",
            Self::Connect { .. } => "check the address and what lies between",
            Self::NoAddress { .. } => "check the name, or leave the family to nicety",
            Self::Listen { .. } => "choose another address or port",
            Self::NotNicety { .. } => "check the port",
            Self::Silent { .. } => "check that it is alive and reachable",
            Self::Closed { .. } => "look at what it printed",
            Self::Token { .. } => "give the one that `nicety sock serve` printed or was given",
            Self::Version { .. } => "install the same version on both",
            Self::Spec(error) => return error.problem().remedy.map(Remedy::Plan),
            Self::Files { needed, .. } => {
                return Some(Remedy::here(format!(
                    "raise it with `ulimit -n {needed}`, or use fewer flows"
                )));
            }
            Self::Cpu { allowed, .. } => {
                return Some(Remedy::plan(format!("write CPUs among {allowed}")));
            }
            Self::Refused { remedy, .. } => return remedy.clone().map(Remedy::Here),
            Self::Kernel { .. } => return None,
        };
        Some(Remedy::here(fixed))
    }

    /// An error of the kernel.
    pub(crate) fn kernel(what: impl Into<String>, source: impl Into<io::Error>) -> Self {
        Self::Kernel {
            what: what.into(),
            source: source.into(),
        }
    }
}

impl Coded for SocketError {
    fn code(&self) -> ProblemCode {
        match self {
            Self::NotThere { .. }
            | Self::Connect { .. }
            | Self::Silent { .. }
            | Self::Closed { .. } => ProblemCode::Unreachable,
            Self::NotNicety { .. } | Self::Version { .. } | Self::Refused { .. } => {
                ProblemCode::PeerRefuses
            }
            Self::Token { .. } => ProblemCode::WrongToken,
            Self::NoAddress { .. } | Self::Spec(_) | Self::Cpu { .. } => ProblemCode::BadValue,
            Self::Files { .. } => ProblemCode::MachineLacks,
            Self::Listen { .. } | Self::Kernel { .. } => ProblemCode::KernelRefused,
        }
    }
}

impl fmt::Display for SocketError {
    /// One line, the remedy last.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_line(f, &self.what(), self.remedy())
    }
}

impl From<SockSpecError> for SocketError {
    fn from(error: SockSpecError) -> Self {
        Self::Spec(error)
    }
}
