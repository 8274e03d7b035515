//! Where a PostgreSQL server is: from a URL to what its client needs, and to words without secrets.

use std::fmt;
use std::time::Duration;

use postgres::Config;
use postgres::config::{Host, SslMode};

use crate::error::HistoryError;

/// Where Debian's server has its socket.
const SOCKET_DIR: &str = "/var/run/postgresql";
/// The server's port when the URL has none.
pub(super) const PORT: u16 = 5432;
/// How long a connection may take to be made.
const CONNECT: Duration = Duration::from_secs(10);
/// After how long a silent peer counts as gone.
const SILENCE: Duration = Duration::from_secs(20);

/// What is missing, and what to do.
const NO_TLS: &str = "nicety speaks no TLS; leave sslmode out, and reach the server through its socket, a \
                      tunnel or a network you trust";

/// Whether a store is named as a PostgreSQL server.
pub fn is_url(place: &str) -> bool {
    ["postgres://", "postgresql://"]
        .iter()
        .any(|scheme| place.starts_with(scheme))
}

/// A URL as libpq takes it (PostgreSQL documentation, 34.1.1.2); `password` counts where it has
/// none.
///
/// # Errors
/// [`HistoryError::BadUrl`].
pub fn parse(url: &str, password: Option<&str>) -> Result<Config, HistoryError> {
    let bad = |why: String| HistoryError::BadUrl {
        url: without_password(url),
        why,
    };
    let mut config: Config = url.parse().map_err(|error| bad(why(&error)))?;
    if config.get_ssl_mode() == SslMode::Require {
        return Err(bad(NO_TLS.to_owned()));
    }
    config.ssl_mode(SslMode::Disable);
    if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
        config.host_path(SOCKET_DIR);
    }
    if let (None, Some(password)) = (config.get_password(), password) {
        config.password(password);
    }
    if config.get_application_name().is_none() {
        config.application_name("nicety");
    }
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(CONNECT);
    }
    if config.get_tcp_user_timeout().is_none() {
        config.tcp_user_timeout(SILENCE);
        config.keepalives_idle(SILENCE);
    }
    Ok(config)
}

/// What to tell whoever names a server, though it works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Caution {
    /// The password stands among the arguments.
    PasswordInArguments,
    /// TLS was preferred, and there is none.
    NoTls,
    /// Others can read the file with passwords.
    PassfileOpen,
}

impl fmt::Display for Caution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::PasswordInArguments => {
                "other users can read the password in --store; leave it out and use PGPASSWORD or \
                 PGPASSFILE, or name the store in NICETY_STORE"
            }
            Self::PassfileOpen => {
                "others can read the password file, so it is not used; run chmod 600 on it"
            }
            Self::NoTls => {
                "nicety speaks no TLS, so sslmode=prefer connects in clear; reach the server through its \
                 socket, a tunnel or a network you trust, and leave sslmode out"
            }
        })
    }
}

/// What to tell about a URL that was an argument or not, with the variable PGSSLMODE of libpq.
///
/// # Errors
/// Where that variable asks for TLS; a URL's own sslmode counts instead of it.
pub fn cautions(
    url: &str,
    is_argument: bool,
    ssl_mode: Option<&str>,
) -> Result<Vec<Caution>, HistoryError> {
    let query = url.split_once('?').map_or("", |(_, query)| query);
    let own = query
        .split('&')
        .find_map(|pair| pair.strip_prefix("sslmode="));
    let wanted = match (own, ssl_mode) {
        (Some(own), _) => own,
        (None, Some(mode @ ("require" | "verify-ca" | "verify-full"))) => {
            return Err(HistoryError::BadUrl {
                url: without_password(url),
                why: format!("PGSSLMODE={mode} asks for TLS; {NO_TLS}"),
            });
        }
        (None, mode) => mode.unwrap_or_default(),
    };
    let config: Option<Config> = url.parse().ok();
    let has_password = config.is_some_and(|config| config.get_password().is_some());
    Ok([
        (is_argument && has_password).then_some(Caution::PasswordInArguments),
        (wanted == "prefer").then_some(Caution::NoTls),
    ]
    .into_iter()
    .flatten()
    .collect())
}

/// The URL again, without the password.
pub fn words(config: &Config) -> String {
    let user = config
        .get_user()
        .map_or_else(String::new, |user| format!("{user}@"));
    let database = config
        .get_dbname()
        .map_or_else(String::new, |name| format!("/{name}"));
    let hosts: Vec<String> = config
        .get_hosts()
        .iter()
        .enumerate()
        .map(|(n, host)| {
            let ports = config.get_ports();
            let port = *ports.get(n).or(ports.first()).unwrap_or(&PORT);
            let port = match port {
                PORT => String::new(),
                port => format!(":{port}"),
            };
            match host {
                Host::Tcp(name) if name.contains(':') => format!("[{name}]{port}"),
                Host::Tcp(name) => format!("{name}{port}"),
                Host::Unix(dir) => format!("{}{port}", dir.display()),
            }
        })
        .collect();
    format!("postgres://{user}{}{database}", hosts.join(","))
}

/// What a client's error says, without the layers around it.
pub fn why(error: &postgres::Error) -> String {
    use std::error::Error;
    match (error.as_db_error(), error.source()) {
        (Some(said), _) => said.message().to_owned(),
        (None, Some(source)) => source.to_string(),
        (None, None) => error.to_string(),
    }
}

/// A URL that could not be read, its password hidden: it may stand between the user and the last
/// `@` before the path, or be a parameter.
pub fn without_password(url: &str) -> String {
    let (base, query) = match url.split_once('?') {
        Some((base, query)) => (base, Some(query)),
        None => (url, None),
    };
    let mut hidden = match base.split_once("://") {
        Some((scheme, rest)) => match rest.rsplit_once('@') {
            Some((user, rest)) => {
                let name = user.split_once(':').map_or(user, |(name, _)| name);
                format!("{scheme}://{name}@{rest}")
            }
            None => base.to_owned(),
        },
        None => base.to_owned(),
    };
    if let Some(query) = query {
        let kept: Vec<&str> = query
            .split('&')
            .filter(|pair| !pair.starts_with("password"))
            .collect();
        hidden = format!("{hidden}?{}", kept.join("&"));
    }
    hidden
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_told_without_its_password() {
        for (url, shown) in [
            (
                "postgres://me:secret@db:5433/runs",
                "postgres://me@db:5433/runs",
            ),
            ("postgresql://db/runs?password=secret", "postgres://db/runs"),
            ("postgres:///runs?host=/run/pg", "postgres:///run/pg/runs"),
            (
                "postgres://me@/runs",
                "postgres://me@/var/run/postgresql/runs",
            ),
            ("postgres://[::1]/runs", "postgres://[::1]/runs"),
        ] {
            assert_eq!(words(&parse(url, None).unwrap()), shown, "{url}");
        }
    }

    #[test]
    fn a_password_of_the_environment_counts_where_the_url_has_none() {
        let given = parse("postgres://me@db/runs", Some("other")).unwrap();
        assert_eq!(given.get_password(), Some(&b"other"[..]));
        let own = parse("postgres://me:own@db/runs", Some("other")).unwrap();
        assert_eq!(own.get_password(), Some(&b"own"[..]));
    }

    #[test]
    fn nothing_is_passed_over_in_silence() {
        let told = |url, is_argument, mode| cautions(url, is_argument, mode).unwrap();
        let url = "postgres://me:secret@db/runs";
        assert_eq!(told(url, true, None), [Caution::PasswordInArguments]);
        assert_eq!(told(url, false, None), []);
        let query = "postgres://me@db/runs?password=secret&sslmode=prefer";
        let both = [Caution::PasswordInArguments, Caution::NoTls];
        assert_eq!(told(query, true, None), both);
        let plain = "postgres://me@db/runs";
        assert_eq!(told(plain, true, Some("prefer")), [Caution::NoTls]);
        for fine in ["disable", "allow", ""] {
            assert_eq!(told(plain, true, Some(fine)), []);
        }
        for mode in ["require", "verify-ca", "verify-full"] {
            let said = cautions(url, true, Some(mode)).unwrap_err().to_string();
            assert!(
                said.contains("no TLS") && !said.contains("secret"),
                "{said}"
            );
        }
        let own = "postgres://me@db/runs?sslmode=disable";
        assert_eq!(told(own, true, Some("require")), []);
    }

    #[test]
    fn what_cannot_be_done_is_refused_without_the_password() {
        for (url, part) in [
            (
                "postgres://me:secret@db/runs?sslmode=require",
                "speaks no TLS",
            ),
            (
                "postgres://me:secret@db/runs?password=secret&colour=red",
                "colour",
            ),
            ("postgres://me:secret@db:port/runs", "port"),
        ] {
            let said = parse(url, None).unwrap_err().to_string();
            assert!(said.contains(part) && !said.contains("secret"), "{said}");
        }
    }
}
