//! What is wrong and what to do about it: two values until somebody writes them down.

use std::fmt;

/// What is wrong, and what its reader can do about it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Problem {
    /// What is wrong, without a full stop: `"30" has no unit`.
    pub what: String,
    /// What to do, as an imperative: `write "30s" for seconds`.
    pub remedy: String,
}

impl Problem {
    /// From both halves.
    pub fn new(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            remedy: remedy.into(),
        }
    }
}

impl fmt::Display for Problem {
    /// One line, the remedy last.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_line(f, &self.what, Some(&self.remedy))
    }
}

impl std::error::Error for Problem {}

/// Writes what is wrong on one line, and behind it the remedy where one is known.
///
/// # Errors
/// Those of the formatter.
pub fn write_line<R: fmt::Display>(
    f: &mut fmt::Formatter<'_>,
    what: &str,
    remedy: Option<R>,
) -> fmt::Result {
    match remedy {
        Some(remedy) => write!(f, "{what}; {remedy}"),
        None => f.write_str(what),
    }
}

/// An error on one line. One of a library carries its cause in its own text, before what to do; a context
/// does not, and its causes follow it.
pub fn error_line(error: &(dyn std::error::Error + 'static)) -> String {
    let mut line = error.to_string();
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    for cause in causes.map(ToString::to_string) {
        if !line.contains(&cause) {
            line += &format!(": {cause}");
        }
    }
    line
}

/// Lets an error that knows its [`Problem`] be written as one.
#[macro_export]
macro_rules! display_problem {
    ($error:ty) => {
        impl std::fmt::Display for $error {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(&self.problem(), f)
            }
        }

        impl std::error::Error for $error {}
    };
}

/// What to do about it, by where it is done. A run goes on where it was when the machine or the command
/// has changed, and begins anew with another plan.
#[derive(Debug, Clone, PartialEq, Eq, derive_more::Display)]
pub enum Remedy {
    /// On this machine or in the command: `apt install dpdk-dev`.
    Here(String),
    /// In the plan: `write vms = 2 or less`.
    Plan(String),
    /// Only on another machine.
    Elsewhere(String),
    /// On this machine, or else in the plan.
    #[display("{here}, or {plan}")]
    HereOrPlan {
        /// On this machine or in the command.
        here: String,
        /// In the plan.
        plan: String,
    },
}

impl Remedy {
    /// On this machine or in the command.
    pub fn here(text: impl Into<String>) -> Self {
        Self::Here(text.into())
    }

    /// In the plan.
    pub fn plan(text: impl Into<String>) -> Self {
        Self::Plan(text.into())
    }

    /// Only on another machine.
    pub fn elsewhere(text: impl Into<String>) -> Self {
        Self::Elsewhere(text.into())
    }

    /// On this machine, or else in the plan.
    pub fn here_or_plan(here: impl Into<String>, plan: impl Into<String>) -> Self {
        Self::HereOrPlan {
            here: here.into(),
            plan: plan.into(),
        }
    }
}
