//! Certificates, keys and passwords.

use std::path::Path;

use nicety_host::regular;

use crate::etcd::Trouble;

/// Largest file: a bundle of all public authorities has a quarter of it.
const LARGEST: u64 = 1 << 20;

/// The bytes of the file that a key of `[cluster]` names. A pipe is not waited for.
fn bytes(key: &'static str, path: &Path) -> Result<Vec<u8>, Trouble> {
    regular::read(path, LARGEST).map_err(|error| Trouble::File {
        key,
        path: path.to_owned(),
        why: error.to_string(),
    })
}

/// The same of a file that nobody else may read.
fn secret(key: &'static str, path: &Path) -> Result<Vec<u8>, Trouble> {
    regular::secret(path, LARGEST).map_err(|why| Trouble::File {
        key,
        path: path.to_owned(),
        why,
    })
}

/// A certificate.
pub(crate) fn pem(key: &'static str, path: &Path) -> Result<Vec<u8>, Trouble> {
    checked(key, path, bytes(key, path)?)
}

/// The key of one.
pub(crate) fn key(path: &Path) -> Result<Vec<u8>, Trouble> {
    checked("key", path, secret("key", path)?)
}

/// What must hold something in PEM.
fn checked(key: &'static str, path: &Path, bytes: Vec<u8>) -> Result<Vec<u8>, Trouble> {
    let is_pem = bytes.windows(11).any(|part| part == b"-----BEGIN ");
    is_pem.then_some(bytes).ok_or_else(|| Trouble::File {
        key,
        path: path.to_owned(),
        why: "it holds nothing in PEM".to_owned(),
    })
}

/// The first line of a file.
pub(crate) fn password(path: &Path) -> Result<String, Trouble> {
    let key = "password_file";
    let bytes = secret(key, path)?;
    let text = String::from_utf8_lossy(&bytes);
    let line = text.lines().next().unwrap_or_default().to_owned();
    if line.is_empty() {
        Err(Trouble::File {
            key,
            path: path.to_owned(),
            why: "its first line is empty".to_owned(),
        })
    } else {
        Ok(line)
    }
}
