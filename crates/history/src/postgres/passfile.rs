//! The password file of libpq (PostgreSQL documentation, 34.16): a line for each server,
//! `HOST:PORT:DATABASE:USER:PASSWORD`, where `*` stands for everything and `\` takes a `:` or `\` as it is.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use nicety_host::regular;
use postgres::Config;
use postgres::config::Host;

use super::address::PORT;
use super::caution::Caution;

/// More is no password file.
const LARGEST: u64 = 1 << 20;

/// The password for a server in a password file; none where the file is missing or has none.
///
/// # Errors
/// [`Caution::PassfileOpen`] where others can read the file, [`Caution::PassfileNoFile`] where it is a pipe or a
/// directory. It is then not used, as libpq does.
pub fn password(server: &Config, file: &Path) -> Result<Option<String>, Caution> {
    let file = match regular::open(file) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
            return Err(Caution::PassfileNoFile);
        }
        Err(_) => return Ok(None),
    };
    let Ok(found) = file.metadata() else {
        return Ok(None);
    };
    if found.mode() & 0o077 != 0 {
        return Err(Caution::PassfileOpen);
    }
    let text = regular::read_at_most(file, LARGEST).ok();
    let text = text.and_then(|bytes| String::from_utf8(bytes).ok());
    Ok(text.and_then(|text| find(&text, server)))
}

/// The first line that fits counts.
fn find(text: &str, server: &Config) -> Option<String> {
    let host = match server.get_hosts().first() {
        Some(Host::Tcp(name)) => name.as_str(),
        // A socket goes by this name there.
        Some(Host::Unix(_)) | None => "localhost",
    };
    let port = server.get_ports().first().copied().unwrap_or(PORT);
    let user = server.get_user().unwrap_or_default();
    let wanted = [
        host,
        &port.to_string(),
        server.get_dbname().unwrap_or(user),
        user,
    ];
    text.lines().find_map(|line| {
        let fields = fields(line.strip_suffix('\r').unwrap_or(line));
        let (password, names) = fields.split_last()?;
        let fits = |(name, wanted): (&String, &&str)| name == "*" || name == wanted;
        let all = names.len() == wanted.len() && names.iter().zip(&wanted).all(fits);
        (all && !line.starts_with('#')).then(|| password.clone())
    })
}

fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match c {
            ':' => fields.push(String::new()),
            _ => {
                let taken = match c {
                    '\\' => chars.next(),
                    _ => Some(c),
                };
                if let Some(field) = fields.last_mut() {
                    field.extend(taken);
                }
            }
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::PermissionsExt;
    use std::process::Command;

    use super::*;

    const TEXT: &str = "# db:5432:runs:me:commented
db:5433:runs:me:other port
db:5432:runs:me:a\\:b\\\\c
*:*:*:you:yours
localhost:*:runs:me:socket
short:line
";

    #[test]
    fn the_first_line_that_fits_counts() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("pgpass");
        std::fs::write(&file, TEXT).unwrap();
        set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
        for (url, expected) in [
            ("postgres://me@db/runs", Some("a:b\\c")),
            ("postgres://me@db:5433/runs", Some("other port")),
            ("postgres://you@elsewhere/x", Some("yours")),
            ("postgres://me@/runs?host=/run/postgresql", Some("socket")),
            ("postgres://me@elsewhere/runs", None),
        ] {
            let found = password(&url.parse().unwrap(), &file).unwrap();
            assert_eq!(found.as_deref(), expected, "{url}");
        }
        let server: Config = "postgres://me@db/runs".parse().unwrap();
        let missing = dir.path().join("missing");
        assert_eq!(password(&server, &missing), Ok(None));
        // A pipe that nobody writes to is not waited for.
        let pipe = dir.path().join("pipe");
        let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        for other in [dir.path(), &pipe] {
            let found = password(&server, other);
            assert_eq!(found, Err(Caution::PassfileNoFile), "{other:?}");
        }
        set_permissions(&file, Permissions::from_mode(0o640)).unwrap();
        let open = password(&server, &file);
        assert_eq!(open, Err(Caution::PassfileOpen));
    }
}
