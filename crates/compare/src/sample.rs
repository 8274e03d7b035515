//! The numbers of one side of a cell.

use std::collections::{BTreeMap, HashMap};

use nicety_model::compare::{Metric, Sample};
use nicety_model::{CellResult, LatencySummary, Run, Verdict};
use nicety_search::verdict::worse;

use crate::interval::{LogSample, log_sample};

/// Relative resolution of latency (three digits of the histogram) and CPU time.
const RESOLUTION: f64 = 1e-3;
/// Relative resolution of a throughput whose search had no upper bound: that of the pacing.
const FINEST: f64 = 1e-4;

/// The repeats of every cell of one side, with the number of the run each comes from.
pub type ByCell<'a> = HashMap<&'a str, Vec<(usize, &'a CellResult)>>;

/// Groups the results of several runs by cell; visits of the control cell are none.
pub fn by_cell<'a>(runs: impl IntoIterator<Item = &'a Run>) -> ByCell<'a> {
    let mut all = ByCell::new();
    for (number, run) in runs.into_iter().enumerate() {
        for cell in run.cells.iter().filter(|cell| cell.control.is_none()) {
            all.entry(&cell.cell).or_default().push((number, cell));
        }
    }
    all
}

/// The number of a cell that `metric` asks for.
pub fn value(metric: Metric, cell: &CellResult) -> Option<f64> {
    match metric {
        Metric::Throughput => cell.throughput_fps,
        Metric::LatencyP50 => latency(cell).map(|l| l.p50),
        Metric::LatencyP99 => latency(cell).map(|l| l.p99),
        Metric::Cpu => cell.cpu.as_ref()?.us_per_frame,
    }
    .filter(|value| value.is_finite() && *value > 0.0)
}

/// Latency at the highest share of the throughput that was measured.
fn latency(cell: &CellResult) -> Option<&LatencySummary> {
    cell.latency_us.as_ref().or(cell.latency_by_load_us.last())
}

/// Share of the throughput at which the latencies of a side were measured, in per mille.
pub fn latency_loads(repeats: &[(usize, &CellResult)]) -> Vec<u32> {
    let mut loads: Vec<u32> = repeats
        .iter()
        .filter_map(|(_, cell)| latency(cell)?.load_ratio)
        .map(|ratio| (ratio.clamp(0.0, 10.0) * 1000.0).round() as u32)
        .collect();
    loads.sort_unstable();
    loads.dedup();
    loads
}

/// What a reader sees of a side.
pub fn describe(metric: Metric, repeats: &[(usize, &CellResult)]) -> Sample {
    let values = || repeats.iter().filter_map(|(_, cell)| value(metric, cell));
    let mut runs: Vec<usize> = repeats
        .iter()
        .filter(|(_, cell)| value(metric, cell).is_some())
        .map(|(run, _)| *run)
        .collect();
    runs.dedup();
    Sample {
        mean: log_sample(values()).map(|sample| sample.mean.exp()),
        min: values().min_by(f64::total_cmp),
        max: values().max_by(f64::total_cmp),
        repeats: count(values().count()),
        runs: count(runs.len()),
        verdict: repeats
            .iter()
            .fold(Verdict::Ok, |worst, (_, cell)| worse(worst, cell.verdict)),
    }
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// The numbers as they are: one per repeat.
pub fn of_repeats(metric: Metric, repeats: &[(usize, &CellResult)]) -> Option<LogSample> {
    log_sample(repeats.iter().filter_map(|(_, cell)| value(metric, cell)))
}

/// One number per run, the geometric mean of its repeats (Kalibera and Jones 2013: what
/// differs from run to run shows only between runs).
pub fn of_runs(metric: Metric, repeats: &[(usize, &CellResult)]) -> Option<LogSample> {
    let mut runs: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    for (run, cell) in repeats {
        if let Some(value) = value(metric, cell) {
            runs.entry(*run).or_default().push(value);
        }
    }
    log_sample(
        runs.into_values()
            .filter_map(log_sample)
            .map(|sample| sample.mean.exp()),
    )
}

/// Variance that the resolution of the measurement alone gives to the logarithm of a number: a
/// search that ends with the bounds *l* and *u* leaves the result evenly likely between them,
/// which has the variance ln(u/l)² / 12.
pub fn resolution(metric: Metric, repeats: &[(usize, &CellResult)]) -> f64 {
    if metric != Metric::Throughput {
        return RESOLUTION.powi(2);
    }
    let widths: Vec<f64> = repeats
        .iter()
        .filter_map(|(_, cell)| {
            let (lower, upper) = (cell.bounds.lower_fps?, cell.bounds.upper_fps?);
            let width = (upper / lower).ln();
            (width.is_finite() && width > 0.0).then_some(width.powi(2) / 12.0)
        })
        .collect();
    let mean = widths.iter().sum::<f64>() / widths.len().max(1) as f64;
    mean.max(FINEST.powi(2))
}
