//! Journals of transactions on disk: one file each, every line synced before the next step.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use nicety_model::journal::{Event, Journal};
use rustix::fs::FlockOperation;
use rustix::time::ClockId;

use crate::topology::ProcRoot;

/// A state directory that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// A file could not be used.
    #[error("cannot {operation} {}: {source}; give --state a directory that is yours and has room", path.display())]
    Io {
        /// What was tried.
        operation: &'static str,
        /// File.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A journal holds something else.
    #[error("line {line} of {} is no event of a journal; look at it, then move the file away", path.display())]
    Malformed {
        /// File.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
    },
    /// Somebody else works here.
    #[error("another nicety tune works in {}; wait until it has ended", path.display())]
    Busy {
        /// Directory.
        path: PathBuf,
    },
}

/// A directory of journals.
#[derive(Debug, Clone)]
pub struct StateDir(PathBuf);

/// The right to change journals and settings, given up when dropped or when the process ends.
#[derive(Debug)]
pub struct Lock(#[allow(dead_code, reason = "held for its flock")] File);

/// A journal that is written.
#[derive(Debug)]
pub struct JournalFile {
    file: File,
    path: PathBuf,
}

impl StateDir {
    /// Uses a directory; makes it, closed to others, when it is missing.
    ///
    /// # Errors
    /// [`JournalError::Io`].
    pub fn open(path: &Path) -> Result<Self, JournalError> {
        let error = |source| JournalError::Io {
            operation: "make",
            path: path.to_owned(),
            source,
        };
        let mut builder = std::fs::DirBuilder::new();
        builder
            .recursive(true)
            .mode(0o700)
            .create(path)
            .map_err(error)?;
        // A guard of this directory lives on when the terminal's folder is gone.
        Ok(Self(path.canonicalize().map_err(error)?))
    }

    /// The absolute path.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Takes the lock; waits at most `patience` for it, as long as a guard may need to undo.
    ///
    /// # Errors
    /// [`JournalError::Busy`], [`JournalError::Io`].
    pub fn lock(&self, patience: Duration) -> Result<Lock, JournalError> {
        let begin = since_boot();
        loop {
            match self.lock_with(FlockOperation::NonBlockingLockExclusive) {
                Err(JournalError::Busy { .. }) if since_boot() - begin < patience => {
                    std::thread::sleep(Duration::from_millis(50));
                }
                result => return result,
            }
        }
    }

    /// Takes the lock as soon as it is free.
    ///
    /// # Errors
    /// [`JournalError::Io`].
    pub fn wait_lock(&self) -> Result<Lock, JournalError> {
        self.lock_with(FlockOperation::LockExclusive)
    }

    fn lock_with(&self, operation: FlockOperation) -> Result<Lock, JournalError> {
        let path = self.0.join("lock");
        let error = |source: io::Error| JournalError::Io {
            operation: "lock",
            path: path.clone(),
            source,
        };
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path)
            .map_err(error)?;
        loop {
            match rustix::fs::flock(&file, operation) {
                Ok(()) => return Ok(Lock(file)),
                Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::WOULDBLOCK) => {
                    return Err(JournalError::Busy {
                        path: self.0.clone(),
                    });
                }
                Err(source) => return Err(error(source.into())),
            }
        }
    }

    /// Numbers of all journals, rising.
    ///
    /// # Errors
    /// [`JournalError::Io`].
    pub fn ids(&self) -> Result<Vec<u32>, JournalError> {
        let entries = std::fs::read_dir(&self.0).map_err(|source| JournalError::Io {
            operation: "list",
            path: self.0.clone(),
            source,
        })?;
        let mut ids: Vec<u32> = entries
            .flatten()
            .filter_map(|entry| {
                let name = entry.file_name().into_string().ok()?;
                name.strip_prefix("txn-")?
                    .strip_suffix(".jsonl")?
                    .parse()
                    .ok()
            })
            .collect();
        ids.sort_unstable();
        Ok(ids)
    }

    /// Reads a journal.
    ///
    /// # Errors
    /// [`JournalError::Io`], [`JournalError::Malformed`].
    pub fn read(&self, id: u32) -> Result<Journal, JournalError> {
        let path = self.file(id);
        let text = std::fs::read_to_string(&path).map_err(|source| JournalError::Io {
            operation: "read",
            path: path.clone(),
            source,
        })?;
        Journal::parse(&text).map_err(|line| JournalError::Malformed { path, line })
    }

    /// Makes a new journal and syncs its name.
    ///
    /// # Errors
    /// [`JournalError::Io`].
    pub fn create(&self, id: u32) -> Result<JournalFile, JournalError> {
        let path = self.file(id);
        let error = |source| JournalError::Io {
            operation: "make",
            path: path.clone(),
            source,
        };
        // Not in append mode: a file system that writes whole pages back (9p) would append these.
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)
            .map_err(error)?;
        File::open(&self.0)
            .and_then(|dir| dir.sync_all())
            .map_err(error)?;
        Ok(JournalFile { file, path })
    }

    /// Opens a journal to go on with it. A last line that is cut short is removed.
    ///
    /// # Errors
    /// [`JournalError::Io`].
    pub fn append_to(&self, id: u32) -> Result<JournalFile, JournalError> {
        let path = self.file(id);
        let open = || -> io::Result<File> {
            let mut file = OpenOptions::new().read(true).write(true).open(&path)?;
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            let whole = bytes
                .iter()
                .rposition(|byte| *byte == b'\n')
                .map_or(0, |end| end + 1);
            if whole < bytes.len() {
                file.set_len(whole as u64)?;
                file.sync_data()?;
            }
            file.seek(SeekFrom::End(0))?;
            Ok(file)
        };
        match open() {
            Ok(file) => Ok(JournalFile { file, path }),
            Err(source) => Err(JournalError::Io {
                operation: "open",
                path,
                source,
            }),
        }
    }

    fn file(&self, id: u32) -> PathBuf {
        self.0.join(format!("txn-{id:04}.jsonl"))
    }
}

impl JournalFile {
    /// Writes one event and waits until the disk has it.
    ///
    /// # Errors
    /// [`JournalError::Io`]; the event may be there in part, which readers pass over.
    pub fn append(&mut self, event: &Event) -> Result<(), JournalError> {
        let write = |file: &mut File| -> io::Result<()> {
            let mut line = serde_json::to_string(event)?;
            line.push('\n');
            let end = file.seek(SeekFrom::End(0))?;
            let written = file.write_all(line.as_bytes());
            if written.is_err() {
                // What the disk had no room for must not become the begin of the next line.
                let _ = file.set_len(end);
            }
            written?;
            file.sync_data()
        };
        write(&mut self.file).map_err(|source| JournalError::Io {
            operation: "write",
            path: self.path.clone(),
            source,
        })
    }
}

/// Time since boot, suspend included: no clock change moves a deadline.
pub fn since_boot() -> Duration {
    let now = rustix::time::clock_gettime(ClockId::Boottime);
    Duration::new(
        now.tv_sec.try_into().unwrap_or(0),
        now.tv_nsec.try_into().unwrap_or(0),
    )
}

/// What the kernel calls this boot; empty where it does not say.
pub fn boot_id(proc: &ProcRoot) -> String {
    proc.text("sys/kernel/random/boot_id").unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_survive_a_torn_line_and_a_second_writer_is_kept_out() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::open(&dir.path().join("a/b")).unwrap();
        let lock = state.lock(Duration::ZERO).unwrap();
        assert!(matches!(
            state.lock(Duration::from_millis(60)),
            Err(JournalError::Busy { .. })
        ));
        drop(lock);
        state.lock(Duration::ZERO).unwrap();

        let mut file = state.create(3).unwrap();
        file.append(&Event::Confirmed).unwrap();
        file.file.write_all(b"{\"event\":\"roll").unwrap();
        assert!(state.create(3).is_err(), "a journal is never overwritten");
        let mut file = state.append_to(3).unwrap();
        file.append(&Event::RolledBack).unwrap();
        let journal = state.read(3).unwrap();
        assert_eq!(journal.events, [Event::Confirmed, Event::RolledBack]);
        assert_eq!(state.ids().unwrap(), [3]);

        std::fs::write(state.file(4), "no event\n").unwrap();
        assert!(matches!(
            state.read(4),
            Err(JournalError::Malformed { line: 1, .. })
        ));
    }

    #[test]
    fn a_state_directory_is_closed_to_others() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::open(&dir.path().join("state")).unwrap();
        let mode = state.path().metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
    }
}
