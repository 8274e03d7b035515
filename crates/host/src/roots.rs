//! Where `/proc`, `/sys` and `/etc` are: the live ones, or a recorded tree.
//!
//! A root can record: every file, folder and link that is read through it is written to a second
//! tree as it was read. What was not read is not recorded, and reading the record gives what
//! reading the machine gave.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::archive::Archive;
use crate::regular;
use crate::tree::Tree;

/// No file that facts are read from comes near it: the largest, kallsyms and the like, are not read.
const LARGEST: u64 = 16 << 20;

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
    #[error("cannot understand {what} in {}: {text:?}; expected the format of proc(5)", path.display())]
    Malformed {
        /// What was wanted.
        what: &'static str,
        /// File.
        path: PathBuf,
        /// What stood there, shortened.
        text: String,
    },
}

impl FactError {
    pub(crate) fn malformed(what: &'static str, path: PathBuf, text: &str) -> Self {
        Self::Malformed {
            what,
            path,
            text: text.chars().take(60).collect(),
        }
    }
}

/// Where a root is. Links of the running system are followed wherever they lead; those of a recorded
/// tree, which may be somebody else's, stay in it.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Place {
    Live(&'static str),
    Recorded {
        tree: PathBuf,
        below: &'static str,
    },
    Captured {
        archive: Arc<Archive>,
        below: &'static str,
    },
}

impl Place {
    fn path(&self) -> PathBuf {
        match self {
            Self::Live(path) => PathBuf::from(path),
            Self::Recorded { tree, below } => tree.join(below),
            // Of no use but in messages.
            Self::Captured { below, .. } => Path::new("/").join(below),
        }
    }

    fn read(&self, relative: &Path) -> io::Result<Vec<u8>> {
        match self {
            Self::Live(path) => regular::read(&Path::new(path).join(relative), LARGEST),
            Self::Recorded { tree, below } => {
                Tree::open(tree)?.read(&Path::new(below).join(relative), LARGEST)
            }
            Self::Captured { archive, below } => {
                let text = archive.read(&Path::new(below).join(relative))?;
                Ok(text.as_bytes().to_vec())
            }
        }
    }

    fn names(&self, relative: &Path) -> io::Result<Vec<std::ffi::OsString>> {
        match self {
            Self::Live(path) => std::fs::read_dir(Path::new(path).join(relative))?
                .map(|entry| Ok(entry?.file_name()))
                .collect(),
            Self::Recorded { tree, below } => {
                Tree::open(tree)?.names(&Path::new(below).join(relative))
            }
            Self::Captured { archive, below } => archive.names(&Path::new(below).join(relative)),
        }
    }

    fn link(&self, relative: &Path) -> io::Result<PathBuf> {
        match self {
            Self::Live(path) => std::fs::read_link(Path::new(path).join(relative)),
            Self::Recorded { tree, below } => {
                Tree::open(tree)?.link(&Path::new(below).join(relative))
            }
            Self::Captured { archive, below } => archive.link(&Path::new(below).join(relative)),
        }
    }
}

macro_rules! root {
    ($(#[$doc:meta])* $name:ident, $live:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct $name {
            place: Place,
            record: Option<PathBuf>,
        }

        impl $name {
            /// A recorded tree at `path`, which no lookup leaves.
            pub fn new(path: impl Into<PathBuf>) -> Self {
                Self::below(path, "")
            }

            /// The part `below` of a recorded tree at `path`.
            fn below(path: impl Into<PathBuf>, below: &'static str) -> Self {
                Self { place: Place::Recorded { tree: path.into(), below }, record: None }
            }

            /// The part `below` of a captured host.
            fn captured(archive: Arc<Archive>, below: &'static str) -> Self {
                Self { place: Place::Captured { archive, below }, record: None }
            }

            /// The running system's.
            pub fn live() -> Self {
                Self { place: Place::Live($live), record: None }
            }

            /// The same tree; what is read from it is written to `record` as well.
            pub fn recording(self, record: impl Into<PathBuf>) -> Self {
                Self { record: Some(record.into()), ..self }
            }

            /// A file or directory below the root; `relative` has no leading slash. What is read
            /// by that path is not recorded.
            pub fn path(&self, relative: impl AsRef<Path>) -> PathBuf {
                self.place.path().join(relative)
            }

            /// Trimmed text of a file; `None` when it is unreadable or empty.
            pub fn text(&self, relative: impl AsRef<Path>) -> Option<String> {
                self.text_as(relative, str::to_owned)
            }

            /// As [`Self::text`], passed through `public` first, so that what must not leave the
            /// machine is neither returned nor recorded.
            pub fn text_as(
                &self,
                relative: impl AsRef<Path>,
                public: impl FnOnce(&str) -> String,
            ) -> Option<String> {
                self.text_if(relative, |text| Some(public(text)))
            }

            /// As [`Self::text_as`]; a text that gives `None` is not recorded either.
            pub fn text_if(
                &self,
                relative: impl AsRef<Path>,
                wanted: impl FnOnce(&str) -> Option<String>,
            ) -> Option<String> {
                let relative = relative.as_ref();
                let text = wanted(&text(&self.place.read(relative).ok()?)?)?;
                if let Some(record) = &self.record {
                    keep_file(&record.join(relative), text.as_bytes());
                }
                Some(text)
            }

            /// Names in a folder, sorted; none when it cannot be read.
            pub fn entries(&self, relative: impl AsRef<Path>) -> Vec<String> {
                self.entries_where(relative, |_| true)
            }

            /// As [`Self::entries`], only the names that are `wanted`.
            pub fn entries_where(
                &self,
                relative: impl AsRef<Path>,
                wanted: impl Fn(&str) -> bool,
            ) -> Vec<String> {
                let relative = relative.as_ref();
                let names = self.place.names(relative).unwrap_or_default().into_iter();
                let mut names: Vec<String> = names
                    .filter_map(|name| name.into_string().ok())
                    .filter(|name| wanted(name))
                    .collect();
                names.sort_unstable();
                if let Some(record) = &self.record {
                    keep_names(&record.join(relative), &names);
                }
                names
            }

            /// Last part of what a symbolic link points to; `None` when it is no link.
            pub fn link_name(&self, relative: impl AsRef<Path>) -> Option<String> {
                self.link_if(relative, |target| Some(target.file_name()?.to_str()?.to_owned()))
            }

            /// What `wanted` makes of where a symbolic link points to, in a record of its last part;
            /// a link that gives `None` is not recorded.
            pub fn link_if<T>(
                &self,
                relative: impl AsRef<Path>,
                wanted: impl FnOnce(&Path) -> Option<T>,
            ) -> Option<T> {
                let relative = relative.as_ref();
                let target = self.place.link(relative).ok()?;
                let found = wanted(&target)?;
                if let (Some(record), Some(name)) = (&self.record, target.file_name()?.to_str()) {
                    keep_link(&record.join(relative), name);
                }
                Some(found)
            }
        }
    };
}

/// Names a folder of the record must show. A name that is read later becomes what it was; until
/// then it is an empty file, which reads as nothing.
fn keep_names(folder: &Path, names: &[String]) {
    // A record that cannot be written shows at its end: see `facts::record`.
    make_folder(&folder.join("any"));
    for name in names {
        let path = folder.join(name);
        if path.symlink_metadata().is_err() {
            let _ = std::fs::write(path, "");
        }
    }
}

/// Writes a file of the record; an empty file standing for one of its folders gives way.
fn keep_file(path: &Path, bytes: &[u8]) {
    make_folder(path);
    let mut line = bytes.to_vec();
    line.push(b'\n');
    let _ = std::fs::write(path, line);
}

fn keep_link(path: &Path, target: &str) {
    make_folder(path);
    let _ = std::fs::remove_file(path);
    let _ = std::os::unix::fs::symlink(target, path);
}

fn make_folder(path: &Path) {
    for folder in path.ancestors().skip(1) {
        if folder.is_dir() {
            break;
        }
        if folder.is_file() {
            let _ = std::fs::remove_file(folder);
        }
    }
    if let Some(folder) = path.parent() {
        let _ = std::fs::create_dir_all(folder);
    }
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
root!(
    /// Root of everything else that is read: `/run`, `/usr/lib`, `/boot`.
    TopRoot,
    "/"
);

impl TopRoot {
    /// All of a captured host.
    pub(crate) fn of(archive: Arc<Archive>) -> Self {
        Self::captured(archive, "")
    }
}

impl ProcRoot {
    /// Numbers of the processes, in no order; not recorded.
    pub(crate) fn processes(&self) -> Vec<u32> {
        self.numbers("")
    }

    /// Names in a folder that are numbers, in no order; not recorded.
    pub(crate) fn numbers(&self, folder: impl AsRef<Path>) -> Vec<u32> {
        let names = self.place.names(folder.as_ref()).unwrap_or_default();
        let numbers = names.iter().filter_map(|name| name.to_str()?.parse().ok());
        numbers.collect()
    }

    /// Untrimmed text of a file that must be there.
    pub(crate) fn require(&self, relative: &str, what: &'static str) -> Result<String, FactError> {
        let path = self.path(relative);
        match self.place.read(Path::new(relative)) {
            Ok(bytes) => {
                if let Some(record) = &self.record {
                    keep_file(&record.join(relative), &bytes);
                }
                Ok(String::from_utf8_lossy(&bytes).into_owned())
            }
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
            proc: ProcRoot::below(sysroot, "proc"),
            sys: SysRoot::below(sysroot, "sys"),
            etc: EtcRoot::below(sysroot, "etc"),
        }
    }

    /// `proc`, `sys` and `etc` of a captured host.
    pub(crate) fn of(archive: &Arc<Archive>) -> Self {
        Self {
            proc: ProcRoot::captured(Arc::clone(archive), "proc"),
            sys: SysRoot::captured(Arc::clone(archive), "sys"),
            etc: EtcRoot::captured(Arc::clone(archive), "etc"),
        }
    }

    /// The same trees; what is read from them is written below `record` as well.
    pub fn recording(self, record: &Path) -> Self {
        Self {
            proc: self.proc.recording(record.join("proc")),
            sys: self.sys.recording(record.join("sys")),
            etc: self.etc.recording(record.join("etc")),
        }
    }
}

/// Trimmed text; `None` where there is nothing but white space.
fn text(bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(bytes);
    // DMI strings of some firmware end in NUL.
    let trimmed = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
    (!trimmed.is_empty()).then(|| trimmed.to_owned())
}
