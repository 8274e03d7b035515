//! Who runs this program, when, and how, for the journal.

use std::path::Path;

use jiff::Timestamp;
use nicety_model::journal::Origin;
use nicety_model::shell;

/// What whoever raised this user's rights says about who that was.
const BEFORE: [&str; 2] = ["SUDO_USER", "DOAS_USER"];

/// Of this process, now.
pub(crate) fn now() -> Origin {
    let before = BEFORE.iter().find_map(|name| std::env::var(name).ok());
    let words = std::env::args_os().skip(1);
    let words = words.map(|word| word.to_string_lossy().into_owned());
    let uid = rustix::process::getuid().as_raw();
    Origin {
        time: Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        user: before
            .filter(|name| !name.is_empty())
            .or_else(|| user(Path::new("/etc/passwd"), uid))
            .unwrap_or_else(|| format!("uid {uid}")),
        command: shell::command(words),
    }
}

/// Name of a user, where the file of passwd(5) has one.
fn user(passwd: &Path, uid: u32) -> Option<String> {
    let text = std::fs::read_to_string(passwd).ok()?;
    text.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        let own = fields.nth(1)?.parse() == Ok(uid);
        (own && !name.is_empty()).then(|| name.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_found_by_number() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("passwd");
        std::fs::write(&path, "root:x:0:0::/root:/bin/sh\nada:x:7:7::/:/x\nbad\n").unwrap();
        assert_eq!(user(&path, 7).as_deref(), Some("ada"));
        assert_eq!(user(&path, 8), None);
        assert_eq!(user(&dir.path().join("none"), 0), None);
    }
}
