//! What is wrong and what to do about it, as values: what is skipped, refused or fails where a caller
//! decides on it. Every kind of problem has a stable [`ProblemCode`], which `docs/reference/problems.md`
//! and `nicety explain` describe.

mod code;
mod page;

#[cfg(test)]
mod tests;

use std::fmt;

pub use code::{ProblemCode, ProblemKind};
pub use page::{ProblemPage, pages};

/// What is wrong, and what its reader can do about it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Problem {
    /// Which kind it is.
    pub code: ProblemCode,
    /// What is wrong, without a full stop: `"30" has no unit`.
    pub what: String,
    /// What to do, as an imperative: `write "30s" for seconds`.
    pub remedy: Option<String>,
}

impl Problem {
    /// Without anything to do about it.
    pub fn new(code: ProblemCode, what: impl Into<String>) -> Self {
        Self {
            code,
            what: what.into(),
            remedy: None,
        }
    }

    /// Of a value in a plan, a policy or a command.
    pub fn value(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::new(ProblemCode::BadValue, what).with(remedy)
    }

    /// With what to do.
    pub fn with(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }
}

impl fmt::Display for Problem {
    /// One line, the remedy last.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_line(f, &self.what, self.remedy.as_ref())
    }
}

impl std::error::Error for Problem {}

/// An error that is a kind of problem: callers decide by its code, never by its words.
pub trait Coded: std::error::Error {
    /// Which kind it is.
    fn code(&self) -> ProblemCode;
}

impl Coded for Problem {
    fn code(&self) -> ProblemCode {
        self.code
    }
}

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
