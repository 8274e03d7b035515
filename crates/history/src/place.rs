//! Where a history is kept: what a name or URL means, and what to tell whoever wrote it.

use std::fmt;
use std::path::{Path, PathBuf};

use percent_encoding::{NON_ALPHANUMERIC, percent_encode};
use url::Url;

use crate::error::HistoryError;

/// Parameters of a URL that are known. Others are refused: a client that ignored `sslcrl` would trust more than it was told.
const KNOWN: [&str; 11] = [
    "host",
    "hostaddr",
    "port",
    "dbname",
    "user",
    "password",
    "sslmode",
    "sslrootcert",
    "sslcert",
    "sslkey",
    "application_name",
];
/// Modes of TLS with libpq's meaning (PostgreSQL documentation, SSL support). `allow` encrypts only a server that insists;
/// nobody should ask for it.
const MODES: [&str; 5] = ["disable", "prefer", "require", "verify-ca", "verify-full"];
/// Variables of libpq that would name another server, or trust less; nobody should believe that they are read.
const UNREAD: [&str; 3] = ["PGSERVICE", "PGSSLCRL", "PGSSLCRLDIR"];
/// Stands for the machine's authorities in `sslrootcert`.
const SYSTEM: &str = "system";

/// Something that works and is not as safe as it looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Caution {
    /// The password stands among the arguments.
    PasswordInArguments,
    /// The server offers no TLS, and the mode goes on without.
    NotEncrypted,
}

impl fmt::Display for Caution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::PasswordInArguments => {
                "other users can read the password in --store; leave it out and use PGPASSFILE, or name the store in \
                 NICETY_STORE"
            }
            Self::NotEncrypted => {
                "the server offers no TLS, so the connection is not encrypted; switch TLS on there, or accept this with \
                 sslmode=disable"
            }
        })
    }
}

/// A file or a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// SQLite's file.
    File(PathBuf),
    /// PostgreSQL's server: its URL, complete but for what libpq's variables say.
    Server(Url),
}

impl Place {
    /// # Errors
    /// [`HistoryError::BadUrl`], [`HistoryError::BadSetting`].
    pub fn parse(name: &Path) -> Result<Self, HistoryError> {
        let text = name.to_str().filter(|text| text.contains("://"));
        text.map_or_else(|| Ok(Self::File(name.to_owned())), server)
    }

    /// For the reader, without a password.
    pub fn shown(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::Server(url) => shown(url),
        }
    }

    /// As the client takes it; a file may be made with `make`.
    pub fn url(&self, make: bool) -> String {
        match self {
            Self::File(path) => {
                let path = percent_encode(path.as_os_str().as_encoded_bytes(), NON_ALPHANUMERIC);
                format!("sqlite:{path}?mode={}", if make { "rwc" } else { "rw" })
            }
            Self::Server(url) => url.to_string(),
        }
    }

    /// Whether the mode of TLS goes on without TLS, over a network.
    pub fn may_be_in_clear(&self) -> bool {
        let Self::Server(url) = self else {
            return false;
        };
        let host = parameter(url, "host").or_else(|| url.host_str().map(str::to_owned));
        let prefers = parameter(url, "sslmode").as_deref() == Some("prefer");
        prefers && host.is_some_and(|host| !is_local(&host))
    }
}

/// Whether a host is a socket of this machine, or the machine itself.
fn is_local(host: &str) -> bool {
    let address = host.parse::<std::net::IpAddr>();
    host.starts_with('/')
        || host == "localhost"
        || address.is_ok_and(|address| address.is_loopback())
}

/// Whether a URL holds a password.
pub fn has_password(text: &str) -> bool {
    let url = Url::parse(&with_host(text)).ok();
    url.is_some_and(|url| url.password().is_some() || parameter(&url, "password").is_some())
}

fn parameter(url: &Url, name: &str) -> Option<String> {
    let mut pairs = url.query_pairs();
    pairs
        .find(|(key, _)| key == name)
        .map(|(_, value)| value.into_owned())
}

fn shown(url: &Url) -> String {
    let user = parameter(url, "user").unwrap_or_else(|| url.username().to_owned());
    let at = if user.is_empty() { "" } else { "@" };
    let host = parameter(url, "host").or_else(|| url.host_str().map(str::to_owned));
    let port = parameter(url, "port").or_else(|| url.port().map(|port| port.to_string()));
    let port = port.map_or_else(String::new, |port| format!(":{port}"));
    let base =
        parameter(url, "dbname").map_or_else(|| url.path().to_owned(), |name| format!("/{name}"));
    format!(
        "{}://{user}{at}{}{port}{base}",
        url.scheme(),
        host.unwrap_or_default()
    )
}

fn server(text: &str) -> Result<Place, HistoryError> {
    let bad = |why: String| HistoryError::BadUrl {
        url: Url::parse(&with_host(text)).map_or_else(|_| "URL".to_owned(), |url| shown(&url)),
        why,
    };
    let url = Url::parse(&with_host(text)).map_err(|error| bad(error.to_string()))?;
    if !["postgres", "postgresql"].contains(&url.scheme()) {
        return Err(bad("no store of this kind is known".to_owned()));
    }
    if let Some((key, _)) = url
        .query_pairs()
        .find(|(key, _)| !KNOWN.contains(&key.as_ref()))
    {
        return Err(bad(format!("{key} is not a parameter that nicety knows")));
    }
    complete(&url).map(Place::Server)
}

/// libpq takes `postgres://USER@/DATABASE?host=DIRECTORY`; in a URL a user belongs to a host. The user is a parameter then.
fn with_host(text: &str) -> String {
    let parts = text
        .split_once("://")
        .and_then(|(scheme, rest)| Some((scheme, rest.split_once("@/")?)));
    let Some((scheme, (login, rest))) = parts.filter(|(_, (login, _))| !login.contains('/')) else {
        return text.to_owned();
    };
    let (user, password) = login
        .split_once(':')
        .map_or((login, None), |(user, password)| (user, Some(password)));
    let login = password.map_or_else(String::new, |password| {
        format!("&password={}", password.replace('+', "%2B"))
    });
    let sign = if rest.contains('?') { '&' } else { '?' };
    format!(
        "{scheme}:///{rest}{sign}user={}{login}",
        user.replace('+', "%2B")
    )
}

/// The URL with the mode of TLS that counts.
fn complete(url: &Url) -> Result<Url, HistoryError> {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    if let Some(name) = UNREAD.into_iter().find(|name| variable(name).is_some()) {
        return Err(HistoryError::BadSetting {
            name: name.to_owned(),
            why: "nicety does not read this variable; unset it, and write into the URL what it stands for".to_owned(),
        });
    }
    let given = parameter(url, "sslmode").or_else(|| variable("PGSSLMODE"));
    let roots = parameter(url, "sslrootcert").or_else(|| variable("PGSSLROOTCERT"));
    let mode = mode(given.as_deref(), roots.as_deref())?;
    let kept: Vec<(String, String)> = url
        .query_pairs()
        .filter(|(key, value)| key != "sslmode" && !(key == "sslrootcert" && value == SYSTEM))
        .map(|(key, value)| (key.into_owned(), value.into_owned()))
        .collect();
    let mut url = url.clone();
    let mut pairs = url.query_pairs_mut();
    pairs
        .clear()
        .extend_pairs(&kept)
        .append_pair("sslmode", mode);
    if !kept.iter().any(|(key, _)| key == "application_name") {
        pairs.append_pair("application_name", "nicety");
    }
    drop(pairs);
    Ok(url)
}

/// As libpq from version 16 on: everybody can have a certificate of the machine's authorities, so these go with the name
/// only; and a file of authorities that is named is used.
fn mode(given: Option<&str>, roots: Option<&str>) -> Result<&'static str, HistoryError> {
    let setting = |mode: &str, why: String| HistoryError::BadSetting {
        name: format!("sslmode={mode}"),
        why,
    };
    let known = |mode: &str| {
        let found = MODES.iter().find(|known| **known == mode).copied();
        found.ok_or_else(|| {
            setting(
                mode,
                format!("no such mode; write one of {}", MODES.join(", ")),
            )
        })
    };
    match (given.map(known).transpose()?, roots) {
        (None, Some(SYSTEM)) => Ok("verify-full"),
        (Some(mode), Some(SYSTEM)) if mode != "verify-full" => Err(setting(
            mode,
            "too weak for sslrootcert=system; write sslmode=verify-full".to_owned(),
        )),
        (Some("require"), Some(_)) => Ok("verify-ca"),
        (mode, _) => Ok(mode.unwrap_or("prefer")),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Place, HistoryError> {
        Place::parse(Path::new(text))
    }

    #[test]
    fn a_name_is_a_file_and_a_url_a_server() {
        let file = parsed("runs/a b?.sqlite").unwrap();
        assert_eq!(file.url(false), "sqlite:runs%2Fa%20b%3F%2Esqlite?mode=rw");
        let server = parsed("postgres://me:secret@db:5433/team?sslmode=require").unwrap();
        assert_eq!(server.shown(), "postgres://me@db:5433/team");
        let socket = parsed("postgres://me@/team?host=/run/pg").unwrap();
        assert_eq!(socket.shown(), "postgres://me@/run/pg/team");
    }

    #[test]
    fn what_cannot_be_meant_is_refused_without_the_password() {
        for (url, why) in [
            ("mysql://me:secret@db/team", "no store of this kind"),
            (
                "postgres://me:secret@db/team?sslcrl=x",
                "sslcrl is not a parameter",
            ),
            (
                "postgres://me:secret@db/team?sslmode=allow",
                "sslmode=allow: no such mode",
            ),
            (
                "postgres://me:secret@db/team?sslmode=require&sslrootcert=system",
                "too weak",
            ),
        ] {
            let text = parsed(url).unwrap_err().to_string();
            assert!(text.contains(why) && !text.contains("secret"), "{text}");
        }
        assert!(has_password("postgres://me:secret@db/team"));
        assert!(has_password("postgres://me@db/team?password=secret"));
        assert!(has_password("postgres://me:secret@/team?host=/run/pg"));
        assert!(!has_password("postgres://me@db/team"));
    }

    #[test]
    fn authorities_that_are_named_are_asked() {
        assert_eq!(
            mode(Some("require"), Some("ours.crt")).unwrap(),
            "verify-ca"
        );
        assert_eq!(mode(None, Some(SYSTEM)).unwrap(), "verify-full");
        assert_eq!(mode(None, None).unwrap(), "prefer");
    }
}
