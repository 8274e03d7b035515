//! What a command gets to see of its caller.

use std::ffi::{OsStr, OsString};
use std::io;

use crate::wire::{Size, Start};

/// What a command in the lab gets of its caller's environment; the rest may hold secrets that are for the
/// caller's programs, and stays here.
const PASSED: [&str; 19] = [
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "COLORTERM",
    "EDITOR",
    "HOME",
    "LANG",
    "LANGUAGE",
    "LESS",
    "LOGNAME",
    "NO_COLOR",
    "PAGER",
    "PATH",
    "PWD",
    "RUST_BACKTRACE",
    "SHELL",
    "TERM",
    "TZ",
    "USER",
    "VISUAL",
];
/// All whose name begins so are passed too.
const PASSED_BEGIN: [&str; 2] = ["LC_", "NICETY_"];
/// Secrets among these.
const KEPT: [&str; 1] = ["NICETY_TOKEN"];

/// The command with the caller's directory and what it may see of his environment: what is known to be
/// harmless.
///
/// # Errors
/// When the working directory cannot be told.
pub fn start(words: Vec<OsString>, terminal: Option<Size>) -> io::Result<Start> {
    let directory = std::env::current_dir()?;
    let environment = std::env::vars_os()
        .filter(|(name, _)| passes(name))
        .collect();
    Ok(Start {
        words,
        environment,
        directory: directory.into_os_string(),
        terminal,
    })
}

fn passes(name: &OsStr) -> bool {
    let name = name.to_str().unwrap_or_default();
    let begins = PASSED_BEGIN.iter().any(|begin| name.starts_with(begin));
    PASSED.contains(&name) || begins && !KEPT.contains(&name)
}

/// The user's shell, as far as it is there.
pub fn shell() -> OsString {
    let named = std::env::var_os("SHELL").filter(|path| std::path::Path::new(path).is_file());
    named.unwrap_or_else(|| {
        if std::path::Path::new("/bin/bash").is_file() {
            "/bin/bash".into()
        } else {
            "/bin/sh".into()
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_of_the_caller_stay_with_the_caller() {
        for name in ["PATH", "TERM", "LC_ALL", "NICETY_STORE", "HOME"] {
            assert!(passes(name.as_ref()), "{name}");
        }
        for name in [
            "AWS_SECRET_ACCESS_KEY",
            "PGPASSWORD",
            "NICETY_TOKEN",
            "SSH_AUTH_SOCK",
            "XDG_RUNTIME_DIR",
            "TMPDIR",
            "LD_PRELOAD",
            "",
        ] {
            assert!(!passes(name.as_ref()), "{name}");
        }
    }
}
