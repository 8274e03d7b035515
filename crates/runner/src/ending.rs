//! How a session ended.

use nicety_model::run::StoppedBy;

/// How a session ended; of two parts of it the later one here tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ending {
    /// Everything was measured that can be.
    Complete,
    /// The rest did not fit in the time box.
    OutOfTime,
    /// The user stopped it.
    Interrupted,
}

impl Ending {
    /// Why the run stopped before every cell had its result.
    pub fn stopped_by(self) -> Option<StoppedBy> {
        match self {
            Self::Complete => None,
            Self::OutOfTime => Some(StoppedBy::TimeBox),
            Self::Interrupted => Some(StoppedBy::Interruption),
        }
    }
}
