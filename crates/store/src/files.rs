//! Whole files: read, and replaced so that a reader sees the old or the new one.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::Path;

use nicety_host::regular;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::StoreError;
use crate::lines::decode;

/// Largest file that is read whole, in bytes. Run directories come from strangers.
pub const LARGEST: u64 = 256 << 20;

/// Makes a directory and those above it, where they are not there yet. Their names are on disk when this returns.
///
/// # Errors
/// When one of them cannot be made, is no directory, or the disk fails.
pub fn make_dirs(path: &Path) -> std::io::Result<()> {
    let is_missing = |path: &&Path| !path.as_os_str().is_empty() && !path.exists();
    let missing: Vec<&Path> = path.ancestors().take_while(is_missing).collect();
    fs::create_dir_all(path)?;
    let mut above = missing.into_iter().filter_map(Path::parent);
    above.try_for_each(|above| match sync_names(above) {
        // Who may write into a directory may still not read it.
        Err(error) if error.kind() == ErrorKind::PermissionDenied => Ok(()),
        synced => synced,
    })
}

/// The same for a run directory.
pub(crate) fn make_dir(path: &Path) -> Result<(), StoreError> {
    make_dirs(path).map_err(|source| match source.kind() {
        ErrorKind::AlreadyExists => StoreError::NotADirectory {
            path: path.to_owned(),
        },
        _ => StoreError::io("create", path, source),
    })
}

/// Refuses a directory with anything in it.
pub(crate) fn refuse_entries(path: &Path) -> Result<(), StoreError> {
    let failed = |source| StoreError::io("read", path, source);
    let first = fs::read_dir(path).map_err(failed)?.next();
    match first.transpose().map_err(failed)? {
        None => Ok(()),
        Some(entry) => Err(StoreError::NotEmpty {
            path: path.to_owned(),
            entry: entry.file_name().to_string_lossy().into_owned(),
        }),
    }
}

/// Writes `bytes` beside `path` and renames, with the data on disk before the name is.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let mut temporary = path.file_name().unwrap_or_default().to_owned();
    temporary.push(".new");
    let temporary = path.with_file_name(temporary);
    let written = write_synced(&temporary, bytes)
        .and_then(|()| fs::rename(&temporary, path))
        .map_err(|source| StoreError::io("write", path, source));
    if written.is_err() {
        // Best effort: what is left over is overwritten by the next attempt.
        let _ = fs::remove_file(&temporary);
    }
    written?;
    match path.parent() {
        Some(directory) => sync_dir(directory),
        None => Ok(()),
    }
}

/// Makes a file, writes it and waits for the disk. No link is followed: the directory may be a stranger's.
fn write_synced(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut file = regular::create(path, 0o666)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Makes new names in a directory survive a crash.
pub(crate) fn sync_dir(directory: &Path) -> Result<(), StoreError> {
    sync_names(directory).map_err(|source| StoreError::io("sync", directory, source))
}

fn sync_names(directory: &Path) -> std::io::Result<()> {
    let directory = if directory.as_os_str().is_empty() {
        Path::new(".")
    } else {
        directory
    };
    File::open(directory)?.sync_all()
}

/// Replaces a JSON file.
pub(crate) fn replace_json<T: Serialize>(path: &Path, value: &T) -> Result<(), StoreError> {
    let mut bytes = serde_json::to_vec_pretty(value).map_err(|source| StoreError::Encode {
        path: path.to_owned(),
        source,
    })?;
    bytes.push(b'\n');
    replace(path, &bytes)
}

/// Reads a file that may be absent.
pub(crate) fn read(path: &Path) -> Result<Option<Vec<u8>>, StoreError> {
    match regular::read(path, LARGEST) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(source) => Err(StoreError::unread(path, source)),
    }
}

/// Reads a JSON file that may be absent.
pub(crate) fn read_json<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, StoreError> {
    match read(path)? {
        Some(bytes) => decode(path, 1, &bytes).map(Some),
        None => Ok(None),
    }
}
