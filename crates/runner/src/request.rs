//! What a run is asked for.

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use nicety_model::run::Naming;
use nicety_model::{EngineChoice, Plan};
use nicety_port::probes::Stamps;
use nicety_store::StoreError;

/// A run that is asked for.
#[derive(Debug)]
pub struct Request {
    /// What to measure.
    pub plan: Plan,
    /// What this host is called in the results; a run that is resumed keeps its first name.
    pub naming: Naming,
    /// Where the results go.
    pub place: Place,
    /// Wall time for the whole run.
    pub time_box: Option<Duration>,
    /// What sends and counts.
    pub engine: EngineChoice,
    /// Whose time stamps latency is taken with.
    pub stamps: Stamps,
}

/// A new run directory, or one to go on with.
#[derive(Debug)]
pub enum Place {
    /// To be made.
    New {
        /// The directory.
        dir: NewDir,
        /// Seed of the cell order.
        seed: u64,
        /// Command line that repeats the run.
        command: String,
    },
    /// Holds an interrupted run.
    Resume(PathBuf),
}

/// Where a new run goes. What was made for it is taken away again when the run did not begin.
#[derive(Debug)]
pub struct NewDir {
    path: PathBuf,
    /// Directories made here, innermost first.
    made: Vec<PathBuf>,
}

impl NewDir {
    /// A directory that is not made yet.
    pub fn named(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            made: Vec::new(),
        }
    }

    /// Makes a directory for a run of `plan` below `runs`, with a name nobody uses yet.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn fresh(runs: &Path, plan: &Plan) -> Result<Self, StoreError> {
        let new_root = !runs.exists();
        let name = nicety_store::run_dir_name(SystemTime::now(), &plan.name);
        let path = nicety_store::new_dir(runs, &name)?;
        let mut made = vec![path.clone()];
        if new_root {
            made.push(runs.to_owned());
        }
        Ok(Self { path, made })
    }
}

impl Deref for NewDir {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.path
    }
}

impl Drop for NewDir {
    fn drop(&mut self) {
        for dir in &self.made {
            // Refused where something is in it: the run began, or somebody else's did.
            let _ = std::fs::remove_dir(dir);
        }
    }
}
