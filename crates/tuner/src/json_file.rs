//! Small files of JSON that users and nicety leave for each other.

use std::io::ErrorKind;
use std::path::Path;

use nicety_host::regular;
use serde::de::DeserializeOwned;

use crate::TuneError;

/// Largest such file in bytes: far more than any plan.
const LARGEST: u64 = 16 << 20;

/// What a file is expected to be, for its errors.
pub(crate) struct Expected {
    /// Said of a file that is too large.
    pub too_large: fn(&std::io::Error) -> String,
    /// Said of other text.
    pub other: fn(&serde_json::Error) -> String,
    /// Said of a schema that is too new.
    pub newer: &'static str,
}

/// Reads one; `schema` tells the version in it.
pub(crate) fn read<T: DeserializeOwned>(
    path: &Path,
    expected: &Expected,
    schema: fn(&T) -> u32,
) -> Result<T, TuneError> {
    let unread = |source| TuneError::ReadFile {
        path: path.to_owned(),
        source,
    };
    let text = regular::text(path, LARGEST).map_err(|source| match source.kind() {
        ErrorKind::FileTooLarge => bad(path, (expected.too_large)(&source)),
        _ => unread(source),
    })?;
    let value: T =
        serde_json::from_str(&text).map_err(|error| bad(path, (expected.other)(&error)))?;
    if schema(&value) > nicety_model::SCHEMA {
        Err(bad(path, expected.newer))
    } else {
        Ok(value)
    }
}

/// A file that cannot be used.
pub(crate) fn bad(path: &Path, why: impl Into<String>) -> TuneError {
    TuneError::BadFile {
        path: path.to_owned(),
        why: why.into(),
    }
}
