//! Tokens and keys in files, which nobody but their owner reads.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use anyhow::anyhow;
use nicety_host::regular;
use nicety_socket::Token;

use crate::exit::Failure;

/// Longest file: a token has 128 bytes at most.
const LONGEST: u64 = 256;

/// The token in the file that an option names.
///
/// # Errors
/// When the file cannot be read, is not the user's alone, or holds no token.
pub fn read(option: &str, file: &Path) -> Result<Token, Failure> {
    let failed = |why: String| Failure::usage(anyhow!("{option} {}: {why}", file.display()));
    let bytes = secret(file, LONGEST).map_err(failed)?;
    let text = String::from_utf8(bytes).map_err(|_| failed("it holds no text".to_owned()))?;
    Token::new(text.trim_end_matches(['\n', '\r'])).map_err(|error| failed(error.to_string()))
}

/// Bytes of a file of the user's own, or root's, that nobody else can read. A pipe is not waited for.
///
/// # Errors
/// Why it is not read, and what to do.
pub fn secret(path: &Path, longest: u64) -> Result<Vec<u8>, String> {
    let file = regular::open(path).map_err(|error| match error.kind() {
        io::ErrorKind::InvalidInput => {
            "it is not a regular file; name the file that holds the secret".to_owned()
        }
        _ => error.to_string(),
    })?;
    let found = file.metadata().map_err(|error| error.to_string())?;
    let own = rustix::process::geteuid().as_raw();
    if found.uid() != own && found.uid() != 0 {
        return Err("it belongs to another user; make one of your own".to_owned());
    }
    if found.mode() & 0o077 != 0 {
        return Err("others can read or write it; run chmod 600 on it".to_owned());
    }
    regular::read_at_most(file, longest).map_err(|error| error.to_string())
}
