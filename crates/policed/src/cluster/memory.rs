//! What a host may send without hearing anybody, on disk for the next daemon.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use nicety_host::regular;
use nicety_police::cluster::Remembered;

use crate::state;

/// Its file in the state directory.
pub(super) fn file(directory: &Path) -> PathBuf {
    directory.join("cluster.json")
}

/// None where there is none, or it cannot be read: then nothing is sent before somebody is heard.
pub(super) fn read(file: &Path) -> Option<Remembered> {
    state::read_own(file)
}

/// Replaces it; on disk when this returns.
pub(super) fn write(file: &Path, remembered: &Remembered) -> io::Result<()> {
    let new = file.with_extension("json.new");
    let mut to = regular::create(&new, 0o600)?;
    to.write_all(&serde_json::to_vec(remembered)?)?;
    to.sync_all()?;
    std::fs::rename(&new, file)?;
    match file.parent() {
        Some(directory) => File::open(directory)?.sync_all(),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use nicety_model::BitRate;

    use super::*;

    #[test]
    fn the_next_daemon_reads_what_the_last_has_written() {
        let dir = tempfile::tempdir().unwrap();
        let file = file(dir.path());
        assert_eq!(read(&file), None);
        let remembered = Remembered {
            safe: BTreeMap::from([("blue".to_owned(), BitRate(5))]),
        };
        write(&file, &remembered).unwrap();
        assert_eq!(read(&file), Some(remembered));
        std::fs::write(&file, "{\"safe\":").unwrap();
        assert_eq!(read(&file), None);
    }
}
