//! What runs of the same plan say about each other.

use std::collections::BTreeMap;

use nicety_model::{Run, Verdict};
use serde_json::{Map, Value, json};

/// What a run said about one frame size.
#[derive(Debug, Clone, Copy)]
pub struct Cell {
    pub fps: f64,
    pub low_fps: f64,
    pub high_fps: f64,
    pub verdict: Verdict,
}

/// A run.
pub struct Outcome {
    pub seconds: f64,
    /// By frame size; sizes without a number are left out.
    pub cells: BTreeMap<u16, Cell>,
    pub failed: usize,
}

impl Outcome {
    pub fn of(run: &Run, seconds: f64) -> Self {
        let size = |name: &str| {
            let cell = run.cells.iter().find(|cell| cell.cell == name);
            cell.map(|cell| cell.key.frame_size_bytes.bytes())
        };
        let cells = run.summary.iter().filter_map(|summary| {
            let estimate = summary.estimate?;
            Some((
                size(&summary.cell)?,
                Cell {
                    fps: estimate.fps,
                    low_fps: estimate.low_fps,
                    high_fps: estimate.high_fps,
                    verdict: summary.verdict,
                },
            ))
        });
        let failed = run.summary.iter().filter(|s| s.verdict == Verdict::Failed);
        Self {
            seconds,
            cells: cells.collect(),
            failed: failed.count(),
        }
    }

    pub fn ok(&self) -> usize {
        let ok = self
            .cells
            .values()
            .filter(|cell| cell.verdict == Verdict::Ok);
        ok.count()
    }
}

pub struct Judged {
    pub ratios: Map<String, Value>,
    pub figures: Map<String, Value>,
}

/// Agreement of the runs on the machine as it is, and of the one on a busy machine with them.
pub fn judge(quiet: &[Outcome], crowded: Option<&Outcome>) -> Judged {
    let (mut ratios, mut figures) = (Map::new(), Map::new());
    let medians = medians(quiet);
    let (mut inside, mut all, mut worst) = (0, 0, 1.0_f64);
    for (size, median) in &medians {
        let cells: Vec<&Cell> = quiet.iter().filter_map(|run| run.cells.get(size)).collect();
        let covers = |cell: &&&Cell| (cell.low_fps..=cell.high_fps).contains(median);
        inside += cells.iter().filter(covers).count();
        all += cells.len();
        let fps = || cells.iter().map(|cell| cell.fps);
        let (min, max) = (fps().fold(f64::MAX, f64::min), fps().fold(0.0, f64::max));
        worst = worst.max(max / min);
        let to = |fps: f64| fps / median;
        ratios.insert(
            format!("{size} run to median of runs"),
            json!({"median": 1.0, "min": to(min), "max": to(max)}),
        );
    }
    let good = quiet.iter().filter(|run| run.ok() + 1 >= medians.len());
    figures.insert("runs".to_owned(), json!(quiet.len()));
    figures.insert(
        "runs with all sizes but one ok".to_owned(),
        json!(good.count()),
    );
    figures.insert("largest ratio of two runs".to_owned(), json!(worst));
    figures.insert(
        "share of intervals that cover the median of runs".to_owned(),
        json!(f64::from(inside as u32) / f64::from(all.max(1) as u32)),
    );
    let longest = quiet.iter().map(|run| run.seconds).fold(0.0, f64::max);
    figures.insert("longest run s".to_owned(), json!(longest));
    if let Some(run) = crowded {
        let holds = medians.iter().filter(|(size, median)| {
            let cell = run.cells.get(size);
            cell.is_some_and(|cell| (cell.low_fps..=cell.high_fps).contains(*median))
        });
        figures.insert(
            "busy: intervals that cover the quiet median".to_owned(),
            json!(holds.count()),
        );
        figures.insert("busy: failed".to_owned(), json!(run.failed));
    }
    Judged { ratios, figures }
}

/// Median over the runs, by size.
fn medians(runs: &[Outcome]) -> BTreeMap<u16, f64> {
    let mut values: BTreeMap<u16, Vec<f64>> = BTreeMap::new();
    for (size, cell) in runs.iter().flat_map(|run| &run.cells) {
        values.entry(*size).or_default().push(cell.fps);
    }
    let median = |(size, mut fps): (u16, Vec<f64>)| {
        fps.sort_by(f64::total_cmp);
        let last = fps.len() - 1;
        (size, f64::midpoint(fps[last / 2], fps[last.div_ceil(2)]))
    };
    values.into_iter().map(median).collect()
}
