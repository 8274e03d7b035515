//! Disks that are full, read-only or somebody else's.

mod common;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use common::{again, create, trial};
use nicety_store::{RunContents, RunDir, StoreError, file};

#[test]
fn a_device_that_is_always_full_is_reported() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("run");
    drop(create(&path).unwrap());
    fs::remove_file(path.join(file::TRIALS)).unwrap();
    let (mut dir, _) = {
        let opened = RunDir::open(&path).unwrap();
        drop(opened);
        fs::remove_file(path.join(file::TRIALS)).unwrap();
        // Read as empty on a first look, full on the first write.
        symlink("/dev/full", path.join("full")).unwrap();
        fs::rename(path.join("full"), path.join(file::CELLS)).unwrap();
        fs::remove_file(path.join(file::CELLS)).unwrap();
        RunDir::open(&path).unwrap()
    };
    dir.append_trial(&trial(1)).unwrap();
}
