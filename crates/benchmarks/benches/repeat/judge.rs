//! What runs of the same plan say about each other, and about the quiet ones among them.

use std::collections::BTreeMap;

use nicety_benchmarks::figures::Figures;
use nicety_model::run::CellSummary;
use nicety_model::{Run, Verdict};

use crate::neighbour::Neighbour;

/// What a run said about one frame size.
#[derive(Debug, Clone, Copy)]
enum Said {
    /// A number with its interval, in frames per second.
    Number { fps: f64, low: f64, high: f64 },
    /// What the path carries at least.
    Bound(f64),
}

impl Said {
    fn fps(self) -> f64 {
        match self {
            Self::Number { fps, .. } | Self::Bound(fps) => fps,
        }
    }

    /// Whether it can be true where the path carries `fps`.
    fn allows(self, fps: f64) -> bool {
        match self {
            Self::Number { low, high, .. } => (low..=high).contains(&fps),
            Self::Bound(bound) => bound <= fps,
        }
    }
}

/// All runs beside one neighbour: what each said, by frame size.
#[derive(Debug, Clone, Default)]
pub struct Runs {
    said: Vec<BTreeMap<u16, Said>>,
}

impl Runs {
    /// Takes a run, and puts its figures into those of the round.
    pub fn add(&mut self, run: &Run, neighbour: &str, figures: &mut Figures) {
        let mut put = |what: &str, value| figures.put(format!("{neighbour}, {what}"), value);
        let with = |verdict| run.cells.iter().filter(move |cell| cell.verdict == verdict);
        put("ok", with(Verdict::Ok).count() as f64);
        put("bounds", with(Verdict::Bound).count() as f64);
        put("failed", with(Verdict::Failed).count() as f64);
        if let Some(ms) = median(run.cells.iter().filter_map(stalls)) {
            put("ms/s that CPUs were away", ms);
        }
        let said = run.cells.iter().filter_map(|cell| {
            let visit = run.visits.iter().find(|visit| visit.cell == cell.cell)?;
            Some((visit.key.frame_size_bytes.bytes(), said(cell)?))
        });
        let said: BTreeMap<u16, Said> = said.collect();
        for (size, said) in &said {
            put(&format!("{size} bytes"), said.fps());
        }
        self.said.push(said);
    }

    fn all(&self) -> impl Iterator<Item = (u16, Said)> + '_ {
        self.said
            .iter()
            .flatten()
            .map(|(size, said)| (*size, *said))
    }

    /// Largest over smallest number of a size, for the size where that is most.
    fn largest_ratio(&self) -> f64 {
        let mut ends: BTreeMap<u16, (f64, f64)> = BTreeMap::new();
        for (size, said) in self.all() {
            let ends = ends.entry(size).or_insert((f64::INFINITY, 0.0));
            *ends = (ends.0.min(said.fps()), ends.1.max(said.fps()));
        }
        ends.values()
            .fold(1.0, |most, (low, high)| most.max(high / low))
    }
}

fn said(cell: &CellSummary) -> Option<Said> {
    if cell.verdict == Verdict::Bound {
        return cell.throughput_fps.map(Said::Bound);
    }
    let estimate = cell.estimate?;
    Some(Said::Number {
        fps: estimate.fps,
        low: estimate.low_fps,
        high: estimate.high_fps,
    })
}

fn stalls(cell: &CellSummary) -> Option<f64> {
    cell.disturbance.as_ref()?.stalls_ms_per_s
}

fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

/// Whether what all runs said can be true, with the median of the quiet ones as the truth.
pub fn judge(neighbours: &[Neighbour], runs: &[Runs], figures: &mut Figures) {
    let Some(quiet) = runs.first() else { return };
    let of_size = |size: u16| quiet.all().filter(move |(other, _)| *other == size);
    let truth = |size: u16| median(of_size(size).map(|(_, said)| said.fps()));
    figures.put("quiet, largest ratio of two runs", quiet.largest_ratio());
    for (neighbour, runs) in neighbours.iter().zip(runs) {
        let mut put =
            |what: &str, value| figures.put(format!("{}, {what}", neighbour.name()), value);
        let pairs = || {
            runs.all()
                .filter_map(|(size, said)| Some((said, truth(size)?)))
        };
        let is_bound = |said: &Said| matches!(said, Said::Bound(_));
        let untrue = |bound: bool| {
            let untrue =
                pairs().filter(|(said, fps)| is_bound(said) == bound && !said.allows(*fps));
            untrue.count() as f64
        };
        put("cells of all runs", pairs().count() as f64);
        put("intervals without the quiet median", untrue(false));
        put("bounds above the quiet median", untrue(true));
        if let Some(share) = median(pairs().map(|(said, fps)| said.fps() / fps)) {
            put("median share of the quiet median", share);
        }
    }
}
