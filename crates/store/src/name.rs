//! Names of run directories.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use jiff::Timestamp;

use crate::error::StoreError;
use crate::files;

/// Longest plan name kept in a directory's name, in bytes.
const NAME_BYTES: usize = 64;

/// Name of a new run directory: UTC time and plan name, `20260314T150926Z-guest-drivers`. Of
/// the plan's name only ASCII letters, digits, `.`, `_` and `-` are kept.
pub fn run_dir_name(started: SystemTime, plan_name: &str) -> String {
    let time = timestamp(started).strftime("%Y%m%dT%H%M%SZ").to_string();
    format!("{time}-{}", plain(plan_name))
}

/// A time as RFC 3339 in UTC with whole seconds: `2026-03-14T15:09:26Z`.
pub fn rfc3339(time: SystemTime) -> String {
    timestamp(time).strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Makes a new empty directory `root/name`, or `root/name-2` and so on when that is taken:
/// two runs started in the same second get a directory each.
///
/// # Errors
/// When `root` cannot be made or written to.
pub fn new_dir(root: &Path, name: &str) -> Result<PathBuf, StoreError> {
    files::make_dir(root)?;
    let mut path = root.join(name);
    let mut number = 1_u32;
    loop {
        match fs::create_dir(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == ErrorKind::AlreadyExists && number < u32::MAX => {
                number += 1;
                path = root.join(format!("{name}-{number}"));
            }
            Err(source) => return Err(StoreError::io("create", &path, source)),
        }
    }
}

/// Times outside jiff's range (years -9999 to 9999) become the epoch: only a broken clock
/// has them.
fn timestamp(time: SystemTime) -> Timestamp {
    Timestamp::try_from(time).unwrap_or(Timestamp::UNIX_EPOCH)
}

/// A name fit for a path component.
fn plain(name: &str) -> String {
    let mut plain = String::with_capacity(name.len());
    for c in name.chars() {
        if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') {
            plain.push(c);
        } else if !plain.ends_with('-') {
            plain.push('-');
        }
    }
    plain.truncate(NAME_BYTES);
    match plain.trim_matches(['-', '.']) {
        "" => "run".to_owned(),
        plain => plain.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn names_are_time_and_plain_plan_name() {
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_773_500_966);
        for (plan, name) in [
            ("guest-drivers", "guest-drivers"),
            ("../../etc/passwd", "etc-passwd"),
            ("two  words", "two-words"),
            ("ブリッジ", "run"),
            ("", "run"),
            ("..", "run"),
            ("a\nb\0c", "a-b-c"),
        ] {
            assert_eq!(
                run_dir_name(time, plan),
                format!("20260314T150926Z-{name}"),
                "{plan:?}"
            );
        }
        let long = run_dir_name(time, &"x".repeat(300));
        assert_eq!(long.len(), "20260314T150926Z-".len() + NAME_BYTES);
        assert_eq!(rfc3339(time), "2026-03-14T15:09:26Z");
    }

    #[test]
    fn a_taken_name_gets_a_number() {
        let root = tempfile::tempdir().unwrap();
        let names: Vec<_> = (0..3)
            .map(|_| new_dir(&root.path().join("runs"), "r").unwrap())
            .map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
            .collect();
        assert_eq!(names, ["r", "r-2", "r-3"]);
    }
}
