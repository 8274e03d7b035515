//! What cells are measured with, and how one visit of one cell goes: asks the cell's machine what to
//! try, tries it, writes it down.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use nicety_host::placement::Placement;
use nicety_host::programs::Programs;
use nicety_host::roots::ProcRoot;
use nicety_host::tasks::label_of;
use nicety_model::note::{MachineNote, TrialNote};
use nicety_model::{
    BuiltPath, BuiltThread, CellKey, CellResult, Disturbance, Fps, LimitKey, Note, Purpose,
};
use nicety_paths::{Coupling, Path};
use nicety_port::Stop;
use nicety_port::probes::Stamps;
use nicety_search::schedule::Task;
use nicety_search::visits::FAR;
use nicety_search::{Cell, CellContext, CellPlan};
use nicety_trial::TrialSpec;

use crate::engines::{Engines, Opened};
use crate::error::RunError;
use crate::event::{Event, Observer, Stage};
use crate::fates;
use crate::machine::Machine;
use crate::paths::Paths;
use crate::record::Record;
use crate::setup_error::SetupError;
use crate::{resets, stamps, tester_limit};

/// Programs that are written down as having used the CPUs.
const PROGRAMS: usize = 5;

/// The path as it was built; absent where its counters cannot be read any more.
fn built(path: &dyn Path, placement: &Placement) -> Option<BuiltPath> {
    let testers = placement.tester.iter();
    Some(BuiltPath {
        tester_cpus: testers.map(|tester| tester.cpu).collect(),
        threads: path
            .facts()
            .threads
            .iter()
            .map(|thread| BuiltThread {
                at: thread.interface.clone(),
                name: label_of(&thread.thread.name),
                cpus: thread.cpus.clone(),
            })
            .collect(),
        places: path.places().ok()?,
        ..BuiltPath::default()
    })
}

/// One repeat of one cell, or one visit of the control cell.
#[derive(Debug, Clone)]
pub(crate) struct Visit {
    /// The cell.
    pub(crate) key: CellKey,
    /// Which visit of it.
    pub(crate) task: Task,
    /// What to do.
    pub(crate) plan: CellPlan,
    /// The tester's own limit.
    pub(crate) tester_limit: Option<Fps>,
    /// Line rate of the link, when it is the highest load of the search.
    pub(crate) line_rate: Option<Fps>,
    /// What the run needs beyond this visit, for the time left.
    pub(crate) rest: Duration,
}

/// What cells are measured with.
pub(crate) struct Bench {
    /// Where everything runs.
    pub(crate) machine: Machine,
    /// The path in between.
    pub(crate) paths: Paths,
    /// What sends and counts.
    pub(crate) engines: Engines,
    /// Whose time stamps latency is taken with.
    pub(crate) stamps: Stamps,
    /// Set by the user.
    pub(crate) stop: Stop,
}

impl Bench {
    /// Makes `visit`, going on after the trials that an earlier session made of it.
    ///
    /// # Errors
    /// [`RunError::Setup`] when the path cannot be had; the others end the run.
    pub(crate) fn visit(
        &mut self,
        visit: Visit,
        record: &mut Record,
        observer: &dyn Observer,
    ) -> Result<CellResult, RunError> {
        let Self {
            machine,
            paths,
            engines,
            stop,
            ..
        } = self;
        let interrupted = |error: SetupError| {
            if stop.is_set() {
                RunError::Interrupted
            } else {
                error.into()
            }
        };
        let Visit { key, task, .. } = &visit;
        let name = &key.name();
        let placement = &machine.placement;
        let control = task.control.is_some();
        observer.on(Event::Cell { name, control });
        let earlier = record.begun(*task, name);
        let mut cell = Cell::new(visit.plan.clone())?;
        cell.replay(&earlier);
        let path = paths
            .get(key, placement, stop, observer)
            .map_err(interrupted)?;
        record.note(path.facts().notes.iter().cloned());
        let mut prober = None;
        if !visit.plan.latency_shares.is_empty() {
            let (found, note) = stamps::prober(path, key.direction, self.stamps)?;
            prober = found;
            record.note(note);
        }
        let opened = engines.open(path, key, placement, observer);
        let Opened {
            mut engine,
            notes,
            as_limited,
        } = opened.map_err(interrupted)?;
        record.note(notes);
        let engine_name = engine.name();
        // Frames of an earlier session or cell carry other trial numbers.
        let first = (earlier.len() as u8).wrapping_mul(31);
        let proc = ProcRoot::live();
        let (programs, begun) = (Programs::read(&proc), Instant::now());
        let threads = &path.facts().threads;
        let own: BTreeSet<u32> = threads.iter().map(|thread| thread.thread.pid).collect();
        let by_windows = visit.plan.settings.judges_windows();
        let nearest = visit.plan.nearest_ns.filter(|_| by_windows);
        if !fates::are_followed(key) {
            cell.without_fates();
        }
        record.note(resets::left_out(
            &mut cell,
            &visit.plan,
            path,
            engine.as_ref(),
        ));
        // Resets come last, and what is known of the path may not hold behind them.
        let built = built(path, placement);
        let mut used = None;
        let mut fates = fates::of(&visit.plan, key, path, engine.as_ref());
        if let Some(Err(why)) = &fates {
            let why = why.to_string();
            record.note([TrialNote::FatesUnknown { why }.into()]);
            cell.without_fates();
        }
        let hops = fates::hops(&visit.plan, key, path, engine.as_ref());
        let mut hops = match hops {
            Some(Err(why)) => {
                let why = why.to_string();
                record.note([TrialNote::FatesUnknown { why }.into()]);
                None
            }
            hops => hops.and_then(Result::ok),
        };
        let mut trials = machine
            .trials(engine.as_mut(), path, first)
            .near_within(nearest.map(|ns| FAR * ns))
            .noting(fates.as_mut().and_then(|fates| fates.as_mut().ok()))
            .hopping(hops.as_mut())
            .probing(prober.as_ref());
        while let Some(step) = cell.next() {
            if step.purpose == Purpose::Reset && used.is_none() {
                used = Some((Programs::read(&proc), begun.elapsed()));
            }
            let left = Duration::from_secs_f64(cell.left().seconds);
            observer.on(Event::Left(visit.rest + left));
            observer.on(Event::Trial {
                cell: name,
                control,
                index: step.index,
                purpose: step.purpose,
                load: step.load,
                bounds: cell.bounds(),
                goals: &cell.goal_bounds(),
            });
            let ask = TrialSpec {
                cell: name.clone(),
                repeat: task.repeat,
                control: task.control,
                index: step.index,
                purpose: step.purpose,
                load: step.load,
                duration: step.duration,
                then: step.then,
                window: step.window,
            };
            let trial = trials.run(&ask, stop)?;
            record.dir.append_trial(&trial)?;
            // Once for all its trials.
            let unseen = |note: &&Note| matches!(note, Note::Trial(TrialNote::GuestUnseen { .. }));
            record.note(trial.notes.iter().filter(unseen).cloned());
            let within = cell.judged(&trial);
            cell.observe(&trial);
            observer.on(Event::Tried {
                trial: &trial,
                within,
                bounds: cell.bounds(),
                goals: &cell.goal_bounds(),
            });
        }
        let was_reset = used.is_some();
        let (used, elapsed) = used.unwrap_or_else(|| (Programs::read(&proc), begun.elapsed()));
        let mut programs = used.since(&programs, elapsed, std::process::id(), &own);
        programs.truncate(PROGRAMS);
        let disturbance = Disturbance {
            stalls_ms_per_s: cell.stalls_ms_per_s(),
            programs,
        };
        let result = cell.finish(CellContext {
            key: key.clone(),
            repeat: task.repeat,
            control: task.control,
            engine: engine_name,
            // Another engine's limit says nothing about this one.
            tester_limit: visit.tester_limit.filter(|_| as_limited),
            line_rate: visit.line_rate,
            in_sender: path.facts().coupling == Coupling::SenderContext,
            drift: None,
            disturbance: Some(disturbance),
            built,
        });
        if was_reset {
            paths.forget();
        }
        record.dir.append_cell(&result)?;
        Ok(result)
    }

    /// Measures the tester alone as `key` needs it; false where that has to be tried again, because the
    /// cell's path cannot be had.
    ///
    /// # Errors
    /// [`RunError::Interrupted`]; a limit that cannot be written down.
    pub(crate) fn measure_tester(
        &mut self,
        key: &CellKey,
        limit_key: LimitKey,
        record: &mut Record,
        observer: &dyn Observer,
    ) -> Result<bool, RunError> {
        let LimitKey {
            frame_size,
            direction,
            engine,
            ..
        } = limit_key;
        let size = &key.size_words();
        observer.on(Event::Stage(Stage::Tester { size, direction }));
        let (placement, stop) = (&self.machine.placement, &self.stop);
        match self.paths.get(key, placement, stop, observer) {
            Ok(path) => self.engines.decide(path, key, placement, observer),
            Err(_) if stop.is_set() => return Err(RunError::Interrupted),
            Err(error) => {
                self.paths.failed(key, error);
                return Ok(false);
            }
        }
        self.paths.rest();
        let limits = &mut record.limits;
        let (frame_size_bytes, engine) = (frame_size, engine.map(|engine| engine.to_string()));
        match tester_limit::measure(limit_key, &self.machine, &mut self.engines, stop) {
            Ok(Some(limit)) => {
                if limit.lossy {
                    let note = MachineNote::TesterLossy {
                        frame_size_bytes,
                        direction,
                        engine,
                    };
                    limits.notes.push(note.into());
                }
                limits.limit_fps.insert(limit_key, limit.load.0);
            }
            Ok(None) => {
                let note = MachineNote::TesterSilent {
                    frame_size_bytes,
                    direction,
                    engine,
                };
                limits.notes.push(note.into());
            }
            Err(_) if stop.is_set() => return Err(RunError::Interrupted),
            // Where no veth pair can be made the ports may still be measured.
            Err(error) => {
                let note = MachineNote::TesterUnmeasured {
                    frame_size_bytes,
                    direction,
                    engine,
                    error: error.to_string(),
                };
                limits.notes.push(note.into());
            }
        }
        record.dir.write_tester(&record.limits)?;
        Ok(true)
    }
}
