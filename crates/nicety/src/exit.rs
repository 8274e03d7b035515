//! Exit codes: what a script learns from a run of nicety.

use std::process::ExitCode;

use nicety_history::HistoryError;
use nicety_model::problem::error_line;
use nicety_policed::Fault;
use nicety_runner::RunError;
use nicety_socket::SocketError;
use nicety_store::StoreError;
use nicety_tuner::{ErrorKind, TuneError};

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
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&error_line(self.error.as_ref()))
    }
}

/// Whose fault an error is decides the exit code.
macro_rules! failures {
    ($($error:ty => |$name:ident| $exit:expr;)*) => {$(
        impl From<$error> for Failure {
            fn from($name: $error) -> Self {
                Self { exit: $exit, error: $name.into() }
            }
        }
    )*};
}

fn by_input(bad: bool) -> Exit {
    if bad { Exit::Usage } else { Exit::Environment }
}

failures! {
    nicety_policed::Error => |error| by_input(matches!(error.fault(), Fault::Input));
    RunError => |error| by_input(error.is_bad_input());
    SocketError => |error| by_input(error.is_bad_input());
    HistoryError => |error| by_input(error.is_bad_input());
    StoreError => |error| by_input(error.is_bad_input());
    TuneError => |error| match error.kind() {
        ErrorKind::BadInput => Exit::Usage,
        ErrorKind::Environment => Exit::Environment,
        ErrorKind::Negative => Exit::Negative,
    };
}
