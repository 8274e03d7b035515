//! What libpq takes from the process's environment (PostgreSQL documentation, 34.15).

use std::collections::BTreeMap;
use std::env;
use std::fmt;
use std::path::{Path, PathBuf};

/// Variables and the parameters they stand for.
const VARIABLES: [(&str, &str); 20] = [
    ("PGHOST", "host"),
    ("PGHOSTADDR", "hostaddr"),
    ("PGPORT", "port"),
    ("PGDATABASE", "dbname"),
    ("PGUSER", "user"),
    ("PGPASSWORD", "password"),
    ("PGPASSFILE", "passfile"),
    ("PGSERVICE", "service"),
    ("PGOPTIONS", "options"),
    ("PGAPPNAME", "application_name"),
    ("PGSSLMODE", "sslmode"),
    ("PGSSLROOTCERT", "sslrootcert"),
    ("PGSSLCERT", "sslcert"),
    ("PGSSLKEY", "sslkey"),
    ("PGSSLCRL", "sslcrl"),
    ("PGSSLNEGOTIATION", "sslnegotiation"),
    ("PGCHANNELBINDING", "channel_binding"),
    ("PGCONNECT_TIMEOUT", "connect_timeout"),
    ("PGTARGETSESSIONATTRS", "target_session_attrs"),
    ("PGLOADBALANCEHOSTS", "load_balance_hosts"),
];
/// Name the files of services; they stand for no parameter.
const SERVICE_FILE: &str = "PGSERVICEFILE";
const SYSTEM_DIR: &str = "PGSYSCONFDIR";
/// Where Debian's libpq has the services of all users.
const DEBIAN_DIR: &str = "/etc/postgresql-common";

/// Variables of libpq and the user's home; empty unless taken from the process.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Environment {
    variables: BTreeMap<String, String>,
    home: Option<PathBuf>,
}

/// Names alone: one of the values is a password.
impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Environment")
            .field("variables", &self.variables.keys())
            .field("home", &self.home)
            .finish()
    }
}

impl Environment {
    /// That of this process.
    pub fn of_process() -> Self {
        let names = VARIABLES.iter().map(|(name, _)| *name);
        let names = names.chain([SERVICE_FILE, SYSTEM_DIR]);
        let found = names.filter_map(|name| Some((name.to_owned(), env::var(name).ok()?)));
        let home = env::var_os("HOME").filter(|home| !home.is_empty());
        Self {
            // An empty variable counts as none, as in libpq's conninfo_add_defaults for most.
            variables: found.filter(|(_, value)| !value.is_empty()).collect(),
            home: home.map(PathBuf::from),
        }
    }

    /// With one more variable.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.variables.insert(name.to_owned(), value.to_owned());
        self
    }

    /// With this home.
    #[must_use]
    pub fn at_home(mut self, home: &Path) -> Self {
        self.home = Some(home.to_owned());
        self
    }

    /// Parameters that variables stand for.
    pub(super) fn parameters(&self) -> BTreeMap<String, String> {
        VARIABLES
            .iter()
            .filter_map(|(name, parameter)| {
                let value = self.variables.get(*name)?;
                Some(((*parameter).to_owned(), value.clone()))
            })
            .collect()
    }

    /// A file in the user's home; none without a home.
    pub(super) fn home_file(&self, name: &str) -> Option<PathBuf> {
        self.home.as_ref().map(|home| home.join(name))
    }

    /// The file of the user's services, and whether the user named it.
    pub(super) fn service_file(&self) -> Option<(PathBuf, bool)> {
        match self.variables.get(SERVICE_FILE) {
            Some(file) => Some((file.into(), true)),
            None => Some((self.home_file(".pg_service.conf")?, false)),
        }
    }

    /// The file of everybody's services.
    pub(super) fn system_service_file(&self) -> PathBuf {
        let dir = self.variables.get(SYSTEM_DIR);
        Path::new(dir.map_or(DEBIAN_DIR, String::as_str)).join("pg_service.conf")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_value_is_shown() {
        let environment = Environment::default().with("PGPASSWORD", "secret");
        let shown = format!("{environment:?}");
        assert!(
            shown.contains("PGPASSWORD") && !shown.contains("secret"),
            "{shown}"
        );
        assert_eq!(environment.parameters()["password"], "secret");
    }
}
