//! The lock on a directory: one writer at a time.

use std::fs::{File, TryLockError};
use std::path::Path;

use crate::error::StoreError;

/// The exclusive `flock` of a directory; the kernel gives it up with the process, however it ends.
#[derive(Debug)]
pub(crate) struct Lock(File);

impl Lock {
    /// Takes it, or says who is in the way.
    pub(crate) fn take(path: &Path) -> Result<Self, StoreError> {
        let handle = File::open(path).map_err(|source| StoreError::io("open", path, source))?;
        match handle.try_lock() {
            Ok(()) => Ok(Self(handle)),
            Err(TryLockError::WouldBlock) => Err(StoreError::Locked {
                path: path.to_owned(),
            }),
            Err(TryLockError::Error(source)) => Err(StoreError::io("lock", path, source)),
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing is not enough: a child forked but not yet executed shares the lock. Should
        // unlocking fail, closing follows.
        let _ = self.0.unlock();
    }
}
