//! What runs of the same plan say about each other.

use std::collections::BTreeMap;

use nicety_benchmarks::figures::Figures;
use nicety_model::{Run, Verdict};

/// What a run said about one frame size.
#[derive(Debug, Clone, Copy)]
pub struct Cell {
    pub fps: f64,
    pub low_fps: f64,
    pub high_fps: f64,
    pub verdict: Verdict,
}

impl Cell {
    fn covers(&self, fps: f64) -> bool {
        (self.low_fps..=self.high_fps).contains(&fps)
    }
}

/// Cells of a run by frame size; sizes without a number are left out.
pub type Cells = BTreeMap<u16, Cell>;

pub fn cells(run: &Run) -> Cells {
    let size = |name: &str| {
        let cell = run.visits.iter().find(|cell| cell.cell == name);
        cell.map(|cell| cell.key.frame_size_bytes.bytes())
    };
    let cells = run.cells.iter().filter_map(|summary| {
        let estimate = summary.estimate?;
        let cell = Cell {
            fps: estimate.fps,
            low_fps: estimate.low_fps,
            high_fps: estimate.high_fps,
            verdict: summary.verdict,
        };
        Some((size(&summary.cell)?, cell))
    });
    cells.collect()
}

/// A figure of a size.
fn name(size: u16, what: &str) -> String {
    format!("{size} bytes, {what}")
}

/// Puts a run's results into the figures of its round.
pub fn put(run: &Cells, figures: &mut Figures) {
    for (size, cell) in run {
        figures.put(name(*size, "fps"), cell.fps);
    }
    let ok = run.values().filter(|cell| cell.verdict == Verdict::Ok);
    figures.put("sizes that are ok", ok.count() as f64);
}

/// How many intervals of a run cover the median of all runs.
fn covering(run: &Cells, figures: &Figures) -> f64 {
    let covers = |(size, cell): &(&u16, &Cell)| {
        let median = figures.median(&name(**size, "fps"));
        median.is_some_and(|median| cell.covers(median))
    };
    run.iter().filter(covers).count() as f64
}

/// How runs on the machine as it is agree, and whether their intervals and those of a run on a busy machine cover the
/// median of the former.
pub fn judge(quiet: &[Cells], busy: Option<&Cells>, figures: &mut Figures) {
    let covered: Vec<f64> = quiet.iter().map(|run| covering(run, figures)).collect();
    let all: usize = quiet.iter().map(BTreeMap::len).sum();
    let share = covered.iter().sum::<f64>() / all.max(1) as f64;
    figures.put("share of intervals that cover the median of runs", share);
    if let Some(run) = busy {
        let covered = covering(run, figures);
        figures.put("busy: intervals that cover the quiet median", covered);
    }
    let mut by_size: BTreeMap<u16, Vec<f64>> = BTreeMap::new();
    for (size, cell) in quiet.iter().flatten() {
        by_size.entry(*size).or_default().push(cell.fps);
    }
    let ratios = by_size.values().map(|fps| {
        let ends = (f64::INFINITY, 0.0_f64);
        let ends = fps
            .iter()
            .fold(ends, |(min, max), fps| (min.min(*fps), max.max(*fps)));
        ends.1 / ends.0
    });
    figures.put("largest ratio of two runs", ratios.fold(1.0, f64::max));
}
