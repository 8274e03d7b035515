//! The named searches: goals, confirm trial and time-out of each.

use std::time::Duration;

use nicety_model::plan::{Preset, SearchPlan};
use nicety_model::{FateMode, Fps};

use crate::binary::Binary;
use crate::edge::EdgeSearch;
use crate::goal::{Goal, GoalError};
use crate::machine::Search;
use crate::mlr::Mlr;
use crate::several::{Bisections, Edges};

/// Loss goal when the plan names none: the 0.01 % of the hardware testers.
pub const DEFAULT_LOSS_RATIO: f64 = 0.0001;

/// Fewest visits of every cell with `robust`. Cells whose visits differ get [more](crate::visits::MOST).
pub const VISITS: u32 = 3;

/// Length of a trial that finds out what becomes of lost frames: at any load thousands of them.
const FATE: Duration = Duration::from_millis(500);

/// Lowest load a search goes to when the caller has no better idea, in frames per second.
pub const DEFAULT_MIN_LOAD: Fps = Fps(100.0);

/// A preset with its loss goal filled in.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// Which preset.
    pub preset: Preset,
    /// Highest loss ratio of a good trial.
    pub loss_ratio: f64,
    /// Relative width (or resolution) of the result.
    pub width: f64,
    /// Length of the trials that count.
    pub trial: Duration,
    /// Length of the confirm trial; zero for none.
    pub confirm: Duration,
    /// Wall time after which the search stops with the bounds it has, or without a result when
    /// it has none.
    pub timeout: Duration,
    /// Length of each trial that finds out what becomes of lost frames; zero for none.
    pub fate: Duration,
    /// Another such trial finds out how long frames are where.
    pub hops: bool,
}

/// Loss goal of a preset when the plan names none: 0.01 %, and none at all for `rfc2544`,
/// whose throughput is defined without loss (RFC 1242 §3.17).
pub fn default_loss_ratio(preset: Preset) -> f64 {
    match preset {
        Preset::Rfc2544 => 0.0,
        _ => DEFAULT_LOSS_RATIO,
    }
}

impl Settings {
    /// The preset, changed by a plan's keys.
    pub fn of_plan(preset: Preset, plan: &SearchPlan) -> Self {
        let strictest = plan.goals.first().map(|goal| goal.loss_ratio);
        let loss = strictest.or(plan.loss_ratio);
        let mut settings = Self::of(preset, loss.unwrap_or_else(|| default_loss_ratio(preset)));
        if let Some(confirm) = plan.confirm {
            settings.confirm = confirm;
        }
        if plan.fate != FateMode::Off {
            settings.fate = FATE;
            settings.hops = plan.fate == FateMode::Hops;
        }
        settings
    }

    /// The preset with this loss goal.
    pub fn of(preset: Preset, loss_ratio: f64) -> Self {
        let seconds = Duration::from_secs;
        // The confirm trial of rfc2544 would repeat its own last 60 s trial.
        let (width, trial, confirm, timeout) = match preset {
            Preset::Binary => (0.005, 10, 30, 900),
            // What each visit settles to; windows judge, so the length of trials means little.
            Preset::Quick => (0.04, 1, 0, 45),
            Preset::Robust => (0.04, 1, 5, 45),
            Preset::Std => (0.01, 1, 30, 600),
            Preset::Csit => (0.005, 1, 30, 1200),
            Preset::Rfc2544 => (0.01, 60, 0, 7200),
        };
        Self {
            preset,
            loss_ratio,
            width,
            trial: seconds(trial),
            confirm: seconds(confirm),
            timeout: seconds(timeout),
            fate: Duration::ZERO,
            hops: false,
        }
    }

    /// The preset's search goal. For `binary`, which classifies a load by one trial, the goal
    /// that says the same.
    pub fn goal(&self) -> Goal {
        // Number of preceding targets: what took the fewest trials on the reference path with
        // five stalls a second. Without noise it makes no difference.
        let (duration_sum, exceed_ratio, preceding_targets) = match self.preset {
            // Half of the windows; the sums do not apply.
            Preset::Quick | Preset::Robust => (1, 0.5, 0),
            Preset::Std => (11, 0.5, 1),
            Preset::Csit => (21, 0.5, 3),
            Preset::Rfc2544 => (60, 0.0, 2),
            Preset::Binary => (10, 0.0, 0),
        };
        Goal {
            loss_ratio: self.loss_ratio,
            exceed_ratio,
            width: self.width,
            initial_trial: self.trial.min(Duration::from_secs(match self.preset {
                Preset::Binary => 10,
                _ => 1,
            })),
            final_trial: self.trial,
            duration_sum: Duration::from_secs(duration_sum),
            preceding_targets,
            expansion: 2,
            fail_fast: true,
        }
    }

    /// Whether loads are judged by windows of trials, not by whole ones.
    pub fn judges_windows(&self) -> bool {
        matches!(self.preset, Preset::Quick | Preset::Robust)
    }

    /// How loads are judged and searched, where not by whole trials. The number changes with what
    /// changes results.
    pub fn estimator(&self) -> Option<&'static str> {
        self.judges_windows().then_some("edge of windows/4")
    }

    /// Visits of every cell, apart in time, for a plan that asks for `repeats`.
    pub fn visits(&self, repeats: u32) -> u32 {
        match self.preset {
            Preset::Robust => repeats.max(VISITS),
            _ => repeats,
        }
    }

    /// A search machine for loads from `min` to `max`.
    ///
    /// # Errors
    /// A loss goal out of range.
    pub fn search(&self, min: Fps, max: Fps) -> Result<Box<dyn Search>, GoalError> {
        let goal = self.goal();
        goal.check()?;
        Ok(match self.preset {
            Preset::Binary => Box::new(Binary::new(&goal, min, max, self.timeout)),
            Preset::Quick | Preset::Robust => {
                Box::new(EdgeSearch::new(self.loss_ratio, min, max, self.timeout))
            }
            _ => Box::new(Mlr::new(vec![goal], min, max, self.timeout)?),
        })
    }

    /// A search machine for several loss goals at once, strictest first; [`Self::search`] for fewer
    /// than two.
    ///
    /// # Errors
    /// A loss goal out of range.
    pub fn search_goals(
        &self,
        losses: &[f64],
        min: Fps,
        max: Fps,
    ) -> Result<Box<dyn Search>, GoalError> {
        if losses.len() < 2 {
            return self.search(min, max);
        }
        let of = |loss: &f64| {
            Self {
                loss_ratio: *loss,
                ..*self
            }
            .goal()
        };
        let goals: Vec<Goal> = losses.iter().map(of).collect();
        goals.iter().try_for_each(Goal::check)?;
        Ok(match self.preset {
            Preset::Binary => Box::new(Bisections::new(&goals, min, max, self.timeout)),
            Preset::Quick | Preset::Robust => Box::new(Edges::new(losses, min, max, self.timeout)),
            _ => Box::new(Mlr::new(goals, min, max, self.timeout)?),
        })
    }

    /// Trials and traffic seconds a search takes on a path without noise: the first estimate
    /// of what a cell costs.
    pub fn typical(&self) -> (u32, f64) {
        match self.preset {
            Preset::Binary => (13, 130.0),
            Preset::Quick | Preset::Robust => (6, 3.0),
            Preset::Std => (9, 13.0),
            Preset::Csit => (14, 23.0),
            Preset::Rfc2544 => (5, 71.0),
        }
    }
}
