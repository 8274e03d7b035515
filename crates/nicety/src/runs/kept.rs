//! Kept runs for commands that read runs: one by its number, or the newest of a name.

use std::path::Path;

use nicety_history::{History, HistoryError};
use nicety_store::RunContents;

use super::{contents, open, place};
use crate::exit::Failure;

/// The store, opened with the first run that is looked for in it.
#[derive(Default)]
pub struct Kept(Option<History>);

impl Kept {
    /// The run that the word means, with its trials where they are `wanted`; none where it means a path.
    pub fn contents(&mut self, word: &Path, wanted: bool) -> Result<Option<RunContents>, Failure> {
        let name = word
            .to_str()
            .filter(|name| !name.contains('/') && !word.exists());
        let Some(id) = name.map(|name| self.find(name)).transpose()?.flatten() else {
            return Ok(None);
        };
        let store = self.store()?;
        let files = if wanted {
            store.files(id)?
        } else {
            store.results(id)?
        };
        contents(id, &files).map(Some)
    }

    fn find(&mut self, name: &str) -> Result<Option<i64>, Failure> {
        if let Ok(number) = name.parse() {
            return Ok(Some(number));
        }
        let runs = match self.store() {
            // Then it is a path that is wrong.
            Err(HistoryError::Missing { .. }) => return Ok(None),
            store => store?.list()?,
        };
        let newest = runs.iter().find(|run| run.name == name);
        Ok(newest.map(|run| run.id))
    }

    fn store(&mut self) -> Result<&History, HistoryError> {
        let store = match self.0.take() {
            Some(store) => store,
            None => open(&place(None), false)?,
        };
        Ok(self.0.insert(store))
    }
}
