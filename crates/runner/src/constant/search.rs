//! What a load in per cent is a share of.

use std::time::{Duration, Instant};

use nicety_model::plan::Preset;
use nicety_model::soak::FoundLoad;
use nicety_model::{FateMode, Fps};
use nicety_search::{Cell, CellContext, CellPlan, Settings};
use nicety_trial::TrialSpec;

use super::{Constant, Intervals};
use crate::error::RunError;
use crate::event::{Event, Observer, Stage};
use crate::tester_limit;

/// Share of the tester's limit that is the highest load of a search: it was found by steps down.
const ABOVE_LIMIT: f64 = 1.05;
/// Highest load where the tester's limit could not be measured.
const UNKNOWN_LIMIT: Fps = Fps(2e6);

/// Length of the overload at the beginning, where loads are judged by windows: that of a bench run.
const OVERLOAD: Duration = Duration::from_millis(400);

/// What was found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Whole {
    /// The load that is 100 %.
    pub found: FoundLoad,
    /// The loss goal of the search; absent without one.
    pub loss_goal: Option<f64>,
}

impl Constant {
    /// The highest load of this tester: the link's rate, or what it sends and counts without the path.
    ///
    /// # Errors
    /// When nothing could be sent, or on an interruption.
    pub fn maximum(&mut self, observer: &dyn Observer) -> Result<Whole, RunError> {
        let begun = Instant::now();
        let limit = self.tester_limit(observer)?;
        let whole = match (self.line(), limit) {
            (Some(line), Some(limit)) => Fps(line.0.min(limit.0)),
            (line, limit) => line.or(limit).ok_or(RunError::NoThroughput)?,
        };
        Ok(Whole {
            found: FoundLoad {
                whole_fps: whole.0,
                trials: 0,
                seconds: begun.elapsed().as_secs_f64(),
            },
            loss_goal: None,
        })
    }

    /// The throughput of the path, by a search as the plan has it; without a preset there, by a quick one.
    ///
    /// # Errors
    /// When it finds none, or on an interruption.
    pub fn throughput(&mut self, observer: &dyn Observer) -> Result<Whole, RunError> {
        let begun = Instant::now();
        let limit = self.tester_limit(observer)?;
        let max = limit.map_or(UNKNOWN_LIMIT, |limit| Fps(limit.0 * ABOVE_LIMIT));
        let line = self.line().filter(|line| line.0 <= max.0);
        let preset = self.plan.search.preset.unwrap_or(Preset::Quick);
        let mut settings = Settings::of_plan(preset, &self.plan.search);
        settings.fate = Duration::ZERO;
        let mut plan = CellPlan::new(settings, line.unwrap_or(max)).brief();
        if settings.judges_windows() {
            plan.warm_up = OVERLOAD;
        }
        let mut cell = Cell::new(plan)?;
        let stop = self.stop.clone();
        let name = self.key.name();
        let context = CellContext {
            key: self.key.clone(),
            repeat: 1,
            control: None,
            engine: String::new(),
            tester_limit: limit,
            line_rate: line,
            in_sender: false,
            drift: None,
            disturbance: None,
            built: None,
        };
        let (throughput, trials) = self.run(FateMode::Off, observer, |intervals| {
            observer.on(Event::Cell {
                name: &name,
                control: false,
            });
            while let Some(step) = cell.next() {
                observer.on(Event::Trial {
                    cell: &name,
                    control: false,
                    index: step.index,
                    purpose: step.purpose,
                    load: step.load,
                    bounds: cell.bounds(),
                    goals: &cell.goal_bounds(),
                });
                let ask = TrialSpec {
                    cell: name.clone(),
                    repeat: 1,
                    control: None,
                    index: step.index,
                    purpose: step.purpose,
                    load: step.load,
                    duration: step.duration,
                    then: step.then,
                    window: step.window,
                };
                let trial = intervals.trial(&ask, &stop)?;
                cell.observe(&trial);
            }
            let result = cell.finish(context);
            Ok((result.throughput_fps, result.trials))
        })?;
        let whole_fps = throughput.ok_or(RunError::NoThroughput)?;
        Ok(Whole {
            found: FoundLoad {
                whole_fps,
                trials,
                seconds: begun.elapsed().as_secs_f64(),
            },
            loss_goal: Some(settings.loss_ratio),
        })
    }

    fn tester_limit(&mut self, observer: &dyn Observer) -> Result<Option<Fps>, RunError> {
        let key = self.engines.limit_key(&self.key);
        observer.on(Event::Stage(Stage::Tester {
            size: &self.key.size_words(),
            direction: key.direction,
        }));
        self.decide(observer)?;
        match tester_limit::measure(key, &self.machine, &mut self.engines, &self.stop) {
            _ if self.stop.is_set() => Err(RunError::Interrupted),
            Ok(limit) => Ok(limit.map(|limit| limit.load)),
            // Where no veth pair can be made the ports may still be measured.
            Err(_) => Ok(None),
        }
    }

    /// Finds out which engine the path gets.
    fn decide(&mut self, observer: &dyn Observer) -> Result<(), RunError> {
        let placement = &self.machine.placement;
        let path = self.paths.get(&self.key, placement, &self.stop, observer);
        match path {
            Ok(path) => self.engines.decide(path, &self.key, placement, observer),
            Err(_) if self.stop.is_set() => return Err(RunError::Interrupted),
            Err(error) => return Err(error.into()),
        }
        self.paths.rest();
        Ok(())
    }
}

impl Intervals<'_> {
    /// A trial of a search.
    fn trial(
        &mut self,
        ask: &TrialSpec,
        stop: &nicety_port::Stop,
    ) -> Result<nicety_model::TrialRecord, RunError> {
        let record = self.trials.run(ask, stop)?;
        if stop.is_set() {
            Err(RunError::Interrupted)
        } else {
            Ok(record)
        }
    }
}
