//! How many virtual functions a NIC has: `sriov_numvfs` (Documentation/PCI/pci-iov-howto.rst).

use std::fs;
use std::io;
use std::path::PathBuf;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::Places;
use crate::net_error::NetError;

/// Between two looks whether all functions are there.
const NAP: Duration = Duration::from_millis(20);

/// Virtual functions of a NIC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FunctionCount {
    /// That it has.
    pub now: u32,
    /// That it can have.
    pub most: u32,
}

impl Places {
    /// How many functions a NIC has and can have; none where it cannot have any.
    pub fn count(&self, nic: &str) -> Option<FunctionCount> {
        let number = |file: &str| self.attribute(nic, file)?.parse().ok();
        Some(FunctionCount {
            now: number("device/sriov_numvfs")?,
            most: number("device/sriov_totalvfs")?,
        })
    }

    /// Whether this user may change it.
    pub fn may_set_count(&self, nic: &str) -> bool {
        rustix::fs::access(self.numvfs(nic), rustix::fs::Access::WRITE_OK).is_ok()
    }

    /// Sets it, and waits at most `limit` until all functions are there. The kernel changes one number
    /// into another by way of none (drivers/pci/pci-sysfs.c, `sriov_numvfs_store`), so every function
    /// that there was goes. When it refuses, the old number comes back.
    ///
    /// # Errors
    /// [`NetError::NotPermitted`], [`NetError::TimedOut`], or what the driver says.
    pub fn set_count(&self, nic: &str, count: u32, limit: Duration) -> Result<(), NetError> {
        let before = self.count(nic).map_or(0, |count| count.now);
        if before == count {
            return Ok(());
        }
        if before > 0 && count > 0 {
            self.write_count(nic, 0)?;
        }
        if let Err(error) = self.write_count(nic, count) {
            // The error of the new number is the one to tell.
            let _ = self.write_count(nic, before);
            return Err(error);
        }
        let end = Instant::now() + limit;
        while !self.has_functions(nic, count) {
            if Instant::now() >= end {
                return Err(NetError::TimedOut {
                    operation: "wait for the virtual functions of",
                    object: nic.to_owned(),
                    after: limit,
                });
            }
            sleep(NAP);
        }
        Ok(())
    }

    fn has_functions(&self, nic: &str, count: u32) -> bool {
        (0..count).all(|vf| self.virtual_function(nic, vf).is_some())
            && self.virtual_function(nic, count).is_none()
    }

    fn numvfs(&self, nic: &str) -> PathBuf {
        self.device(nic).join("sriov_numvfs")
    }

    fn write_count(&self, nic: &str, count: u32) -> Result<(), NetError> {
        use io::Write;
        // Into a file that is there: a mistaken name must not make one.
        let file = fs::OpenOptions::new().write(true).open(self.numvfs(nic));
        file.and_then(|mut file| file.write_all(count.to_string().as_bytes()))
            .map_err(|e| NetError::new("set the number of virtual functions of", nic, e))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vf::fake::Nic;

    /// Long enough for a thread to be scheduled on a busy machine.
    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn functions_are_counted_where_there_can_be_any() {
        let nic = Nic::new(2, 7);
        let count = FunctionCount { now: 2, most: 7 };
        assert_eq!(nic.places().count("eth0"), Some(count));
        assert_eq!(nic.places().count("eth9"), None);
        assert!(nic.places().may_set_count("eth0"));
    }

    #[test]
    fn a_new_number_is_waited_for() {
        let nic = Nic::new(0, 7);
        std::thread::scope(|scope| {
            let set = scope.spawn(|| nic.places().set_count("eth0", 2, LONG));
            while nic.written() != "2" {
                sleep(NAP);
            }
            nic.add(0);
            nic.add(1);
            set.join().unwrap().unwrap();
        });
    }

    #[test]
    fn functions_that_do_not_come_are_an_error() {
        let nic = Nic::new(0, 7);
        let error = nic.places().set_count("eth0", 1, Duration::ZERO);
        assert!(matches!(error, Err(NetError::TimedOut { .. })), "{error:?}");
        let error = nic.places().set_count("eth9", 1, Duration::ZERO);
        assert!(matches!(error, Err(NetError::NotFound { .. })), "{error:?}");
        assert!(!nic.sys().join("class/net/eth9").exists());
    }
}
