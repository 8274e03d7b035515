//! What the live view shows: the state of a run, changed by what happens to it.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::time::Duration;

use nicety_model::goal::{GoalBounds, GoalResult, GoalSummary};
use nicety_model::run::CellSummary;
use nicety_model::{
    CellKey, CellResult, CoreUse, Direction, FrameSize, Purpose, SearchBounds, TrialRecord, Verdict,
};
use serde::Serialize;

use super::left::Expected;
use crate::number::short;

/// Results that are remembered as lines.
const RECENT: usize = 12;
/// Trials of a search that are remembered: more than any search makes.
const TRIALS: usize = 300;

/// What was found for one of several loss goals.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Goal {
    /// Name of the goal, or its loss in words.
    pub goal: String,
    /// Highest allowed loss ratio.
    pub loss_goal: f64,
    /// Throughput of the last repeat, or of all visits so far.
    pub fps: Option<f64>,
    /// Ends of the interval of the throughput, where visits make one result.
    pub interval_fps: Option<(f64, f64)>,
    /// Verdict so far.
    pub verdict: Verdict,
}

/// How far one cell is.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Square {
    /// Repeats done.
    pub done: u32,
    /// Worst verdict so far.
    pub worst: Option<Verdict>,
    /// Throughput of the last repeat.
    pub fps: Option<f64>,
    /// Ends of the interval of the throughput, where visits make one result.
    pub interval_fps: Option<(f64, f64)>,
    /// The same for each loss goal, strictest first, where there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub goals: Vec<Goal>,
    /// It cannot be measured here.
    pub skipped: bool,
    /// What is sent.
    pub point: Option<Point>,
}

impl Goal {
    /// Of one repeat.
    pub fn of(found: &GoalResult) -> Self {
        Self {
            goal: found.goal.clone(),
            loss_goal: found.loss_goal,
            fps: found.throughput_fps,
            interval_fps: None,
            verdict: found.verdict,
        }
    }

    /// Of all visits so far.
    pub fn so_far(found: &GoalSummary) -> Self {
        let estimate = found.estimate;
        Self {
            goal: found.goal.clone(),
            loss_goal: found.loss_goal,
            fps: estimate.map(|estimate| estimate.fps),
            interval_fps: estimate.map(|estimate| (estimate.low_fps, estimate.high_fps)),
            verdict: found.verdict,
        }
    }
}

/// `PDR 1.02 M`, with a dash where no load met the goal.
impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.fps {
            Some(fps) => write!(f, "{} {}", self.goal, short(fps)),
            None => write!(f, "{} -", self.goal),
        }
    }
}

/// What a cell sends through its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Point {
    /// Frame size.
    pub frame_size_bytes: FrameSize,
    /// Direction.
    pub direction: Direction,
    /// Flows per direction.
    pub flows: u32,
}

/// Cells of one path.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// The path.
    pub path: String,
    /// Its cells in the plan's order: name and state.
    pub cells: Vec<(String, Square)>,
}

/// The cell being measured.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Now {
    /// Name.
    pub cell: String,
    /// Whether it is a visit of the control cell.
    pub control: bool,
    /// The trial: number and purpose.
    pub trial: Option<(u32, Purpose)>,
    /// Load of the trial in frames/s.
    pub load_fps: f64,
    /// What the search knows.
    pub bounds: SearchBounds,
    /// The same for each loss goal, strictest first, where there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub goals: Vec<GoalBounds>,
    /// Highest load of the cell so far, the end of the scale.
    pub scale_fps: f64,
}

/// A trial that ended.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Tried {
    /// Load per direction in frames/s.
    pub load_fps: f64,
    /// Lost over sent.
    pub loss_ratio: f64,
    /// Why it was run.
    pub purpose: Purpose,
    /// Whether the loss is within the goal, as the search judges it; absent where it does not count.
    pub within: Option<bool>,
}

/// State of a run.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Board {
    /// What the host is called; absent when it is not to be published.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// By path, in the plan's order.
    pub rows: Vec<Row>,
    /// Repeats of each cell.
    pub repeats: u32,
    /// What is done between cells.
    pub stage: String,
    /// The cell being measured.
    pub now: Option<Now>,
    /// Highest loss that a load may have to count as carried.
    pub loss_goal_ratio: Option<f64>,
    /// The cell whose search `trials` are, this one or the last.
    pub searched: String,
    /// Trials of that search, in order of time.
    pub trials: Vec<Tried>,
    /// Trials of this session.
    pub trials_total: u64,
    /// Socket tests that ended.
    pub sockets: u32,
    /// Expected end, smoothed.
    #[serde(skip)]
    pub end: Option<Expected>,
    /// Lines that were written last, newest first.
    pub recent: VecDeque<String>,
    /// Use of each CPU in the last second.
    pub cores: Vec<CoreUse>,
}

impl Board {
    /// A run of these cells, given as path and name.
    pub fn new(cells: impl Iterator<Item = (String, String)>, repeats: u32) -> Self {
        let mut rows: Vec<Row> = Vec::new();
        for (path, name) in cells {
            let square = (name, Square::default());
            match rows.iter_mut().find(|row| row.path == path) {
                Some(row) => row.cells.push(square),
                None => rows.push(Row {
                    path,
                    cells: vec![square],
                }),
            }
        }
        Self {
            rows,
            repeats: repeats.max(1),
            stage: "starting".to_owned(),
            ..Self::default()
        }
    }

    /// A run of these cells.
    pub fn of<'k>(keys: impl Iterator<Item = &'k CellKey> + Clone, repeats: u32) -> Self {
        let names = keys.clone().map(|key| (key.path_name(), key.name()));
        let mut board = Self::new(names, repeats);
        // A plan may have a hundred thousand cells: none is looked for among the others.
        let point = |key: &CellKey| Point {
            frame_size_bytes: key.frame_size_bytes,
            direction: key.direction,
            flows: key.flows,
        };
        let points: HashMap<String, Point> = keys.map(|key| (key.name(), point(key))).collect();
        for (name, square) in board.rows.iter_mut().flat_map(|row| &mut row.cells) {
            square.point = points.get(name).copied();
        }
        board
    }

    /// Something is done between cells.
    pub fn stage(&mut self, text: &str) {
        text.clone_into(&mut self.stage);
        self.now = None;
    }

    /// A cell begins.
    pub fn cell(&mut self, name: &str, control: bool) {
        self.now = Some(Now {
            cell: name.to_owned(),
            control,
            ..Now::default()
        });
        name.clone_into(&mut self.searched);
        self.trials.clear();
    }

    /// A trial begins.
    pub fn trial(&mut self, index: u32, purpose: Purpose, load_fps: f64, bounds: SearchBounds) {
        let now = self.now.get_or_insert_default();
        now.trial = Some((index, purpose));
        now.load_fps = load_fps;
        now.bounds = bounds;
        now.scale_fps = now
            .scale_fps
            .max(load_fps)
            .max(bounds.upper_fps.unwrap_or(0.0));
    }

    /// The search knows this for each of several loss goals.
    pub fn goals(&mut self, goals: &[GoalBounds]) {
        if let Some(now) = &mut self.now {
            now.goals = goals.to_vec();
        }
    }

    /// A trial ended, and the search knows this now.
    pub fn tried(&mut self, trial: &TrialRecord, within: Option<bool>, bounds: SearchBounds) {
        self.trials_total += 1;
        if let Some(now) = &mut self.now {
            now.bounds = bounds;
        }
        if self.trials.len() < TRIALS {
            self.trials.push(Tried {
                load_fps: trial.load_fps,
                loss_ratio: trial.loss_ratio.0,
                purpose: trial.purpose,
                within,
            });
        }
    }

    /// `elapsed` after the start, the search thinks that the run takes `left` from then.
    pub fn left(&mut self, elapsed: Duration, left: Duration) {
        self.end = Some(Expected::after(self.end, elapsed, left));
    }

    /// A repeat of a cell ended; visits of the control cell are none. `so_far` is what the repeats
    /// come to where they make one result.
    pub fn done(&mut self, result: &CellResult, so_far: Option<&CellSummary>) {
        self.now = None;
        if result.control.is_some() {
            return;
        }
        if let Some(square) = self.square(&result.cell) {
            square.done += 1;
            let known = square.worst.unwrap_or(result.verdict);
            square.worst = Some(known.worse(result.verdict));
            square.fps = result.throughput_fps;
            square.goals = match so_far {
                Some(summary) => summary.goals.iter().map(Goal::so_far).collect(),
                None => result.goals.iter().map(Goal::of).collect(),
            };
            if let Some(summary) = so_far {
                square.worst = Some(summary.verdict);
                square.fps = summary.estimate.map(|estimate| estimate.fps);
                square.interval_fps = summary
                    .estimate
                    .map(|estimate| (estimate.low_fps, estimate.high_fps));
            }
        }
    }

    /// A line that was written.
    pub fn log(&mut self, line: &str) {
        self.recent.push_front(line.to_owned());
        self.recent.truncate(RECENT);
    }

    /// A cell cannot be measured here.
    pub fn skipped(&mut self, name: &str) {
        self.now = None;
        if let Some(square) = self.square(name) {
            square.skipped = true;
        }
    }

    fn square(&mut self, name: &str) -> Option<&mut Square> {
        let mut cells = self.rows.iter_mut().flat_map(|row| &mut row.cells);
        let found = cells.find(|(known, _)| known == name);
        found.map(|(_, square)| square)
    }

    /// Whether this cell is being measured, for itself and not as the control cell.
    pub fn measures(&self, cell: &str) -> bool {
        let now = self.now.as_ref();
        now.is_some_and(|now| !now.control && now.cell == cell)
    }

    /// All cells in order.
    pub fn squares(&self) -> impl Iterator<Item = &(String, Square)> {
        self.rows.iter().flat_map(|row| &row.cells)
    }
}
