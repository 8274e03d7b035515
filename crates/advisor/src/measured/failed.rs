//! Cells without a number: which, and how a repetition of the plan fills them in.

use std::collections::BTreeSet;

use nicety_model::Run;
use nicety_model::measured::MeasuredTarget;
use nicety_model::sock::SockSeries;

use super::{sockets, value};

/// Cells and socket tests of a measurement that have no number of the target, though they could:
/// a search or a test that failed. A stream has no latency, which is no failure.
pub fn failed(target: MeasuredTarget, run: &Run) -> Vec<String> {
    let cells = run.visits.iter().filter(|cell| cell.control.is_none());
    let names: BTreeSet<&str> = cells.map(|cell| cell.cell.as_str()).collect();
    let without = |name: &&str| value(target, run, name).is_none();
    let tests = run.sockets.iter().filter(|test| broken(target, test));
    let cells = names.into_iter().filter(without).map(str::to_owned);
    cells.chain(tests.map(|test| test.name.clone())).collect()
}

fn broken(target: MeasuredTarget, test: &SockSeries) -> bool {
    let measurable = target != MeasuredTarget::LatencyP99 || sockets::has_transactions(test);
    measurable && sockets::value(target, test).is_none()
}

/// Puts the numbers of `again`, the same plan once more, where `run` has none.
pub fn mend(target: MeasuredTarget, run: &mut Run, again: &Run) {
    let lacking = failed(target, run);
    let still = failed(target, again);
    let repaired = |name: &String| lacking.contains(name) && !still.contains(name);
    run.visits.retain(|cell| !repaired(&cell.cell));
    run.trials.retain(|trial| !repaired(&trial.cell));
    let cells = again.visits.iter().filter(|cell| repaired(&cell.cell));
    run.visits.extend(cells.cloned());
    let trials = again.trials.iter().filter(|trial| repaired(&trial.cell));
    run.trials.extend(trials.cloned());
    for test in run.sockets.iter_mut().filter(|test| repaired(&test.name)) {
        if let Some(better) = again.sockets.iter().find(|other| other.name == test.name) {
            test.clone_from(better);
        }
    }
}

/// Those that failed in any measurement, or are in some of them only: in another one their path
/// could not be built.
pub(super) fn anywhere(target: MeasuredTarget, before: &[Run], after: &[Run]) -> Vec<String> {
    let runs = || before.iter().chain(after);
    let names = |run: &Run| -> BTreeSet<String> {
        let cells = run.visits.iter().map(|cell| cell.cell.clone());
        cells
            .chain(run.sockets.iter().map(|test| test.name.clone()))
            .collect()
    };
    let mut repaired: BTreeSet<String> = runs().flat_map(|run| failed(target, run)).collect();
    let all: BTreeSet<String> = runs().flat_map(names).collect();
    for run in runs() {
        repaired.extend(all.difference(&names(run)).cloned());
    }
    repaired.into_iter().collect()
}
