//! A run under way as metrics. What is not known yet has no sample.

use std::time::Duration;

use nicety_model::{CoreUse, SearchBounds};

use super::board::{Board, Square};
use crate::metric::{Family, Label};

/// What a metric of results is of a goal: throughput and interval.
type Value = fn(Option<f64>, Option<(f64, f64)>) -> Option<f64>;

/// Name, help and value of the results so far.
const RESULTS: [(&str, &str, Value); 3] = [
    (
        "nicety_bench_throughput_frames_per_second",
        "Throughput so far, per direction: of the last visit, or the median of all.",
        |fps, _| fps,
    ),
    (
        "nicety_bench_throughput_low_frames_per_second",
        "Lower end of the interval of the throughput so far.",
        |_, interval| Some(interval?.0),
    ),
    (
        "nicety_bench_throughput_high_frames_per_second",
        "Upper end of the interval of the throughput so far.",
        |_, interval| Some(interval?.1),
    ),
];

/// All metrics of a run named after its plan, `elapsed` after its start.
pub fn families(board: &Board, plan: &str, elapsed: Duration) -> Vec<Family> {
    let mut all = about(board, plan, elapsed);
    all.push(states(board));
    all.extend(results(board));
    all.push(visits(board));
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

/// Throughput by cell, and by loss goal where there are several.
fn results(board: &Board) -> impl Iterator<Item = Family> {
    RESULTS.into_iter().map(move |(name, help, value)| {
        let samples = cells(board).flat_map(|(path, cell, square)| {
            let labels = labels(path, cell, square);
            let goals = square.goals.iter().map(|goal| {
                let of = [&labels[..], &[("goal", goal.goal.clone())]].concat();
                Some((of, value(goal.fps, goal.interval_fps)?))
            });
            let alone = || Some((labels.clone(), value(square.fps, square.interval_fps)?));
            if square.goals.is_empty() {
                vec![alone()]
            } else {
                goals.collect()
            }
        });
        Family::gauge(name, help, samples.flatten())
    })
}

fn visits(board: &Board) -> Family {
    let samples = cells(board)
        .map(|(path, cell, square)| (labels(path, cell, square), f64::from(square.done)));
    Family::gauge(
        "nicety_bench_visits",
        "Visits of a test point that ended.",
        samples,
    )
}

fn cells(board: &Board) -> impl Iterator<Item = (&str, &str, &Square)> {
    board.rows.iter().flat_map(|row| {
        let cells = row.cells.iter();
        cells.map(|(cell, square)| (row.path.as_str(), cell.as_str(), square))
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
    let alone = || (None, now.map(|now| now.bounds).unwrap_or_default());
    let goals = now.map_or(&[][..], |now| &now.goals);
    let mut known: Vec<(Option<Label>, SearchBounds)> = goals
        .iter()
        .map(|goal| (Some(("goal", goal.goal.clone())), goal.bounds))
        .collect();
    if known.len() < 2 {
        known = vec![alone()];
    }
    let ends = known.into_iter().flat_map(|(goal, bounds)| {
        let ends = [("lower", bounds.lower_fps), ("upper", bounds.upper_fps)];
        ends.map(|(end, fps)| {
            let mut labels = of(&[("end", end.to_owned())]);
            labels.extend(goal.clone());
            Some((labels, fps?))
        })
    });
    [
        Family::gauge(
            "nicety_bench_load_frames_per_second",
            "Load of the trial under way, per direction.",
            now.map(|now| (of(&[]), now.load_fps)),
        ),
        Family::gauge(
            "nicety_bench_bound_frames_per_second",
            "What the search under way knows of the throughput: its lower and its upper end.",
            ends.flatten(),
        ),
    ]
}

fn busy(core: &CoreUse) -> (Vec<Label>, f64) {
    (vec![("cpu", core.cpu.to_string())], 1.0 - core.idle)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::board::Goal;
    use nicety_model::goal::GoalBounds;
    use nicety_model::{Purpose, Verdict};

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

    #[test]
    fn every_loss_goal_has_samples_of_its_own() {
        let cells = ["a", "b"].map(|name| ("bridge".to_owned(), name.to_owned()));
        let mut board = Board::new(cells.into_iter(), 2);
        let goal = |goal: &str, fps: Option<f64>, verdict| Goal {
            goal: goal.to_owned(),
            loss_goal: 0.0,
            fps,
            interval_fps: fps.map(|fps| (fps - 1e4, fps + 1e4)),
            verdict,
        };
        let square = &mut board.rows[0].cells[0].1;
        square.done = 1;
        square.fps = Some(1e5);
        square.goals = vec![
            goal("NDR", Some(1e5), Verdict::Ok),
            goal("PDR", Some(2e5), Verdict::Ok),
            goal("1 %", None, Verdict::Failed),
        ];
        board.cell("b", false);
        board.trial(1, Purpose::Search, 3e5, SearchBounds::default());
        let bounds = |goal: &str, lower| GoalBounds {
            goal: goal.to_owned(),
            bounds: SearchBounds {
                lower_fps: Some(lower),
                upper_fps: None,
            },
        };
        board.goals(&[bounds("NDR", 1e5), bounds("PDR", 2e5)]);
        let all = families(&board, "first", Duration::from_secs(1));
        let counted = |name: &str| {
            let family = all.iter().find(|family| family.name == name);
            family.map_or(0, |family| family.samples.len())
        };
        #[rustfmt::skip]
        let table = [
            ("nicety_bench_throughput_frames_per_second", 2, 1e5, 2e5),
            ("nicety_bench_throughput_low_frames_per_second", 2, 9e4, 1.9e5),
            ("nicety_bench_throughput_high_frames_per_second", 2, 1.1e5, 2.1e5),
            ("nicety_bench_bound_frames_per_second", 2, 1e5, 2e5),
        ];
        for (name, samples, ndr, pdr) in table {
            assert_eq!(counted(name), samples, "{name}");
            assert_eq!(value(&all, name, "NDR"), Some(ndr), "{name}");
            assert_eq!(value(&all, name, "PDR"), Some(pdr), "{name}");
        }
        // Visits are of no goal.
        assert_eq!(counted("nicety_bench_visits"), 2);
        assert_eq!(value(&all, "nicety_bench_visits", "NDR"), None);
    }
}
