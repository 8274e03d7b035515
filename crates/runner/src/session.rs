//! One session of a run: from its first look at the host until it is complete, out of time or stopped.

mod flows;
mod preset;
mod skips;

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use nicety_host::clock;
use nicety_host::fingerprint::{self, Measurer};
use nicety_host::roots::Roots;
use nicety_model::cell::SkippedCell;
use nicety_model::plan::PathPlan;
use nicety_model::{CellKey, CellResult, LimitKey, Note, Run, SCHEMA};
use nicety_port::Stop;
use nicety_search::Settings;
use nicety_search::run::Before;
use nicety_search::schedule::{Next, Schedule, Task};
use nicety_search::time_box::SocketBox;
use nicety_store::{RunContents, RunDir, RunMeta};

use crate::bench::{Bench, Visit};
use crate::ending::Ending;
use crate::engines::Engines;
use crate::error::RunError;
use crate::event::{Event, Observer};
use crate::guests::Guests;
use crate::machine::Machine;
use crate::paths::Paths;
use crate::record::{Clock, Record};
use crate::request::{Place, Request};
use crate::sockets::{Making, SocketRun};
use crate::{fates, resets, setup, stamps};

/// A session under way.
pub struct Session {
    bench: Bench,
    record: Record,
    clock: Clock,
    /// Wall time for the whole run.
    time_box: Option<Duration>,
    /// What the tester was measured for in this session.
    limits_tried: BTreeSet<LimitKey>,
}

impl Session {
    /// Looks at the host, fetches what guests need, and makes or opens the run directory. No thread may
    /// run yet: an ordinary user's session enters a user namespace.
    ///
    /// # Errors
    /// [`RunError::Interrupted`], or what is wrong; nothing was measured.
    pub fn open(request: Request, stop: &Stop, observer: &dyn Observer) -> Result<Self, RunError> {
        let Request {
            mut plan,
            naming,
            place,
            time_box,
            engine,
            stamps,
        } = request;
        setup::rights(&plan, engine)?;
        // Facts first: some are hidden once the user namespace is entered.
        let measurer = Measurer {
            version: env!("CARGO_PKG_VERSION"),
            privileged: false,
        };
        let mut facts = fingerprint::read(&Roots::live(), measurer);
        facts.name(naming);
        let ports = plan.paths.iter().flat_map(PathPlan::interfaces).flatten();
        fingerprint::add_interfaces(&mut facts, ports);
        let guests = Guests::prepare(&plan, observer);
        let (privileged, given_up) = setup::acquire(&plan.paths)?;
        facts.privileged = privileged;
        let notes: Vec<Note> = given_up.into_iter().chain(guests.note()).collect();
        // What a killed run has left of its switches.
        nicety_paths::sweep();
        setup::check_ports(&plan, stop, observer)?;
        for restored in stamps::restore() {
            observer.on(Event::Restored(&restored));
        }
        let placement = setup::placement(&plan.paths)?;
        let (machine, unwatched) = Machine::new(placement, stop);
        let (preset, chosen) = preset::of(&plan, &machine);
        plan.search.preset = Some(preset);
        let mut settings = Settings::of_plan(preset, &plan.search);
        let fateless = fates::possible(&plan, &mut settings)?;
        let (engine, stepping) = resets::engine(engine, &plan);
        let refused: Vec<SkippedCell> = plan
            .unavailable_cells()
            .chain(plan.unavailable_sock_cells())
            .collect();
        let opened = match &place {
            Place::New { dir, seed, command } => {
                let mut meta = RunMeta {
                    schema: SCHEMA,
                    name: plan.name.clone(),
                    started: clock::rfc3339(clock::unix_time()),
                    seed: *seed,
                    preset: preset.word().to_owned(),
                    estimator: settings.estimator().map(str::to_owned),
                    loss_goal: settings.loss_ratio,
                    command: command.clone(),
                    elapsed_s: 0.0,
                    complete: false,
                    stopped_by: None,
                    notes,
                    skipped: refused.clone(),
                    left_out: Vec::new(),
                };
                meta.notes.extend(chosen.map(Note::from));
                meta.notes
                    .extend(machine.placement.notes.iter().cloned().chain(unwatched));
                meta.notes.extend(fateless);
                meta.notes.extend(stepping);
                meta.notes.extend(machine.rest_note());
                meta.notes.extend(flows::few(&plan).map(Note::from));
                let toml = plan.to_toml();
                let toml = toml.map_err(|error| RunError::WritePlan(error.into()))?;
                let run_dir = RunDir::create(dir, &toml, &meta, &facts)?;
                (run_dir, RunContents::read(dir)?)
            }
            Place::Resume(path) => RunDir::open(path)?,
        };
        let record = Record::new(plan, settings, opened, refused);
        let sizes = record.cells.iter().map(|key| key.frame_size_bytes);
        Ok(Self {
            bench: Bench {
                machine,
                paths: Paths::new(guests, sizes.max()),
                engines: Engines::new(engine, stop.clone()).waiting(),
                stamps,
                stop: stop.clone(),
            },
            clock: Clock::after(record.meta.elapsed_s),
            record,
            time_box,
            limits_tried: BTreeSet::new(),
        })
    }

    /// What to know about the run beforehand.
    pub fn notes(&self) -> &[Note] {
        &self.record.meta.notes
    }

    /// Name of the plan.
    pub fn plan_name(&self) -> &str {
        &self.record.plan.name
    }

    /// The cells, in the plan's order.
    pub fn cells(&self) -> &[CellKey] {
        &self.record.cells
    }

    /// Visits of every cell.
    pub fn visits(&self) -> u32 {
        self.record.visits()
    }

    /// What the host is called, unless that is not to be published.
    pub fn host(&self) -> Option<String> {
        self.record.host.clone()
    }

    /// Highest loss that a load may have to count as carried.
    pub fn loss_goal(&self) -> f64 {
        self.record.meta.loss_goal
    }

    /// Visits that earlier sessions made.
    pub fn results(&self) -> &[CellResult] {
        &self.record.results
    }

    /// The run directory.
    pub fn dir(&self) -> &Path {
        self.record.dir.path()
    }

    /// Measures until the session ends.
    ///
    /// # Errors
    /// What ends the run early; what was measured is kept.
    pub fn measure(&mut self, observer: &dyn Observer) -> Result<Ending, RunError> {
        // First: how long they take is known, so what is left of a time box is the searches'.
        let sockets = self.measure_sockets(observer)?;
        let mut schedule = self
            .record
            .view()
            .schedule(self.record.meta.seed, self.time_box);
        let frames = match sockets {
            Ending::Interrupted => Ending::Interrupted,
            _ => match self.measure_frames(&mut schedule, observer) {
                Err(RunError::Interrupted) => Ending::Interrupted,
                ended => ended?,
            },
        };
        if frames != Ending::Complete {
            self.record.leave_out(&schedule);
        }
        Ok(sockets.max(frames))
    }

    /// Writes the run's last facts and its report, and gives the directory up.
    ///
    /// # Errors
    /// When that cannot be written, or what was written cannot be read.
    pub fn close(mut self, ending: Ending) -> Result<Run, RunError> {
        self.record.meta.complete = ending == Ending::Complete;
        self.record.meta.stopped_by = ending.stopped_by();
        self.record.save(self.clock)?;
        self.record.report()
    }

    /// Runs the plan's socket tests.
    fn measure_sockets(&mut self, observer: &dyn Observer) -> Result<Ending, RunError> {
        let frames = !self.record.cells.is_empty();
        let mut run = SocketRun {
            making: Making::of(&self.record.plan, &mut self.bench, observer),
            record: &mut self.record,
            clock: self.clock,
            time_box: SocketBox::of(self.time_box, frames),
        };
        let ending = run.all()?;
        self.record.save(self.clock)?;
        Ok(ending)
    }

    fn measure_frames(
        &mut self,
        schedule: &mut Schedule,
        observer: &dyn Observer,
    ) -> Result<Ending, RunError> {
        self.rule_out(schedule, observer)?;
        loop {
            let elapsed_s = self.clock.elapsed_s();
            let task = match self.record.view().next(schedule, elapsed_s) {
                Next::Run(task, _) => task,
                Next::Done => return Ok(Ending::Complete),
                Next::OutOfTime => {
                    if let Some(limit) = self.time_box {
                        let limit_s = limit.as_secs_f64();
                        self.record.too_short(schedule, self.clock, limit_s);
                    }
                    return Ok(Ending::OutOfTime);
                }
            };
            let before = Instant::now();
            match self.visit(task, schedule, observer) {
                Ok(result) => {
                    self.record.results.push(result);
                    self.show_last(observer);
                    schedule.finish(task, before.elapsed().as_secs_f64());
                    self.record.save(self.clock)?;
                }
                Err(RunError::Setup(error)) => {
                    self.skip_with_path(task.cell, &error, schedule, observer)?;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Makes a visit, after the tester was measured for it.
    fn visit(
        &mut self,
        task: Task,
        schedule: &Schedule,
        observer: &dyn Observer,
    ) -> Result<CellResult, RunError> {
        let record = &mut self.record;
        let key = record.cells.get(task.cell as usize).cloned();
        let key = key.ok_or(RunError::NoSuchCell(task.cell))?;
        let limit_key = self.bench.engines.limit_key(&key);
        let known = record.limits.limit_fps.contains_key(&limit_key);
        if !known && !self.limits_tried.contains(&limit_key) {
            let bench = &mut self.bench;
            if bench.measure_tester(&key, limit_key, record, observer)? {
                self.limits_tried.insert(limit_key);
            }
        }
        let elapsed_s = self.clock.elapsed_s();
        let tester_limit = record.tester_limit(&limit_key);
        let before = Before {
            tester_limit,
            line_mbps: record.line_mbps,
            share_s: schedule.share_s(task, elapsed_s),
        };
        let (plan, line_rate) = record.view().visit(task, &key, before);
        let rest_s = (schedule.eta_s(elapsed_s) - plan.typical().seconds).max(0.0);
        let visit = Visit {
            key,
            task,
            plan,
            tester_limit,
            line_rate,
            rest: Duration::from_secs_f64(rest_s),
        };
        self.bench.visit(visit, record, observer)
    }

    /// Shows the last result, and what the cell's visits come to so far.
    fn show_last(&self, observer: &dyn Observer) {
        let view = self.record.view();
        let Some(result) = view.results.last() else {
            return;
        };
        let so_far = view.so_far(&result.cell);
        observer.on(Event::Visited {
            result,
            so_far: so_far.as_ref().map(|summary| (summary, view.visits)),
        });
    }
}
