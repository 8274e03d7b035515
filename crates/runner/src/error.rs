//! Why a run ends without results.

use nicety_host::roots::FactError;
use nicety_model::PlanError;
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

impl RunError {
    /// Whether the user asked for the wrong thing, rather than the machine lacking something.
    pub fn is_bad_input(&self) -> bool {
        match self {
            Self::Setup(error) => error.is_bad_input(),
            Self::Store(error) => error.is_bad_input(),
            Self::WritePlan(_) => true,
            _ => false,
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
