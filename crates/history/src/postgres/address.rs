//! What is known of a PostgreSQL server: from the URL, a service, the environment and defaults to
//! what its client needs, and to words without secrets.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use postgres::Config;
use postgres::config::{Host, SslMode};

use super::caution::Caution;
use super::environment::Environment;
use super::tls::TlsSettings;
use super::url::{parameters, without_password};
use super::{passfile, service};
use crate::error::HistoryError;

/// Where Debian's server has its socket.
const SOCKET_DIR: &str = "/var/run/postgresql";
/// The server's port when nothing says another.
pub(super) const PORT: u16 = 5432;
/// How long a connection may take to be made.
const CONNECT: Duration = Duration::from_secs(10);
/// After how long a silent peer counts as gone.
const SILENCE: Duration = Duration::from_secs(20);

/// A server and the way to it.
#[derive(Debug)]
pub struct Address {
    /// For the client; its TLS mode counts for nothing.
    pub config: Config,
    /// Whether and how to encrypt.
    pub tls: TlsSettings,
    /// What to tell.
    pub cautions: Vec<Caution>,
}

/// All that is said of a server. The URL counts first, then the service, then the environment
/// (PostgreSQL documentation, 34.17).
///
/// # Errors
/// [`HistoryError::BadUrl`], [`HistoryError::BadSetting`].
pub fn parse(url: &str, environment: &Environment) -> Result<Address, HistoryError> {
    let bad = |why: String| HistoryError::BadUrl {
        url: without_password(url),
        why,
    };
    let mut all = environment.parameters();
    let own = parameters(url).map_err(bad)?;
    let service_of = |all: &BTreeMap<String, String>| all.get("service").cloned();
    if let Some(name) = service_of(&own).or_else(|| service_of(&all)) {
        all.extend(service::parameters(&name, environment)?);
    }
    all.extend(own);
    all.remove("service");
    // Kerberos' encryption, which nicety does not have, is not wanted or may be missing.
    if all.get("gssencmode").is_some_and(|mode| mode != "require") {
        all.remove("gssencmode");
    }
    // Without a host, the server's address is what its certificate has to name.
    if let (None, Some(address)) = (all.get("host"), all.get("hostaddr")) {
        all.insert("host".to_owned(), address.clone());
    }
    let tls = TlsSettings::take(&mut all, environment)?;
    let passfile = all.remove("passfile").map(Into::into);
    let passfile = passfile.or_else(|| environment.home_file(".pgpass"));
    let mut config: Config = line(&all).parse().map_err(|error| bad(why(&error)))?;
    config.ssl_mode(SslMode::Disable);
    complete(&mut config);
    let mut cautions = Vec::new();
    if let (None, Some(file)) = (config.get_password(), passfile) {
        match passfile::password(&config, &file) {
            Ok(Some(password)) => {
                config.password(password);
            }
            Ok(None) => {}
            Err(caution) => cautions.push(caution),
        }
    }
    Ok(Address {
        config,
        tls,
        cautions,
    })
}

/// Parameters as the client reads them (PostgreSQL documentation, 34.1.1.1).
fn line(parameters: &BTreeMap<String, String>) -> String {
    let mut line = String::new();
    for (key, value) in parameters {
        let value = value.replace('\\', "\\\\").replace('\'', "\\'");
        // Writing to a text does not fail.
        let _ = write!(line, "{key}='{value}' ");
    }
    line
}

/// What nobody said.
fn complete(config: &mut Config) {
    if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
        config.host_path(SOCKET_DIR);
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
}

/// Whether the server is on this machine and reached without a network; there is no TLS then
/// (PostgreSQL documentation, 34.1.2, sslmode).
pub fn is_socket(config: &Config) -> bool {
    let hosts = config.get_hosts();
    hosts.iter().all(|host| matches!(host, Host::Unix(_)))
}

/// Whether all hosts are this machine itself.
pub fn is_local(config: &Config) -> bool {
    let is_loopback = |name: &String| {
        let ip = name.parse::<std::net::IpAddr>();
        name == "localhost" || ip.is_ok_and(|ip| ip.is_loopback())
    };
    config.get_hosts().iter().all(|host| match host {
        Host::Tcp(name) => is_loopback(name),
        Host::Unix(_) => true,
    })
}

/// The address again, without the password.
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

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    fn none() -> Environment {
        Environment::default()
    }

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
            let address = parse(url, &none()).unwrap();
            assert_eq!(words(&address.config), shown, "{url}");
            let shown = format!("{address:?}");
            assert!(!shown.contains("secret"), "{shown}");
        }
    }

    #[test]
    fn the_url_comes_before_the_service_and_the_service_before_the_environment() {
        let dir = tempfile::tempdir().unwrap();
        let text = "[bench]\nhost=db.example\nuser=service\nport=5433\npassword=it's \\ a\n";
        std::fs::write(dir.path().join(".pg_service.conf"), text).unwrap();
        let environment = none()
            .at_home(dir.path())
            .with("PGSERVICE", "bench")
            .with("PGUSER", "environment")
            .with("PGDATABASE", "team");
        let all = parse("postgres://", &environment).unwrap();
        assert_eq!(
            words(&all.config),
            "postgres://service@db.example:5433/team"
        );
        assert_eq!(all.config.get_password(), Some(&b"it's \\ a"[..]));
        let own = parse("postgres://me:own@/?port=1", &environment).unwrap();
        assert_eq!(words(&own.config), "postgres://me@db.example:1/team");
        assert_eq!(own.config.get_password(), Some(&b"own"[..]));
    }

    #[test]
    fn what_cannot_be_done_is_refused_without_the_password() {
        for (url, part) in [
            ("postgres://me:secret@db/runs?sslmode=tls", "sslmode"),
            (
                "postgres://me:secret@db/runs?password=secret&colour=red",
                "colour",
            ),
            ("postgres://me:secret@db:port/runs", "port"),
            (
                "postgres://me:secret@db/?sslpassword=secret&password=secret",
                "sslpassword",
            ),
        ] {
            let said = parse(url, &none()).unwrap_err().to_string();
            assert!(said.contains(part) && !said.contains("secret"), "{said}");
        }
    }
}
