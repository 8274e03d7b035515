//! What can go wrong between two ends of TLS, for a reader who has to mend it.

use std::error::Error as _;
use std::io;

use rustls::{AlertDescription, CertificateError, Error};

/// Why there is no connection over TLS, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TlsTrouble {
    /// The server has none.
    #[error(
        "the server offers no TLS; switch it on there (ssl = on), or write sslmode=disable on a network you trust"
    )]
    NotOffered,
    /// Signed by somebody else.
    #[error(
        "no trusted authority signed the server's certificate; name a file with its authority in sslrootcert"
    )]
    UnknownAuthority,
    /// Another server's.
    #[error(
        "the server's certificate is for {}, not for {asked}; use a name that it has, or sslmode=verify-ca",
        list(names)
    )]
    WrongName {
        /// The name in the URL.
        asked: String,
        /// Names of the certificate.
        names: Vec<String>,
    },
    /// Too old.
    #[error("the server's certificate has expired; renew it there, or check this machine's clock")]
    Expired,
    /// Too new.
    #[error("the server's certificate is not valid yet; check the clocks of both machines")]
    NotYetValid,
    /// Revoked by its authority.
    #[error("the server's certificate is revoked; give the server a new one")]
    Revoked,
    /// A certificate that cannot be checked.
    #[error(
        "the server's certificate cannot be checked ({why}); issue it anew as X.509 v3 for a server"
    )]
    Unusable {
        /// What the library says.
        why: String,
    },
    /// The server asks for a certificate.
    #[error(
        "the server asks for a client certificate; name yours in sslcert and its key in sslkey"
    )]
    CertificateAsked,
    /// The server does not take the client's certificate.
    #[error(
        "the server refuses the client certificate ({why}); name one in sslcert that its ssl_ca_file signed"
    )]
    CertificateRefused {
        /// The server's alert.
        why: String,
    },
    /// Anything else.
    #[error("the handshake failed ({why}); check that a PostgreSQL server answers there")]
    Handshake {
        /// What the library says.
        why: String,
    },
}

fn list(names: &[String]) -> String {
    match names {
        [] => "no name at all".to_owned(),
        names => names.join(", "),
    }
}

/// TLS's own error in an error of the client.
fn tls_error(error: &postgres::Error) -> Option<&Error> {
    let source = error.source()?;
    match source.downcast_ref::<io::Error>() {
        Some(io) => io.get_ref()?.downcast_ref(),
        None => source.downcast_ref(),
    }
}

impl TlsTrouble {
    /// What TLS has to do with an error, if anything; `shown` is whether the client showed a
    /// certificate.
    pub fn of(error: &postgres::Error, shown: bool) -> Option<Self> {
        if let Some(error) = tls_error(error) {
            return Some(Self::sorted(error, shown));
        }
        // The client has no other sign of its kind of error than its words.
        let is_tls = error.to_string() == "error performing TLS handshake";
        let why = error.source().map(ToString::to_string).unwrap_or_default();
        match is_tls {
            true if why == "server does not support TLS" => Some(Self::NotOffered),
            true => Some(Self::Handshake { why }),
            false => None,
        }
    }

    fn sorted(error: &Error, shown: bool) -> Self {
        let why = error.to_string();
        match error {
            Error::InvalidCertificate(invalid) => match invalid {
                CertificateError::UnknownIssuer => Self::UnknownAuthority,
                CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                    Self::Expired
                }
                CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                    Self::NotYetValid
                }
                CertificateError::Revoked => Self::Revoked,
                CertificateError::NotValidForNameContext {
                    expected,
                    presented,
                } => Self::WrongName {
                    asked: expected.to_str().into_owned(),
                    names: presented.clone(),
                },
                // It signed itself, and is not among those to trust.
                other if format!("{other:?}").contains("CaUsedAsEndEntity") => {
                    Self::UnknownAuthority
                }
                other => Self::Unusable {
                    why: format!("{other:?}"),
                },
            },
            Error::AlertReceived(AlertDescription::CertificateRequired) => Self::CertificateAsked,
            Error::AlertReceived(alert) if shown => Self::CertificateRefused {
                why: format!("{alert:?}"),
            },
            _ => Self::Handshake { why },
        }
    }
}
