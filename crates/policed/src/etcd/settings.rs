//! How to reach etcd, and as whom.

use std::path::PathBuf;
use std::time::Duration;

/// How to reach etcd, and as whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// URLs of the members, `http://` or `https://`; never empty.
    pub endpoints: Vec<String>,
    /// Below which all keys are, without a slash at its end.
    pub prefix: String,
    /// Name of this host, which no other host of the prefix may have.
    pub host: String,
    /// Files for TLS.
    pub tls: Tls,
    /// User and file of the password; none where etcd asks for none.
    pub user: Option<Credentials>,
    /// Life of the host's lease without a sign of it. etcd grants whole seconds.
    pub ttl: Duration,
    /// How long one request may take.
    pub timeout: Duration,
}

/// Files for TLS, in PEM.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tls {
    /// Whom to trust; those that the system trusts when absent.
    pub ca: Option<PathBuf>,
    /// Own certificate, with its key.
    pub own: Option<(PathBuf, PathBuf)>,
}

/// Who asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credentials {
    /// Name.
    pub user: String,
    /// File with the password in its first line.
    pub password_file: PathBuf,
}
