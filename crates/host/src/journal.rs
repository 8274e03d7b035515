//! Journals of transactions on disk: one file each, every line synced before the next step.

use std::fs::{File, Metadata};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use nicety_model::journal::{Event, Journal};
use nicety_netdev::runtime_dir::{not_only_of, not_only_ours};
use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::time::ClockId;

use crate::regular::read_opened;
use crate::roots::ProcRoot;

/// A journal of every setting of a large host is far smaller.
const LARGEST: u64 = 64 << 20;

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
    #[error("line {line} of {} is not a journal event; check the file, then move it away", path.display())]
    Malformed {
        /// File.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
    },
    /// Somebody else could have written what would be undone here.
    #[error("{} {why}, so nicety ignores it; give --state a directory that only you can write", path.display())]
    NotOurs {
        /// Directory or file.
        path: PathBuf,
        /// Why it is not trusted.
        why: &'static str,
    },
    /// Somebody else works here.
    #[error("another nicety tune works in {}; wait until it has ended", path.display())]
    Busy {
        /// Directory.
        path: PathBuf,
    },
}

/// A directory of journals. Its files are opened in the directory that was checked, whatever becomes of
/// its name.
#[derive(Debug, Clone)]
pub struct StateDir {
    path: PathBuf,
    dir: Arc<OwnedFd>,
    owner: u32,
}

/// What a state directory holds.
#[derive(Debug, Default)]
pub struct Journals {
    /// Number and events of each journal, the oldest first.
    pub readable: Vec<(u32, Journal)>,
    /// Why others cannot be read.
    pub unreadable: Vec<JournalError>,
}

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
    /// Uses a directory; makes it, closed to others, when it is missing. What a journal says is done with
    /// the rights of the caller, so nobody else may be able to write one.
    ///
    /// # Errors
    /// [`JournalError::NotOurs`], [`JournalError::Io`].
    pub fn open(path: &Path) -> Result<Self, JournalError> {
        let error = |source| JournalError::Io {
            operation: "make",
            path: path.to_owned(),
            source,
        };
        make(path).map_err(error)?;
        let (state, metadata) = Self::opened(path).map_err(error)?;
        state.trusted(&state.path, not_only_ours(&metadata))?;
        Ok(state)
    }

    /// Uses a directory for reading, this user's or another one's; `None` where there is none. Nobody but its
    /// [owner](Self::owner) may be able to write there.
    ///
    /// # Errors
    /// [`JournalError::NotOurs`], [`JournalError::Io`].
    pub fn find(path: &Path) -> Result<Option<Self>, JournalError> {
        let (state, metadata) = match Self::opened(path) {
            Ok(opened) => opened,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => {
                return Err(JournalError::Io {
                    operation: "open",
                    path: path.to_owned(),
                    source,
                });
            }
        };
        state.trusted(&state.path, not_only_of(&metadata, state.owner))?;
        Ok(Some(state))
    }

    fn opened(path: &Path) -> io::Result<(Self, Metadata)> {
        // A guard of this directory lives on when the terminal's folder is gone.
        let path = path.canonicalize()?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let dir = File::from(rustix::fs::open(&path, flags, Mode::empty())?);
        let metadata = dir.metadata()?;
        let (dir, owner) = (Arc::new(dir.into()), metadata.uid());
        Ok((Self { path, dir, owner }, metadata))
    }

    /// The user whose directory it is.
    pub fn owner(&self) -> u32 {
        self.owner
    }

    /// The absolute path.
    pub fn path(&self) -> &Path {
        &self.path
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
        let path = self.path.join("lock");
        let error = |source: io::Error| JournalError::Io {
            operation: "lock",
            path: path.clone(),
            source,
        };
        let file = self
            .file("lock", OFlags::WRONLY | OFlags::CREATE)
            .map_err(error)?;
        loop {
            match rustix::fs::flock(&file, operation) {
                Ok(()) => return Ok(Lock(file)),
                Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::WOULDBLOCK) => {
                    return Err(JournalError::Busy {
                        path: self.path.clone(),
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
        let error = |source: rustix::io::Errno| JournalError::Io {
            operation: "list",
            path: self.path.clone(),
            source: source.into(),
        };
        let entries = rustix::fs::Dir::read_from(&*self.dir).map_err(error)?;
        let mut ids: Vec<u32> = entries
            .flatten()
            .filter_map(|entry| {
                let name = entry.file_name().to_str().ok()?;
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
    /// [`JournalError::Io`], [`JournalError::NotOurs`], [`JournalError::Malformed`].
    pub fn read(&self, id: u32) -> Result<Journal, JournalError> {
        let name = file_name(id);
        let path = self.path.join(&name);
        let bytes = self.bytes(&name, LARGEST)?;
        let bytes = bytes.ok_or_else(|| JournalError::Io {
            operation: "read",
            path: path.clone(),
            source: rustix::io::Errno::NOENT.into(),
        })?;
        // Bytes that are no text are no event either; the parser names their line.
        Journal::parse(&String::from_utf8_lossy(&bytes))
            .map_err(|line| JournalError::Malformed { path, line })
    }

    /// Bytes of a file of the directory, at most `largest`; `None` where it is missing. It is a regular file that only
    /// the owner of the directory can have written, or not read.
    ///
    /// # Errors
    /// [`JournalError::Io`], [`JournalError::NotOurs`].
    pub fn bytes(&self, name: &str, largest: u64) -> Result<Option<Vec<u8>>, JournalError> {
        let path = self.path.join(name);
        let error = |source| JournalError::Io {
            operation: "read",
            path: path.clone(),
            source,
        };
        let file = match self.file(name, OFlags::RDONLY | OFlags::NONBLOCK) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(error(source)),
        };
        let of = file.metadata().map_err(error)?;
        self.trusted(&path, not_only_of(&of, self.owner))?;
        read_opened(file, largest).map(Some).map_err(error)
    }

    fn trusted(&self, path: &Path, doubt: Option<&'static str>) -> Result<(), JournalError> {
        let path = path.to_owned();
        doubt.map_or(Ok(()), |why| Err(JournalError::NotOurs { path, why }))
    }

    /// Every journal that can be read, by number, and what is wrong with the others: one that a newer
    /// nicety wrote, or somebody else, keeps nobody from undoing the rest.
    ///
    /// # Errors
    /// [`JournalError::Io`] when the directory cannot be listed.
    pub fn journals(&self) -> Result<Journals, JournalError> {
        let mut journals = Journals::default();
        for id in self.ids()? {
            match self.read(id) {
                Ok(journal) => journals.readable.push((id, journal)),
                Err(error) => journals.unreadable.push(error),
            }
        }
        Ok(journals)
    }

    /// Makes a new journal and syncs its name.
    ///
    /// # Errors
    /// [`JournalError::Io`].
    pub fn create(&self, id: u32) -> Result<JournalFile, JournalError> {
        let path = self.path.join(file_name(id));
        let error = |source| JournalError::Io {
            operation: "make",
            path: path.clone(),
            source,
        };
        // Not in append mode: a file system that writes whole pages back (9p) would append these.
        let file = self
            .file(
                &file_name(id),
                OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL,
            )
            .map_err(error)?;
        rustix::fs::fsync(&*self.dir).map_err(|source| error(source.into()))?;
        Ok(JournalFile { file, path })
    }

    /// Opens a journal to go on with it. A last line that is cut short is removed.
    ///
    /// # Errors
    /// [`JournalError::Io`].
    pub fn append_to(&self, id: u32) -> Result<JournalFile, JournalError> {
        let path = self.path.join(file_name(id));
        let open = || -> io::Result<File> {
            let mut file = self.file(&file_name(id), OFlags::RDWR | OFlags::NONBLOCK)?;
            let bytes = read_opened(file.try_clone()?, LARGEST)?;
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

    fn file(&self, name: &str, flags: OFlags) -> io::Result<File> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR;
        Ok(rustix::fs::openat(&*self.dir, name, flags, mode)?.into())
    }
}

/// Makes a directory and those above it that are missing. Their names are on disk when this returns: after a power
/// loss a journal in a directory that is gone undoes nothing.
fn make(path: &Path) -> io::Result<()> {
    let is_missing = |path: &&Path| !path.as_os_str().is_empty() && !path.exists();
    let missing: Vec<&Path> = path.ancestors().take_while(is_missing).collect();
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true).mode(0o700).create(path)?;
    for made in missing {
        let above = made.parent().filter(|above| !above.as_os_str().is_empty());
        match File::open(above.unwrap_or(Path::new("."))) {
            Ok(above) => above.sync_all()?,
            // Who may write into a directory may still not read it.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn file_name(id: u32) -> String {
    format!("txn-{id:04}.jsonl")
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

        std::fs::write(state.path().join(file_name(4)), b"no event\xff\n").unwrap();
        assert!(matches!(
            state.read(4),
            Err(JournalError::Malformed { line: 1, .. })
        ));
        let all = state.journals().unwrap();
        assert_eq!((all.readable.len(), all.unreadable.len()), (1, 1));
    }

    #[test]
    fn what_others_can_write_is_not_trusted_as_any_user() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let dir = tempfile::tempdir().unwrap();
        let open_to_all = std::fs::Permissions::from_mode(0o777);
        std::fs::set_permissions(dir.path(), open_to_all.clone()).unwrap();
        let refused = |result: Result<(), JournalError>| {
            assert!(
                matches!(result, Err(JournalError::NotOurs { .. })),
                "{result:?}"
            );
        };
        refused(StateDir::open(dir.path()).map(drop));

        let state = StateDir::open(&dir.path().join("mine")).unwrap();
        let path = state.path().join(file_name(1));
        state.create(1).unwrap();
        state.read(1).unwrap();
        std::fs::set_permissions(&path, open_to_all).unwrap();
        refused(state.read(1).map(drop));
        std::fs::remove_file(&path).unwrap();
        symlink("/etc/passwd", &path).unwrap();
        assert!(state.read(1).is_err() && state.append_to(1).is_err());

        // Its name may be given to another directory; the one that was opened is used.
        let state = StateDir::open(&dir.path().join("moved")).unwrap();
        std::fs::rename(state.path(), dir.path().join("away")).unwrap();
        std::fs::create_dir(dir.path().join("moved")).unwrap();
        state.create(7).unwrap();
        assert!(dir.path().join("away").join(file_name(7)).exists());
    }

    #[test]
    fn state_is_read_from_regular_files_of_the_owner_alone_as_any_user() {
        use std::os::unix::fs::{PermissionsExt, chown, symlink};
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("theirs");
        assert!(StateDir::find(&place).unwrap().is_none());
        assert!(!place.exists());
        std::fs::create_dir(&place).unwrap();
        let open_to_all = std::fs::Permissions::from_mode(0o777);
        std::fs::set_permissions(&place, open_to_all.clone()).unwrap();
        StateDir::find(&place).unwrap_err();
        std::fs::set_permissions(&place, std::fs::Permissions::from_mode(0o755)).unwrap();
        let root = rustix::process::geteuid().is_root();
        let other = root && chown(&place, Some(65534), None).is_ok();
        let state = StateDir::find(&place).unwrap().unwrap();
        assert_eq!(state.owner() != rustix::process::geteuid().as_raw(), other);

        assert!(state.bytes("state", 9).unwrap().is_none());
        std::fs::write(place.join("state"), "0123456789").unwrap();
        if other {
            // A file that is this user's is not the owner's.
            state.bytes("state", 10).unwrap_err();
            chown(place.join("state"), Some(65534), None).unwrap();
        }
        assert_eq!(state.bytes("state", 10).unwrap().unwrap(), b"0123456789");
        state.bytes("state", 9).unwrap_err();
        symlink("state", place.join("link")).unwrap();
        symlink("/dev/zero", place.join("zero")).unwrap();
        let fifo = rustix::fs::FileType::Fifo;
        let mode = Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, place.join("fifo"), fifo, mode, 0).unwrap();
        for name in ["link", "zero", "fifo"] {
            state.bytes(name, 10).unwrap_err();
        }
        std::fs::set_permissions(place.join("state"), open_to_all).unwrap();
        state.bytes("state", 10).unwrap_err();
    }

    #[test]
    fn a_state_directory_is_closed_to_others_as_any_user() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::open(&dir.path().join("state")).unwrap();
        let mode = state.path().metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
    }
}
