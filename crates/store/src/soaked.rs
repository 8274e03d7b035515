//! What a soak leaves behind: a run directory of its own kind, which grows by less than a megabyte an hour.

use std::fs;
use std::path::{Path, PathBuf};

use nicety_model::interval::LoadLine;
use nicety_model::soak::SoakHead;
use nicety_model::{Fingerprint, Note};

use crate::error::StoreError;
use crate::lines::{self, LineFile};
use crate::lock::Lock;
use crate::{file, files};

/// A directory that intervals are appended to, held by this process until dropped.
#[derive(Debug)]
pub struct SoakDir {
    path: PathBuf,
    intervals: LineFile,
    _lock: Lock,
}

/// What a soak's directory says beside its intervals.
#[derive(Debug, Clone, PartialEq)]
pub struct SoakFiles {
    /// What was asked for.
    pub head: SoakHead,
    /// The machine.
    pub host: Fingerprint,
    /// The plan's text.
    pub plan_toml: String,
    /// What was odd about the files: a torn line, for one.
    pub notes: Vec<Note>,
}

impl SoakDir {
    /// Makes the directory and its first files, all but the head: that one is written when the load is known, and
    /// makes it a soak's. An existing directory must be empty.
    ///
    /// # Errors
    /// When the directory is not empty, held by another process, or cannot be written.
    pub fn create(path: &Path, plan_toml: &str, host: &Fingerprint) -> Result<Self, StoreError> {
        files::make_dir(path)?;
        let lock = Lock::take(path)?;
        files::refuse_entries(path)?;
        files::replace(&path.join(file::PLAN), plan_toml.as_bytes())?;
        files::replace_json(&path.join(file::HOST), host)?;
        let intervals = LineFile::open(path.join(file::INTERVALS))?;
        Ok(Self {
            path: path.to_owned(),
            intervals,
            _lock: lock,
        })
    }

    /// Writes what is sent, over what and for how long.
    ///
    /// # Errors
    /// When the disk is full or fails.
    pub fn write_head(&self, head: &SoakHead) -> Result<(), StoreError> {
        files::replace_json(&self.path.join(file::SOAK), head)
    }

    /// Takes the first files away again, of a soak that did not begin.
    pub fn abandon(self) {
        for name in [file::PLAN, file::HOST, file::INTERVALS, file::SOAK] {
            // Best effort: else the next attempt names another directory.
            let _ = fs::remove_file(self.path.join(name));
        }
    }

    /// Opens the directory of an earlier session to go on writing, and hands what it has to `each`, one line after
    /// the other. A torn last line is cut off and noted.
    ///
    /// # Errors
    /// As those of [`read_soak`], and when another process holds it or it cannot be written.
    pub fn open(path: &Path, each: impl FnMut(LoadLine)) -> Result<(Self, SoakFiles), StoreError> {
        // Before the lock, for its better words on what is no such directory.
        head(path)?;
        let lock = Lock::take(path)?;
        let mut found = head(path)?;
        let end = lines::each(&path.join(file::INTERVALS), each)?;
        found.notes.extend(end.note(file::INTERVALS));
        let mut intervals = LineFile::open(path.join(file::INTERVALS))?;
        intervals.repair(&end)?;
        files::sync_dir(path)?;
        let dir = Self {
            path: path.to_owned(),
            intervals,
            _lock: lock,
        };
        Ok((dir, found))
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends a line; it is on disk when this returns.
    ///
    /// # Errors
    /// When the disk is full or fails; the lines before stay whole.
    pub fn append(&mut self, line: &LoadLine) -> Result<(), StoreError> {
        self.intervals.append(line)
    }

    /// Writes the rendered page, replacing an earlier one at once, and returns its path.
    ///
    /// # Errors
    /// As [`Self::append`].
    pub fn write_report(&self, bytes: &[u8]) -> Result<PathBuf, StoreError> {
        let path = self.path.join(file::REPORT);
        files::replace(&path, bytes)?;
        Ok(path)
    }
}

/// Whether a directory is that of a soak.
pub fn is_soak(path: &Path) -> bool {
    path.join(file::SOAK).is_file()
}

/// Reads the directory of a soak, finished or not, without changing it. Its lines go to `each`, one after the other;
/// a torn last one is left out and noted.
///
/// # Errors
/// When the directory is none of a soak, a line other than the last is broken, or a newer version wrote it.
pub fn read_soak(path: &Path, each: impl FnMut(LoadLine)) -> Result<SoakFiles, StoreError> {
    let mut found = head(path)?;
    let end = lines::each(&path.join(file::INTERVALS), each)?;
    found.notes.extend(end.note(file::INTERVALS));
    Ok(found)
}

fn head(path: &Path) -> Result<SoakFiles, StoreError> {
    if !path.exists() {
        return Err(StoreError::Missing {
            path: path.to_owned(),
        });
    }
    let must = |name: &'static str| {
        files::read(&path.join(name))?.ok_or_else(|| StoreError::NotASoak {
            path: path.to_owned(),
            file: name,
        })
    };
    Ok(SoakFiles {
        head: lines::decode(&path.join(file::SOAK), 1, &must(file::SOAK)?)?,
        host: lines::decode(&path.join(file::HOST), 1, &must(file::HOST)?)?,
        plan_toml: String::from_utf8_lossy(&must(file::PLAN)?).into_owned(),
        notes: Vec::new(),
    })
}
