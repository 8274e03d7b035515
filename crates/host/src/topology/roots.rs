//! Where `/proc`, `/sys` and `/etc` are: the live ones, or a recorded tree.

use std::path::{Path, PathBuf};

/// A fact that could not be read although the caller cannot go on without it.
#[derive(Debug, thiserror::Error)]
pub enum FactError {
    /// A file could not be read.
    #[error("cannot read {what} from {}: {source}; check that the file system is mounted and readable here", path.display())]
    Read {
        /// What was wanted.
        what: &'static str,
        /// File.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// A file was read but does not hold what the kernel writes there.
    #[error("cannot understand {what} in {}: {found:?}; expected the format of proc(5)", path.display())]
    Malformed {
        /// What was wanted.
        what: &'static str,
        /// File.
        path: PathBuf,
        /// What stood there, shortened.
        found: String,
    },
}

impl FactError {
    pub(crate) fn malformed(what: &'static str, path: PathBuf, found: &str) -> Self {
        Self::Malformed {
            what,
            path,
            found: found.chars().take(60).collect(),
        }
    }
}

macro_rules! root {
    ($(#[$doc:meta])* $name:ident, $live:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct $name(PathBuf);

        impl $name {
            /// A tree at `path`, live or recorded.
            pub fn new(path: impl Into<PathBuf>) -> Self {
                Self(path.into())
            }

            /// The running system's.
            pub fn live() -> Self {
                Self::new($live)
            }

            /// A file or directory below the root; `relative` has no leading slash.
            pub fn path(&self, relative: impl AsRef<Path>) -> PathBuf {
                self.0.join(relative)
            }

            /// Trimmed text of a file; `None` when it is unreadable or empty.
            pub fn text(&self, relative: impl AsRef<Path>) -> Option<String> {
                text(&self.path(relative))
            }
        }
    };
}

root!(
    /// Root of a `/proc` tree.
    ProcRoot,
    "/proc"
);
root!(
    /// Root of a `/sys` tree.
    SysRoot,
    "/sys"
);
root!(
    /// Root of an `/etc` tree.
    EtcRoot,
    "/etc"
);

impl ProcRoot {
    /// Untrimmed text of a file that must be there.
    pub(crate) fn require(&self, relative: &str, what: &'static str) -> Result<String, FactError> {
        let path = self.path(relative);
        match std::fs::read(&path) {
            Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
            Err(source) => Err(FactError::Read { what, path, source }),
        }
    }
}

/// The three roots together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Roots {
    /// `/proc`.
    pub proc: ProcRoot,
    /// `/sys`.
    pub sys: SysRoot,
    /// `/etc`.
    pub etc: EtcRoot,
}

impl Roots {
    /// The running system's.
    pub fn live() -> Self {
        Self {
            proc: ProcRoot::live(),
            sys: SysRoot::live(),
            etc: EtcRoot::live(),
        }
    }

    /// `proc`, `sys` and `etc` below one recorded tree.
    pub fn under(sysroot: &Path) -> Self {
        Self {
            proc: ProcRoot::new(sysroot.join("proc")),
            sys: SysRoot::new(sysroot.join("sys")),
            etc: EtcRoot::new(sysroot.join("etc")),
        }
    }
}

/// Trimmed text of a file; `None` when it is unreadable or holds nothing but white space.
fn text(path: &Path) -> Option<String> {
    let bytes = std::fs::read(path).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    // DMI strings of some firmware end in NUL.
    let trimmed = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
    (!trimmed.is_empty()).then(|| trimmed.to_owned())
}
