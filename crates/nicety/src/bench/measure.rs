//! Measures one repeat of one cell: asks the cell's machine what to try, tries it, writes it
//! down.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use nicety_host::programs::Programs;
use nicety_host::topology::ProcRoot;
use nicety_model::{CellKey, CellResult, Disturbance, Fps, TrialRecord};
use nicety_paths::Coupling;
use nicety_port::Stop;
use nicety_port::probes::Stamps;
use nicety_search::visits::FAR;
use nicety_search::{Cell, CellContext, CellPlan, GoalError};
use nicety_store::{RunDir, StoreError};
use nicety_trial::{TrialError, TrialSpec};

use super::engines::{Engines, Opened};
use super::machine::Machine;
use super::paths::Paths;
use super::progress::Progress;
use super::setup::SetupError;
use crate::stamps;

/// Programs that are written down as having used the CPUs.
const PROGRAMS: usize = 5;

/// Why a cell has no result.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    /// The user stopped the run.
    #[error("interrupted")]
    Interrupted,
    /// What was measured cannot be written down: the run ends.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The path or its ports cannot be had: the cell is skipped.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// The host cannot be read.
    #[error(transparent)]
    Trial(TrialError),
    /// The goal cannot be searched for.
    #[error(transparent)]
    Goal(#[from] GoalError),
}

impl From<TrialError> for MeasureError {
    fn from(error: TrialError) -> Self {
        match error {
            TrialError::Interrupted => Self::Interrupted,
            other => Self::Trial(other),
        }
    }
}

/// One repeat of one cell, or one visit of the control cell.
#[derive(Debug, Clone)]
pub struct Visit {
    /// The cell.
    pub key: CellKey,
    /// Repeat, from 1.
    pub repeat: u32,
    /// Visit of the control cell, from 1.
    pub control: Option<u32>,
    /// What to do.
    pub plan: CellPlan,
    /// The tester's own limit.
    pub tester_limit: Option<Fps>,
    /// Line rate of the link, when it is the highest load of the search.
    pub line_rate: Option<Fps>,
}

/// What all cells of a run share.
pub struct Bench<'a> {
    /// Where everything runs.
    pub machine: &'a Machine,
    /// The path in between.
    pub paths: &'a mut Paths,
    /// What sends and counts.
    pub engines: &'a mut Engines,
    /// Whose time stamps latency is taken with.
    pub stamps: Stamps,
    /// Set by Ctrl-C.
    pub stop: Stop,
    /// Where results go.
    pub dir: &'a mut RunDir,
    /// What is shown.
    pub progress: &'a Progress,
    /// Said about every path of the run, each sentence once.
    pub notes: Vec<String>,
}

impl Bench<'_> {
    /// Measures `visit`, going on after the trials in `earlier`; `rest` is what the run needs
    /// beyond this cell, for the time left.
    ///
    /// # Errors
    /// [`MeasureError::Setup`] when the path cannot be had; the others end the run.
    pub fn measure(
        &mut self,
        visit: Visit,
        earlier: &[TrialRecord],
        rest: Duration,
    ) -> Result<CellResult, MeasureError> {
        let name = visit.key.name();
        let placement = &self.machine.placement;
        let control = visit.control.is_some();
        self.progress.cell(&name, control);
        let mut cell = Cell::new(visit.plan.clone())?;
        cell.replay(earlier);
        let progress = self.progress;
        let say = |step: &str| progress.stage(step);
        let got = self.paths.get(&visit.key, placement, &self.stop, &say);
        let path = match got {
            Ok(path) => path,
            Err(_) if self.stop.is_set() => return Err(MeasureError::Interrupted),
            Err(error) => return Err(error.into()),
        };
        self::note(&mut self.notes, &path.facts().notes);
        let mut prober = None;
        if !visit.plan.latency_shares.is_empty() {
            let (found, note) = stamps::prober(path, visit.key.direction, self.stamps)?;
            prober = found;
            self::note(&mut self.notes, note.as_slice());
        }
        let Opened {
            mut engine,
            notes,
            as_limited,
        } = match self.engines.open(path, &visit.key, placement, &say) {
            Err(_) if self.stop.is_set() => return Err(MeasureError::Interrupted),
            opened => opened?,
        };
        self::note(&mut self.notes, &notes);
        let engine_name = engine.name();
        // Frames of an earlier sitting or cell carry other trial numbers.
        let first = (earlier.len() as u8).wrapping_mul(31);
        let proc = ProcRoot::live();
        let (programs, begun) = (Programs::read(&proc), Instant::now());
        let threads = &path.facts().threads;
        let own: BTreeSet<u32> = threads.iter().map(|thread| thread.thread.pid).collect();
        let by_windows = visit.plan.settings.judges_windows();
        let nearest = visit.plan.nearest_ns.filter(|_| by_windows);
        let mut trials = self
            .machine
            .trials(engine.as_mut(), path, first)
            .near_within(nearest.map(|ns| FAR * ns))
            .probing(prober.as_ref());
        while let Some(step) = cell.next() {
            self.progress
                .left(rest + Duration::from_secs_f64(cell.left().seconds));
            self.progress.trial(
                (&name, control),
                (step.index, step.purpose),
                step.load.0,
                cell.bounds(),
            );
            let ask = TrialSpec {
                cell: name.clone(),
                repeat: visit.repeat,
                control: visit.control,
                index: step.index,
                purpose: step.purpose,
                load: step.load,
                duration: step.duration,
                window: step.window,
            };
            let record = trials.run(&ask, &self.stop)?;
            self.dir.append_trial(&record)?;
            cell.observe(&record);
        }
        let used = Programs::read(&proc);
        let mut programs = used.since(&programs, begun.elapsed(), std::process::id(), &own);
        programs.truncate(PROGRAMS);
        let disturbance = Disturbance {
            stalls_ms_per_s: cell.stalls_ms_per_s(),
            programs,
        };
        let result = cell.finish(CellContext {
            key: visit.key,
            repeat: visit.repeat,
            control: visit.control,
            engine: engine_name,
            // Another engine's limit says nothing about this one.
            tester_limit: visit.tester_limit.filter(|_| as_limited),
            line_rate: visit.line_rate,
            in_sender: path.facts().coupling == Coupling::SenderContext,
            drift: None,
            disturbance: Some(disturbance),
        });
        self.dir.append_cell(&result)?;
        Ok(result)
    }
}

/// Adds what is not known yet.
fn note(known: &mut Vec<String>, notes: &[String]) {
    for note in notes {
        if !known.contains(note) {
            known.push(note.clone());
        }
    }
}
