//! Exit codes: what a script learns from a run of nicety.

use std::process::ExitCode;

use nicety_runner::RunError;
use nicety_store::StoreError;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Done.
    Done,
    /// Done, with a negative answer.
    Negative,
    /// Wrong usage or bad input.
    Usage,
    /// The environment lacks something.
    Environment,
    /// Interrupted; what was measured is kept.
    Interrupted,
    /// As a command that was run for the user ended.
    Code(u8),
}

impl Exit {
    /// The number.
    pub fn code(self) -> ExitCode {
        ExitCode::from(match self {
            Self::Done => 0,
            Self::Negative => 1,
            Self::Usage => 2,
            Self::Environment => 3,
            Self::Interrupted => 4,
            Self::Code(code) => code,
        })
    }
}

/// An error with the exit code it leads to.
#[derive(Debug)]
pub struct Failure {
    /// Exit code.
    pub exit: Exit,
    /// One line: what, where, what to do.
    pub error: anyhow::Error,
}

impl Failure {
    /// Bad usage or input.
    pub fn usage(error: impl Into<anyhow::Error>) -> Self {
        Self {
            exit: Exit::Usage,
            error: error.into(),
        }
    }

    /// Something is missing here.
    pub fn environment(error: impl Into<anyhow::Error>) -> Self {
        Self {
            exit: Exit::Environment,
            error: error.into(),
        }
    }

    /// A run that cannot begin, or cannot go on.
    pub fn run(error: RunError) -> Self {
        match error.is_bad_input() {
            true => Self::usage(error),
            false => Self::environment(error),
        }
    }

    /// A run directory that is refused is bad input; one that fails is the environment.
    pub fn store(error: StoreError) -> Self {
        match error.is_bad_input() {
            true => Self::usage(error),
            false => Self::environment(error),
        }
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Library errors carry their cause in their own text; anyhow contexts do not. What to do
        // stays at the end of the line.
        let text = self.error.to_string();
        let (what, fix) = match text.split_once("; ") {
            Some((what, fix)) => (what, Some(fix)),
            None => (text.as_str(), None),
        };
        f.write_str(what)?;
        for cause in self.error.chain().skip(1) {
            let cause = cause.to_string();
            if !text.contains(&cause) {
                write!(f, ": {cause}")?;
            }
        }
        match fix {
            Some(fix) => write!(f, "; {fix}"),
            None => Ok(()),
        }
    }
}
