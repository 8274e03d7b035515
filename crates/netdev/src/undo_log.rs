//! What nicety has changed in one network namespace, a line each, on disk before it is changed, so
//! that the next start can change it back should this one be killed.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::only::Only;
use crate::runtime_dir::ROOTS;

/// The log of one namespace; its file is gone when nothing is changed.
#[derive(Debug)]
pub struct UndoLog {
    path: PathBuf,
    /// One nicety at a time changes these things in a namespace.
    _only: Only,
}

impl UndoLog {
    /// Takes the log of `what` (a word, `pktgen`) in the namespace with this inode, and the
    /// lines that a killed nicety left in it. None when another nicety has it.
    ///
    /// # Errors
    /// When the directory cannot be made or written, or the log cannot be read.
    pub fn claim(what: &str, netns: u64) -> io::Result<Option<(Self, Vec<String>)>> {
        Self::claim_in(Path::new(ROOTS), what, netns)
    }

    /// As [`claim`](Self::claim), in a directory of one's choice.
    ///
    /// # Errors
    /// As those of [`claim`](Self::claim).
    pub fn claim_in(
        place: &Path,
        what: &str,
        netns: u64,
    ) -> io::Result<Option<(Self, Vec<String>)>> {
        let name = name(what, netns);
        let Some(only) = Only::claim(place, &format!("{name}.lock"))? else {
            return Ok(None);
        };
        let path = place.join(name);
        let left = match fs::read_to_string(&path) {
            Ok(text) => complete_lines(&text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(error),
        };
        Ok(Some((Self { path, _only: only }, left)))
    }

    /// Whether a nicety that was killed, or one at work, has changed something there.
    pub fn is_there(what: &str, netns: u64) -> bool {
        Path::new(ROOTS).join(name(what, netns)).exists()
    }

    /// Writes down all that is to be changed, in place of what was there; on disk when this
    /// returns.
    ///
    /// # Errors
    /// When it cannot be written: then nothing may be changed.
    pub fn write(&self, lines: impl IntoIterator<Item = String>) -> io::Result<()> {
        let text: String = lines.into_iter().map(|line| line + "\n").collect();
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&self.path)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()
    }

    /// Everything is as it was.
    pub fn clear(&self) {
        // One that stays changes back once more what is as it was.
        let _ = fs::remove_file(&self.path);
    }
}

fn name(what: &str, netns: u64) -> String {
    format!("{what}-{netns}")
}

/// Whole lines only: of one that was being written nothing was changed yet.
fn complete_lines(text: &str) -> Vec<String> {
    let lines = text.split_inclusive('\n');
    let lines = lines.filter_map(|line| line.strip_suffix('\n'));
    lines.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn what_a_killed_one_left_is_known_and_one_has_it() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("run");
        let claim = |netns| UndoLog::claim_in(&place, "pktgen", netns).unwrap();
        let (first, left) = claim(7).unwrap();
        assert!(left.is_empty());
        let all = ["kpktgend_0 eth0", "kpktgend_1 eth1"].map(str::to_owned);
        first.write(all.clone()).unwrap();
        let mode = first.path.metadata().unwrap().mode();
        assert_eq!(mode & 0o777, 0o600, "others may pass the directory");
        assert!(claim(7).is_none());
        assert!(claim(8).is_some());
        // Killed: the lock is nobody's, the file is there.
        drop(first);
        let (next, left) = claim(7).unwrap();
        assert_eq!(left, all);
        next.clear();
        drop(next);
        assert_eq!(fs::read_dir(&place).unwrap().count(), 0);
    }

    #[test]
    fn a_torn_line_is_none() {
        assert_eq!(complete_lines("eth0 1 12\neth1 1 1"), ["eth0 1 12"]);
    }
}
