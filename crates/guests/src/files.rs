//! Small helpers: everything that touches a path says which.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::mount::MountFlags;

use crate::error::QemuError;

/// Makes a directory and those above it.
pub fn make_dir(path: impl AsRef<Path>) -> Result<(), QemuError> {
    let path = path.as_ref();
    fs::create_dir_all(path).map_err(|e| QemuError::io("make directory", path, e))
}

/// Writes a file.
pub fn write(path: impl AsRef<Path>, text: impl AsRef<[u8]>) -> Result<(), QemuError> {
    let path = path.as_ref();
    fs::write(path, text).map_err(|e| QemuError::io("write", path, e))
}

/// Mounts a file system onto a directory, which is made.
pub fn mount(
    source: impl AsRef<Path>,
    target: impl AsRef<Path>,
    kind: &str,
    flags: MountFlags,
    options: &str,
) -> Result<(), QemuError> {
    let target = target.as_ref();
    make_dir(target)?;
    let options = std::ffi::CString::new(options).unwrap_or_default();
    rustix::mount::mount(
        source.as_ref(),
        target,
        kind,
        flags,
        Some(options.as_c_str()),
    )
    .map_err(|e| QemuError::io("mount", target, e))
}

/// A program in the search path.
pub(crate) fn in_path(program: &str) -> Option<PathBuf> {
    let searched = std::env::var_os("PATH")?;
    let mut files = std::env::split_paths(&searched).map(|dir| dir.join(program));
    files.find(|file| file.is_file())
}
