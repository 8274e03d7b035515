//! Why a run ends without results.

use nicety_fate::Refusal;
use nicety_host::roots::FactError;
use nicety_model::{Coded, EngineName, FateMode, PlanError, ProblemCode};
use nicety_netdev::privilege::PrivilegeError;
use nicety_report::ReportError;
use nicety_search::GoalError;
use nicety_store::StoreError;
use nicety_trial::TrialError;

use crate::setup_error::SetupError;

/// Why a run cannot begin, or cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The user stopped it.
    #[error("interrupted")]
    Interrupted,
    /// The user lacks what the engine needs.
    #[error(
        "engine {0} needs root: run as root, or measure with --engine af_packet, which needs no rights but sends fewer frames"
    )]
    EngineNeedsRoot(EngineName),
    /// The engine that was asked for does not send such frames.
    #[error(
        "engine {0} sends frames of one size of IPv4 and UDP only; measure this plan with --engine af_packet, or leave --engine out"
    )]
    EngineNotSends(EngineName),
    /// The user lacks what existing interfaces need.
    #[error(
        "ports {0} need root: run as root or with CAP_NET_RAW, or name no interfaces to measure a bridge made for you"
    )]
    PortsNeedRoot(String),
    /// The fate of lost frames cannot be found out, and the plan asks for it.
    #[error("--fate {mode}: {why}")]
    Fates {
        /// How the plan asks for it.
        mode: FateMode,
        /// Why.
        #[source]
        why: Refusal,
    },
    /// Frames cannot be followed.
    #[error("frames cannot be traced: {}", crate::trace::refusal(.0))]
    Trace(Refusal),
    /// Paths may not be built here.
    #[error(transparent)]
    Privilege(#[from] PrivilegeError),
    /// The host cannot be read.
    #[error(transparent)]
    Facts(#[from] FactError),
    /// A path or its ports cannot be had.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// A trial has no record.
    #[error(transparent)]
    Trial(TrialError),
    /// The goal cannot be searched for.
    #[error(transparent)]
    Goal(#[from] GoalError),
    /// A task of the schedule is of another plan.
    #[error("cell {0} is not in the plan")]
    NoSuchCell(u32),
    /// The path has no table of connections.
    #[error(
        "{0} keeps no table of connections; write a path with kind = \"routed\" and nat = \"snat\" or flowtable = \"on\", or leave the plan out"
    )]
    NoTable(String),
    /// Frames that differ open no connections here.
    #[error(
        "{0}: frames of connections have one size and no tags; leave imix, dscp, vlan, popularity and new_flows_per_s out of [traffic]"
    )]
    NotOneFrame(String),
    /// Connections that cannot be told apart.
    #[error(transparent)]
    Connections(#[from] nicety_packet::PacketError),
    /// There is nothing that a load could be a share of.
    #[error(
        "no load was found that the path carries; write the load in frames per second, as in --load 200k"
    )]
    NoThroughput,
    /// The path broke and did not come back.
    #[error("the path broke and did not come back within {minutes} minutes: {why}")]
    StaysBroken {
        /// How long it was waited for.
        minutes: u64,
        /// What is wrong.
        why: String,
    },
    /// The plan cannot be written down.
    #[error("cannot write the plan down: {0}")]
    WritePlan(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The run directory cannot be used or written to.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// What was written cannot be read back.
    #[error(transparent)]
    ReadBack(StoreError),
    /// The plan that was written cannot be read back.
    #[error(transparent)]
    ReadPlan(PlanError),
    /// The page cannot be made.
    #[error("cannot render the report: {0}")]
    Report(#[source] ReportError),
}

impl Coded for RunError {
    fn code(&self) -> ProblemCode {
        match self {
            Self::Interrupted => ProblemCode::Interrupted,
            Self::EngineNeedsRoot(_) | Self::PortsNeedRoot(_) => ProblemCode::NoPrivilege,
            Self::Fates { why, .. } | Self::Trace(why) => match why {
                Refusal::NotBuilt(_) => ProblemCode::BuiltWithoutBpf,
                Refusal::NotPermitted => ProblemCode::NoPrivilege,
                Refusal::NoTypes | Refusal::NoTracepoint | Refusal::NoAtomics => {
                    ProblemCode::KernelLacks
                }
                _ => ProblemCode::KernelRefused,
            },
            Self::Privilege(error) => error.code(),
            Self::Facts(_) => ProblemCode::KernelRefused,
            Self::Setup(error) => error.code(),
            Self::Trial(_) => ProblemCode::EngineUnavailable,
            Self::WritePlan(_)
            | Self::EngineNotSends(_)
            | Self::NoTable(_)
            | Self::NotOneFrame(_)
            | Self::Connections(_) => ProblemCode::BadValue,
            Self::NoThroughput | Self::StaysBroken { .. } => ProblemCode::PathFailed,
            Self::Store(error) => error.code(),
            Self::ReadBack(_) | Self::ReadPlan(_) | Self::Report(_) => ProblemCode::StorageRefuses,
            Self::Goal(_) | Self::NoSuchCell(_) => ProblemCode::Fault,
        }
    }
}

impl From<TrialError> for RunError {
    fn from(error: TrialError) -> Self {
        match error {
            TrialError::Interrupted => Self::Interrupted,
            other => Self::Trial(other),
        }
    }
}
