//! A run under way as metrics. What is not known yet has no sample.

use std::time::Duration;

use nicety_model::CoreUse;

use super::board::{Board, Square};
use crate::metric::{Family, Label};

/// What a metric of results is of one square.
type Value = fn(&Square) -> Option<f64>;

/// Name, help and value of the results so far.
const RESULTS: [(&str, &str, Value); 4] = [
    (
        "nicety_bench_throughput_frames_per_second",
        "Throughput so far, per direction: of the last visit, or the median of all.",
        |square| square.fps,
    ),
    (
        "nicety_bench_throughput_low_frames_per_second",
        "Lower end of the interval of the throughput so far.",
        |square| Some(square.interval_fps?.0),
    ),
    (
        "nicety_bench_throughput_high_frames_per_second",
        "Upper end of the interval of the throughput so far.",
        |square| Some(square.interval_fps?.1),
    ),
    (
        "nicety_bench_visits",
        "Visits of a test point that ended.",
        |square| Some(f64::from(square.done)),
    ),
];

/// All metrics of a run named after its plan, `elapsed` after its start.
pub fn families(board: &Board, plan: &str, elapsed: Duration) -> Vec<Family> {
    let mut all = about(board, plan, elapsed);
    all.push(states(board));
    all.extend(results(board));
    all.extend(search(board));
    all.push(Family::gauge(
        "nicety_bench_cpu_busy_ratio",
        "Share of the last second in which a CPU was busy.",
        board.cores.iter().map(busy),
    ));
    all
}

fn one(value: f64) -> [(Vec<Label>, f64); 1] {
    [(Vec::new(), value)]
}

fn about(board: &Board, plan: &str, elapsed: Duration) -> Vec<Family> {
    let labels = vec![
        ("version", env!("CARGO_PKG_VERSION").to_owned()),
        ("plan", plan.to_owned()),
    ];
    let left = board
        .end
        .map(|end| (end.end_s - elapsed.as_secs_f64()).max(0.0));
    vec![
        Family::gauge(
            "nicety_bench_info",
            "Version and plan of the run in labels; the value is 1.",
            [(labels, 1.0)],
        ),
        Family::gauge(
            "nicety_bench_elapsed_seconds",
            "Time since the start of the run, or since it was resumed.",
            one(elapsed.as_secs_f64()),
        ),
        Family::gauge(
            "nicety_bench_left_seconds",
            "Time that the run is expected to take yet.",
            left.map(|left| (Vec::new(), left)),
        ),
        Family::counter(
            "nicety_bench_trials_total",
            "Trials since the start of the run, or since it was resumed.",
            one(board.trials_total as f64),
        ),
    ]
}

/// Each test point is in one state.
fn states(board: &Board) -> Family {
    let mut counts = [
        ("to_come", 0),
        ("begun", 0),
        ("ok", 0),
        ("not_ok", 0),
        ("skipped", 0),
    ];
    for (_, square) in board.squares() {
        let at = match square.worst {
            _ if square.skipped => 4,
            None => 0,
            Some(_) if square.done < board.repeats => 1,
            Some(worst) if worst.is_own() => 2,
            Some(_) => 3,
        };
        counts[at].1 += 1;
    }
    Family::gauge(
        "nicety_bench_test_points",
        "Test points of the plan by state.",
        counts.map(|(state, count)| (vec![("state", state.to_owned())], f64::from(count))),
    )
}

fn results(board: &Board) -> impl Iterator<Item = Family> {
    RESULTS.into_iter().map(|(name, help, value)| {
        let rows = board.rows.iter();
        let samples = rows.flat_map(|row| {
            let cells = row.cells.iter();
            cells.filter_map(|(cell, square)| {
                Some((labels(&row.path, cell, square), value(square)?))
            })
        });
        Family::gauge(name, help, samples)
    })
}

fn labels(path: &str, cell: &str, square: &Square) -> Vec<Label> {
    let mut labels = vec![("cell", cell.to_owned()), ("path", path.to_owned())];
    if let Some(point) = square.point {
        labels.extend([
            ("frame_size_bytes", point.frame_size_bytes.to_string()),
            ("direction", point.direction.to_string()),
            ("flows", point.flows.to_string()),
        ]);
    }
    labels
}

/// The trial under way; no samples between cells.
fn search(board: &Board) -> [Family; 2] {
    let now = board.now.as_ref().filter(|now| now.trial.is_some());
    let of = |more: &[Label]| {
        let cell = now.map(|now| now.cell.clone()).unwrap_or_default();
        [&[("cell", cell)], more].concat()
    };
    let bounds = now.map(|now| now.bounds).unwrap_or_default();
    let ends = [("lower", bounds.lower_fps), ("upper", bounds.upper_fps)];
    [
        Family::gauge(
            "nicety_bench_load_frames_per_second",
            "Load of the trial under way, per direction.",
            now.map(|now| (of(&[]), now.load_fps)),
        ),
        Family::gauge(
            "nicety_bench_bound_frames_per_second",
            "What the search under way knows of the throughput: its lower and its upper end.",
            ends.into_iter()
                .filter_map(|(end, fps)| Some((of(&[("end", end.to_owned())]), fps?))),
        ),
    ]
}

fn busy(core: &CoreUse) -> (Vec<Label>, f64) {
    (vec![("cpu", core.cpu.to_string())], 1.0 - core.idle)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nicety_model::{Purpose, SearchBounds, Verdict};

    fn value(all: &[Family], name: &str, label: &str) -> Option<f64> {
        let family = all.iter().find(|family| family.name == name)?;
        let mut samples = family.samples.iter();
        let of = |(_, value): &Label| value == label;
        let found = samples.find(|one| label.is_empty() || one.labels.iter().any(of));
        found.map(|sample| sample.value)
    }

    #[test]
    fn a_run_under_way_is_counted_and_unknown_values_are_left_out() {
        let cells = ["a", "b", "c", "d"].map(|name| ("bridge".to_owned(), name.to_owned()));
        let mut board = Board::new(cells.into_iter(), 2);
        let at = Duration::from_secs(30);
        let all = families(&board, "first", at);
        assert_eq!(value(&all, "nicety_bench_left_seconds", ""), None);
        assert_eq!(value(&all, "nicety_bench_load_frames_per_second", ""), None);
        assert_eq!(
            value(&all, "nicety_bench_throughput_frames_per_second", ""),
            None
        );
        let squares = &mut board.rows[0].cells;
        squares[0].1.done = 2;
        squares[0].1.worst = Some(Verdict::Ok);
        squares[0].1.fps = Some(1e5);
        squares[1].1.done = 1;
        squares[1].1.worst = Some(Verdict::Failed);
        squares[2].1.skipped = true;
        board.left(at, Duration::from_secs(60));
        board.cell("d", false);
        let bounds = SearchBounds {
            lower_fps: Some(2e5),
            upper_fps: None,
        };
        board.trial(1, Purpose::Search, 3e5, bounds);
        let all = families(&board, "first", at);
        for (name, label, expected) in [
            ("nicety_bench_info", "first", Some(1.0)),
            ("nicety_bench_left_seconds", "", Some(60.0)),
            ("nicety_bench_test_points", "ok", Some(1.0)),
            ("nicety_bench_test_points", "not_ok", Some(0.0)),
            ("nicety_bench_test_points", "begun", Some(1.0)),
            ("nicety_bench_test_points", "skipped", Some(1.0)),
            ("nicety_bench_test_points", "to_come", Some(1.0)),
            ("nicety_bench_throughput_frames_per_second", "a", Some(1e5)),
            ("nicety_bench_throughput_frames_per_second", "b", None),
            ("nicety_bench_throughput_low_frames_per_second", "a", None),
            ("nicety_bench_visits", "b", Some(1.0)),
            ("nicety_bench_load_frames_per_second", "d", Some(3e5)),
            ("nicety_bench_bound_frames_per_second", "lower", Some(2e5)),
            ("nicety_bench_bound_frames_per_second", "upper", None),
        ] {
            assert_eq!(value(&all, name, label), expected, "{name} {label}");
        }
    }
}
