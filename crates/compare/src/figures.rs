//! What a history keeps of every cell.

use nicety_model::Run;
use nicety_model::compare::Metric;
use nicety_model::history::Figure;

use crate::sample;

/// Every number of every cell of a run, in the order of the cells' names. With several loss goals each but the
/// strictest has a cell of its own.
pub fn figures(run: &Run) -> Vec<Figure> {
    let by_goal = run.by_goal();
    let cells = sample::by_cell([by_goal.as_ref().unwrap_or(run)]);
    let mut names: Vec<&str> = cells.keys().copied().collect();
    names.sort_unstable();
    names
        .into_iter()
        .filter_map(|name| Some((name, cells.get(name)?)))
        .flat_map(|(name, repeats)| {
            Metric::ALL.map(|metric| {
                let sample = sample::describe(metric, repeats);
                Figure {
                    cell: name.to_owned(),
                    metric,
                    mean: sample.mean,
                    min: sample.min,
                    max: sample.max,
                    repeats: sample.repeats,
                    verdict: sample.verdict,
                }
            })
        })
        // A throughput is kept even without a number: that it failed is part of the history.
        .filter(|figure| figure.mean.is_some() || figure.metric == Metric::Throughput)
        .collect()
}
