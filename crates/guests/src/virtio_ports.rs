//! Ports of virtio-serial devices, by the names that QEMU gives them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::QemuError;

/// Where the kernel lists them.
pub const DIR: &str = "/sys/class/virtio-ports";

/// Devices of the ports whose names are `wanted`.
///
/// # Errors
/// When the kernel has none.
pub fn devices(wanted: impl Fn(&str) -> bool) -> Result<Vec<PathBuf>, QemuError> {
    let entries = fs::read_dir(DIR).map_err(|e| QemuError::io("list", DIR, e))?;
    let named = entries.flatten().filter(|entry| {
        let name = fs::read_to_string(entry.path().join("name")).unwrap_or_default();
        wanted(name.trim())
    });
    Ok(named
        .map(|entry| Path::new("/dev").join(entry.file_name()))
        .collect())
}
