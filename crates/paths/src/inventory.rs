//! What hardware was like before it was changed, on disk in the private directory of a path, so that
//! the next start can put back what a killed nicety has left.

pub(crate) mod functions;
pub(crate) mod nics;
pub(crate) mod session;

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Undoes what the directory of a killed nicety names. True when nothing is left to do.
pub(crate) fn undo_left(dir: &Path) -> bool {
    functions::undo_left(dir) && nics::undo_left(dir) && session::undo_left(dir)
}

/// Writes it down as `dir/name`; it is on disk afterwards.
fn save(dir: &Path, name: &str, inventory: &impl Serialize) -> io::Result<()> {
    let mut file = File::create(dir.join(name))?;
    file.write_all(&serde_json::to_vec(inventory)?)?;
    file.sync_all()
}

/// What was written down; none where nothing was, or not the whole: then nothing had been changed.
fn read<T: DeserializeOwned>(dir: &Path, name: &str) -> Option<T> {
    serde_json::from_slice(&fs::read(dir.join(name)).ok()?).ok()
}
