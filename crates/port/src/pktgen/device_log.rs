//! What nicety has put into the host's own pktgen.

use std::io;

use nicety_netdev::undo_log;

use super::MODULE;

/// A pktgen thread and an interface given to it.
pub(super) type Entry = (String, String);

/// The log of one network namespace; gone when dropped.
#[derive(Debug)]
pub(super) struct DeviceLog {
    /// pktgen is started and stopped for a whole namespace: one nicety at a time.
    file: undo_log::UndoLog,
    kept: bool,
    entries: Vec<Entry>,
}

impl DeviceLog {
    /// Takes the log of the namespace with this inode, with what a killed nicety left in it.
    /// `None` when another nicety has it.
    pub(super) fn claim(netns: u64) -> io::Result<Option<Self>> {
        Ok(undo_log::UndoLog::claim(MODULE, netns)?.map(|(file, left)| Self::new(file, &left)))
    }

    fn new(file: undo_log::UndoLog, left: &[String]) -> Self {
        let entries = left.iter().filter_map(|line| line.split_once(' '));
        let entries = entries.map(|(thread, name)| (thread.to_owned(), name.to_owned()));
        Self {
            file,
            kept: false,
            entries: entries.collect(),
        }
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
        let lines = entries.iter();
        self.file
            .write(lines.map(|(thread, name)| format!("{thread} {name}")))?;
        self.entries = entries.to_vec();
        Ok(())
    }
}

impl Drop for DeviceLog {
    fn drop(&mut self) {
        if !self.kept {
            self.file.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_goes_with_its_owner_unless_kept() {
        let dir = tempfile::tempdir().unwrap();
        let claim = || {
            let claimed = undo_log::UndoLog::claim_in(dir.path(), MODULE, 7).unwrap();
            let (file, left) = claimed.unwrap();
            DeviceLog::new(file, &left)
        };
        let there = [
            ("kpktgend_0".to_owned(), "eth0".to_owned()),
            ("kpktgend_1".to_owned(), "eth1".to_owned()),
        ];
        let mut first = claim();
        assert_eq!(first.entries(), []);
        first.write(&there).unwrap();
        first.keep();
        let next = claim();
        assert_eq!(next.entries(), there);
        drop(next);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
