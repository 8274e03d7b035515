//! `nicety bench --keep`: a run that is done, into the history.

use std::path::Path;

use nicety_history::History;

use super::{add, open, place};
use crate::exit::Failure;

/// A store that takes the run when it is done.
pub struct Keep {
    store: Box<dyn History>,
    labels: Vec<String>,
}

impl Keep {
    /// Opens the store, or makes it. An empty label is none.
    pub fn open(label: &str) -> Result<Self, Failure> {
        let place = place(None);
        Ok(Self {
            store: open(&place, true)?,
            labels: Some(label.to_owned())
                .filter(|label| !label.is_empty())
                .into_iter()
                .collect(),
        })
    }

    /// Keeps the run in this directory, and says as what and where.
    pub fn run(mut self, dir: &Path) -> Result<String, Failure> {
        let what = add::keep(self.store.as_mut(), dir, &self.labels)?;
        Ok(format!("kept in {}: {what}", self.store.place()))
    }
}
