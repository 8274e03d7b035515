//! What a command gets to see of its caller.

use std::ffi::OsString;
use std::io;

use crate::wire::{Size, Start};

/// Variables that name sockets and sessions of the host, which are not there in the lab.
const LEFT_OUT: [&str; 6] = [
    "XDG_RUNTIME_DIR",
    "DBUS_SESSION_BUS_ADDRESS",
    "SSH_AUTH_SOCK",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "TMPDIR",
];

/// The command with the caller's environment and directory.
///
/// # Errors
/// When the working directory cannot be told.
pub fn start(words: Vec<OsString>, terminal: Option<Size>) -> io::Result<Start> {
    let directory = std::env::current_dir()?;
    let environment = std::env::vars_os()
        .filter(|(name, _)| !LEFT_OUT.iter().any(|out| name == out))
        .collect();
    Ok(Start {
        words,
        environment,
        directory: directory.into_os_string(),
        terminal,
    })
}

/// The user's shell, as far as it is there.
pub fn shell() -> OsString {
    let named = std::env::var_os("SHELL").filter(|path| std::path::Path::new(path).is_file());
    named.unwrap_or_else(|| match std::path::Path::new("/bin/bash").is_file() {
        true => "/bin/bash".into(),
        false => "/bin/sh".into(),
    })
}
