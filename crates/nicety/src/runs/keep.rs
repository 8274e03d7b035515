//! `nicety bench --keep`: a run that is done, into the history.

use std::path::{Path, PathBuf};

use super::{add, open, place};
use crate::exit::Failure;

/// A store that takes the run when it is done.
pub struct Keep {
    place: PathBuf,
    labels: Vec<String>,
}

impl Keep {
    /// Opens the store, or makes it, and closes it again: an ordinary user's namespaces are entered by a process of one
    /// thread. An empty label is none.
    pub fn open(label: &str) -> Result<Self, Failure> {
        let place = place(None);
        open(&place, true)?.close();
        let label = Some(label.to_owned()).filter(|label| !label.is_empty());
        Ok(Self {
            place,
            labels: label.into_iter().collect(),
        })
    }

    /// Keeps the run in this directory, and says as what and where.
    pub fn run(self, dir: &Path) -> Result<String, Failure> {
        let mut store = nicety_history::open(&self.place, true)?;
        let what = add::keep(&mut store, dir, &self.labels)?;
        Ok(format!("kept in {}: {what}", store.place()))
    }
}
