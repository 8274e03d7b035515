//! Which NICs' time stamping nicety has changed, and from what, on disk before it is changed, so that
//! the next start can change it back should this one be killed.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::Config;
use crate::only::Only;

/// Where root's are.
const PLACE: &str = "/run/nicety";

/// A NIC and what it stamped before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    /// The interface.
    pub interface: String,
    /// What it stamped.
    pub before: Config,
}

/// The ledger of one network namespace; its file is gone when nothing is changed.
#[derive(Debug)]
pub struct Ledger {
    path: PathBuf,
    /// One nicety at a time changes what the NICs of a namespace stamp.
    _only: Only,
}

impl Ledger {
    /// Takes the ledger of the namespace with this inode, and what a killed nicety left in it. None
    /// when another nicety has it.
    ///
    /// # Errors
    /// When the directory cannot be made or written, or the ledger cannot be read.
    pub fn claim(netns: u64) -> io::Result<Option<(Self, Vec<Changed>)>> {
        Self::claim_in(Path::new(PLACE), netns)
    }

    /// Whether a nicety that was killed, or one at work, has changed NICs of this namespace.
    pub fn is_there(netns: u64) -> bool {
        Path::new(PLACE).join(name(netns)).exists()
    }

    fn claim_in(place: &Path, netns: u64) -> io::Result<Option<(Self, Vec<Changed>)>> {
        let Some(only) = Only::claim(place, &format!("{}.lock", name(netns)))? else {
            return Ok(None);
        };
        let path = place.join(name(netns));
        let left = match fs::read_to_string(&path) {
            Ok(text) => entries(&text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(error),
        };
        Ok(Some((Self { path, _only: only }, left)))
    }

    /// Writes down what is to be changed, on disk when this returns.
    ///
    /// # Errors
    /// When it cannot be written: then nothing may be changed.
    pub fn write(&self, changed: &[Changed]) -> io::Result<()> {
        let line = |c: &Changed| format!("{} {} {}\n", c.interface, c.before.tx, c.before.rx);
        let mut file = File::create(&self.path)?;
        file.write_all(changed.iter().map(line).collect::<String>().as_bytes())?;
        file.sync_all()
    }

    /// Everything is as it was.
    pub fn clear(&self) {
        // One that stays changes back once more what is as it was.
        let _ = fs::remove_file(&self.path);
    }
}

fn name(netns: u64) -> String {
    format!("hwtstamp-{netns}")
}

/// Whole lines only: of one that was being written nothing was changed yet.
fn entries(text: &str) -> Vec<Changed> {
    let one = |line: &str| {
        let mut words = line.strip_suffix('\n')?.split(' ');
        let interface = words.next()?.to_owned();
        let before = Config::new(words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        Some(Changed { interface, before })
    };
    text.split_inclusive('\n').filter_map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(interface: &str, rx: u32) -> Changed {
        Changed {
            interface: interface.to_owned(),
            before: Config::new(1, rx),
        }
    }

    #[test]
    fn what_a_killed_one_changed_is_known_and_one_has_it() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("run");
        let (first, left) = Ledger::claim_in(&place, 7).unwrap().unwrap();
        assert_eq!(left, []);
        let all = [changed("eth0", 0), changed("eth1", 12)];
        first.write(&all).unwrap();
        assert!(Ledger::claim_in(&place, 7).unwrap().is_none());
        assert!(Ledger::claim_in(&place, 8).unwrap().is_some());
        // Killed: the lock is nobody's, the file is there.
        drop(first);
        let (next, left) = Ledger::claim_in(&place, 7).unwrap().unwrap();
        assert_eq!(left, all);
        next.clear();
        drop(next);
        assert_eq!(fs::read_dir(&place).unwrap().count(), 0);
    }

    #[test]
    fn a_torn_line_is_none() {
        assert_eq!(entries("eth0 1 12\neth1 1 1"), [changed("eth0", 12)]);
        assert_eq!(entries("eth0\n\n"), []);
    }
}
