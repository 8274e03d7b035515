//! A run directory open for writing.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use nicety_model::sock::SockResult;
use nicety_model::{CellResult, Fingerprint, TrialRecord};

use crate::contents::{self, FILES, RunContents};
use crate::error::StoreError;
use crate::lines::LineFile;
use crate::meta::{RunMeta, TesterLimits};
use crate::{file, files};

/// A run directory held by this process until dropped.
#[derive(Debug)]
pub struct RunDir {
    path: PathBuf,
    trials: LineFile,
    cells: LineFile,
    /// Made when the first socket test is over: most runs have none.
    sockets: Option<LineFile>,
    /// Holds the exclusive `flock`; the kernel gives it up with the process, however it ends.
    lock: File,
}

impl RunDir {
    /// Makes the directory and its first files. An existing directory must be empty.
    ///
    /// # Errors
    /// When the directory is not empty, held by another process, or cannot be written.
    pub fn create(
        path: &Path,
        plan_toml: &str,
        meta: &RunMeta,
        host: &Fingerprint,
    ) -> Result<Self, StoreError> {
        files::make_dir(path)?;
        // Lock first: of two that find the directory empty, one wins.
        let lock = lock(path)?;
        files::refuse_entries(path)?;
        let created = Self::fill(path, lock, plan_toml, (meta, host));
        if created.is_err() {
            // Best effort: leave the directory empty, so that the next attempt may have it.
            for name in [file::PLAN, file::HOST, file::TRIALS, file::CELLS, file::RUN] {
                let _ = fs::remove_file(path.join(name));
            }
        }
        created
    }

    /// Writes the first files into the empty directory.
    fn fill(
        path: &Path,
        lock: File,
        plan_toml: &str,
        (meta, host): (&RunMeta, &Fingerprint),
    ) -> Result<Self, StoreError> {
        files::replace(&path.join(file::PLAN), plan_toml.as_bytes())?;
        files::replace_json(&path.join(file::HOST), host)?;
        let trials = LineFile::open(path.join(file::TRIALS))?;
        let cells = LineFile::open(path.join(file::CELLS))?;
        // Last: whoever finds it finds a whole run directory. This syncs the directory too.
        files::replace_json(&path.join(file::RUN), meta)?;
        if let Some(parent) = path.parent() {
            files::sync_dir(parent)?;
        }
        Ok(Self {
            path: path.to_owned(),
            trials,
            cells,
            sockets: None,
            lock,
        })
    }

    /// Opens the directory of an earlier session to go on writing, and returns what is there.
    /// A torn last line is cut off and noted.
    ///
    /// # Errors
    /// As [`RunContents::read`], and when another process holds it or it cannot be written.
    pub fn open(path: &Path) -> Result<(Self, RunContents), StoreError> {
        // Before the lock, for its better words on what is not a run directory.
        contents::read(path, contents::Trials::Wanted)?;
        let lock = lock(path)?;
        let (contents, ends) = contents::read(path, contents::Trials::Wanted)?;
        let mut trials = LineFile::open(path.join(file::TRIALS))?;
        trials.repair(&ends.trials)?;
        let mut cells = LineFile::open(path.join(file::CELLS))?;
        cells.repair(&ends.cells)?;
        let at = path.join(file::SOCKETS);
        let mut sockets = None;
        if at.exists() {
            let mut file = LineFile::open(at)?;
            file.repair(&ends.sockets)?;
            sockets = Some(file);
        }
        files::sync_dir(path)?;
        let dir = Self {
            path: path.to_owned(),
            trials,
            cells,
            sockets,
            lock,
        };
        Ok((dir, contents))
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends a trial; it is on disk when this returns.
    ///
    /// # Errors
    /// When the disk is full or fails; the lines before stay whole.
    pub fn append_trial(&mut self, trial: &TrialRecord) -> Result<(), StoreError> {
        self.trials.append(trial)
    }

    /// Appends a cell; it is on disk when this returns.
    ///
    /// # Errors
    /// As [`Self::append_trial`].
    pub fn append_cell(&mut self, cell: &CellResult) -> Result<(), StoreError> {
        self.cells.append(cell)
    }

    /// Appends the result of a socket test; it is on disk when this returns.
    ///
    /// # Errors
    /// As [`Self::append_trial`].
    pub fn append_socket(&mut self, result: &SockResult) -> Result<(), StoreError> {
        if let Some(file) = &mut self.sockets {
            return file.append(result);
        }
        let mut file = LineFile::open(self.path.join(file::SOCKETS))?;
        files::sync_dir(&self.path)?;
        let appended = file.append(result);
        self.sockets = Some(file);
        appended
    }

    /// Replaces the run's own facts: time so far, completeness, notes.
    ///
    /// # Errors
    /// When the disk is full or fails; the old file stays.
    pub fn write_meta(&self, meta: &RunMeta) -> Result<(), StoreError> {
        files::replace_json(&self.path.join(file::RUN), meta)
    }

    /// Replaces the tester's own limits.
    ///
    /// # Errors
    /// As [`Self::write_meta`].
    pub fn write_tester(&self, limits: &TesterLimits) -> Result<(), StoreError> {
        files::replace_json(&self.path.join(file::TESTER), limits)
    }

    /// Writes a rendered report, replacing an earlier one at once, and returns its path.
    ///
    /// # Errors
    /// When `name` is not a plain file name or belongs to the run's data; else as
    /// [`Self::write_meta`].
    pub fn write_report(&self, name: &str, bytes: &[u8]) -> Result<PathBuf, StoreError> {
        let plain = Path::new(name).file_name() == Some(name.as_ref());
        if !plain || name.contains('\0') || FILES.contains(&name) {
            return Err(StoreError::ReportName {
                name: name.to_owned(),
            });
        }
        let path = self.path.join(name);
        files::replace(&path, bytes)?;
        Ok(path)
    }
}

impl Drop for RunDir {
    fn drop(&mut self) {
        // Closing is not enough: a child forked but not yet executed shares the lock. Should
        // unlocking fail, closing follows.
        let _ = self.lock.unlock();
    }
}

/// Takes the exclusive lock of a directory or says who is in the way.
pub(crate) fn lock(path: &Path) -> Result<File, StoreError> {
    let handle = File::open(path).map_err(|source| StoreError::io("open", path, source))?;
    match handle.try_lock() {
        Ok(()) => Ok(handle),
        Err(TryLockError::WouldBlock) => Err(StoreError::Locked {
            path: path.to_owned(),
        }),
        Err(TryLockError::Error(source)) => Err(StoreError::io("lock", path, source)),
    }
}
