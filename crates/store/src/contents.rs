//! Everything a run directory holds.

use std::path::Path;

use nicety_model::{CellResult, Fingerprint, Run, TrialRecord};

use crate::error::StoreError;
use crate::lines::{self, Lines};
use crate::meta::{RunMeta, TesterLimits};
use crate::{file, files};

/// A run as it stands on disk.
#[derive(Debug, Clone, PartialEq)]
pub struct RunContents {
    /// The plan's text.
    pub plan_toml: String,
    /// The run's own facts.
    pub meta: RunMeta,
    /// The machine.
    pub host: Fingerprint,
    /// The tester's own limits; absent when the run ended before they were measured.
    pub tester: Option<TesterLimits>,
    /// Trials in the order they were run.
    pub trials: Vec<TrialRecord>,
    /// Cells in the order they were finished.
    pub cells: Vec<CellResult>,
    /// What was odd about the files: a torn line, for one.
    pub notes: Vec<String>,
}

impl RunContents {
    /// Reads a run directory, finished or not, without changing it; for reports. A torn last
    /// line is left out and noted.
    ///
    /// # Errors
    /// When the directory is not that of a run, a line other than the last is broken, or a
    /// newer version wrote it.
    pub fn read(path: &Path) -> Result<Self, StoreError> {
        read(path, Trials::Wanted).map(|(contents, _)| contents)
    }

    /// As [`RunContents::read`], without the trials: they are by far the largest part.
    ///
    /// # Errors
    /// As those of [`RunContents::read`], broken trials excepted.
    pub fn read_results(path: &Path) -> Result<Self, StoreError> {
        read(path, Trials::LeftOut).map(|(contents, _)| contents)
    }
}

/// The line files' ends, for repair.
pub(crate) struct Ends {
    pub(crate) trials: Lines<()>,
    pub(crate) cells: Lines<()>,
}

/// Reads the run object that `--json` printed into a file.
///
/// # Errors
/// When the file is not there, holds something else, or a newer version wrote it.
pub fn read_run_json(path: &Path) -> Result<Run, StoreError> {
    files::read_json(path)?.ok_or_else(|| StoreError::Missing {
        path: path.to_owned(),
    })
}

/// Whether `trials.jsonl` is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trials {
    Wanted,
    LeftOut,
}

/// Reads all files, and tells how the line files end.
pub(crate) fn read(path: &Path, wanted: Trials) -> Result<(RunContents, Ends), StoreError> {
    check_dir(path)?;
    let lacks = |file| StoreError::NotARun {
        path: path.to_owned(),
        file,
    };
    // `run.json` is written last: a directory that has it has the others.
    let meta = files::read_json(&path.join(file::RUN))?.ok_or_else(|| lacks(file::RUN))?;
    let host = files::read_json(&path.join(file::HOST))?.ok_or_else(|| lacks(file::HOST))?;
    let plan = files::read(&path.join(file::PLAN))?.ok_or_else(|| lacks(file::PLAN))?;
    let tester = files::read_json(&path.join(file::TESTER))?;
    let (trials, trials_end) = match wanted {
        Trials::Wanted => lines::read(&path.join(file::TRIALS))?,
        Trials::LeftOut => Lines::default(),
    }
    .split();
    let (cells, cells_end) = lines::read(&path.join(file::CELLS))?.split();
    let mut notes = Vec::new();
    for (name, end) in [(file::TRIALS, &trials_end), (file::CELLS, &cells_end)] {
        if end.torn > 0 {
            notes.push(format!(
                "{name}: the last line was torn ({} bytes), as when a run is killed; it is left out",
                end.torn
            ));
        }
    }
    let contents = RunContents {
        // Lossy: the plan's parser names the line of whatever it cannot read.
        plan_toml: String::from_utf8_lossy(&plan).into_owned(),
        meta,
        host,
        tester,
        trials,
        cells,
        notes,
    };
    let ends = Ends {
        trials: trials_end,
        cells: cells_end,
    };
    Ok((contents, ends))
}

/// Whether the path is a directory at all.
fn check_dir(path: &Path) -> Result<(), StoreError> {
    match std::fs::metadata(path) {
        Ok(facts) if facts.is_dir() => Ok(()),
        Ok(_) => Err(StoreError::NotADirectory {
            path: path.to_owned(),
        }),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(StoreError::Missing {
            path: path.to_owned(),
        }),
        Err(source) => Err(StoreError::io("open", path, source)),
    }
}
