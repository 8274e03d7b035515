//! What is in a bundle's directory.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::listing::Package;

/// Contents of a bundle's directory, written last.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Manifest {
    pub(super) schema: u32,
    pub(super) release: String,
    pub(super) packages: Vec<Package>,
}

pub(super) const MANIFEST: &str = "bundle.json";
pub(super) const SCHEMA: u32 = 2;
/// Where the packages keep what is needed of them.
pub(super) const MODULES: &str = "usr/lib/modules";
pub(super) const KMOD: &str = "usr/bin/kmod";

impl Manifest {
    /// The manifest of a complete bundle of this version.
    pub(super) fn read(dir: &Path) -> Option<Self> {
        let text = fs::read_to_string(dir.join(MANIFEST)).ok()?;
        serde_json::from_str(&text)
            .ok()
            .filter(|manifest: &Self| manifest.schema == SCHEMA)
    }
}
