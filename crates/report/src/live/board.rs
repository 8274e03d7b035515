//! What the live view shows: the state of a run, changed by what happens to it.

use std::collections::VecDeque;
use std::time::Duration;

use nicety_model::run::CellSummary;
use nicety_model::{CellResult, CoreUse, Purpose, SearchBounds, Verdict};
use serde::Serialize;

use super::left::Expected;

/// Results that are remembered as lines.
const RECENT: usize = 12;

/// How far one cell is.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Square {
    /// Repeats done.
    pub done: u32,
    /// Worst verdict so far.
    pub worst: Option<Verdict>,
    /// Throughput of the last repeat.
    pub fps: Option<f64>,
    /// It cannot be measured here.
    pub skipped: bool,
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
    /// Highest load of the cell so far, the end of the scale.
    pub scale_fps: f64,
}

/// State of a run.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Board {
    /// By path, in the plan's order.
    pub rows: Vec<Row>,
    /// Repeats of each cell.
    pub repeats: u32,
    /// What is done between cells.
    pub stage: String,
    /// The cell being measured.
    pub now: Option<Now>,
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
            if let Some(summary) = so_far {
                square.worst = Some(summary.verdict);
                square.fps = summary.estimate.map(|estimate| estimate.fps);
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
