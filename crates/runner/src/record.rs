//! What a run keeps from one session to the next: its directory and all that is in it.

use std::path::Path;
use std::time::Instant;

use nicety_model::cell::SkippedCell;
use nicety_model::note::RunNote;
use nicety_model::sock::SockResult;
use nicety_model::{CellKey, CellResult, Fps, LimitKey, Note, Plan, Problem, Run, TrialRecord};
use nicety_search::run::RunView;
use nicety_search::schedule::{Schedule, Task};
use nicety_search::{Settings, time_box};
use nicety_store::{RunContents, RunDir, RunMeta, TesterLimits, file};

use crate::assemble;
use crate::error::RunError;

/// A run as far as it is, on disk and in memory.
#[derive(Debug)]
pub struct Record {
    pub(crate) plan: Plan,
    pub(crate) cells: Vec<CellKey>,
    pub(crate) settings: Settings,
    pub(crate) dir: RunDir,
    pub(crate) meta: RunMeta,
    pub(crate) limits: TesterLimits,
    /// Trials of earlier sessions, also of visits without a result.
    pub(crate) trials: Vec<TrialRecord>,
    /// Visits of this and earlier sessions.
    pub(crate) results: Vec<CellResult>,
    /// Socket tests of this and earlier sessions.
    pub(crate) sockets: Vec<SockResult>,
    /// Speed of the slower port in Mbit/s, where a driver reports one that holds.
    pub(crate) line_mbps: Option<f64>,
    /// What the host is called, unless that is not to be published.
    pub(crate) host: Option<String>,
}

impl Record {
    /// A run of `plan` with what its directory holds. `refused` are cells that no machine can build.
    pub(crate) fn new(
        plan: Plan,
        settings: Settings,
        (dir, contents): (RunDir, RunContents),
        refused: Vec<SkippedCell>,
    ) -> Self {
        let interfaces = contents.host.interfaces.values();
        let speeds = interfaces.filter_map(|facts| facts.speed_mbps);
        let line_mbps = speeds.filter(|mbps| *mbps > 0).min().map(f64::from);
        let mut meta = contents.meta;
        meta.left_out.clear();
        meta.stopped_by = None;
        // What an earlier session could not build may be there now.
        meta.skipped = refused;
        let too_short = |note: &Note| matches!(note, Note::Run(RunNote::TimeBoxTooShort { .. }));
        meta.notes.retain(|note| !too_short(note));
        Self {
            cells: plan.buildable_cells().collect(),
            plan,
            settings,
            dir,
            meta,
            limits: contents.tester.unwrap_or_default(),
            trials: contents.trials,
            results: contents.cells,
            sockets: contents.sockets,
            line_mbps,
            host: contents.host.called(),
        }
    }

    /// What decisions are made from.
    pub(crate) fn view(&self) -> RunView<'_> {
        RunView {
            goals: &self.plan.search.goals,
            latency_load: &self.plan.search.latency_load,
            bursts: self.plan.search.bursts,
            recovery: self.plan.search.recovery,
            reset: self.plan.search.reset,
            settings: self.settings,
            visits: self.visits(),
            cells: &self.cells,
            results: &self.results,
        }
    }

    /// Visits of every cell.
    pub(crate) fn visits(&self) -> u32 {
        self.settings.visits(self.plan.search.repeats)
    }

    /// The tester's own limit.
    pub(crate) fn tester_limit(&self, key: &LimitKey) -> Option<Fps> {
        self.limits.limit_fps.get(key).copied().map(Fps)
    }

    /// Trials of a visit that an earlier session began.
    pub(crate) fn begun(&self, task: Task, cell: &str) -> Vec<TrialRecord> {
        let own = |trial: &&TrialRecord| {
            trial.cell == cell && trial.repeat == task.repeat && trial.control == task.control
        };
        self.trials.iter().filter(own).cloned().collect()
    }

    /// Notes what is not known yet.
    pub(crate) fn note(&mut self, notes: impl IntoIterator<Item = Note>) {
        for note in notes {
            if !self.meta.notes.contains(&note) {
                self.meta.notes.push(note);
            }
        }
    }

    /// A cell or socket test cannot be measured here.
    pub(crate) fn skip(&mut self, cell: String, problem: Problem) {
        self.meta.skipped.push(SkippedCell::new(cell, problem));
    }

    /// Names what was left out.
    pub(crate) fn leave_out(&mut self, schedule: &Schedule) {
        let left_out = self.view().left_out(schedule);
        self.meta.left_out.extend(left_out);
    }

    /// Says so when the time box is over before anything was measured, and how long it has to be.
    pub(crate) fn too_short(&mut self, schedule: &Schedule, clock: Clock, time_box_s: f64) {
        let Some(next_s) = schedule.next_needs_s() else {
            return;
        };
        if self.results.is_empty() && self.sockets.is_empty() {
            let note = RunNote::TimeBoxTooShort {
                time_box_s,
                needed_s: time_box::least_s(clock.elapsed_s(), next_s),
            };
            self.meta.notes.push(note.into());
        }
    }

    /// Writes the run's own facts down.
    pub(crate) fn save(&mut self, clock: Clock) -> Result<(), RunError> {
        self.meta.elapsed_s = clock.elapsed_s();
        Ok(self.dir.write_meta(&self.meta)?)
    }

    /// Writes the report, from what is on disk.
    pub(crate) fn report(&self) -> Result<Run, RunError> {
        let run = read_back(self.dir.path())?;
        let mut html = Vec::new();
        nicety_report::html(&run, &mut html).map_err(RunError::Report)?;
        self.dir.write_report(file::REPORT, &html)?;
        Ok(run)
    }
}

fn read_back(dir: &Path) -> Result<Run, RunError> {
    let contents = RunContents::read_for_reports(dir).map_err(RunError::ReadBack)?;
    assemble::run(contents).map_err(RunError::ReadPlan)
}

/// The run's wall time over all sessions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    started: Instant,
    before_s: f64,
}

impl Clock {
    /// Goes on after `before_s` seconds.
    pub(crate) fn after(before_s: f64) -> Self {
        Self {
            started: Instant::now(),
            before_s,
        }
    }

    /// Seconds so far.
    pub(crate) fn elapsed_s(&self) -> f64 {
        self.before_s + self.started.elapsed().as_secs_f64()
    }
}
