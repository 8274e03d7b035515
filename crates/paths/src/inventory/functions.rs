//! What is changed at a physical function, on disk before it is changed, so that the next start
//! can undo what a killed nicety has left.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{read, save};
use crate::driver;

/// File in the private directory of a path.
const FILE: &str = "functions.json";

/// How a physical function was before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FunctionInventory {
    /// PCI address.
    pub(crate) address: String,
    /// `sriov_drivers_autoprobe`.
    pub(crate) autoprobe: String,
    /// Its interface, when that was down.
    pub(crate) down: Option<String>,
    /// Virtual functions that are made; there were none.
    pub(crate) made: u32,
}

impl FunctionInventory {
    /// Whether the number of functions in `sriov_numvfs` can be what nicety left: all that it was
    /// to make, or none yet.
    fn are_ours(&self, there: &str) -> bool {
        let there = there.trim().parse();
        there == Ok(self.made) || there == Ok(0)
    }

    /// Writes it down.
    pub(crate) fn save(&self, dir: &Path) -> std::io::Result<()> {
        save(dir, FILE, self)
    }

    /// A file of the function in sysfs.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        driver::file(&self.address, name)
    }

    /// Removes the virtual functions and puts back the rest, unless there are others by now:
    /// somebody else made those, and set the port up for them.
    pub(crate) fn undo(&self) -> std::io::Result<()> {
        let there = fs::read_to_string(self.file("sriov_numvfs"))?;
        if !self.are_ours(&there) {
            return Ok(());
        }
        // While drivers are bound the kernel waits for them to let go.
        fs::write(self.file("sriov_numvfs"), "0")?;
        fs::write(self.file("sriov_drivers_autoprobe"), &self.autoprobe)?;
        if let Some(name) = &self.down
            && self.file("net").join(name).exists()
            && let Ok(ns) = nicety_netdev::netns::NetNs::current()
            && let Ok(links) = nicety_netdev::link::Links::open(&ns)
        {
            let down = nicety_netdev::link::LinkChange {
                up: Some(false),
                ..Default::default()
            };
            // It was there a moment ago; whoever took it since has it.
            let _ = links.change(name, &down);
        }
        Ok(())
    }
}

/// Undoes what the directory of a killed nicety names. True when nothing is left to do.
pub(crate) fn undo_left(dir: &Path) -> bool {
    match read::<FunctionInventory>(dir, FILE) {
        Some(inventory) if inventory.file("sriov_numvfs").exists() => inventory.undo().is_ok(),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_found_is_kept_and_what_is_not_there_is_no_work() {
        let dir = tempfile::tempdir().unwrap();
        assert!(undo_left(dir.path()));
        let inventory = FunctionInventory {
            address: "ffff:ff:1f.7".to_owned(),
            autoprobe: "1".to_owned(),
            down: None,
            made: 2,
        };
        assert!(inventory.are_ours("2\n") && inventory.are_ours("0\n"));
        assert!(!inventory.are_ours("4\n") && !inventory.are_ours(""));
        inventory.save(dir.path()).unwrap();
        let text = fs::read(dir.path().join(FILE)).unwrap();
        assert_eq!(
            serde_json::from_slice::<FunctionInventory>(&text).unwrap(),
            inventory
        );
        assert!(undo_left(dir.path()));
        fs::write(dir.path().join(FILE), "{\"addr").unwrap();
        assert!(undo_left(dir.path()));
    }
}
