//! A run from its first look at the host to its report.

mod flows;
mod preset;
mod skips;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use nicety_host::clock;
use nicety_model::cell::SkippedCell;
use nicety_model::plan::PathPlan;
use nicety_model::run::CellSummary;
use nicety_model::sock::Ending::Faulty;
use nicety_model::sock::{SockResult, SockSeries};
use nicety_model::{CellKey, CellResult, Fps, LimitKey, Plan, Run, SCHEMA, TrialRecord, Verdict};
use nicety_port::Stop;
use nicety_port::probes::Stamps;
use nicety_search::schedule::{Marks, Next, Outline, Schedule, Task};
use nicety_search::stats::median;
use nicety_search::{CellPlan, Settings, summary, visits};

use nicety_store::{RunContents, RunDir, RunMeta, TesterLimits};

use super::engines::Engines;
use super::guests::Guests;
use super::live::board::Board;
use super::machine::Machine;
use super::measure::{Bench, MeasureError, Visit};
use super::paths::Paths;
use super::progress::Progress;
use super::request::{self, Place, Request};
use super::signals::Signals;
use super::sockets::{Making, SocketRun};
use super::{assemble, host, setup, tester_limit};
use crate::exit::{Exit, Failure};
use crate::{output, report, stamps};

/// Wall time a trial takes beyond its sending: start, drain, counters.
const TRIAL_OVERHEAD_S: f64 = 0.1;
/// Share of the tester's limit that is the highest load of a search. The limit was found by
/// steps down, so a little more may be possible.
const ABOVE_LIMIT: f64 = 1.05;
/// Time box of the run without arguments.
const DEFAULT_RUN: Duration = Duration::from_secs(235);
/// Share of a time box that socket tests may take when frames are measured too.
const SOCKETS_SHARE: f64 = 0.5;
/// Overload that tells what a path forwards, where loads are judged by windows.
const OVERLOAD: Duration = Duration::from_millis(400);
/// Latency trials there.
const LATENCY: Duration = Duration::from_millis(500);
/// Most cells named as left out.
const NAMED: usize = 50;
/// Beginning of the note on a time box in which no cell fits.
const TOO_SHORT: &str = "the time box ";
/// Highest load when the tester's limit could not be measured.
const UNKNOWN_LIMIT: Fps = Fps(2e6);

/// A run under way.
struct Sitting {
    plan: Plan,
    cells: Vec<CellKey>,
    machine: Machine,
    settings: Settings,
    dir: RunDir,
    meta: RunMeta,
    limits: TesterLimits,
    paths: Paths,
    engines: Engines,
    stamps: Stamps,
    /// Sizes and directions for which the tester was measured in this sitting.
    limits_tried: BTreeSet<LimitKey>,
    /// Trials of cells without a result, from an earlier sitting.
    earlier: Vec<TrialRecord>,
    results: Vec<CellResult>,
    /// Socket tests of this and earlier sittings.
    sockets: Vec<SockResult>,
    started: Instant,
    elapsed_before: f64,
    time_box: Option<Duration>,
    /// Speed of the slower port in Mbit/s, where a driver states one to be believed.
    line_mbps: Option<f64>,
}

/// How the cells ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    Complete,
    OutOfTime,
    Interrupted,
}

/// Runs the request.
pub fn run(mut request: Request, signals: &Signals) -> Result<Exit, Failure> {
    let json = request.json;
    let web = request.web.take();
    // Facts first: some are hidden once the user namespace is entered.
    let mut facts = host::read(false, &request.plan.paths);
    let guests = Guests::prepare(&request.plan, request.cache.clone(), request.mirror.clone());
    let (privileged, mut given_up) =
        setup::acquire(&request.plan.paths).map_err(Failure::environment)?;
    facts.privileged = privileged;
    given_up.extend(guests.note());
    // What a killed run has left of its switches.
    nicety_paths::sweep();
    match check_ports(&request.plan, &signals.stop()) {
        Err(_) if signals.stopped() => return Ok(Exit::Interrupted),
        checked => checked?,
    }
    let mut sitting = Sitting::open(request, facts, given_up, guests, signals)?;
    for note in &sitting.meta.notes {
        output::say(&format!("note: {note}"));
    }
    let web = web.map(|listener| (listener, sitting.plan.name.clone()));
    let mut progress = Progress::start(sitting.board(), web)?;
    let ending = sitting.measure(&progress, signals);
    progress.finish();
    let ending = ending?;
    let exit = sitting.close(&ending)?;
    let path = sitting.dir.path().to_owned();
    // The lock goes with the directory handle; the report is read from what is on disk.
    drop(sitting);
    let run = finished(&path)?;
    if json {
        report::print_json(run)?
    } else {
        report::print_table(&run)?
    }
    output::say(&format!("report: {}", path.join("report.html").display()));
    if matches!(ending, Ending::Interrupted) {
        output::say(&format!(
            "interrupted; go on with: nicety bench --resume {}",
            path.display()
        ));
    }
    Ok(exit)
}

/// A plan that measures nothing but existing ports is refused before anything is written when
/// they cannot be used. Beside other paths such ports only make their own cells skipped.
fn check_ports(plan: &Plan, stop: &Stop) -> Result<(), Failure> {
    let ports = |path: &PathPlan| matches!(path, PathPlan::Ports { .. });
    if plan.traffic.frame_sizes.is_empty() {
        return Ok(());
    }
    if !plan.paths.iter().all(ports) {
        return Ok(());
    }
    let largest = plan.traffic.frame_sizes.iter().max();
    for (path, size) in plan.paths.iter().zip(largest.into_iter().cycle()) {
        setup::check(path, *size, stop).map_err(|error| match error.is_bad_input() {
            true => Failure::usage(error),
            false => Failure::environment(error),
        })?;
    }
    Ok(())
}

fn finished(path: &Path) -> Result<Run, Failure> {
    let contents = RunContents::read_for_reports(path).map_err(Failure::environment)?;
    assemble::run(contents).map_err(Failure::environment)
}

impl Sitting {
    fn open(
        request: Request,
        facts: nicety_model::Fingerprint,
        given_up: Vec<String>,
        guests: Guests,
        signals: &Signals,
    ) -> Result<Self, Failure> {
        let Request {
            mut plan,
            place,
            seed,
            time_box,
            engine,
            stamps,
            ..
        } = request;
        for restored in stamps::restore() {
            output::say(&restored);
        }
        let is_default = plan == Plan::default_bridge();
        let placement = setup::placement(&plan.paths).map_err(Failure::environment)?;
        let (machine, unwatched) = Machine::new(placement, &signals.stop());
        let (preset, chosen) = preset::of(&plan, &machine);
        plan.search.preset = Some(preset);
        let loss_goal = request::loss_goal(&plan);
        let mut settings = Settings::of(preset, loss_goal);
        if let Some(confirm) = plan.search.confirm {
            settings.confirm = confirm;
        }
        let refused: Vec<SkippedCell> = plan
            .unavailable_cells()
            .chain(plan.unavailable_sock_cells())
            .collect();
        let (dir, contents) = match &place {
            Place::New(path) => {
                let seed = seed.unwrap_or_else(|| clock::unix_time().as_nanos() as u64 >> 8);
                let mut meta = RunMeta {
                    schema: SCHEMA,
                    name: plan.name.clone(),
                    started: clock::rfc3339(clock::unix_time()),
                    seed,
                    preset: preset.word().to_owned(),
                    estimator: settings.estimator().map(str::to_owned),
                    loss_goal,
                    command: request::command(&path.join("plan.toml"), seed, engine, stamps),
                    elapsed_s: 0.0,
                    complete: false,
                    notes: given_up,
                    skipped: refused.clone(),
                    left_out: Vec::new(),
                };
                meta.notes.extend(chosen);
                meta.notes
                    .extend(machine.placement.notes.iter().cloned().chain(unwatched));
                meta.notes.extend(machine.rest_note());
                meta.notes.extend(flows::few(&plan));
                let toml = plan
                    .to_toml()
                    .context("cannot write the plan down")
                    .map_err(Failure::usage)?;
                let dir = RunDir::create(path, &toml, &meta, &facts).map_err(Failure::store)?;
                let contents = RunContents::read(path).map_err(Failure::store)?;
                (dir, contents)
            }
            Place::Resume(path) => RunDir::open(path).map_err(Failure::store)?,
        };
        // Said to end in a few minutes: on a machine that is not quiet something is left out.
        let boxed = matches!(place, Place::New(_)) && is_default;
        let time_box = time_box.or(boxed.then_some(DEFAULT_RUN));
        let speeds = contents
            .host
            .interfaces
            .values()
            .filter_map(|facts| facts.speed_mbps);
        let line_mbps = speeds.filter(|mbps| *mbps > 0).min().map(f64::from);
        let cells: Vec<CellKey> = plan.buildable_cells().collect();
        let sizes = cells.iter().map(|key| key.frame_size_bytes);
        let largest = sizes.max();
        let mut meta = contents.meta;
        meta.left_out.clear();
        // What an earlier sitting could not build may be there now.
        meta.skipped = refused;
        meta.notes.retain(|note| !note.starts_with(TOO_SHORT));
        Ok(Self {
            earlier: contents.trials,
            results: contents.cells,
            sockets: contents.sockets,
            limits: contents.tester.unwrap_or_default(),
            limits_tried: BTreeSet::new(),
            paths: Paths::new(guests, largest),
            engines: Engines::new(engine, signals.stop()),
            stamps,
            elapsed_before: meta.elapsed_s,
            started: Instant::now(),
            plan,
            cells,
            machine,
            settings,
            dir,
            meta,
            time_box,
            line_mbps,
        })
    }

    fn elapsed_s(&self) -> f64 {
        self.elapsed_before + self.started.elapsed().as_secs_f64()
    }

    /// The cells and what is known of them, to be shown.
    fn board(&self) -> Board {
        let cells = self.cells.iter().map(|key| (key.path_name(), key.name()));
        let mut board = Board::new(cells, self.visits());
        self.results
            .iter()
            .for_each(|result| board.done(result, None));
        board
    }

    fn measure(&mut self, progress: &Progress, signals: &Signals) -> Result<Ending, Failure> {
        // First: how long they take is known, so what is left of a time box is the searches'.
        let sockets = self.measure_sockets(progress, signals)?;
        match (sockets, self.measure_frames(progress, signals, sockets)?) {
            (Ending::Interrupted, _) | (_, Ending::Interrupted) => Ok(Ending::Interrupted),
            (Ending::OutOfTime, _) | (_, Ending::OutOfTime) => Ok(Ending::OutOfTime),
            (Ending::Complete, Ending::Complete) => Ok(Ending::Complete),
        }
    }

    /// Runs the plan's socket tests.
    fn measure_sockets(
        &mut self,
        progress: &Progress,
        signals: &Signals,
    ) -> Result<Ending, Failure> {
        let share = if self.cells.is_empty() {
            1.0
        } else {
            SOCKETS_SHARE
        };
        let until_s = self.time_box.map(|limit| limit.as_secs_f64() * share);
        let seed = self.meta.seed;
        let mut run = SocketRun {
            making: Making {
                plan: &self.plan,
                placement: &self.machine.placement,
                guests: self.paths.guests(),
                signals,
                progress,
            },
            dir: &mut self.dir,
            meta: &mut self.meta,
            done: &mut self.sockets,
            started: self.started,
            elapsed_before: self.elapsed_before,
            until_s,
        };
        let ending = run.all(seed)?;
        self.save()?;
        Ok(ending)
    }

    fn measure_frames(
        &mut self,
        progress: &Progress,
        signals: &Signals,
        sockets: Ending,
    ) -> Result<Ending, Failure> {
        if matches!(sockets, Ending::Interrupted) {
            let schedule = self.schedule();
            self.leave_out(&schedule);
            return Ok(Ending::Interrupted);
        }
        let mut schedule = self.schedule();
        self.rule_out(&mut schedule, progress, signals)?;
        loop {
            let next = match schedule.next(self.elapsed_s()) {
                Next::Done => self.further(&schedule),
                next => next,
            };
            let task = match next {
                Next::Run(task, _) => task,
                Next::Done => return Ok(Ending::Complete),
                Next::OutOfTime => {
                    self.too_short(&schedule);
                    self.leave_out(&schedule);
                    return Ok(Ending::OutOfTime);
                }
            };
            let Some(key) = self.cells.get(task.cell as usize).cloned() else {
                return Err(Failure::environment(anyhow!(
                    "cell {} is not in the plan",
                    task.cell
                )));
            };
            let before = Instant::now();
            if !self.measure_tester(&key, progress, signals)? {
                self.leave_out(&schedule);
                return Ok(Ending::Interrupted);
            }
            match self.visit(task, &key, &schedule, (progress, signals)) {
                Ok(result) => {
                    self.results.push(result);
                    self.tell(&key, progress);
                    schedule.finish(task, before.elapsed().as_secs_f64());
                    self.save()?;
                }
                Err(MeasureError::Interrupted) => {
                    self.leave_out(&schedule);
                    return Ok(Ending::Interrupted);
                }
                Err(MeasureError::Setup(error)) => {
                    self.skip_with_path(task.cell, &error, &mut schedule, progress)?;
                }
                Err(MeasureError::Store(error)) => return Err(Failure::store(error)),
                Err(error) => return Err(Failure::environment(error)),
            }
        }
    }

    /// A further visit of the cell that needs one most, where the preset makes visits and there is
    /// time; [`Next::Done`] otherwise.
    fn further(&self, schedule: &Schedule) -> Next {
        if !self.settings.judges_windows() || self.visits() < 2 {
            return Next::Done;
        }
        let names: Vec<String> = self.cells.iter().map(CellKey::name).collect();
        let made = |name: &str| {
            let visits = self.results.iter().filter(|result| result.cell == name);
            visits.map(|visit| visit.repeat).max().unwrap_or(0)
        };
        let summaries = summary::summarise(names.iter().map(String::as_str), &self.results);
        let cells = summaries.iter().map(|cell| (cell, made(&cell.cell)));
        let Some(cell) = visits::next_more(cells).and_then(|at| summaries.get(at)) else {
            return Next::Done;
        };
        let number = names.iter().position(|name| *name == cell.cell);
        let next = number
            .map(|number| schedule.further(number as u32, made(&cell.cell) + 1, self.elapsed_s()));
        match next {
            Some(Next::Run(task, expected)) => Next::Run(task, expected),
            _ => Next::Done,
        }
    }

    /// Measures the tester alone as `key` needs it, when the first such cell comes. False on an
    /// interruption.
    fn measure_tester(
        &mut self,
        key: &CellKey,
        progress: &Progress,
        signals: &Signals,
    ) -> Result<bool, Failure> {
        let (size, direction) = (key.frame_size_bytes, key.direction);
        let limit_key = self.engines.limit_key(key);
        if !self.limits_tried.insert(limit_key) || self.limits.limit_fps.contains_key(&limit_key) {
            return Ok(true);
        }
        progress.stage(&format!("the tester alone, {size} bytes {direction}"));
        let stop = signals.stop();
        let say = |step: &str| progress.stage(step);
        match self.paths.get(key, &self.machine.placement, &stop, &say) {
            Ok(path) => self
                .engines
                .decide(path, key, &self.machine.placement, &say),
            Err(_) if stop.is_set() => return Ok(false),
            Err(error) => {
                // Nothing is measured on it; the next cell of this size asks again.
                self.paths.failed(key, error);
                self.limits_tried.remove(&limit_key);
                return Ok(true);
            }
        }
        self.paths.rest();
        let bound = self.engines.bound(&key.path);
        let with = bound.map_or_else(String::new, |engine| format!(" with {engine}"));
        let kind = (size, direction);
        match tester_limit::measure(kind, bound, &self.machine, &mut self.engines, &stop) {
            Ok(Some(limit)) => {
                if limit.lossy {
                    self.limits.notes.push(format!(
                        "the tester alone lost frames at every load tried{with}, {size} bytes, \
                         {direction}: its limit is the most that it counted"
                    ));
                }
                self.limits.limit_fps.insert(limit_key, limit.load.0);
            }
            Ok(None) => self.limits.notes.push(format!(
                "the tester alone{with} counted nothing with {size} bytes, {direction}"
            )),
            Err(_) if signals.stopped() => return Ok(false),
            // Where no veth pair can be made the ports may still be measured.
            Err(error) => self.limits.notes.push(format!(
                "the tester alone{with} was not measured with {size} bytes, {direction}: {error}"
            )),
        }
        self.dir
            .write_tester(&self.limits)
            .map_err(Failure::store)?;
        Ok(true)
    }

    fn schedule(&self) -> Schedule {
        let typical = |plan: &CellPlan| {
            let left = plan.typical();
            left.seconds + f64::from(left.trials) * TRIAL_OVERHEAD_S
        };
        let plan = CellPlan::new(self.settings, UNKNOWN_LIMIT);
        let outline = Outline {
            repeats: self.visits(),
            seed: self.meta.seed,
            time_box_s: self.time_box.map(|limit| limit.as_secs_f64()),
            cell_s: typical(&plan),
            visit_s: typical(&plan.brief()),
            brief: self.settings.judges_windows() && self.visits() > 1,
        };
        let mut paths: Vec<String> = Vec::new();
        let marks: Vec<Marks> = self
            .cells
            .iter()
            .map(|key| {
                let name = key.path_name();
                let path = paths
                    .iter()
                    .position(|known| *known == name)
                    .unwrap_or_else(|| {
                        paths.push(name);
                        paths.len() - 1
                    });
                Marks {
                    path: path as u32,
                    frame_size: key.frame_size_bytes.bytes(),
                }
            })
            .collect();
        let numbers: BTreeMap<String, u32> =
            self.cells.iter().map(CellKey::name).zip(0u32..).collect();
        let done = self.results.iter().filter_map(|result| {
            let cell = *numbers.get(&result.cell)?;
            Some(Task {
                cell,
                repeat: result.repeat,
                control: result.control,
            })
        });
        Schedule::new(outline, marks, done)
    }

    fn visit(
        &mut self,
        task: Task,
        key: &CellKey,
        schedule: &Schedule,
        (progress, signals): (&Progress, &Signals),
    ) -> Result<CellResult, MeasureError> {
        let limit_key = self.engines.limit_key(key);
        let tester_limit = self.limits.limit_fps.get(&limit_key).copied().map(Fps);
        let max = tester_limit.map_or(UNKNOWN_LIMIT, |limit| Fps(limit.0 * ABOVE_LIMIT));
        let name = key.name();
        let line = key
            .path
            .interfaces()
            .and(self.line_mbps)
            .map(|mbps| key.frame_size_bytes.line_rate(mbps))
            .filter(|line| line.0 <= max.0);
        let mut plan = CellPlan::new(self.settings, line.unwrap_or(max));
        let by_windows = self.settings.judges_windows();
        if by_windows {
            plan.warm_up = OVERLOAD;
            plan.latency_trial = LATENCY;
        }
        // What stands for all visits is measured when all are made.
        if task.control.is_some() || by_windows && task.repeat != self.visits() {
            plan = plan.brief();
        }
        let found = self.results.iter().filter(|result| result.cell == name);
        plan.earlier = found
            .filter_map(|result| result.throughput_fps.map(Fps))
            .collect();
        if let Some(share) = schedule.share_s(task, self.elapsed_s()) {
            let fixed = f64::from(plan.typical().trials) * TRIAL_OVERHEAD_S;
            plan = plan.within(Duration::from_secs_f64((share - fixed).max(0.0)));
        }
        let of_cell = self.results.iter().filter(|result| result.cell == name);
        let lower = of_cell.filter_map(|result| result.bounds.lower_fps);
        plan.expect = median(&lower.collect::<Vec<_>>()).map(Fps);
        let lines = self
            .results
            .iter()
            .filter_map(|result| result.cache_line_ns);
        plan.nearest_ns = lines.min_by(f64::total_cmp);
        let own = |trial: &&TrialRecord| {
            (trial.cell == name) && trial.repeat == task.repeat && trial.control == task.control
        };
        let earlier: Vec<TrialRecord> = self.earlier.iter().filter(own).cloned().collect();
        let rest = (schedule.eta_s(self.elapsed_s()) - plan.typical().seconds).max(0.0);
        let visit = Visit {
            key: key.clone(),
            repeat: task.repeat,
            control: task.control,
            plan,
            tester_limit,
            line_rate: line,
        };
        let mut bench = Bench {
            machine: &self.machine,
            paths: &mut self.paths,
            engines: &mut self.engines,
            stamps: self.stamps,
            stop: signals.stop(),
            dir: &mut self.dir,
            progress,
            notes: Vec::new(),
        };
        let result = bench.measure(visit, &earlier, Duration::from_secs_f64(rest));
        for note in bench.notes {
            if !self.meta.notes.contains(&note) {
                self.meta.notes.push(note);
            }
        }
        result
    }

    /// Visits of every cell.
    fn visits(&self) -> u32 {
        self.settings.visits(self.plan.search.repeats)
    }

    /// Shows the last result, and what the cell's visits come to so far.
    fn tell(&self, key: &CellKey, progress: &Progress) {
        let Some(result) = self.results.last() else {
            return;
        };
        let name = key.name();
        let visits = self.visits();
        let summary = (self.settings.judges_windows() && visits > 1)
            .then(|| summary::summarise([name.as_str()], &self.results).pop())
            .flatten();
        progress.done(result, summary.as_ref().map(|summary| (summary, visits)));
    }

    /// Says so when the time box is over before anything was measured, and how long it has to be.
    fn too_short(&mut self, schedule: &Schedule) {
        let nothing = self.results.is_empty() && self.sockets.is_empty();
        let (Some(time_box), Some(needed)) = (self.time_box, schedule.next_needs_s()) else {
            return;
        };
        if nothing {
            // The next start may take a little longer than this one.
            let needed = (self.elapsed_s() + needed + 1.0).ceil();
            self.meta.notes.push(format!(
                "{TOO_SHORT}of {} s is too short for a single cell: with all that comes before \
                 it the first takes about {needed} s; write --time-box {needed}s or more",
                time_box.as_secs_f64()
            ));
        }
    }

    /// Names what was left out; of very many only the first.
    fn leave_out(&mut self, schedule: &Schedule) {
        let repeats = self.visits();
        let mut names = schedule.left_out().filter_map(|task| {
            let name = self.cells.get(task.cell as usize)?.name();
            Some(if repeats > 1 {
                format!("{name} repeat {}", task.repeat)
            } else {
                name
            })
        });
        let mut left_out: Vec<String> = names.by_ref().take(NAMED).collect();
        let more = names.count();
        if more > 0 {
            left_out.push(format!("and {more} more"));
        }
        self.meta.left_out.extend(left_out);
    }

    fn save(&mut self) -> Result<(), Failure> {
        self.meta.elapsed_s = self.elapsed_s();
        self.dir.write_meta(&self.meta).map_err(Failure::store)
    }

    /// Writes the run's last facts and its report.
    fn close(&mut self, ending: &Ending) -> Result<Exit, Failure> {
        self.meta.complete = matches!(ending, Ending::Complete);
        self.save()?;
        let run = finished(self.dir.path())?;
        let mut html = Vec::new();
        nicety_report::html(&run, &mut html)
            .context("cannot render the report")
            .map_err(Failure::environment)?;
        self.dir
            .write_report("report.html", &html)
            .map_err(Failure::store)?;
        let nothing = run.cells.is_empty() && run.sockets.is_empty();
        let faulty = |series: &SockSeries| series.results.iter().any(|r| r.ending == Faulty);
        let bad = |summary: &CellSummary| summary.verdict == Verdict::Failed;
        Ok(match ending {
            Ending::Interrupted => Exit::Interrupted,
            Ending::OutOfTime if nothing => Exit::Negative,
            _ if nothing && !run.skipped.is_empty() => Exit::Environment,
            _ if run.summary.iter().any(bad) => Exit::Negative,
            _ if run.sockets.iter().any(faulty) => Exit::Negative,
            _ => Exit::Done,
        })
    }
}
