//! What is compared with what, what is refused, and what is said.

use nicety_compare::{Input, Options, compare};
use nicety_model::compare::{Comparison, Judgement, Metric, SpreadOf};
use nicety_model::run::ControlSummary;
use nicety_model::{GoalResult, Run, SearchBounds, Verdict};

use crate::common::{self, cell, input, run, socket_run};

const A: &str = "bridge/64/uni";
const B: &str = "bridge/1518/uni";
const OLD: [f64; 5] = [100_000.0, 101_000.0, 99_500.0, 100_500.0, 99_000.0];
const LOW: [f64; 5] = [90_000.0, 91_000.0, 89_500.0, 90_500.0, 89_000.0];

fn both(old: Run, new: Run) -> Comparison {
    try_both(old, new).unwrap()
}

fn try_both(old: Run, new: Run) -> Result<Comparison, String> {
    compare(
        &[input("old", old)],
        &[input("new", new)],
        &Options::default(),
    )
    .map_err(|error| error.to_string())
}

fn control(run: &mut Run, visits: &[f64]) {
    run.control = Some(ControlSummary {
        cell: A.to_owned(),
        throughput_fps: visits.to_vec(),
        failed: 0,
        drift: 0.0,
        drift_limit: 0.05,
    });
}

#[test]
fn a_loss_of_ten_per_cent_is_worse() {
    let comparison = both(run(&[(A, &OLD), (B, &OLD)]), run(&[(A, &LOW), (B, &OLD)]));
    let ratio = comparison.cells[0].ratio.unwrap();
    assert_eq!(comparison.cells[0].judgement, Judgement::Worse);
    assert!((ratio.ratio - 0.9).abs() < 0.001);
    assert!(ratio.low.unwrap() < ratio.ratio && ratio.ratio < ratio.high.unwrap());
    assert_eq!(ratio.spread_of, Some(SpreadOf::Repeats));
    assert_eq!(comparison.cells[1].judgement, Judgement::Same);
    assert!(comparison.counts.regression());
    assert!(
        comparison.notes[0]
            .to_string()
            .contains("Repeats within a run share")
    );
    let back = both(run(&[(A, &LOW)]), run(&[(A, &OLD)]));
    assert_eq!(back.cells[0].judgement, Judgement::Better);
    assert!(!back.counts.regression());
}

#[test]
fn a_single_repeat_tells_nothing_without_a_known_spread() {
    let comparison = both(run(&[(A, &[1e5])]), run(&[(A, &[9e4])]));
    let row = &comparison.cells[0];
    assert_eq!(row.judgement, Judgement::CannotTell);
    assert!(row.reason.as_ref().unwrap().contains("one repeat"));
    assert_eq!(row.ratio.unwrap().low, None);
    assert!((row.ratio.unwrap().ratio - 0.9).abs() < 1e-9);
}

#[test]
fn the_control_cells_visits_are_a_known_spread() {
    let mut old = run(&[(A, &[1e5]), (B, &[1e5])]);
    let mut new = run(&[(A, &[9e4]), (B, &[1.005e5])]);
    control(&mut old, &[1e5, 1.001e5, 1.002e5]);
    control(&mut new, &[9e4, 9.01e4, 9.02e4]);
    let comparison = both(old, new);
    assert_eq!(comparison.cells[0].judgement, Judgement::Worse);
    assert_eq!(
        comparison.cells[0].ratio.unwrap().spread_of,
        Some(SpreadOf::ControlCell)
    );
    assert_eq!(comparison.cells[1].judgement, Judgement::Same);
    assert!(
        comparison
            .notes
            .iter()
            .any(|note| note.to_string().contains("a guess"))
    );
}

#[test]
fn several_runs_on_both_sides_count_one_number_each() {
    // Within each run the repeats agree; the runs do not.
    let side = |names: [&str; 3], levels: [f64; 3]| -> Vec<Input> {
        names
            .iter()
            .zip(levels)
            .map(|(name, level)| {
                let repeats = OLD.map(|fps| fps * level);
                input(name, run(&[(A, repeats.as_slice())]))
            })
            .collect()
    };
    let old = side(["a", "b", "c"], [1.0, 1.2, 0.8]);
    let new = side(["d", "e", "f"], [0.9, 1.1, 0.72]);
    let comparison = compare(&old, &new, &Options::default()).unwrap();
    let row = &comparison.cells[0];
    assert_eq!(row.judgement, Judgement::CannotTell, "{row:?}");
    assert_eq!(row.ratio.unwrap().spread_of, Some(SpreadOf::Runs));
    assert_eq!((row.old.runs, row.old.repeats), (3, 15));
    // Their repeats thrown together would have looked like fifteen numbers each.
    let quiet_old = side(["a", "b", "c"], [1.0, 1.001, 0.999]);
    let quiet_new = side(["d", "e", "f"], [0.9, 0.901, 0.899]);
    let comparison = compare(&quiet_old, &quiet_new, &Options::default()).unwrap();
    assert_eq!(comparison.cells[0].judgement, Judgement::Worse);
}

#[test]
fn verdicts_are_respected() {
    for (old, new, why) in [
        (Verdict::Ok, Verdict::TesterLimited, "tester-limited now"),
        (Verdict::Noisy, Verdict::Ok, "noisy before"),
        (Verdict::Coupled, Verdict::Coupled, "coupled before and now"),
        (Verdict::Late, Verdict::Noisy, "late before, noisy now"),
    ] {
        let mut before = run(&[(A, &OLD)]);
        before.visits[2].verdict = old;
        let mut after = run(&[(A, &LOW)]);
        after.visits[0].verdict = new;
        let comparison = both(before, after);
        assert_eq!(comparison.cells[0].judgement, Judgement::NotJudged);
        assert_eq!(comparison.cells[0].reason.as_deref(), Some(why));
        assert!(
            comparison.cells[0].ratio.is_some(),
            "the ratio is still shown"
        );
        assert!(!comparison.counts.regression());
    }
}

/// A run whose cell has several visits, judged together.
fn visited(values: &[f64], verdict: Verdict) -> Run {
    let mut made = run(&[(A, values)]);
    made.run.estimator = Some("edge/1".to_owned());
    let summary = serde_json::json!({
        "cell": A, "throughput_fps": null, "verdict": verdict,
        "estimate": {"fps": values[2], "low_fps": values[0], "high_fps": values[4],
                     "confidence": 0.9375, "visits": 5},
    });
    made.cells = vec![serde_json::from_value(summary).unwrap()];
    made
}

#[test]
fn visits_count_as_repeats_and_are_judged_together() {
    // The verdict of a visit alone does not matter, nor that one of them found nothing.
    let mut before = visited(&OLD, Verdict::Ok);
    before.visits[1].verdict = Verdict::Failed;
    before.visits[1].throughput_fps = None;
    let comparison = both(before, visited(&LOW, Verdict::Wide));
    let row = &comparison.cells[0];
    assert_eq!(row.judgement, Judgement::Worse, "{row:?}");
    assert_eq!((row.old.repeats, row.new.repeats), (4, 5));
    assert_eq!(
        (row.old.verdict, row.new.verdict),
        (Verdict::Ok, Verdict::Wide)
    );
    assert_eq!(row.ratio.unwrap().spread_of, Some(SpreadOf::Repeats));
    // Contradictions are told by the verdict of all.
    let comparison = both(visited(&OLD, Verdict::Unstable), visited(&LOW, Verdict::Ok));
    assert_eq!(
        comparison.cells[0].reason.as_deref(),
        Some("unstable before")
    );
    let mut gone = visited(&LOW, Verdict::Failed);
    for cell in &mut gone.visits {
        cell.throughput_fps = None;
        cell.verdict = Verdict::Failed;
    }
    assert!(both(visited(&OLD, Verdict::Wide), gone).cells[0].lost);
}

#[test]
fn bounds_are_not_compared() {
    // Of a cell that was measured, a visit's bound is no value.
    let mut few = visited(&OLD, Verdict::Ok);
    few.visits[1].verdict = Verdict::Bound;
    few.visits[1].throughput_fps = Some(1.0);
    let row = &both(few, visited(&OLD, Verdict::Ok)).cells[0];
    assert_eq!((row.judgement, row.old.repeats), (Judgement::Same, 4));
    // A cell that is a bound has no interval, and no visit speaks for it.
    let mut bound = visited(&LOW, Verdict::Bound);
    bound.cells[0].estimate = None;
    bound.visits[0].verdict = Verdict::Late;
    let row = &both(visited(&OLD, Verdict::Ok), bound).cells[0];
    assert_eq!(row.reason.as_deref(), Some("bound now"));
}

#[test]
fn other_estimators_are_named_whatever_the_preset_is_called() {
    let new = || visited(&OLD, Verdict::Ok);
    let comparison = both(run(&[(A, &OLD)]), new());
    assert_eq!(comparison.differences[0].what, "estimator");
    assert_eq!(comparison.differences[0].old, "whole trials");
    assert_eq!(comparison.differences[0].new, "edge/1");
    assert_eq!(
        comparison.notes[0].to_string(),
        "The runs judged loads differently: whole trials before, edge/1 now. Differences below 5 % may come from that. Repeat the older run with this version."
    );
    let alike = both(new(), new());
    assert!(alike.differences.is_empty());
    assert!(
        !alike
            .notes
            .iter()
            .any(|note| note.to_string().contains("judged loads differently"))
    );
}

#[test]
fn an_interval_from_one_visit_widens_what_is_known() {
    let known = |width: f64| {
        let side = |values: &[f64]| {
            let mut made = run(&[(A, values)]);
            for cell in &mut made.visits {
                let fps = cell.throughput_fps.unwrap();
                cell.estimate = Some(nicety_model::Estimate {
                    fps,
                    low_fps: fps / width,
                    high_fps: fps * width,
                    confidence: None,
                    visits: 1,
                });
            }
            made
        };
        let comparison = both(side(&[1e5; 3]), side(&[1e5; 3]));
        let ratio = comparison.cells[0].ratio.unwrap();
        ratio.high.unwrap() / ratio.low.unwrap()
    };
    // The bounds of the search, 2 % apart, are the least.
    assert!((known(1.001) - known(1.0)).abs() < 1e-9);
    assert!(known(1.1) > 2.0 * known(1.0).ln() + 1.0);
}

#[test]
fn a_result_that_is_gone_is_a_regression() {
    let mut after = run(&[(A, &LOW)]);
    for cell in &mut after.visits {
        cell.verdict = Verdict::Failed;
        cell.throughput_fps = None;
    }
    let comparison = both(run(&[(A, &OLD)]), after);
    assert!(comparison.cells[0].lost && comparison.counts.regression());
    assert_eq!(comparison.counts.worse, 0);
}

#[test]
fn only_common_cells_count_and_the_others_are_named() {
    let comparison = both(
        run(&[(A, &OLD), ("bridge/256/uni", &OLD)]),
        run(&[(A, &OLD), (B, &OLD)]),
    );
    assert_eq!(comparison.cells.len(), 1);
    assert_eq!(comparison.only_old, ["bridge/256/uni"]);
    assert_eq!(comparison.only_new, [B]);
}

#[test]
fn what_is_not_comparable_is_refused_with_the_reason() {
    let with = |change: fn(&mut Run)| {
        let mut run = run(&[(A, &OLD)]);
        change(&mut run);
        run
    };
    for (new, words) in [
        (
            with(|r| r.run.preset = "std".to_owned()),
            "not comparable: old was searched with preset quick, new with std; measure both alike",
        ),
        (
            with(|r| r.run.loss_goal = 0.05),
            "not comparable: old was searched with loss goal 0.0001, new with 0.05; measure both alike",
        ),
        (
            run(&[(B, &OLD)]),
            "not comparable: no cell is in both, the frame sizes are 64 before and 1518 now; measure both with the same plan",
        ),
        (
            run(&[("bridge/64/bi", &OLD)]),
            "not comparable: no cell is in both, the directions are uni before and bi now; measure both with the same plan",
        ),
        (
            run(&[("ports/64/uni", &OLD)]),
            "not comparable: no cell is in both, the paths are bridge before and ports now; measure both with the same plan",
        ),
        (
            run(&[]),
            "new has no results to compare; let it finish with --resume",
        ),
    ] {
        assert_eq!(try_both(run(&[(A, &OLD)]), new), Err(words.to_owned()));
    }
    let a = input("runs/a", run(&[(A, &OLD)]));
    let twice = [a.clone(), a.clone()];
    assert_eq!(
        compare(&twice, &[a], &Options::default())
            .unwrap_err()
            .to_string(),
        "runs/a is given twice on the old side; name every run once"
    );
}

#[test]
fn levels_have_limits() {
    for (confidence, margin) in [(1.0, 0.03), (0.5, 0.03), (f64::NAN, 0.03), (0.95, 0.0)] {
        let options = Options {
            confidence,
            margin,
            ..Options::default()
        };
        let side = [input("a", run(&[(A, &OLD)]))];
        assert!(compare(&side, &side, &options).is_err());
    }
}

#[test]
fn likely_explanations_come_first() {
    let old = run(&[(A, &OLD)]);
    let mut new = old.clone();
    new.run.host.bios = Some("1.2".to_owned());
    new.run.host.kernel = "6.19.0".to_owned();
    new.run
        .host
        .mitigations
        .insert("mds".into(), "Vulnerable".into());
    new.run.host.memory_mib = Some(8010);
    new.tester_limit_fps
        .insert("64".parse().unwrap(), 700_000.0);
    new.visits.iter_mut().for_each(|c| c.engine = "xdp".into());
    let comparison = both(old, new);
    let what: Vec<&str> = comparison
        .differences
        .iter()
        .map(|d| d.what.as_str())
        .collect();
    assert_eq!(
        what,
        [
            "engine",
            "kernel",
            "tester alone, 64 bytes",
            "mitigation mds",
            "firmware"
        ]
    );
    assert_eq!(comparison.differences[1].old, "6.18.5");
    assert_eq!(comparison.differences[3].old, "none");
}

#[test]
fn latency_is_better_when_it_is_less() {
    let with = |latencies: &[f64], load: f64| {
        let cells: Vec<serde_json::Value> = latencies
            .iter()
            .enumerate()
            .map(|(i, us)| {
                let mut cell = cell(A, i, 1e5);
                cell["latency_us"] = serde_json::json!({"load_ratio": load, "min": 1.0,
                    "mean": us, "p50": us, "p90": us, "p99": us, "p999": us, "max": us,
                    "samples": 1000});
                cell
            })
            .collect();
        let mut run = run(&[]);
        run.visits = serde_json::from_value(cells.into()).unwrap();
        run
    };
    let options = Options {
        metrics: vec![Metric::Throughput, Metric::LatencyP99, Metric::Cpu],
        ..Options::default()
    };
    let go = |load| {
        compare(
            &[input("old", with(&[30.0, 31.0, 29.5], 0.9))],
            &[input("new", with(&[20.0, 21.0, 19.5], load))],
            &options,
        )
        .unwrap()
    };
    let comparison = go(0.9);
    // Nobody measured CPU time, so there is no row of it.
    assert_eq!(comparison.cells.len(), 2);
    assert_eq!(comparison.cells[1].metric, Metric::LatencyP99);
    assert_eq!(comparison.cells[1].judgement, Judgement::Better);
    assert_eq!(go(0.5).cells[1].judgement, Judgement::NotJudged);
}

#[test]
fn what_more_repeats_would_do_is_said() {
    let wide = [90_000.0, 100_000.0, 110_000.0];
    let comparison = both(run(&[(A, &wide)]), run(&[(A, &wide)]));
    let reason = comparison.cells[0].reason.clone().unwrap();
    assert!(
        reason.starts_with("the numbers spread too much"),
        "{reason}"
    );
    let noisy = [97_000.0, 100_000.0, 103_000.0];
    let comparison = both(run(&[(A, &noisy)]), run(&[(A, &noisy)]));
    let reason = comparison.cells[0].reason.clone().unwrap();
    assert!(
        reason.contains("repeats on each side would tell"),
        "{reason}"
    );
}

#[test]
fn socket_workloads_are_compared_in_their_own_units() {
    let old = [
        ("bridge/tcp_rr/64", &OLD[..]),
        ("bridge/udp_stream/1472", &OLD[..]),
    ];
    let new = [
        ("bridge/tcp_rr/64", &LOW[..]),
        ("bridge/udp_stream/1472", &OLD[..]),
    ];
    let options = Options {
        metrics: Metric::ALL.to_vec(),
        ..Options::default()
    };
    let (old, new) = (
        input("old", socket_run(&old)),
        input("new", socket_run(&new)),
    );
    let comparison = compare(&[old], &[new], &options).unwrap();
    let rows: Vec<(&str, &str, Judgement)> = comparison
        .cells
        .iter()
        .map(|row| (row.cell.as_str(), row.unit.as_str(), row.judgement))
        .collect();
    // A stream has no time of a transaction.
    let (rr, stream) = ("bridge/tcp_rr/64", "bridge/udp_stream/1472");
    assert_eq!(
        rows,
        [
            (rr, "transactions/s", Judgement::Worse),
            (rr, "µs", Judgement::Worse),
            (rr, "µs", Judgement::Worse),
            (rr, "µs/transaction", Judgement::Worse),
            (stream, "Mbit/s", Judgement::Same),
            (stream, "µs/KB", Judgement::Same),
        ]
    );
    assert!(comparison.cells.iter().all(|row| row.key.is_none()));
    // What is written is read back.
    let text = serde_json::to_string(&comparison).unwrap();
    assert_eq!(
        serde_json::from_str::<Comparison>(&text).unwrap(),
        comparison
    );
}

#[test]
fn flows_that_broke_down_and_steps_of_a_curve_are_no_repeats() {
    let name = "bridge/tcp_rr/64/saturate";
    let mut run = socket_run(&[(name, &[10.0, 20.0, 40.0])]);
    run.sockets[0].curve = serde_json::from_value(serde_json::json!([
        {"parallel": 1, "rate": 10.0}, {"parallel": 2, "rate": 40.0}, {"parallel": 4, "rate": 20.0}
    ]))
    .unwrap();
    run.sockets[0].saturated_at = Some(2);
    let comparison = both(run.clone(), run.clone());
    let row = &comparison.cells[0];
    assert_eq!(
        (row.old.repeats, row.old.mean.map(f64::round)),
        (1, Some(40.0))
    );
    let mut broken = run.clone();
    for result in &mut broken.sockets[0].results {
        result.ending = nicety_model::sock::Ending::Faulty;
    }
    let comparison = both(run, broken);
    assert_eq!(comparison.cells[0].judgement, Judgement::NotJudged);
    assert!(comparison.counts.regression());
    let frames = common::run(&[(A, &OLD)]);
    let why = try_both(frames, socket_run(&[(name, &OLD)])).unwrap_err();
    assert!(why.contains("one side has socket workloads only"), "{why}");
}

#[test]
fn a_history_keeps_the_figures_of_sockets() {
    let run = socket_run(&[("bridge/tcp_rr/64", &OLD), ("bridge/udp_stream/64", &LOW)]);
    let kept: Vec<(String, Metric)> = nicety_compare::figures(&run)
        .into_iter()
        .map(|figure| (figure.cell, figure.metric))
        .collect();
    let of = |name: &str, metrics: &[Metric]| -> Vec<(String, Metric)> {
        metrics.iter().map(|m| (name.to_owned(), *m)).collect()
    };
    let mut expected = of("bridge/tcp_rr/64", &Metric::ALL);
    expected.extend(of(
        "bridge/udp_stream/64",
        &[Metric::Throughput, Metric::Cpu],
    ));
    assert_eq!(kept, expected);
}

/// A run whose cells have a second goal, with these numbers of their repeats.
fn with_goal(name: &str, loss: f64, numbers: &[f64]) -> Run {
    let mut run = run(&[(A, &OLD)]);
    for (cell, fps) in run.visits.iter_mut().zip(numbers) {
        let goal = |goal: &str, loss_goal: f64, fps: f64| GoalResult {
            goal: goal.to_owned(),
            loss_goal,
            throughput_fps: Some(fps),
            bounds: SearchBounds {
                lower_fps: Some(fps),
                upper_fps: Some(fps * 1.02),
            },
            estimate: None,
            window_s: None,
            verdict: Verdict::Ok,
            notes: Vec::new(),
        };
        let own = cell.throughput_fps.unwrap();
        cell.goals = vec![goal("NDR", 0.0001, own), goal(name, loss, *fps)];
    }
    run
}

/// A history keeps every goal: the strictest as the cell's own, each other under its name.
#[test]
fn a_history_keeps_the_figures_of_every_goal() {
    let kept = nicety_compare::figures(&with_goal("PDR", 0.005, &LOW));
    let throughput = |cell: &str| {
        let mut of_cell = kept.iter().filter(|figure| figure.cell == cell);
        let found = of_cell.find(|figure| figure.metric == Metric::Throughput);
        found.and_then(|figure| Some((figure.mean?.round(), figure.repeats)))
    };
    let mean = |numbers: &[f64]| {
        let logs = numbers.iter().map(|fps| fps.ln()).sum::<f64>();
        (logs / numbers.len() as f64).exp().round()
    };
    let repeats = OLD.len() as u32;
    assert_eq!(throughput(A), Some((mean(&OLD), repeats)));
    let of_goal = format!("{A}/goal=PDR:0.005");
    assert_eq!(throughput(&of_goal), Some((mean(&LOW), repeats)));
    // Latency and CPU time are those of the strictest goal.
    let others = kept.iter().filter(|figure| figure.cell == of_goal);
    assert_eq!(others.count(), 1);
    assert_eq!(
        kept.iter()
            .filter(|figure| figure.cell.contains("NDR"))
            .count(),
        0
    );
}

/// What got worse for one goal only is seen; a goal of the same name with another loss is another.
#[test]
fn every_goal_of_a_search_is_compared_with_its_own() {
    let old = with_goal("PDR", 0.005, &OLD);
    let compared = both(old.clone(), with_goal("PDR", 0.005, &LOW));
    let judged: Vec<(&str, Judgement)> = compared
        .cells
        .iter()
        .map(|cell| (&*cell.cell, cell.judgement))
        .collect();
    let pdr = "bridge/64/uni/goal=PDR:0.005";
    assert_eq!(judged.len(), 2);
    assert_eq!((judged[0].0, judged[1]), (A, (pdr, Judgement::Worse)));
    assert_ne!(judged[0].1, Judgement::Worse);
    let other = both(old, with_goal("PDR", 0.01, &LOW));
    assert_eq!(other.cells.len(), 1);
    assert_eq!(other.only_old, [pdr]);
    assert_eq!(other.only_new, ["bridge/64/uni/goal=PDR:0.01"]);
}
