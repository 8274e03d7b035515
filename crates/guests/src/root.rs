//! An unpacked root of Debian packages: how its programs are started.

use std::path::{Path, PathBuf};

/// Where the packages keep libraries.
pub(crate) const LIBRARIES: &str = "usr/lib/x86_64-linux-gnu";

/// The loader of an unpacked root with the libraries there; its link in `/lib64` may lead to the
/// host's.
pub(crate) fn loader(root: &Path) -> Vec<PathBuf> {
    let libraries = root.join(LIBRARIES);
    vec![
        libraries.join("ld-linux-x86-64.so.2"),
        "--library-path".into(),
        libraries,
    ]
}

/// The command that starts a program of an unpacked root.
pub(crate) fn below_loader(root: &Path, program: &str) -> Vec<PathBuf> {
    let mut words = loader(root);
    words.push(root.join(program));
    words
}
