//! The numbers of one side of a cell.

use std::collections::{BTreeMap, HashMap};

use nicety_model::compare::{Metric, Sample};
use nicety_model::sock::{Ending, SockResult, SockSeries};
use nicety_model::{CellResult, LatencySummary, Run, Verdict};

use crate::interval::{LogSample, log_sample};

/// Relative resolution of latency (three digits of the histogram) and CPU time.
const RESOLUTION: f64 = 1e-3;
/// Relative resolution of a throughput whose search had no upper bound: that of the pacing.
const FINEST: f64 = 1e-4;

/// One repeat of a cell.
#[derive(Debug, Clone, Copy)]
pub enum Repeat<'a> {
    /// Of test frames, with the verdict that counts for it.
    Frames(&'a CellResult, Verdict),
    /// Of a socket workload.
    Socket(&'a SockResult),
}

/// The repeats of one cell, with the number of the run each comes from.
pub type Repeats<'a> = [(usize, Repeat<'a>)];

/// The repeats of every cell of one side.
pub type ByCell<'a> = HashMap<&'a str, Vec<(usize, Repeat<'a>)>>;

impl Repeat<'_> {
    /// The number that `metric` asks for.
    fn value(self, metric: Metric) -> Option<f64> {
        match self {
            Self::Frames(cell, _) => match metric {
                Metric::Throughput => cell.throughput_fps,
                Metric::LatencyP50 => latency(cell).map(|l| l.p50),
                Metric::LatencyP99 => latency(cell).map(|l| l.p99),
                Metric::Cpu => cell.cpu.as_ref()?.us_per_frame,
            },
            Self::Socket(result) => match metric {
                Metric::Throughput => result.headline(),
                Metric::LatencyP50 => result.latency_us.map(|l| l.p50),
                Metric::LatencyP99 => result.latency_us.map(|l| l.p99),
                Metric::Cpu => demand(result),
            },
        }
        .filter(|value| value.is_finite() && *value > 0.0)
    }

    /// Share of the throughput at which its latency was measured.
    fn load_ratio(self) -> Option<f64> {
        match self {
            Self::Frames(cell, _) => latency(cell)?.load_ratio,
            Self::Socket(_) => None,
        }
    }

    /// How wide a result of this measurement may lie, as the logarithm of a ratio: between the
    /// bounds of its search, and within what it says of itself.
    fn width(self) -> Option<f64> {
        let Self::Frames(cell, _) = self else {
            return None;
        };
        let bounds = cell.bounds.lower_fps.zip(cell.bounds.upper_fps);
        let own = cell.estimate.filter(|own| own.confidence.is_none());
        let own = own.map(|own| (own.low_fps, own.high_fps));
        let widths = [bounds, own].into_iter().flatten();
        widths
            .map(|(low, high)| (high / low).ln())
            .filter(|width| width.is_finite() && *width > 0.0)
            .max_by(f64::total_cmp)
    }

    fn verdict(self) -> Verdict {
        match self {
            Self::Frames(_, verdict) => verdict,
            // Figures of a part of the flows, or of a part of the time, are none to compare.
            Self::Socket(result) => match result.ending {
                Ending::Complete => Verdict::Ok,
                Ending::Faulty | Ending::Interrupted | Ending::PeerLost => Verdict::Failed,
            },
        }
    }
}

/// The results of a series that repeat each other: of a search for saturation the one that it
/// found, which comes last.
pub fn repeats(series: &SockSeries) -> &[SockResult] {
    if series.curve.is_empty() {
        &series.results
    } else {
        &series.results[series.results.len().saturating_sub(1)..]
    }
}

/// CPU time of both hosts per unit of work.
fn demand(result: &SockResult) -> Option<f64> {
    let demand = result.service_demand.as_ref()?;
    let (client, server) = if result.spec.test.has_transactions() {
        (
            demand.client_us_per_transaction,
            demand.server_us_per_transaction,
        )
    } else {
        (demand.client_us_per_kb, demand.server_us_per_kb)
    };
    if demand.shared_host {
        client
    } else {
        Some(client? + server?)
    }
}

/// Groups the results of several runs by cell; visits of the control cell are none.
pub fn by_cell<'a>(runs: impl IntoIterator<Item = &'a Run>) -> ByCell<'a> {
    let mut all = ByCell::new();
    for (number, run) in runs.into_iter().enumerate() {
        // Visits are judged together: one that failed is a gap, no failure of the cell.
        let summaries = run.cells.iter();
        let together: HashMap<&str, Verdict> = summaries
            .filter(|one| one.estimate.is_some() || one.verdict == Verdict::Bound)
            .map(|summary| (&*summary.cell, summary.verdict))
            .collect();
        for cell in run.visits.iter().filter(|cell| cell.control.is_none()) {
            let verdict = together.get(&*cell.cell).copied();
            // A bound is no value of a cell that was measured by its other visits.
            if cell.verdict == Verdict::Bound && verdict.is_some_and(Verdict::is_own) {
                continue;
            }
            let repeat = Repeat::Frames(cell, verdict.unwrap_or(cell.verdict));
            all.entry(&cell.cell).or_default().push((number, repeat));
        }
        for series in &run.sockets {
            let repeats = repeats(series).iter().map(Repeat::Socket);
            let known = all.entry(&series.name).or_default();
            known.extend(repeats.map(|repeat| (number, repeat)));
        }
    }
    all
}

/// Latency at the highest share of the throughput that was measured.
fn latency(cell: &CellResult) -> Option<&LatencySummary> {
    cell.latency_us.as_ref().or(cell.latency_by_load_us.last())
}

/// Share of the throughput at which the latencies of a side were measured, in per mille.
pub fn latency_loads(repeats: &Repeats<'_>) -> Vec<u32> {
    let mut loads: Vec<u32> = repeats
        .iter()
        .filter_map(|(_, repeat)| repeat.load_ratio())
        .map(|ratio| (ratio.clamp(0.0, 10.0) * 1000.0).round() as u32)
        .collect();
    loads.sort_unstable();
    loads.dedup();
    loads
}

/// What a reader sees of a side.
pub fn describe(metric: Metric, repeats: &Repeats<'_>) -> Sample {
    let values = || repeats.iter().filter_map(|(_, r)| r.value(metric));
    let mut runs: Vec<usize> = repeats
        .iter()
        .filter(|(_, repeat)| repeat.value(metric).is_some())
        .map(|(run, _)| *run)
        .collect();
    runs.dedup();
    Sample {
        mean: log_sample(values()).map(|sample| sample.mean.exp()),
        min: values().min_by(f64::total_cmp),
        max: values().max_by(f64::total_cmp),
        repeats: count(values().count()),
        runs: count(runs.len()),
        verdict: repeats.iter().fold(Verdict::Ok, |worst, (_, repeat)| {
            worst.worse(repeat.verdict())
        }),
    }
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// The numbers as they are: one per repeat.
pub fn of_repeats(metric: Metric, repeats: &Repeats<'_>) -> Option<LogSample> {
    log_sample(repeats.iter().filter_map(|(_, r)| r.value(metric)))
}

/// One number per run, the geometric mean of its repeats (Kalibera and Jones 2013: what
/// differs from run to run shows only between runs).
pub fn of_runs(metric: Metric, repeats: &Repeats<'_>) -> Option<LogSample> {
    let mut runs: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    for (run, repeat) in repeats {
        if let Some(value) = repeat.value(metric) {
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
/// which has the variance ln(u/l)² / 12. So does a visit that knows its own number to an interval.
pub fn resolution(metric: Metric, repeats: &Repeats<'_>) -> f64 {
    if metric != Metric::Throughput {
        return RESOLUTION.powi(2);
    }
    let widths: Vec<f64> = repeats
        .iter()
        .filter_map(|(_, repeat)| Some(repeat.width()?.powi(2) / 12.0))
        .collect();
    let mean = widths.iter().sum::<f64>() / widths.len().max(1) as f64;
    mean.max(FINEST.powi(2))
}
