//! Services: parameters under a name, in a file of libpq (PostgreSQL documentation, 34.17).

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use nicety_host::regular;

use super::environment::Environment;
use crate::error::HistoryError;

/// More is no file of services.
const LARGEST: u64 = 1 << 20;

/// The parameters of a service: from the user's file, else from everybody's.
///
/// # Errors
/// [`HistoryError::BadSetting`] where no file has it, or one that is asked cannot be read.
pub fn parameters(
    name: &str,
    environment: &Environment,
) -> Result<BTreeMap<String, String>, HistoryError> {
    let own = environment.service_file();
    let everybodys = (environment.system_service_file(), false);
    let mut asked = Vec::new();
    for (file, is_named) in own.into_iter().chain([everybodys]) {
        let bad = |why: String| HistoryError::BadSetting {
            name: format!("{}", file.display()),
            why,
        };
        asked.push(file.display().to_string());
        match read(&file) {
            Ok(text) => {
                if let Some(found) = find(&text, name).map_err(bad)? {
                    return Ok(found);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound && !is_named => {}
            Err(error) => return Err(bad(format!("cannot read the services: {error}"))),
        }
    }
    Err(HistoryError::BadSetting {
        name: format!("service {name}"),
        why: format!(
            "no section [{name}] in {}; add one, or name another file in PGSERVICEFILE",
            asked.join(" or ")
        ),
    })
}

fn read(file: &Path) -> io::Result<String> {
    let bytes = regular::read(file, LARGEST)?;
    String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// A section of a file; what stands in others is not looked at.
fn find(text: &str, name: &str) -> Result<Option<BTreeMap<String, String>>, String> {
    let mut found: Option<BTreeMap<String, String>> = None;
    let mut inside = false;
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(section) = line.strip_prefix('[') {
            if found.is_some() {
                break;
            }
            inside = section.strip_suffix(']') == Some(name);
            if inside {
                found = Some(BTreeMap::new());
            }
            continue;
        }
        if let (true, Some(found)) = (inside, &mut found) {
            // The line may hold a password, so it is not shown.
            let wrong = || format!("line {} is no KEY=VALUE; correct it", at + 1);
            let (key, value) = line.split_once('=').ok_or_else(wrong)?;
            if key == "service" {
                return Err(format!(
                    "line {}: a service names no other; remove the line",
                    at + 1
                ));
            }
            found.insert(key.trim().to_owned(), value.to_owned());
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# services
[other]
host=elsewhere

[bench]
host=db
sslmode=verify-full
password=a=b
";

    #[test]
    fn a_section_ends_where_the_next_begins() {
        let text = format!("{TEXT}\n[last]\nuser=nobody\n");
        let found = find(&text, "bench").unwrap().unwrap();
        let expected = [
            ("host", "db"),
            ("password", "a=b"),
            ("sslmode", "verify-full"),
        ];
        let expected = expected.map(|(key, value)| (key.to_owned(), value.to_owned()));
        assert_eq!(found, expected.into());
        assert_eq!(find(&text, "none").unwrap(), None);
        let said = find("[bench]\nsecret words", "bench").unwrap_err();
        assert_eq!(said, "line 2 is no KEY=VALUE; correct it");
        assert!(find("[bench]\nservice=x", "bench").is_err());
    }

    #[test]
    fn the_users_file_comes_before_everybodys() {
        let dir = tempfile::tempdir().unwrap();
        let system = dir.path().join("etc");
        std::fs::create_dir(&system).unwrap();
        let environment = Environment::default()
            .at_home(dir.path())
            .with("PGSYSCONFDIR", system.to_str().unwrap());
        let none = parameters("bench", &environment).unwrap_err().to_string();
        assert!(
            none.starts_with("service bench: no section [bench] in "),
            "{none}"
        );
        std::fs::write(system.join("pg_service.conf"), "[bench]\nhost=theirs\n").unwrap();
        assert_eq!(parameters("bench", &environment).unwrap()["host"], "theirs");
        std::fs::write(dir.path().join(".pg_service.conf"), TEXT).unwrap();
        assert_eq!(parameters("bench", &environment).unwrap()["host"], "db");
        let missing = environment.with("PGSERVICEFILE", "/nowhere/services");
        let said = parameters("bench", &missing).unwrap_err().to_string();
        assert!(
            said.starts_with("/nowhere/services: cannot read the services"),
            "{said}"
        );
    }
}
