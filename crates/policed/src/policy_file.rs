//! The file of a policy.

use std::io::ErrorKind;
use std::path::Path;

use nicety_host::regular;
use nicety_police::Policy;

use crate::Error;

/// Largest policy, in bytes.
const LARGEST: u64 = 16 << 20;

/// A policy, its text and its file.
#[derive(Debug, Clone)]
pub struct PolicyFile {
    /// What it says.
    pub policy: Policy,
    /// As it was written.
    pub text: String,
    /// Where it was read.
    pub file: String,
}

impl PolicyFile {
    /// Reads a policy.
    ///
    /// # Errors
    /// When it cannot be read, or is none.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let unreadable = |source| Error::PolicyUnreadable {
            file: path.to_owned(),
            source,
        };
        let refuse = |what: String| Error::NoPolicy {
            file: path.to_owned(),
            what,
        };
        let text = regular::text(path, LARGEST).map_err(|source| match source.kind() {
            // It may never end, and is not there again for a reload.
            ErrorKind::InvalidInput => refuse("no file".to_owned()),
            ErrorKind::FileTooLarge => refuse(source.to_string()),
            _ => unreadable(source),
        })?;
        let file = path.display().to_string();
        let policy = Policy::parse(&file, &text)?;
        Ok(Self { policy, text, file })
    }
}
