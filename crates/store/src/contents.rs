//! Everything a run directory holds.

use std::collections::BTreeMap;
use std::path::Path;

use nicety_model::sock::SockResult;
use nicety_model::{CellResult, Fingerprint, Note, Run, TrialRecord};

use crate::error::StoreError;
use crate::lines::{self, End, Lines};
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
    /// Socket tests in the order they were run.
    pub sockets: Vec<SockResult>,
    /// What was odd about the files: a torn line, for one.
    pub notes: Vec<Note>,
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

    /// As [`RunContents::read`], each trial without what no report shows of it: streams, latency,
    /// CPU use, places. A run of tens of thousands of trials is a tenth of its size then.
    ///
    /// # Errors
    /// As those of [`RunContents::read`].
    pub fn read_for_reports(path: &Path) -> Result<Self, StoreError> {
        read(path, Trials::Shown).map(|(contents, _)| contents)
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
    pub(crate) trials: End,
    pub(crate) cells: End,
    pub(crate) sockets: End,
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
    /// What reports show of them.
    Shown,
    LeftOut,
}

/// Takes away what reports do not show.
fn slim(trial: &mut TrialRecord) {
    trial.streams = Vec::new();
    trial.latency_us = None;
    trial.cpu = None;
    trial.loss_ledger = Vec::new();
}

/// Files of a run directory by name, byte for byte.
pub type RunFiles = BTreeMap<String, Vec<u8>>;

/// The files that make a run; reports are made of them again.
pub(crate) const FILES: [&str; 7] = [
    file::PLAN,
    file::HOST,
    file::RUN,
    file::TESTER,
    file::TRIALS,
    file::CELLS,
    file::SOCKETS,
];

/// Reads the files of a run directory as they are, for keeping them elsewhere.
///
/// # Errors
/// When it is no directory or a file cannot be read.
pub fn read_files(path: &Path) -> Result<RunFiles, StoreError> {
    check_dir(path)?;
    let mut all = RunFiles::new();
    for name in FILES {
        if let Some(bytes) = files::read(&path.join(name))? {
            all.insert(name.to_owned(), bytes);
        }
    }
    Ok(all)
}

impl RunContents {
    /// Reads a run from files kept elsewhere; `path` is for messages.
    ///
    /// # Errors
    /// As those of [`RunContents::read`].
    pub fn from_files(path: &Path, kept: &RunFiles) -> Result<Self, StoreError> {
        let lines = |name| kept.get(name).map_or(&[][..], Vec::as_slice);
        let at = |name| path.join(name);
        assemble(
            path,
            |name| Ok(kept.get(name).cloned()),
            lines::parse(&at(file::TRIALS), lines(file::TRIALS))?,
            lines::parse(&at(file::CELLS), lines(file::CELLS))?,
            lines::parse(&at(file::SOCKETS), lines(file::SOCKETS))?,
        )
        .map(|(contents, _)| contents)
    }
}

/// Reads all files, and tells how the line files end.
pub(crate) fn read(path: &Path, wanted: Trials) -> Result<(RunContents, Ends), StoreError> {
    check_dir(path)?;
    let trials = match wanted {
        Trials::Wanted => lines::read(&path.join(file::TRIALS), |_| ()),
        Trials::Shown => lines::read(&path.join(file::TRIALS), slim),
        Trials::LeftOut => Ok(Lines::default()),
    };
    let cells = lines::read(&path.join(file::CELLS), |_| ());
    let sockets = lines::read(&path.join(file::SOCKETS), |_| ());
    let file = |name| files::read(&path.join(name));
    assemble(path, file, trials?, cells?, sockets?)
}

fn assemble(
    path: &Path,
    file: impl Fn(&'static str) -> Result<Option<Vec<u8>>, StoreError>,
    trials: Lines<TrialRecord>,
    cells: Lines<CellResult>,
    sockets: Lines<SockResult>,
) -> Result<(RunContents, Ends), StoreError> {
    let lacks = |file| StoreError::NotARun {
        path: path.to_owned(),
        file,
    };
    let must = |name| file(name)?.ok_or_else(|| lacks(name));
    // `run.json` is written last: a directory that has it has the others.
    let meta = must(file::RUN)?;
    let meta = lines::decode(&path.join(file::RUN), 1, &meta)?;
    let host = lines::decode(&path.join(file::HOST), 1, &must(file::HOST)?)?;
    let plan = must(file::PLAN)?;
    let tester = match file(file::TESTER)? {
        Some(bytes) => Some(lines::decode(&path.join(file::TESTER), 1, &bytes)?),
        None => None,
    };
    let ends = [
        (file::TRIALS, &trials.end),
        (file::CELLS, &cells.end),
        (file::SOCKETS, &sockets.end),
    ];
    let notes = ends.iter().filter_map(|(name, end)| end.note(name));
    let contents = RunContents {
        // Lossy: the plan's parser names the line of whatever it cannot read.
        plan_toml: String::from_utf8_lossy(&plan).into_owned(),
        meta,
        host,
        tester,
        notes: notes.collect(),
        trials: trials.records,
        cells: cells.records,
        sockets: sockets.records,
    };
    let ends = Ends {
        trials: trials.end,
        cells: cells.end,
        sockets: sockets.end,
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
