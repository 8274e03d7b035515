//! Where bundles are kept, and where they come from: what the environment says, else what the host has.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use nicety_host::variable::named;

use crate::error::QemuError;

/// Names the directory in which bundles are kept.
const CACHE: &str = "NICETY_CACHE";
/// Names a Debian archive.
const MIRROR: &str = "NICETY_MIRROR";

/// The directory of bundles: `$NICETY_CACHE`, else `$XDG_CACHE_HOME/nicety`, else `~/.cache/nicety`.
///
/// # Errors
/// [`QemuError::NoCache`] when the environment names none.
pub fn cache() -> Result<PathBuf, QemuError> {
    if let Some(cache) = named(CACHE) {
        return Ok(cache.into());
    }
    let absolute = |name| {
        named(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    absolute("XDG_CACHE_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".cache")))
        .map(|cache| cache.join("nicety"))
        .ok_or(QemuError::NoCache)
}

/// The Debian archive that packages come from: `$NICETY_MIRROR`, else the first among the sources of apt.
///
/// # Errors
/// When neither names one, or the variable names none that apt would read.
pub fn mirror() -> Result<String, QemuError> {
    let Some(text) = named(MIRROR) else {
        return apt_sources()
            .as_deref()
            .and_then(archive)
            .ok_or(QemuError::NoMirror);
    };
    let text = text.to_string_lossy();
    if is_address(&text) {
        Ok(text.into_owned())
    } else {
        Err(QemuError::BadMirror(text.into_owned()))
    }
}

/// Whether text can be one word of a line that apt reads (sources.list(5)).
fn is_address(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_graphic() && b != b'[' && b != b'#';
    let mut starts = ["http://", "https://", "file:/"].iter();
    text.bytes().all(plain) && starts.any(|start| text.starts_with(start))
}

/// The addresses of the host's apt sources, one on a line.
fn apt_sources() -> Option<String> {
    let listed = Command::new("apt-get")
        .args([
            "indextargets",
            "--format",
            "$(REPO_URI)",
            "Created-By: Packages",
        ])
        .stdin(Stdio::null())
        .output()
        .ok()?;
    String::from_utf8(listed.stdout).ok()
}

/// The first of these addresses that is a Debian archive: archives of others, and that of security
/// updates, have another name at the end.
fn archive(addresses: &str) -> Option<String> {
    let plain = addresses
        .lines()
        .map(|line| line.trim().trim_end_matches('/'));
    let mut archives = plain.filter(|address| address.ends_with("/debian") && is_address(address));
    archives.next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_one_word_of_a_line_of_apt() {
        assert!(is_address("http://mirror.example/debian"));
        for wrong in [
            "mirror.example",
            "http://x y",
            "http://x\ndeb evil",
            "[trusted=yes] http://x",
            "",
        ] {
            assert!(!is_address(wrong), "{wrong}");
        }
    }

    #[test]
    fn the_archive_is_found_among_other_sources() {
        let listed = "https://packages.example/apt/\nhttp://mirror.example/debian-security/\n\
                      http://mirror.example/debian/\nhttp://other.example/debian/\n";
        assert_eq!(
            archive(listed).as_deref(),
            Some("http://mirror.example/debian")
        );
        assert_eq!(archive("http://archive.example/ubuntu/\n"), None);
        assert_eq!(archive(""), None);
    }
}
