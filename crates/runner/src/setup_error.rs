//! Why a cell cannot be measured.

use nicety_model::{Coded, EngineName, Problem, ProblemCode, Remedy};
use nicety_netdev::net_error::NetError;
use nicety_paths::PathError;
use nicety_port::auto::CheckError;
use nicety_port::probes::ProbeError;
use nicety_port::{Lack, PortError};

/// Why a cell cannot be measured.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// The path cannot be had.
    #[error(transparent)]
    Path(#[from] PathError),
    /// A port cannot be opened.
    #[error(transparent)]
    Port(#[from] PortError),
    /// The engine that was asked for does not work on these ports.
    #[error(transparent)]
    Check(#[from] CheckError),
    /// The engine that was asked for does not spread frames over the path's receive queues.
    #[error("engine {engine} reaches one of the host's {queues} receive queues only")]
    OneQueue {
        /// The engine.
        engine: EngineName,
        /// Queues of either interface.
        queues: u32,
    },
    /// The engine that was asked for does not send such frames.
    #[error(
        "engine {engine} sends frames of one size of IPv4 and UDP only, without tags, of flows that take turns"
    )]
    NotSent {
        /// The engine.
        engine: EngineName,
    },
    /// The path has a tag of its own, and the plan another.
    #[error("{0} tags frames itself, and the plan has vlan too")]
    TwoTags(String),
    /// Nothing here builds such a path.
    #[error("{0} is on no path that this version can build")]
    NoSuchPath(String),
    /// The ports' NICs do not stamp, or may not be told to.
    #[error("no hardware time stamps, which --stamps hardware asks for: {0}")]
    Stamps(ProbeError),
    /// The kernel refused something.
    #[error(transparent)]
    Net(#[from] NetError),
}

impl SetupError {
    /// What to do about it.
    pub fn remedy(&self) -> String {
        let known = match self {
            Self::Path(error) => error.remedy(),
            Self::OneQueue { .. } => Some(Remedy::here_or_plan(
                "measure with --engine af_packet",
                "write host_queues = 1",
            )),
            Self::NotSent { .. } => Some(Remedy::here(
                "measure with --engine af_packet, which sends them",
            )),
            Self::TwoTags(_) => Some(Remedy::plan("remove vlan")),
            Self::NoSuchPath(_) => Some(Remedy::here(
                "measure with the version that the plan is for",
            )),
            Self::Stamps(_) => Some(Remedy::here(
                "measure between NICs that have them (nicety probe), or without --stamps hardware",
            )),
            _ => None,
        };
        and_then(&known.unwrap_or_else(|| Remedy::here("put it right")))
    }

    /// What an engine lacks, where somebody can give it.
    pub fn lacks(&self) -> Option<Lack> {
        match self {
            Self::Port(error) | Self::Check(CheckError::Port(error)) => error.lacks(),
            Self::Net(NetError::NotPermitted { .. })
            | Self::Path(PathError::Net(NetError::NotPermitted { .. })) => Some(Lack::Root),
            _ => None,
        }
    }

    /// Whether every cell of the same path meets it.
    pub fn lasts(&self) -> bool {
        match self {
            Self::OneQueue { .. } | Self::NoSuchPath(_) | Self::TwoTags(_) => true,
            Self::Path(error) => error.lasts(),
            _ => false,
        }
    }

    /// Whether it will be the same as often as this cell is tried.
    pub fn rules_out(&self) -> bool {
        let size = |error: &PathError| error.is_frame_size();
        self.lasts() || matches!(self, Self::Path(error) if size(error))
    }

    /// What is wrong and what to do.
    pub fn problem(&self) -> Problem {
        Problem::new(self.code(), self.to_string()).with(self.remedy())
    }
}

impl Coded for SetupError {
    fn code(&self) -> ProblemCode {
        match self {
            Self::Path(error) => error.code(),
            Self::Port(error) => error.code(),
            Self::Check(error) => error.code(),
            Self::Net(error) => error.code(),
            Self::OneQueue { .. } => ProblemCode::TooManyQueues,
            Self::NotSent { .. } | Self::TwoTags(_) => ProblemCode::EngineUnavailable,
            Self::NoSuchPath(_) => ProblemCode::NewerVersion,
            Self::Stamps(_) => ProblemCode::NoHardwareStamps,
        }
    }
}

/// A remedy and how to go on behind it: a run goes on with the plan that it was begun with, so a
/// changed plan is a new run.
pub fn and_then(remedy: &Remedy) -> String {
    const RESUME: &str = ", then go on with --resume";
    const NEW: &str = "and start a new run";
    match remedy {
        Remedy::Elsewhere(text) => text.clone(),
        Remedy::Plan(text) => format!("{text}, {NEW}"),
        Remedy::Here(text) => format!("{text}{RESUME}"),
        Remedy::HereOrPlan { here, plan } => format!("{here}{RESUME}, or {plan} {NEW}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{Remedy, and_then};

    #[test]
    fn a_changed_plan_is_a_new_run() {
        for (remedy, expected) in [
            (
                Remedy::plan("write cores = 1 or less"),
                "write cores = 1 or less, and start a new run",
            ),
            (
                Remedy::here("apt install dpdk-dev"),
                "apt install dpdk-dev, then go on with --resume",
            ),
            (
                Remedy::here_or_plan("modprobe 8021q", "write tagging = \"filtering\""),
                "modprobe 8021q, then go on with --resume, or write tagging = \"filtering\" and start a new run",
            ),
            (
                Remedy::elsewhere("measure where there is a NIC with SR-IOV"),
                "measure where there is a NIC with SR-IOV",
            ),
        ] {
            assert_eq!(and_then(&remedy), expected);
        }
    }
}
