//! Decisions of a run between its cells, from its measurements so far.

use std::collections::BTreeMap;
use std::time::Duration;

use nicety_model::run::CellSummary;
use nicety_model::{CellKey, CellResult, Fps, LossGoal};

use crate::cell::CellPlan;
use crate::preset::Settings;
use crate::schedule::{Marks, Next, Outline, Schedule, Task};
use crate::stats::median;
use crate::{burst, reset, summary, visits};

/// Wall time a trial takes beyond its sending: start, drain, counters.
const TRIAL_OVERHEAD_S: f64 = 0.1;
/// Share of the tester's limit that is the highest load of a search. The limit was found by
/// steps down, so a little more may be possible.
const ABOVE_LIMIT: f64 = 1.05;
/// Highest load when the tester's limit could not be measured.
const UNKNOWN_LIMIT: Fps = Fps(2e6);
/// Overload that measures the forwarding rate, where loads are judged by windows.
const OVERLOAD: Duration = Duration::from_millis(400);
/// Latency trials there.
const LATENCY: Duration = Duration::from_millis(500);
/// Most cells named as left out.
const NAMED: usize = 50;

/// A run as far as it is.
#[derive(Debug, Clone, Copy)]
pub struct RunView<'a> {
    /// How it searches.
    pub settings: Settings,
    /// Several goals, strictest first; empty where there is one.
    pub goals: &'a [LossGoal],
    /// Loads of the curve in per cent of the throughput, see
    /// [`SearchPlan::latency_load`](nicety_model::plan::SearchPlan::latency_load).
    pub latency_load: &'a [u32],
    /// Whether the longest burst without loss is searched for.
    pub bursts: bool,
    /// Time of overload of the trials of system recovery; zero for none of them.
    pub recovery: Duration,
    /// Whether paths are reset.
    pub reset: bool,
    /// Visits of every cell.
    pub visits: u32,
    /// Its cells, in the plan's order.
    pub cells: &'a [CellKey],
    /// Visits that are done.
    pub results: &'a [CellResult],
}

/// Knowledge before a visit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Before {
    /// The tester's own limit for such a cell.
    pub tester_limit: Option<Fps>,
    /// Speed of the slower port in Mbit/s, where a driver reports one that holds.
    pub line_mbps: Option<f64>,
    /// Seconds that the visit may take.
    pub share_s: Option<f64>,
}

impl RunView<'_> {
    /// The order of the remaining work. `time_box` is for the whole run.
    pub fn schedule(&self, seed: u64, time_box: Option<Duration>) -> Schedule {
        let mut plan = CellPlan::new(self.settings, UNKNOWN_LIMIT);
        self.beyond(&mut plan);
        let outline = Outline {
            repeats: self.visits,
            seed,
            time_box_s: time_box.map(|limit| limit.as_secs_f64()),
            cell_s: typical_s(&plan),
            visit_s: typical_s(&plan.brief()),
            brief: self.is_one_of_several(),
        };
        let mut paths: Vec<String> = Vec::new();
        let marks: Vec<Marks> = self
            .cells
            .iter()
            .map(|key| {
                let name = key.path_name();
                let known = paths.iter().position(|known| *known == name);
                let path = known.unwrap_or_else(|| {
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
            Some(Task {
                cell: *numbers.get(&result.cell)?,
                repeat: result.repeat,
                control: result.control,
            })
        });
        Schedule::new(outline, marks, done)
    }

    /// What to do next: when all that was planned is done, a further visit of the cell that needs one
    /// most, where the preset makes visits and there is time.
    pub fn next(&self, schedule: &Schedule, elapsed_s: f64) -> Next {
        match schedule.next(elapsed_s) {
            Next::Done => match self.further(schedule, elapsed_s) {
                Some(run @ Next::Run(..)) => run,
                _ => Next::Done,
            },
            next => next,
        }
    }

    /// Adds what is measured beyond throughput and latency.
    fn beyond(&self, plan: &mut CellPlan) {
        plan.bursts = if self.bursts { burst::REPEATS } else { 0 };
        plan.recovery = self.recovery;
        plan.resets = if self.reset { reset::REPEATS } else { 0 };
    }

    fn further(&self, schedule: &Schedule, elapsed_s: f64) -> Option<Next> {
        if !self.is_one_of_several() {
            return None;
        }
        let names: Vec<String> = self.cells.iter().map(CellKey::name).collect();
        let made = |name: &str| {
            let visits = self.of_cell(name).map(|visit| visit.repeat);
            visits.max().unwrap_or(0)
        };
        let summaries = summary::summarise(names.iter().map(String::as_str), self.results);
        let cells = summaries.iter().map(|cell| (cell, made(&cell.cell)));
        let cell = &summaries.get(visits::next_more(cells)?)?.cell;
        let number = names.iter().position(|name| name == cell)?;
        Some(schedule.further(number as u32, made(cell) + 1, elapsed_s))
    }

    /// Tasks of a visit of a cell, and the link's rate where that is the highest load.
    pub fn visit(&self, task: Task, key: &CellKey, before: Before) -> (CellPlan, Option<Fps>) {
        let limit = |limit: Fps| Fps(limit.0 * ABOVE_LIMIT);
        let max = before.tester_limit.map_or(UNKNOWN_LIMIT, limit);
        let line = key
            .path
            .interfaces()
            .and(before.line_mbps)
            .map(|mbps| key.line_rate(mbps))
            .filter(|line| line.0 <= max.0);
        let mut plan = CellPlan::new(self.settings, line.unwrap_or(max));
        let by_windows = self.settings.judges_windows();
        if by_windows {
            plan.warm_up = OVERLOAD;
            plan.latency_trial = LATENCY;
        }
        if !self.latency_load.is_empty() {
            let shares = self
                .latency_load
                .iter()
                .map(|load| f64::from(*load) / 100.0);
            plan.latency_shares = shares.collect();
            plan.curve = true;
        }
        self.beyond(&mut plan);
        // What stands for all visits is measured when all are made.
        if task.control.is_some() || by_windows && task.repeat != self.visits {
            plan = plan.brief();
        }
        let name = key.name();
        let throughputs = self.of_cell(&name).filter_map(|visit| visit.throughput_fps);
        plan.earlier = throughputs.map(Fps).collect();
        if let Some(share_s) = before.share_s {
            let fixed = f64::from(plan.typical().trials) * TRIAL_OVERHEAD_S;
            plan = plan.within(Duration::from_secs_f64((share_s - fixed).max(0.0)));
        }
        let lower = self
            .of_cell(&name)
            .filter_map(|visit| visit.bounds.lower_fps);
        plan.expect = median(&lower.collect::<Vec<_>>()).map(Fps);
        plan.goals = self.goals.to_vec();
        plan.expect_further = (1..self.goals.len())
            .map(|goal| {
                let visits = self.of_cell(&name);
                let lower = visits.filter_map(|visit| visit.goals.get(goal)?.bounds.lower_fps);
                median(&lower.collect::<Vec<_>>()).map(Fps)
            })
            .collect();
        let lines = self.results.iter().filter_map(|visit| visit.cache_line_ns);
        plan.nearest_ns = lines.min_by(f64::total_cmp);
        (plan, line)
    }

    /// Result of a cell's visits so far, where each is a part of one result.
    pub fn so_far(&self, name: &str) -> Option<CellSummary> {
        let of_several = self.is_one_of_several();
        of_several.then(|| summary::summarise([name], self.results).pop())?
    }

    /// Names of the remaining work; of very many only the first.
    pub fn left_out(&self, schedule: &Schedule) -> Vec<String> {
        let mut names = schedule.left_out().filter_map(|task| {
            let name = self.cells.get(task.cell as usize)?.name();
            Some(match self.visits {
                ..=1 => name,
                _ => format!("{name} repeat {}", task.repeat),
            })
        });
        let mut left_out: Vec<String> = names.by_ref().take(NAMED).collect();
        let more = names.count();
        if more > 0 {
            left_out.push(format!("and {more} more"));
        }
        left_out
    }

    /// Whether a visit is one of several that make one result.
    fn is_one_of_several(&self) -> bool {
        self.settings.judges_windows() && self.visits > 1
    }

    fn of_cell(&self, name: &str) -> impl Iterator<Item = &CellResult> {
        self.results.iter().filter(move |visit| visit.cell == name)
    }
}

/// Wall time of a visit on a path without noise.
fn typical_s(plan: &CellPlan) -> f64 {
    let left = plan.typical();
    left.seconds + f64::from(left.trials) * TRIAL_OVERHEAD_S
}

#[cfg(test)]
mod tests;
