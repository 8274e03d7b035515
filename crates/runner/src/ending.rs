//! How a session ended.

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
