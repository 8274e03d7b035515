//! What can go wrong with a run directory.

use std::io;
use std::path::{Path, PathBuf};

use nicety_model::{Coded, ProblemCode};

/// An operation on a run directory that failed: what, on which file, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A new run was to be written where something is already.
    #[error("run directory {} is not empty (it holds {entry}); name another one, or continue that run with --resume", path.display())]
    NotEmpty {
        /// The directory.
        path: PathBuf,
        /// One of its entries.
        entry: String,
    },
    /// The path is a file.
    #[error("{} is not a directory; name a run directory", path.display())]
    NotADirectory {
        /// The path.
        path: PathBuf,
    },
    /// Another process writes to the directory.
    #[error("run directory {} is in use by another nicety; wait for it to end or name another directory", path.display())]
    Locked {
        /// The directory.
        path: PathBuf,
    },
    /// Nothing is there.
    #[error("there is no run directory {}; check the path", path.display())]
    Missing {
        /// The path.
        path: PathBuf,
    },
    /// A directory, but not of a run, or of one that was killed while it was being created.
    #[error("{} has no {file}: not a run directory, or its run was killed before it began; start a new run", path.display())]
    NotARun {
        /// The directory.
        path: PathBuf,
        /// The file it lacks.
        file: &'static str,
    },
    /// A directory, but not of a soak, or of one that was killed before its load was known.
    #[error("{} has no {file}: not the directory of a soak, or killed before its load was known; start a new one", path.display())]
    NotASoak {
        /// The directory.
        path: PathBuf,
        /// The file it lacks.
        file: &'static str,
    },
    /// The user may not do this there, or the file system is read-only.
    #[error("cannot {operation} {}: {source}; choose a directory you may write to", path.display())]
    Denied {
        /// What was tried: `create`, `append to`, …
        operation: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
    /// No space, quota used up, or the largest file size reached. What was written before is
    /// whole and stays.
    #[error("cannot {operation} {}: {source}; make room, then continue with --resume", path.display())]
    DiskFull {
        /// What was tried.
        operation: &'static str,
        /// The file.
        path: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
    /// Any other failure of the file system.
    #[error("cannot {operation} {}: {source}; check the file system", path.display())]
    Io {
        /// What was tried.
        operation: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
    /// No regular file, or larger than nicety writes one.
    #[error("cannot read {}: {source}; nicety writes no such file, name another run", path.display())]
    Odd {
        /// The file.
        path: PathBuf,
        /// What it is.
        source: io::Error,
    },
    /// A file's content is not what nicety writes.
    #[error("{}:{line}:{column}: {what}; the file was changed or damaged, remove the line or restore the file", path.display())]
    Broken {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Column, from 1; 0 at the end of a line.
        column: usize,
        /// What the JSON parser says, without the place.
        what: String,
    },
    /// Written by a newer version.
    #[error("{}:{line}: schema {version} is newer than {known}, the newest this version reads; use a newer nicety", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Schema found.
        version: u32,
        /// Newest schema known.
        known: u32,
    },
    /// A line that does not belong to the others.
    #[error("{}:{line}: it has other tenants or ports than the run; the file was changed, remove the line or restore the file", path.display())]
    Edited {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
    },
    /// A report's name that is not a plain file name, or belongs to the run's own files.
    #[error("{name:?} cannot be the name of a report; give a plain file name such as report.html")]
    ReportName {
        /// The name.
        name: String,
    },
    /// A value that has no JSON form.
    #[error("cannot write {} as JSON: {source}; this is a fault of nicety, please report it", path.display())]
    Encode {
        /// The file it was meant for.
        path: PathBuf,
        /// What the JSON writer says.
        source: serde_json::Error,
    },
}

impl StoreError {
    /// A file that could not be read.
    pub(crate) fn unread(path: &Path, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::InvalidInput | io::ErrorKind::FileTooLarge => Self::Odd {
                path: path.to_owned(),
                source,
            },
            _ => Self::io("read", path, source),
        }
    }

    /// Sorts a failure of the kernel into the kinds a user acts on differently.
    pub(crate) fn io(operation: &'static str, path: &Path, source: io::Error) -> Self {
        use io::ErrorKind as Kind;
        let path = path.to_owned();
        match source.kind() {
            Kind::NotADirectory => Self::NotADirectory { path },
            Kind::PermissionDenied | Kind::ReadOnlyFilesystem => Self::Denied {
                operation,
                path,
                source,
            },
            Kind::StorageFull | Kind::QuotaExceeded | Kind::FileTooLarge => Self::DiskFull {
                operation,
                path,
                source,
            },
            _ => Self::Io {
                operation,
                path,
                source,
            },
        }
    }
}

impl Coded for StoreError {
    fn code(&self) -> ProblemCode {
        match self {
            Self::NotEmpty { .. }
            | Self::NotADirectory { .. }
            | Self::ReportName { .. }
            | Self::Odd { .. } => ProblemCode::UnusableFile,
            Self::Missing { .. } | Self::NotARun { .. } | Self::NotASoak { .. } => {
                ProblemCode::NoRun
            }
            Self::Broken { .. } | Self::Edited { .. } => ProblemCode::Damaged,
            Self::Newer { .. } => ProblemCode::NewerVersion,
            Self::Locked { .. } => ProblemCode::InUse,
            Self::Denied { .. } | Self::DiskFull { .. } | Self::Io { .. } => {
                ProblemCode::StorageRefuses
            }
            Self::Encode { .. } => ProblemCode::Fault,
        }
    }
}
