//! A lock that keeps a second program out, in a directory that only its owner can write.

use std::fs::{File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::FlockOperation;

use crate::runtime_dir;

/// Others may pass the directory to what is theirs in it, as a guest to its socket; nobody but the
/// owner lists or writes it.
const PASSABLE: u32 = 0o711;

/// The lock; its file goes when it is given up, the lock itself also when the process is killed.
#[derive(Debug)]
pub struct Only {
    path: PathBuf,
    /// Held for its flock.
    file: File,
}

impl Only {
    /// Takes the lock `name` in `directory`, which is made when it is missing. Others may pass the
    /// directory, not list it: what is private there must be so itself. None when somebody has the
    /// lock.
    ///
    /// # Errors
    /// When the directory cannot be made or written, or others can write there: they could hold
    /// the lock.
    pub fn claim(directory: &Path, name: &str) -> io::Result<Option<Self>> {
        runtime_dir::make(directory, PASSABLE)?;
        // The umask may have closed it.
        let mode = directory.symlink_metadata()?.mode();
        if mode & PASSABLE != PASSABLE {
            let mode = mode & 0o777 | PASSABLE;
            std::fs::set_permissions(directory, Permissions::from_mode(mode))?;
        }
        let path = directory.join(name);
        loop {
            let file = OpenOptions::new()
                .write(true)
                .create(true)
                .truncate(false)
                .mode(0o600)
                .open(&path)?;
            match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => {}
                Err(rustix::io::Errno::INTR) => continue,
                Err(rustix::io::Errno::WOULDBLOCK) => return Ok(None),
                Err(error) => return Err(error.into()),
            }
            // The one before may have removed the file between opening and locking.
            let named = path.metadata().map(|named| (named.dev(), named.ino()));
            let held = file.metadata()?;
            if named.is_ok_and(|named| named == (held.dev(), held.ino())) {
                return Ok(Some(Self { path, file }));
            }
        }
    }
}

impl Only {
    /// Writes into the lock's file, for whoever may read it, what its holder has to say.
    ///
    /// # Errors
    /// As with any file.
    pub fn write(&self, words: &[u8]) -> io::Result<()> {
        self.file.set_len(0)?;
        self.file.write_all_at(words, 0)
    }
}

impl Drop for Only {
    fn drop(&mut self) {
        // Still locked here: nobody else's file is removed.
        let _ = std::fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_at_a_time_and_nothing_left_as_any_user() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("run");
        let first = Only::claim(&place, "a").unwrap().unwrap();
        assert!(Only::claim(&place, "a").unwrap().is_none());
        assert!(Only::claim(&place, "b").unwrap().is_some());
        for words in ["longer", "short"] {
            first.write(words.as_bytes()).unwrap();
            assert_eq!(std::fs::read_to_string(place.join("a")).unwrap(), words);
        }
        drop(first);
        assert_eq!(std::fs::read_dir(&place).unwrap().count(), 0);
        assert!(Only::claim(&place, "a").unwrap().is_some());
    }

    #[test]
    fn others_pass_the_place_and_cannot_read_the_lock_as_any_user() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("run");
        let mode = |path: &Path| path.metadata().unwrap().mode() & 0o777;
        let lock = Only::claim(&place, "a").unwrap().unwrap();
        assert_eq!((mode(&place), mode(&lock.path)), (0o711, 0o600));
        std::fs::set_permissions(&place, Permissions::from_mode(0o700)).unwrap();
        let _other = Only::claim(&place, "b").unwrap().unwrap();
        assert_eq!(mode(&place), 0o711);
    }

    #[test]
    fn a_place_that_others_can_write_is_refused_as_any_user() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o777)).unwrap();
        assert!(Only::claim(dir.path(), "a").is_err());
    }
}
