//! Modules of the running kernel.

use std::fs;
use std::path::Path;

/// Whether the kernel would load this module when it is asked for what is in it: it is there, and not loaded.
pub fn is_unloaded(name: &str) -> bool {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let list = fs::read_to_string(format!("/lib/modules/{}/modules.dep", release.trim()));
    let there = list.is_ok_and(|list| list.contains(&format!("/{name}.ko")));
    there && !Path::new("/sys/module").join(name).exists()
}
