//! What nicety has put into the host's own pktgen, on disk before it is there, so that the next
//! start can take it out again should this one be killed.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use nicety_host::only::Only;

/// Where root's are.
const PLACE: &str = "/run/nicety";

/// A pktgen thread and an interface given to it.
pub(super) type Entry = (String, String);

/// The ledger of one network namespace; gone when dropped.
#[derive(Debug)]
pub(super) struct Ledger {
    path: PathBuf,
    kept: bool,
    entries: Vec<Entry>,
    /// pktgen is started and stopped for a whole namespace: one nicety at a time.
    _only: Only,
}

impl Ledger {
    /// Takes the ledger of the namespace with this inode, with what a killed nicety left in it.
    /// `None` when another nicety has it.
    pub(super) fn claim(netns: u64) -> io::Result<Option<Self>> {
        Self::claim_in(Path::new(PLACE), netns)
    }

    fn claim_in(place: &Path, netns: u64) -> io::Result<Option<Self>> {
        let name = format!("pktgen-{netns}");
        let Some(only) = Only::claim(place, &format!("{name}.lock"))? else {
            return Ok(None);
        };
        let path = place.join(name);
        let entries = match fs::read_to_string(&path) {
            Ok(text) => entries(&text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(error),
        };
        Ok(Some(Self {
            path,
            kept: false,
            entries,
            _only: only,
        }))
    }

    pub(super) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Leaves it to the next nicety.
    pub(super) fn keep(mut self) {
        self.kept = true;
    }

    /// Replaces the entries, on disk when this returns.
    pub(super) fn write(&mut self, entries: &[Entry]) -> io::Result<()> {
        let lines = entries
            .iter()
            .map(|(thread, name)| format!("{thread} {name}\n"));
        let mut file = File::create(&self.path)?;
        file.write_all(lines.collect::<String>().as_bytes())?;
        file.sync_all()?;
        self.entries = entries.to_vec();
        Ok(())
    }
}

impl Drop for Ledger {
    fn drop(&mut self) {
        if !self.kept {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Whole lines only: one that was being written named nothing yet.
fn entries(text: &str) -> Vec<Entry> {
    let lines = text.split_inclusive('\n');
    let whole = lines.filter_map(|line| line.strip_suffix('\n')?.split_once(' '));
    whole
        .map(|(thread, name)| (thread.to_owned(), name.to_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(thread: &str, name: &str) -> Entry {
        (thread.to_owned(), name.to_owned())
    }

    #[test]
    fn what_a_killed_one_left_is_known_and_one_has_it() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("run");
        let mut first = Ledger::claim_in(&place, 7).unwrap().unwrap();
        assert_eq!(first.entries(), []);
        let there = [entry("kpktgend_0", "eth0"), entry("kpktgend_1", "eth1")];
        first.write(&there).unwrap();
        assert!(Ledger::claim_in(&place, 7).unwrap().is_none());
        assert!(Ledger::claim_in(&place, 8).unwrap().is_some());
        let text = fs::read(place.join("pktgen-7")).unwrap();
        drop(first);
        assert_eq!(fs::read_dir(&place).unwrap().count(), 0);
        // Killed: the file is there, the lock is nobody's.
        fs::write(place.join("pktgen-7"), text).unwrap();
        let next = Ledger::claim_in(&place, 7).unwrap().unwrap();
        assert_eq!(next.entries(), there);
    }

    #[test]
    fn a_torn_line_is_none() {
        let read = entries("kpktgend_0 eth0\nkpktgend_1 et");
        assert_eq!(read, [entry("kpktgend_0", "eth0")]);
    }
}
