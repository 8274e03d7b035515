//! Picks the next cell.
//!
//! Cells run in random order (from a seed) within rounds: no second repeat before every cell had its
//! first. A machine that changes during a run then changes for all cells alike. The first round
//! begins with cells that show every path and every frame size once, so a short time box still has
//! something of each. With a time box these come in the order of the plan's paths; a box too short
//! for all of them has the paths that the plan names first.
//!
//! The control cell, the first of the plan, opens the run and is visited again in its middle and at
//! its end, in long runs every [`CONTROL_EVERY`] cells. If the time box is tight, cells come before
//! visits, except for the visit at the end.
//!
//! Where loads are judged by windows, all repeats but the last are brief visits, and the last has
//! the confirm and latency trials. From the second round on, time is kept for these.

mod cost;

use std::collections::HashSet;

use cost::Costs;

/// Cells between two visits of the control cell in a long run.
pub const CONTROL_EVERY: usize = 20;
/// Runs with fewer cells than this have no visits: they would be their own drift.
const FEWEST_FOR_CONTROL: usize = 3;
/// Expected cost over mean measured cost that a cell must fit in: cells differ.
const MARGIN: f64 = 1.15;

/// One repeat of one cell, or one visit of the control cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Task {
    /// Number of the cell in the plan, from 0.
    pub cell: u32,
    /// Repeat, from 1.
    pub repeat: u32,
    /// Visit of the control cell, from 1; absent for ordinary repeats.
    pub control: Option<u32>,
}

/// A cell: numbers that stand for its path and its frame size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Marks {
    /// Path, numbered as the caller likes.
    pub path: u32,
    /// Frame size in bytes.
    pub frame_size: u16,
}

/// Input of the order.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outline {
    /// Repeats of every cell.
    pub repeats: u32,
    /// Seed of the random order.
    pub seed: u64,
    /// Wall time for the whole run in seconds, all sessions together.
    pub time_box_s: Option<f64>,
    /// Expected wall time of a cell before any was measured, in seconds.
    pub cell_s: f64,
    /// Likewise of a visit of the control cell.
    pub visit_s: f64,
    /// Whether all repeats of a cell but the last are brief visits of `visit_s` each. The control
    /// cell is not visited again where every cell is.
    pub brief: bool,
}

/// The next task.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Next {
    /// Run this; it is expected to take so many seconds.
    Run(Task, f64),
    /// Every task is done.
    Done,
    /// The rest does not fit in the time box.
    OutOfTime,
}

/// The order of a run and where it stands.
#[derive(Debug, Clone)]
pub struct Schedule {
    outline: Outline,
    marks: Vec<Marks>,
    /// Cells of the first round; later rounds are shuffled from it when they begin.
    round: Vec<u32>,
    current: u32,
    position: usize,
    done: HashSet<Task>,
    /// Ordinary tasks after which the control cell is visited, in rising order.
    visits: Vec<usize>,
    /// Visits before this one are done.
    visited: usize,
    finished: usize,
    costs: Costs,
}

impl Schedule {
    /// The order for `cells`, of which `done` are done already.
    pub fn new(
        outline: Outline,
        cells: impl IntoIterator<Item = Marks>,
        done: impl IntoIterator<Item = Task>,
    ) -> Self {
        let marks: Vec<Marks> = cells.into_iter().collect();
        let all = marks.len() * outline.repeats as usize;
        let done: HashSet<Task> = done.into_iter().collect();
        let planned = |task: &&Task| task.control.is_none() && task.repeat <= outline.repeats;
        let mut schedule = Self {
            round: first_round(&marks, outline.seed, outline.time_box_s.is_some()),
            visits: if outline.brief {
                Vec::new()
            } else {
                visits(all)
            },
            visited: 0,
            finished: done.iter().filter(planned).count(),
            costs: Costs::new(outline.cell_s, outline.visit_s),
            outline,
            marks,
            current: 1,
            position: 0,
            done,
        };
        schedule.advance();
        schedule
    }

    /// The next task. `elapsed_s` is the run's wall time so far over all sessions. A task that
    /// would not end within the time box is not offered; a cheaper visit of the control cell at
    /// the end still may be.
    pub fn next(&self, elapsed_s: f64) -> Next {
        let due = if self.is_last_due(elapsed_s) {
            self.last_repeat()
        } else {
            self.peek()
        };
        let Some(task) = due
            .filter(|task| task.control.is_none() || self.roomy(elapsed_s))
            .or_else(|| self.ordinary())
            .or(due)
        else {
            return Next::Done;
        };
        let expected = self.expected(task);
        if self.fits(expected, elapsed_s) {
            return Next::Run(task, expected);
        }
        match self.closing_visit() {
            Some(visit) if self.fits(self.expected(visit), elapsed_s) => {
                Next::Run(visit, self.expected(visit))
            }
            _ => Next::OutOfTime,
        }
    }

    /// Seconds that have to be left for the next ordinary task to be offered; none when there is
    /// none.
    pub fn next_needs_s(&self) -> Option<f64> {
        Some(self.expected(self.ordinary()?) * MARGIN)
    }

    /// A further visit of `cell`, its number `repeat`, when all planned ones are done.
    pub fn further(&self, cell: u32, repeat: u32, elapsed_s: f64) -> Next {
        let task = Task {
            cell,
            repeat,
            control: None,
        };
        let expected = self.costs.visit();
        if self.fits(expected, elapsed_s) {
            Next::Run(task, expected)
        } else {
            Next::OutOfTime
        }
    }

    /// Seconds that `task` may take for all that follow to fit in the time box; `None` without one.
    /// Whole searches share the time evenly. Of brief visits each takes what it needs, and what is left over
    /// goes to the first that needs more.
    pub fn share_s(&self, task: Task, elapsed_s: f64) -> Option<f64> {
        let left = self.outline.time_box_s? - elapsed_s;
        if self.outline.brief {
            let expected = self.expected(task);
            let others = (self.remaining_s() - expected).max(0.0);
            return Some((left - MARGIN * others).max(expected));
        }
        let cells = self.all() - self.finished;
        let visits = usize::from(self.closing_visit().is_some());
        let left = left - visits as f64 * self.costs.visit();
        Some((left / (MARGIN * cells.max(1) as f64)).max(0.0))
    }

    /// A task is done and took `wall_s`.
    pub fn finish(&mut self, task: Task, wall_s: f64) {
        self.costs.add(self.path(task), self.is_brief(task), wall_s);
        let planned = task.control.is_none() && task.repeat <= self.outline.repeats;
        if self.done.insert(task) && planned {
            self.finished += 1;
        }
        self.advance();
    }

    /// A cell turned out to be impossible here: none of its repeats will be offered.
    pub fn skip(&mut self, cell: u32) {
        for repeat in 1..=self.outline.repeats {
            if self.done.insert(Task {
                cell,
                repeat,
                control: None,
            }) {
                self.finished += 1;
            }
        }
        if cell == 0 {
            self.visits.clear();
            self.visited = 0;
        }
        self.advance();
    }

    /// Seconds until the end of the run: the time box at most.
    pub fn eta_s(&self, elapsed_s: f64) -> f64 {
        let visits = self.visits.len() - self.visited;
        let all = self.remaining_s() + visits as f64 * self.costs.visit();
        match self.outline.time_box_s {
            Some(time_box) => all.min((time_box - elapsed_s).max(0.0)),
            None => all,
        }
    }

    /// Ordinary tasks not done, in the plan's order.
    pub fn left_out(&self) -> impl Iterator<Item = Task> + '_ {
        (0..self.marks.len() as u32).flat_map(move |cell| {
            (1..=self.outline.repeats)
                .map(move |repeat| Task {
                    cell,
                    repeat,
                    control: None,
                })
                .filter(|task| !self.done.contains(task))
        })
    }

    /// Ordinary tasks done and all together.
    pub fn progress(&self) -> (usize, usize) {
        (self.finished, self.all())
    }

    fn all(&self) -> usize {
        self.marks.len() * self.outline.repeats as usize
    }

    fn path(&self, task: Task) -> u32 {
        self.marks
            .get(task.cell as usize)
            .map_or(0, |marks| marks.path)
    }

    /// Whether only the throughput is of interest.
    fn is_brief(&self, task: Task) -> bool {
        task.control.is_some() || self.outline.brief && task.repeat != self.outline.repeats
    }

    fn expected(&self, task: Task) -> f64 {
        if self.is_brief(task) {
            self.costs.visit()
        } else {
            self.costs.of(self.path(task))
        }
    }

    /// Expected seconds of all ordinary tasks not done.
    fn remaining_s(&self) -> f64 {
        let left = self.all() - self.finished;
        let whole = if self.outline.brief {
            self.last_left().min(left)
        } else {
            left
        };
        let brief = left.saturating_sub(whole);
        whole as f64 * self.costs.mean() + brief as f64 * self.costs.visit()
    }

    fn fits(&self, expected: f64, elapsed_s: f64) -> bool {
        self.outline
            .time_box_s
            .is_none_or(|limit| elapsed_s + expected * MARGIN <= limit)
    }

    /// Whether there is time for everything, so that a visit takes none from a cell.
    fn roomy(&self, elapsed_s: f64) -> bool {
        let cells = (self.all() - self.finished) as f64 * self.costs.mean();
        let visits = (self.visits.len() - self.visited) as f64 * self.costs.visit();
        self.fits(cells + visits, elapsed_s)
    }

    /// A visit that is due, else the next ordinary task.
    fn peek(&self) -> Option<Task> {
        if self
            .visits
            .get(self.visited)
            .is_some_and(|after| *after <= self.finished)
        {
            return Some(visit_of(self.visited + 1));
        }
        self.ordinary()
    }

    /// The next ordinary task.
    fn ordinary(&self) -> Option<Task> {
        let cell = *self.round.get(self.position)?;
        (self.current <= self.outline.repeats).then_some(Task {
            cell,
            repeat: self.current,
            control: None,
        })
    }

    /// Whether another brief visit would take the time of the last repeats, which tell more. Every
    /// cell is visited once before.
    fn is_last_due(&self, elapsed_s: f64) -> bool {
        let between = self.current > 1 && self.current < self.outline.repeats;
        if !self.outline.brief || !between {
            // What follows looks at all that is done.
            return false;
        }
        let last = self.last_left() as f64 * self.costs.mean();
        last > 0.0 && !self.fits(self.costs.visit() + last, elapsed_s)
    }

    /// The last repeat of a cell that has not had it.
    fn last_repeat(&self) -> Option<Task> {
        let task = |cell: &u32| Task {
            cell: *cell,
            repeat: self.outline.repeats,
            control: None,
        };
        self.round
            .iter()
            .map(task)
            .find(|task| !self.done.contains(task))
    }

    /// Cells that have not had their last repeat.
    fn last_left(&self) -> usize {
        let done = self.done.iter();
        let last = done.filter(|t| t.control.is_none() && t.repeat == self.outline.repeats);
        self.marks.len().saturating_sub(last.count())
    }

    /// The visit that ends a run cut short.
    fn closing_visit(&self) -> Option<Task> {
        let last = visit_of(self.visits.len());
        let any = self.finished > 1 && !self.visits.is_empty();
        (any && !self.done.contains(&last)).then_some(last)
    }

    /// Skips finished work, from round to round.
    fn advance(&mut self) {
        while self.visited < self.visits.len() && self.done.contains(&visit_of(self.visited + 1)) {
            self.visited += 1;
        }
        while self.current <= self.outline.repeats {
            while let Some(cell) = self.round.get(self.position) {
                let task = Task {
                    cell: *cell,
                    repeat: self.current,
                    control: None,
                };
                if !self.done.contains(&task) {
                    return;
                }
                self.position += 1;
            }
            self.current += 1;
            self.position = 0;
            // The same seed and round give the same order after a restart.
            self.round.sort_unstable();
            let seed =
                self.outline.seed ^ u64::from(self.current).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            fastrand::Rng::with_seed(seed).shuffle(&mut self.round);
        }
    }
}

/// A visit by number, from 1.
fn visit_of(visit: usize) -> Task {
    Task {
        cell: 0,
        repeat: 1,
        control: Some(u32::try_from(visit).unwrap_or(u32::MAX)),
    }
}

/// The control cell, then cells that show a path or a frame size not shown before, then the
/// rest; each part in random order.
fn first_round(marks: &[Marks], seed: u64, boxed: bool) -> Vec<u32> {
    let mut order: Vec<u32> = (0..marks.len() as u32).collect();
    fastrand::Rng::with_seed(seed).shuffle(&mut order);
    if let Some(control) = order.iter().position(|cell| *cell == 0) {
        order[..=control].rotate_right(1);
    }
    let (mut paths, mut sizes) = (HashSet::new(), HashSet::new());
    let (mut first, rest): (Vec<u32>, Vec<u32>) = order.into_iter().partition(|cell| {
        let marks = marks[*cell as usize];
        // Both sets must see the cell, so no short circuit.
        let (path, size) = (paths.insert(marks.path), sizes.insert(marks.frame_size));
        path || size
    });
    if boxed {
        first.sort_by_key(|cell| (*cell > 0, marks[*cell as usize].path));
    }
    first.extend(rest);
    first
}

/// After how many ordinary tasks the control cell is visited.
fn visits(all: usize) -> Vec<usize> {
    if all < FEWEST_FOR_CONTROL {
        return Vec::new();
    }
    if all < 2 * CONTROL_EVERY {
        return vec![all.div_ceil(2), all];
    }
    let mut visits: Vec<usize> = (1..)
        .map(|k| k * CONTROL_EVERY)
        .take_while(|at| at + CONTROL_EVERY / 2 <= all)
        .collect();
    visits.push(all);
    visits
}

#[cfg(test)]
mod tests;
