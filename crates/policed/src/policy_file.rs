//! The file of a policy.

use std::path::Path;

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
        let of = std::fs::metadata(path).map_err(unreadable)?;
        let refuse = |what: String| {
            let file = path.to_owned();
            Err(Error::NoPolicy { file, what })
        };
        if !of.is_file() {
            // Something else may never end, and is not there again for a reload.
            return refuse("no file".to_owned());
        }
        if of.len() > LARGEST {
            return refuse(format!("{} bytes", of.len()));
        }
        let text = std::fs::read_to_string(path).map_err(unreadable)?;
        let file = path.display().to_string();
        let policy = Policy::parse(&file, &text)?;
        Ok(Self { policy, text, file })
    }
}
