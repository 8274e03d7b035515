//! What a run of the police leaves behind, where it is asked to record: a run directory of its own
//! kind, written and read like that of a bench.

use std::fs::File;
use std::path::{Path, PathBuf};

use nicety_model::policed::{Policed, PolicedHead, PolicedPeriod};
use nicety_model::{Fingerprint, SCHEMA};

use crate::dir::lock;
use crate::error::StoreError;
use crate::lines::{self, LineFile};
use crate::{file, files};

/// A directory that periods are appended to, held by this process until dropped.
#[derive(Debug)]
pub struct PolicedDir {
    path: PathBuf,
    periods: LineFile,
    lock: File,
}

impl PolicedDir {
    /// Makes the directory and its first files. An existing directory must be empty.
    ///
    /// # Errors
    /// When the directory is not empty, held by another process, or cannot be written.
    pub fn create(
        path: &Path,
        policy_toml: &str,
        head: &PolicedHead,
        host: &Fingerprint,
    ) -> Result<Self, StoreError> {
        files::make_dir(path)?;
        let lock = lock(path)?;
        files::refuse_entries(path)?;
        files::replace(&path.join(file::POLICY), policy_toml.as_bytes())?;
        files::replace_json(&path.join(file::HOST), host)?;
        let periods = LineFile::open(path.join(file::PERIODS))?;
        // Last: whoever finds it finds a whole directory.
        files::replace_json(&path.join(file::POLICE), head)?;
        Ok(Self {
            path: path.to_owned(),
            periods,
            lock,
        })
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends a period; it is on disk when this returns.
    ///
    /// # Errors
    /// When the disk is full or fails; the lines before stay whole.
    pub fn append(&mut self, period: &PolicedPeriod) -> Result<(), StoreError> {
        self.periods.append(period)
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

impl Drop for PolicedDir {
    fn drop(&mut self) {
        // Should unlocking fail, closing follows.
        let _ = self.lock.unlock();
    }
}

/// Whether a directory is the record of a run of the police.
pub fn is_policed(path: &Path) -> bool {
    path.join(file::POLICE).is_file()
}

/// Reads the record of a run of the police, finished or not, without changing it. A torn last
/// line is left out and noted. The summary is empty: it is worked out from the periods.
///
/// # Errors
/// When the directory is no such record, a line other than the last is broken, or a newer version
/// wrote it.
pub fn read_policed(path: &Path) -> Result<Policed, StoreError> {
    let must = |name: &'static str| {
        files::read(&path.join(name))?.ok_or_else(|| StoreError::NotARun {
            path: path.to_owned(),
            file: name,
        })
    };
    let run: PolicedHead = lines::decode(&path.join(file::POLICE), 1, &must(file::POLICE)?)?;
    let host = lines::decode(&path.join(file::HOST), 1, &must(file::HOST)?)?;
    let at = path.join(file::PERIODS);
    let (periods, end) = lines::read::<PolicedPeriod>(&at, |_| ())?.split();
    let notes = end.note(file::PERIODS).into_iter().collect();
    let fits = |period: &PolicedPeriod| {
        period.tenants.len() == run.tenants.len() && period.ports.len() == run.ports.len()
    };
    if let Some(odd) = periods.iter().position(|period| !fits(period)) {
        return Err(StoreError::Edited {
            path: at,
            line: odd + 1,
        });
    }
    Ok(Policed {
        schema: SCHEMA,
        run,
        host,
        summary: Vec::new(),
        notes,
        periods,
    })
}
