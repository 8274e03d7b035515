//! The directory of the host that a lab may write to when none is named.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::state::RunsDir;

/// Where `nicety bench` and its like leave what they measured when nothing else is said.
pub const RUNS: &str = "runs";

/// The caller's `./runs`, for a lab that nobody named a directory for.
#[derive(Debug)]
pub struct Runs {
    dir: RunsDir,
    /// Locked by all who use it, so that none takes it away from another.
    hold: File,
}

impl Runs {
    /// Opened, and made when it is not there.
    ///
    /// # Errors
    /// Why it cannot be had.
    pub fn here() -> io::Result<Self> {
        Self::of(Path::new(RUNS))
    }

    fn of(path: &Path) -> io::Result<Self> {
        let made = match fs::create_dir(path) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => false,
            other => other.map(|()| true)?,
        };
        let directory = path.canonicalize()?;
        if !directory.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        let hold = File::open(&directory)?;
        // Where there are no locks, as on some network file systems, the directory may stay.
        let _ = hold.try_lock_shared();
        Ok(Self {
            dir: RunsDir { directory, made },
            hold,
        })
    }

    /// Where it is.
    pub fn path(&self) -> PathBuf {
        self.dir.directory.clone()
    }

    /// The same, to be remembered.
    pub fn dir(&self) -> RunsDir {
        self.dir.clone()
    }

    /// Leaves it to a lab that goes on.
    pub fn leave(mut self) {
        self.dir.made = false;
    }
}

impl Drop for Runs {
    fn drop(&mut self) {
        // Ours alone becomes one that nobody else uses.
        if self.dir.made && self.hold.try_lock().is_ok() {
            self.dir.remove_empty();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_that_was_made_and_stayed_empty_goes() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(RUNS);
        let runs = Runs::of(&path).unwrap();
        assert_eq!(runs.path(), path.canonicalize().unwrap());
        // Another caller uses it.
        let other = Runs::of(&path).unwrap();
        drop(runs);
        assert!(path.exists());
        drop(other);
        assert!(path.exists(), "it was there before this one came");

        // There before: it stays.
        drop(Runs::of(&path).unwrap());
        assert!(path.exists());
        fs::remove_dir(&path).unwrap();

        drop(Runs::of(&path).unwrap());
        assert!(!path.exists());
        // Somebody has written.
        let runs = Runs::of(&path).unwrap();
        fs::write(path.join("report"), "").unwrap();
        drop(runs);
        assert!(path.join("report").exists());
    }

    #[test]
    fn one_that_is_left_to_a_lab_goes_with_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(RUNS);
        let runs = Runs::of(&path).unwrap();
        let left = runs.dir();
        runs.leave();
        assert!(path.exists() && left.made);
        left.remove_empty();
        assert!(!path.exists());
    }

    #[test]
    fn a_file_is_no_directory() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(RUNS);
        fs::write(&path, "").unwrap();
        assert!(Runs::of(&path).is_err());
        assert!(path.exists());
    }
}
