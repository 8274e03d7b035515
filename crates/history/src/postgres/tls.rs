//! TLS to a PostgreSQL server, with libpq's meaning of its parameters (PostgreSQL documentation,
//! 34.19), by rustls.

mod files;
mod names;
mod trouble;
mod verifier;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use postgres::config::SslMode;
use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};
use tokio_postgres_rustls_improved::MakeRustlsConnect;

use super::environment::Environment;
use crate::error::HistoryError;
use verifier::{Check, Verifier};

pub use trouble::TlsTrouble;

/// Stands for the system's authorities in `sslrootcert`.
const SYSTEM: &str = "system";

/// `sslmode`: what is tried, and what is checked of the server's certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TlsMode {
    /// In clear.
    Disable,
    /// In clear, else TLS.
    Allow,
    /// TLS, else in clear.
    Prefer,
    /// TLS; the authority is checked where a file of authorities is there.
    Require,
    /// TLS from a known authority.
    VerifyCa,
    /// TLS from a known authority, for the name of the server.
    VerifyFull,
}

impl TlsMode {
    const ALL: [(&str, Self); 6] = [
        ("disable", Self::Disable),
        ("allow", Self::Allow),
        ("prefer", Self::Prefer),
        ("require", Self::Require),
        ("verify-ca", Self::VerifyCa),
        ("verify-full", Self::VerifyFull),
    ];

    fn word(self) -> &'static str {
        let all = Self::ALL.iter();
        all.clone()
            .find(|(_, mode)| *mode == self)
            .map_or("", |(word, _)| word)
    }

    fn of(word: &str) -> Result<Self, HistoryError> {
        let known = Self::ALL.iter().find(|(name, _)| *name == word);
        let words = || Self::ALL.map(|(word, _)| word).join(", ");
        known
            .map(|(_, mode)| *mode)
            .ok_or_else(|| HistoryError::BadSetting {
                name: format!("sslmode={word}"),
                why: format!("no such mode; write one of {}", words()),
            })
    }

    /// The connections to try, in order (34.19.3, table 34.1).
    pub fn attempts(self) -> &'static [SslMode] {
        match self {
            Self::Disable => &[SslMode::Disable],
            Self::Allow => &[SslMode::Disable, SslMode::Require],
            Self::Prefer => &[SslMode::Require, SslMode::Disable],
            Self::Require | Self::VerifyCa | Self::VerifyFull => &[SslMode::Require],
        }
    }
}

/// A file that was named, or that is used where it is there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Named {
    path: Option<PathBuf>,
    is_named: bool,
}

/// Parameters of TLS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsSettings {
    /// What to try and to check.
    pub mode: TlsMode,
    /// Whether somebody asked for the mode.
    pub is_named: bool,
    roots: Named,
    revoked: Named,
    certificate: Named,
    key: Named,
}

impl TlsSettings {
    /// Takes the parameters of TLS from all others. Files that nobody names are those of libpq,
    /// in the user's home.
    ///
    /// # Errors
    /// [`HistoryError::BadSetting`]: what is wrong, and what to write.
    pub fn take(
        all: &mut BTreeMap<String, String>,
        environment: &Environment,
    ) -> Result<Self, HistoryError> {
        let mut file = |key: &str, default: &str| match all.remove(key) {
            Some(path) if !path.is_empty() => Named {
                path: Some(path.into()),
                is_named: true,
            },
            _ => Named {
                path: environment.home_file(&format!(".postgresql/{default}")),
                is_named: false,
            },
        };
        let [roots, revoked, certificate, key] = [
            ("sslrootcert", "root.crt"),
            ("sslcrl", "root.crl"),
            ("sslcert", "postgresql.crt"),
            ("sslkey", "postgresql.key"),
        ]
        .map(|(key, default)| file(key, default));
        let word = all.remove("sslmode");
        let mode = word.as_deref().map(TlsMode::of).transpose()?;
        let mut settings = Self {
            mode: mode.unwrap_or(TlsMode::Prefer),
            is_named: mode.is_some(),
            roots,
            revoked,
            certificate,
            key,
        };
        if settings.takes_system() {
            // As libpq from version 16 on: everybody can have a certificate of these authorities.
            settings.mode = mode.unwrap_or(TlsMode::VerifyFull);
            if settings.mode < TlsMode::VerifyFull {
                return Err(HistoryError::BadSetting {
                    name: format!("sslmode={}", settings.mode.word()),
                    why: "too weak for sslrootcert=system; write sslmode=verify-full".to_owned(),
                });
            }
        }
        Ok(settings)
    }

    fn takes_system(&self) -> bool {
        self.roots.is_named
            && self
                .roots
                .path
                .as_ref()
                .is_some_and(|p| p.as_os_str() == SYSTEM)
    }

    /// Whether the client has a certificate to show.
    pub fn shows_certificate(&self) -> bool {
        let path = self.certificate.path.as_ref();
        path.is_some_and(|path| path.exists())
    }

    /// Reads the files.
    ///
    /// # Errors
    /// [`HistoryError::BadSetting`], which names the file and says what to do.
    pub fn connector(&self) -> Result<MakeRustlsConnect, HistoryError> {
        let provider = Arc::new(ring::default_provider());
        let check = match self.roots()? {
            None => Check::Nothing,
            Some(roots) => Check::Authority {
                roots,
                revoked: self
                    .revoked
                    .read()?
                    .map(|(file, text)| files::revoked(file, &text))
                    .transpose()?
                    .unwrap_or_default(),
                name: self.mode == TlsMode::VerifyFull,
            },
        };
        let verifier = Verifier::new(check, &provider).map_err(|why| HistoryError::BadSetting {
            name: "sslrootcert".to_owned(),
            why,
        })?;
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| HistoryError::BadSetting {
                name: "TLS".to_owned(),
                why: error.to_string(),
            })?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier));
        let config = match self.certificate.read()? {
            None => builder.with_no_client_auth(),
            Some((file, text)) => {
                let certificates = files::certificates(file, &text)?;
                let key = files::key(file, self.key.path.as_deref())?;
                let built = builder.with_client_auth_cert(certificates, key);
                built.map_err(|error| HistoryError::BadSetting {
                    name: file.display().to_string(),
                    why: format!(
                        "does not fit its key ({error}); name the key of this certificate in sslkey"
                    ),
                })?
            }
        };
        Ok(MakeRustlsConnect::new(config))
    }

    /// Authorities to trust; none where the mode does without.
    fn roots(&self) -> Result<Option<RootCertStore>, HistoryError> {
        if self.takes_system() {
            return files::system_roots().map(Some);
        }
        match self.roots.read()? {
            Some((file, text)) => files::roots(file, &text).map(Some),
            None if self.mode < TlsMode::VerifyCa => Ok(None),
            None => Err(self.no_roots()),
        }
    }

    fn no_roots(&self) -> HistoryError {
        HistoryError::BadSetting {
            name: format!("sslmode={}", self.mode.word()),
            why: match &self.roots.path {
                Some(file) => format!(
                    "there is no file of authorities {}; put the server's authority there, or write \
                     sslrootcert=FILE or sslrootcert=system",
                    file.display()
                ),
                None => {
                    "no file of authorities is known; write sslrootcert=FILE or sslrootcert=system"
                        .to_owned()
                }
            },
        }
    }
}
