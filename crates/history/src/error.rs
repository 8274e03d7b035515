//! What can go wrong with a history.

use std::time::Duration;

use nicety_model::{Coded, ProblemCode};
use rustls::{AlertDescription, CertificateError};

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
        "there is no store {place}; keep a first run with nicety runs add DIR, or name another with --store or NICETY_STORE"
    )]
    Missing {
        /// The store.
        place: String,
    },
    /// A file of something else.
    #[error("{place} is not a store of nicety ({why}); name another with --store or NICETY_STORE")]
    NotAStore {
        /// The file or database.
        place: String,
        /// What gives it away.
        why: &'static str,
    },
    /// A store with something in it that nicety does not make: it would be run.
    #[error(
        "the store {place} has the {what}, which nicety has not made; remove it there, or name another store with --store or \
         NICETY_STORE"
    )]
    Strange {
        /// The store.
        place: String,
        /// Kind and name.
        what: String,
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
    #[error("no room for the store {place}; make room, or forget runs with nicety runs rm")]
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
    #[error("cannot {operation} the store {place} over TLS: {why}")]
    Tls {
        /// What was tried.
        operation: &'static str,
        /// The store.
        place: String,
        /// What is wrong, and what to do.
        why: String,
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
        "cannot reach the store {place}: {why}; check its address, and PGPASSFILE (chmod 600) or PGPASSWORD if it asks for a password"
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
    /// What neither kind of database says.
    pub(crate) fn other(
        operation: &'static str,
        place: String,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        Self::Other {
            operation,
            place,
            source: source.into(),
        }
    }

    /// Sorts what a database says into the kinds a user acts on differently. `patience` is how long a server was waited for
    /// that had been there. Codes: PostgreSQL documentation, Appendix A; sqlite.org/rescode.html.
    pub(crate) fn sorted(
        operation: &'static str,
        place: &str,
        source: sqlx::Error,
        patience: Option<Duration>,
    ) -> Self {
        let place = place.to_owned();
        if let Some(why) = tls(&source) {
            return Self::Tls {
                operation,
                place,
                why,
            };
        }
        let why = why(&source);
        if is_lost(&source) {
            return match patience {
                None => Self::Unreachable { place, why },
                Some(patience) => Self::Gone {
                    operation,
                    place,
                    why,
                    patience,
                },
            };
        }
        match code(&source).as_str() {
            "55P03" | "5" | "6" => Self::Locked { place },
            "53100" | "13" => Self::Full { place },
            "3D000" => Self::NoDatabase { place, why },
            "28P01" | "28000" => Self::NotAdmitted {
                operation,
                place,
                why,
            },
            "42501" | "25006" => Self::Forbidden {
                operation,
                place,
                why,
            },
            "26" => Self::NotAStore {
                place,
                why: "it is not an SQLite database",
            },
            "11" => Self::Damaged { place, why },
            "3" | "8" | "14" => Self::Denied {
                operation,
                place,
                why,
            },
            // Names that do not resolve, passwords that are missing, files that are named and cannot be read.
            "" if patience.is_none() => Self::Unreachable { place, why },
            _ => Self::other(operation, place, source),
        }
    }
}

/// SQLSTATE, or SQLite's primary code: the low byte of an extended one.
fn code(error: &sqlx::Error) -> String {
    let code = error
        .as_database_error()
        .and_then(sqlx::error::DatabaseError::code);
    let code = code.unwrap_or_default();
    // Five characters are a SQLSTATE.
    match code.parse::<u32>() {
        Ok(number) if code.len() < 5 => (number & 0xff).to_string(),
        _ => code.into_owned(),
    }
}

/// What the database itself says, or the way to it.
fn why(error: &sqlx::Error) -> String {
    match error {
        sqlx::Error::Database(error) => error.message().to_owned(),
        sqlx::Error::Io(error) => error.to_string(),
        sqlx::Error::Configuration(error) => error.to_string(),
        error => error.to_string(),
    }
}

/// Whether a server that is there cannot take one more connection now.
pub(crate) fn is_busy(error: &sqlx::Error) -> bool {
    ["53300", "57P03"].contains(&code(error).as_str())
}

/// Whether the server or the way to it failed, rather than what was asked of it; then the same work may succeed later.
pub(crate) fn is_lost(error: &sqlx::Error) -> bool {
    let code = code(error);
    let again = ["57P01", "57P02", "40001", "40P01"].contains(&code.as_str());
    // A certificate is the same at the next attempt.
    let io = matches!(error, sqlx::Error::Io(_)) && tls(error).is_none();
    is_busy(error) || again || code.starts_with("08") || io
}

/// What is wrong with TLS, and what to do; nothing where TLS is not what failed.
fn tls(error: &sqlx::Error) -> Option<String> {
    let source: &(dyn std::error::Error + 'static) = match error {
        sqlx::Error::Tls(source) => source.as_ref(),
        sqlx::Error::Io(error) => error.get_ref()?,
        _ => return None,
    };
    let Some(error) = source.downcast_ref::<rustls::Error>() else {
        let text = source.to_string();
        return matches!(error, sqlx::Error::Tls(_)).then(|| {
            if text.contains("not support TLS") {
                "the server offers none; switch it on there (ssl = on), or write sslmode=disable on a network you \
                 trust"
                    .to_owned()
            } else {
                format!("{text}; check the files in sslrootcert, sslcert and sslkey")
            }
        });
    };
    Some(trouble(error))
}

fn trouble(error: &rustls::Error) -> String {
    use CertificateError as Certificate;
    let text = match error {
        rustls::Error::InvalidCertificate(Certificate::UnknownIssuer) => {
            "no trusted authority signed the server's certificate; name a file with its authority in sslrootcert"
        }
        rustls::Error::InvalidCertificate(
            Certificate::Expired | Certificate::ExpiredContext { .. },
        ) => "the server's certificate has expired; renew it there, or check this machine's clock",
        rustls::Error::InvalidCertificate(Certificate::NotValidForNameContext {
            expected,
            presented,
        }) => {
            return format!(
                "the server's certificate is for {}, not for {}; use a name that it has, or sslmode=verify-ca",
                presented.join(", "),
                expected.to_str()
            );
        }
        rustls::Error::AlertReceived(AlertDescription::CertificateRequired) => {
            "the server asks for a client certificate; name yours in sslcert and its key in sslkey"
        }
        error => {
            return format!(
                "the handshake failed ({error}); check that a PostgreSQL server answers there"
            );
        }
    };
    text.to_owned()
}

impl Coded for HistoryError {
    fn code(&self) -> ProblemCode {
        match self {
            Self::Missing { .. }
            | Self::NotAStore { .. }
            | Self::Strange { .. }
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
