//! Soft limits on disk, so that those without a lease outlive the daemon.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use nicety_model::BitRate;
use nicety_police::event::Event;

use crate::log::Log;
use crate::state;

/// Limits by tenant, in a file of the state directory.
#[derive(Debug)]
pub struct SoftLimits {
    path: PathBuf,
    log: Log,
    limits: Mutex<BTreeMap<String, BitRate>>,
}

impl SoftLimits {
    /// Reads them; a file that is missing, damaged or another user's holds none.
    pub fn open(directory: &Path, log: &Log) -> Self {
        let path = directory.join("soft.json");
        let limits = state::read_own(&path).unwrap_or_default();
        Self {
            path,
            log: log.clone(),
            limits: Mutex::new(limits),
        }
    }

    /// The limit of a tenant.
    pub fn of(&self, tenant: &str) -> Option<BitRate> {
        let limits = self.limits.lock().unwrap_or_else(PoisonError::into_inner);
        limits.get(tenant).copied()
    }

    /// Notes a limit, replacing the file by rename.
    pub fn keep(&self, tenant: &str, limit: Option<BitRate>) {
        let mut limits = self.limits.lock().unwrap_or_else(PoisonError::into_inner);
        match limit {
            Some(limit) => limits.insert(tenant.to_owned(), limit),
            None => limits.remove(tenant),
        };
        if let Err(error) = state::replace(&self.path, &*limits) {
            self.log.report(&Event::SoftLimitsNotKept {
                file: self.path.clone(),
                why: error.to_string(),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_outlive_the_daemon() {
        let dir = tempfile::tempdir().unwrap();
        let log = Log::open(|_| {});
        let kept = SoftLimits::open(dir.path(), &log);
        kept.keep("a", Some(BitRate(5)));
        kept.keep("b", Some(BitRate(6)));
        kept.keep("b", None);
        let again = SoftLimits::open(dir.path(), &log);
        assert_eq!((again.of("a"), again.of("b")), (Some(BitRate(5)), None));
        std::fs::write(dir.path().join("soft.json"), "{").unwrap();
        assert_eq!(SoftLimits::open(dir.path(), &log).of("a"), None);
    }
}
