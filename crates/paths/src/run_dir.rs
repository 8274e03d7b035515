//! Private directories for the sockets, databases and logs of programs, and the removal of those
//! that a killed nicety has left.

use std::fs::{self, DirBuilder, File, TryLockError};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use nicety_netdev::runtime_dir::{self, ROOTS};

use crate::error::PathError;
use crate::inventory;

/// Start of the name of every such directory.
const PREFIX: &str = "path-";
/// Locked as long as the directory is used.
const LOCK: &str = "lock";

/// A directory only its user may enter; removed when dropped.
#[derive(Debug)]
pub(crate) struct RunDir {
    path: PathBuf,
    /// Whether it stays, for the next nicety to see.
    keep: bool,
    /// Holds the lock: whoever gets it knows that nobody uses the directory.
    _lock: File,
}

impl RunDir {
    /// Makes one, after removing those whose nicety has ended.
    pub(crate) fn create() -> Result<Self, PathError> {
        Self::create_in(&runtime_dir::place())
    }

    /// Makes one that names what is changed on the host itself: where the next start of root
    /// looks, whatever its environment.
    pub(crate) fn create_for_host() -> Result<Self, PathError> {
        Self::create_in(Path::new(ROOTS))
    }

    fn create_in(base: &Path) -> Result<Self, PathError> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let error = |e| PathError::io("make a directory in", base.display(), e);
        runtime_dir::make(base, 0o700).map_err(error)?;
        sweep_in(base);
        let mut builder = DirBuilder::new();
        builder.mode(0o700);
        let pid = std::process::id();
        loop {
            let number = COUNT.fetch_add(1, Ordering::Relaxed);
            let path = base.join(format!("{PREFIX}{pid}-{number}"));
            match builder.create(&path) {
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => continue,
                // Another nicety has just removed it, empty.
                Err(e) if e.kind() == io::ErrorKind::NotFound => {
                    runtime_dir::make(base, 0o700).map_err(error)?;
                    continue;
                }
                made => made.map_err(error)?,
            }
            let lock = File::create(path.join(LOCK)).map_err(error)?;
            lock.lock().map_err(error)?;
            return Ok(Self {
                path,
                keep: false,
                _lock: lock,
            });
        }
    }

    /// Its path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Leaves it to the next nicety.
    pub(crate) fn keep(&mut self) {
        self.keep = true;
    }

    /// A file in it.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }
}

impl Drop for RunDir {
    fn drop(&mut self) {
        if self.keep {
            return;
        }
        // One that cannot be removed now is removed by the next nicety.
        let _ = fs::remove_dir_all(&self.path);
        if let Some(base) = self.path.parent() {
            remove_empty(base);
        }
    }
}

/// Removes the directories of every nicety of this user that has ended. The programs that used
/// them ended with it.
pub fn sweep() {
    runtime_dir::places().iter().for_each(|base| sweep_in(base));
}

fn sweep_in(base: &Path) {
    // What others can write there is no word of ours about what is to be undone.
    if runtime_dir::check(base).is_err() {
        return;
    }
    let Ok(entries) = fs::read_dir(base) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        if name.to_str().is_some_and(|name| name.starts_with(PREFIX))
            && unused(&entry.path())
            && inventory::undo_left(&entry.path())
        {
            // Fails only where somebody else removes it too.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Removes the place of the directories where nothing is left in it. Root's is the machine's, and
/// other things are kept there.
fn remove_empty(base: &Path) {
    if base != Path::new(ROOTS) {
        // Fails while there is anything.
        let _ = fs::remove_dir(base);
    }
}

/// Whether nobody holds the lock. A directory without one is being made at this moment, or was
/// left by a nicety that was killed in between: then its maker, named by it, is gone.
fn unused(dir: &Path) -> bool {
    match File::open(dir.join(LOCK)) {
        Ok(lock) => match lock.try_lock() {
            Ok(()) => true,
            Err(TryLockError::WouldBlock | TryLockError::Error(_)) => false,
        },
        Err(_) => {
            let name = dir.file_name().and_then(|name| name.to_str());
            let maker = name
                .and_then(|name| name.strip_prefix(PREFIX)?.split_once('-'))
                .map(|(pid, _)| Path::new("/proc").join(pid));
            maker.is_some_and(|process| !process.exists())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_nobody_uses_is_removed() {
        let base = tempfile::tempdir().unwrap();
        let used = RunDir::create_in(base.path()).unwrap();
        let left = base.path().join("path-4194305-0");
        let unlocked = base.path().join("path-4194305-1");
        let other = base.path().join("lab");
        for dir in [&left, &unlocked, &other] {
            fs::create_dir(dir).unwrap();
        }
        File::create(left.join(LOCK)).unwrap();
        sweep_in(base.path());
        assert!(used.path().exists() && other.exists());
        assert!(!left.exists() && !unlocked.exists());
        let path = used.path().to_owned();
        drop(used);
        assert!(!path.exists() && other.exists());
    }

    #[test]
    fn an_empty_place_goes_with_its_last_directory() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().join("nicety-65534");
        let [one, two] = [(); 2].map(|()| RunDir::create_in(&base).unwrap());
        drop(one);
        assert!(two.path().exists());
        drop(two);
        assert!(!base.exists() && dir.path().exists());
    }
}
