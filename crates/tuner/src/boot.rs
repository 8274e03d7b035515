//! What is kept for the next boot, and what of it is not so.

use std::path::Path;

use nicety_advisor::persist::{self, KEPT};
use nicety_host::facts::{Source, read_after};
use nicety_model::journal::same_value;
use nicety_model::kept::Kept;
use nicety_model::knob::{Change, Knob};

use crate::json_file::{self, Expected};
use crate::{TuneError, Work};

const KEPT_FILE: Expected = Expected {
    too_large: |_| "is not a list of settings".to_owned(),
    other: |error| {
        format!("is not what nicety wrote ({error}); nicety tune persist --remove deletes it")
    },
    newer: "was written by a newer nicety; use that one",
};

/// What is kept; `None` when there is no such file.
pub(crate) fn read(path: &Path) -> Result<Option<Kept>, TuneError> {
    match json_file::read(path, &KEPT_FILE, |kept: &Kept| kept.schema) {
        Err(TuneError::ReadFile { source, .. })
            if source.kind() == std::io::ErrorKind::NotFound =>
        {
            Ok(None)
        }
        other => other.map(Some),
    }
}

/// The settings that are kept, in the names of this boot.
#[derive(Debug)]
pub struct KeptSettings {
    settings: Vec<(Knob, String)>,
    missing: Vec<String>,
}

/// Reads what is kept in `path`, or in the usual file.
///
/// # Errors
/// When it is none, or nothing is kept.
pub fn kept(path: Option<&Path>) -> Result<KeptSettings, TuneError> {
    let usual = Path::new("/").join(KEPT);
    let path = path.unwrap_or(&usual);
    let kept = read(path)?.ok_or_else(|| TuneError::NothingKept {
        path: path.to_owned(),
    })?;
    let (settings, missing) = persist::resolve(&read_after(&Source::live(), None), &kept);
    Ok(KeptSettings { settings, missing })
}

/// Where the host is not as it is kept.
#[derive(Debug)]
pub struct Drift {
    /// What sets it.
    pub changes: Vec<Change>,
    /// What is not there, or cannot be read.
    pub missing: Vec<String>,
    /// Settings that are kept.
    pub all: usize,
}

/// Compares the host with what is kept.
pub fn drift(work: &Work, kept: KeptSettings) -> Drift {
    let mut drift = Drift {
        changes: Vec::new(),
        missing: kept.missing,
        all: kept.settings.len(),
    };
    for (knob, to) in kept.settings {
        match work.knobs.read(&knob) {
            Ok(from) if same_value(&knob, &from, &to) => {}
            Ok(from) => drift.changes.push(Change { knob, from, to }),
            // One that is missing must not keep the others from being set.
            Err(error) => drift.missing.push(error.to_string()),
        }
    }
    drift
}
