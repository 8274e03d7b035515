//! A sysfs with a NIC that can have virtual functions, for tests.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::Places;

/// `eth0`, whose functions the test adds.
pub(super) struct Nic {
    dir: tempfile::TempDir,
}

impl Nic {
    pub(super) fn new(now: u32, most: u32) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let nic = Self { dir };
        fs::create_dir_all(nic.device().join("net/eth0")).unwrap();
        fs::create_dir_all(nic.sys().join("class/net")).unwrap();
        let face = nic.device().join("net/eth0");
        symlink(&face, nic.sys().join("class/net/eth0")).unwrap();
        symlink("../..", face.join("device")).unwrap();
        fs::write(nic.device().join("sriov_numvfs"), now.to_string()).unwrap();
        fs::write(nic.device().join("sriov_totalvfs"), most.to_string()).unwrap();
        nic
    }

    pub(super) fn sys(&self) -> &Path {
        self.dir.path()
    }

    pub(super) fn places(&self) -> Places {
        Places::at(self.sys())
    }

    fn device(&self) -> PathBuf {
        self.sys().join("devices/0000:01:00.0")
    }

    /// What was written last.
    pub(super) fn written(&self) -> String {
        fs::read_to_string(self.device().join("sriov_numvfs")).unwrap()
    }

    pub(super) fn function(&self, vf: u32) -> PathBuf {
        self.sys().join(format!("devices/0000:01:10.{vf}"))
    }

    pub(super) fn add(&self, vf: u32) {
        fs::create_dir_all(self.function(vf)).unwrap();
        let link = self.device().join(format!("virtfn{vf}"));
        symlink(self.function(vf), link).unwrap();
    }

    pub(super) fn driver(&self, vf: u32, name: &str) {
        let driver = self.sys().join("drivers").join(name);
        fs::create_dir_all(&driver).unwrap();
        symlink(driver, self.function(vf).join("driver")).unwrap();
    }

    pub(super) fn interface(&self, vf: u32, name: &str, flags: &str) {
        let face = self.function(vf).join("net").join(name);
        fs::create_dir_all(&face).unwrap();
        fs::write(face.join("flags"), flags).unwrap();
    }
}
