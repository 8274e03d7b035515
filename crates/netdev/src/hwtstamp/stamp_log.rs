//! Which NICs' time stamping nicety has changed, and from what.

use std::io;

use super::Config;
use crate::undo_log;

/// The log's name.
const WHAT: &str = "hwtstamp";

/// A NIC and what it stamped before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    /// The interface.
    pub interface: String,
    /// What it stamped.
    pub before: Config,
}

/// The NICs of one network namespace; its file is gone when nothing is changed.
#[derive(Debug)]
pub struct StampLog(undo_log::UndoLog);

impl StampLog {
    /// Takes the log of the namespace with this inode, and what a killed nicety left in it. None
    /// when another nicety has it.
    ///
    /// # Errors
    /// When the directory cannot be made or written, or the log cannot be read.
    pub fn claim(netns: u64) -> io::Result<Option<(Self, Vec<Changed>)>> {
        let claimed = undo_log::UndoLog::claim(WHAT, netns)?;
        Ok(claimed.map(|(log, left)| {
            let left = left.iter().filter_map(|line| Changed::read(line));
            (Self(log), left.collect())
        }))
    }

    /// Whether a nicety that was killed, or one at work, has changed NICs of this namespace.
    pub fn is_there(netns: u64) -> bool {
        undo_log::UndoLog::is_there(WHAT, netns)
    }

    /// Writes down what is to be changed, on disk when this returns.
    ///
    /// # Errors
    /// When it cannot be written: then nothing may be changed.
    pub fn write(&self, changed: &[Changed]) -> io::Result<()> {
        self.0.write(changed.iter().map(Changed::line))
    }

    /// Everything is as it was.
    pub fn clear(&self) {
        self.0.clear();
    }
}

impl Changed {
    fn line(&self) -> String {
        format!("{} {} {}", self.interface, self.before.tx, self.before.rx)
    }

    fn read(line: &str) -> Option<Self> {
        let mut words = line.split(' ');
        let interface = words.next()?.to_owned();
        let before = Config::new(words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        Some(Self { interface, before })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let changed = Changed {
            interface: "eth0".to_owned(),
            before: Config::new(1, 12),
        };
        assert_eq!(changed.line(), "eth0 1 12");
        assert_eq!(Changed::read("eth0 1 12"), Some(changed));
        assert_eq!(Changed::read("eth0"), None);
        assert_eq!(Changed::read(""), None);
    }
}
