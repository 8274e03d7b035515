//! What can go wrong with a history.

use std::path::Path;
use std::time::Duration;

use nicety_model::{Coded, ProblemCode};
use rusqlite::ErrorCode;

use crate::postgres::TlsTrouble;

/// An operation on a history that failed: what, where, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// Another process writes.
    #[error("the store {place} is in use by another program; try again when that has ended")]
    Locked {
        /// The store.
        place: String,
    },
    /// There is no store yet.
    #[error(
        "there is no store {place}; keep a first run with nicety runs add DIR, or name another with --store"
    )]
    Missing {
        /// The store.
        place: String,
    },
    /// A file of something else.
    #[error("{place} is not a store of nicety ({why}); name another with --store")]
    NotAStore {
        /// The file or database.
        place: String,
        /// What gives it away.
        why: &'static str,
    },
    /// Written by a newer version.
    #[error(
        "the store {place} has schema {version}, newer than {known}, the newest this version knows; use a newer nicety"
    )]
    Newer {
        /// The store.
        place: String,
        /// Schema found.
        version: i64,
        /// Newest schema known.
        known: i64,
    },
    /// The file is damaged.
    #[error(
        "the store {place} is damaged: {why}; restore a copy, or make a new one from the run directories with nicety runs add"
    )]
    Damaged {
        /// The store.
        place: String,
        /// What was found.
        why: String,
    },
    /// No room.
    #[error("no room for the store {place}; make room, or forget runs with nicety runs prune")]
    Full {
        /// The store.
        place: String,
    },
    /// The user may not do this there.
    #[error(
        "cannot {operation} the store {place}: {why}; name a file you may write to with --store"
    )]
    Denied {
        /// What was tried.
        operation: &'static str,
        /// The store.
        place: String,
        /// What the file system says.
        why: String,
    },
    /// A URL that cannot be used.
    #[error("--store {url}: {why}; write postgres://USER@HOST/DATABASE")]
    BadUrl {
        /// The URL without its password.
        url: String,
        /// What is wrong with it.
        why: String,
    },
    /// A parameter, variable or file of the connection that cannot be used.
    #[error("{name}: {why}")]
    BadSetting {
        /// The parameter or file.
        name: String,
        /// What is wrong with it, and what to do.
        why: String,
    },
    /// No connection over TLS.
    #[error("cannot {operation} the store {place} over TLS: {trouble}")]
    Tls {
        /// What was tried.
        operation: &'static str,
        /// The store.
        place: String,
        /// What is wrong, and what to do.
        trouble: TlsTrouble,
    },
    /// The server has no such database.
    #[error("cannot open the store {place}: {why}; make it with createdb, or name another")]
    NoDatabase {
        /// The store.
        place: String,
        /// What the server says.
        why: String,
    },
    /// No server answers.
    #[error(
        "cannot reach the store {place}: {why}; check its address, and PGPASSFILE or PGPASSWORD if it asks for a password"
    )]
    Unreachable {
        /// The store.
        place: String,
        /// What came back.
        why: String,
    },
    /// The server went away and did not come back.
    #[error(
        "cannot {operation} the store {place}: the server went away ({why}) and did not come back within {patience:?}; nothing is lost, do the same again when it is back"
    )]
    Gone {
        /// What was tried.
        operation: &'static str,
        /// The store.
        place: String,
        /// What came back last.
        why: String,
        /// How long it was waited for.
        patience: Duration,
    },
    /// The server does not let this user in, or not by this connection.
    #[error(
        "cannot {operation} the store {place}: {why}; check the role, its password, and the server's pg_hba.conf"
    )]
    NotAdmitted {
        /// What was tried.
        operation: &'static str,
        /// The store.
        place: String,
        /// What the server says.
        why: String,
    },
    /// The server does not let this user do that.
    #[error(
        "cannot {operation} the store {place}: {why}; use another role, or let the database's owner grant it"
    )]
    Forbidden {
        /// What was tried.
        operation: &'static str,
        /// The store.
        place: String,
        /// What the server says.
        why: String,
    },
    /// No run of this number.
    #[error("the store has no run {id}; nicety runs list shows those it has")]
    NoRun {
        /// The number.
        id: i64,
    },
    /// A kept file that does not read back.
    #[error("run {id} in the store {place}: {why}; add the run again from its directory")]
    Broken {
        /// The run.
        id: i64,
        /// The store.
        place: String,
        /// What is wrong.
        why: String,
    },
    /// Anything else the database says.
    #[error("cannot {operation} the store {place}: {source}; check what it is kept on")]
    Other {
        /// What was tried.
        operation: &'static str,
        /// The store.
        place: String,
        /// What the database says.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl HistoryError {
    /// Sorts what SQLite says into the kinds a user acts on differently.
    pub(crate) fn sqlite(operation: &'static str, place: &Path, source: rusqlite::Error) -> Self {
        let place = place.display().to_string();
        let why = source.to_string();
        match source.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Locked { place },
            Some(ErrorCode::NotADatabase) => Self::NotAStore {
                place,
                why: "it is no SQLite database",
            },
            Some(ErrorCode::DatabaseCorrupt) => Self::Damaged { place, why },
            Some(ErrorCode::DiskFull) => Self::Full { place },
            Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
                Self::Denied {
                    operation,
                    place,
                    why,
                }
            }
            _ => Self::Other {
                operation,
                place,
                source: source.into(),
            },
        }
    }
}

impl Coded for HistoryError {
    fn code(&self) -> ProblemCode {
        match self {
            Self::Missing { .. }
            | Self::NotAStore { .. }
            | Self::NoDatabase { .. }
            | Self::NoRun { .. } => ProblemCode::NoRun,
            Self::BadUrl { .. } | Self::BadSetting { .. } => ProblemCode::BadValue,
            Self::Newer { .. } => ProblemCode::NewerVersion,
            Self::Damaged { .. } | Self::Broken { .. } => ProblemCode::Damaged,
            Self::Locked { .. } => ProblemCode::InUse,
            Self::Unreachable { .. } | Self::Gone { .. } | Self::Tls { .. } => {
                ProblemCode::Unreachable
            }
            Self::Full { .. }
            | Self::Denied { .. }
            | Self::Forbidden { .. }
            | Self::NotAdmitted { .. }
            | Self::Other { .. } => ProblemCode::StorageRefuses,
        }
    }
}
