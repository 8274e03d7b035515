//! Directories of what runs, and who may write in them.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

/// Why somebody else may have written a file or directory; `None` when only this user can.
pub fn not_only_ours(of: &Metadata) -> Option<&'static str> {
    if of.uid() != rustix::process::geteuid().as_raw() {
        return Some("belongs to another user");
    }
    (of.mode() & 0o022 != 0).then_some("can be written by others")
}
