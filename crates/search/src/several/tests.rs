use nicety_model::plan::Preset;
use nicety_model::{LossGoal, LossRatio, TrialRecord, Verdict};
use nicety_testkit::sut::{Path, Sut, busy_paths, reference_paths};

use super::*;
use crate::cell::tests::context;
use crate::cell::{Cell, CellPlan};
use crate::preset::Settings;
use crate::stats::median;

const MAX: Fps = Fps(2e6);
const LOSSES: [f64; 3] = [0.0, 1e-4, 5e-3];

fn goals(losses: &[f64]) -> Vec<LossGoal> {
    let goal = |loss: &f64| LossGoal {
        name: None,
        loss_ratio: *loss,
    };
    losses.iter().map(goal).collect()
}

fn plan(preset: Preset, losses: &[f64]) -> CellPlan {
    let mut plan = CellPlan::new(Settings::of(preset, losses[0]), MAX).brief();
    plan.goals = goals(losses);
    plan.warm_up = Duration::from_millis(400);
    plan
}

/// Makes a visit; its trials.
fn visit(cell: &mut Cell, sut: &mut Sut) -> Vec<TrialRecord> {
    let mut records = Vec::new();
    while let Some(step) = cell.next() {
        let seconds = step.duration.as_secs_f64();
        let trial = (step.purpose, step.load);
        let record = match step.window {
            Some(window) => sut.record_by_windows(trial, seconds, window),
            None => sut.record(step.purpose, step.load, seconds),
        };
        cell.observe(&record);
        records.push(record);
        assert!(records.len() < 3000, "does not end");
    }
    records
}

/// Median of what the visits of a cell found for each goal, and their wall time.
fn visits(preset: Preset, losses: &[f64], path: Path, seed: u64) -> (Vec<f64>, f64) {
    let mut plan = plan(preset, losses);
    let mut sut = Sut::new(path, seed);
    let (mut found, mut wall) = (vec![Vec::new(); losses.len()], 0.0);
    let expected = |found: &Vec<f64>| median(found).map(Fps);
    for _ in 0..plan.settings.visits(1) {
        plan.expect = expected(&found[0]);
        plan.expect_further = found[1..].iter().map(expected).collect();
        let mut cell = Cell::new(plan.clone()).unwrap();
        let records = visit(&mut cell, &mut sut);
        wall += records.iter().map(|record| record.wall_s).sum::<f64>();
        let result = cell.finish(context());
        for (found, goal) in found.iter_mut().zip(&result.goals) {
            found.extend(goal.throughput_fps);
        }
        sut.wait(25.0);
    }
    let medians = found.iter().map(|found| median(found).unwrap_or(0.0));
    (medians.collect(), wall)
}

/// The aim: at most a quarter more than the strictest goal alone. On the paths with one speed each
/// goal finds what it finds alone.
#[test]
fn three_goals_take_little_longer_than_the_strictest_alone() {
    let std = reference_paths().into_iter().take(3);
    let cases = reference_paths().map(|path| (Preset::Robust, path));
    for (preset, (name, path)) in cases.into_iter().chain(std.map(|path| (Preset::Std, path))) {
        let (mut three, mut strictest) = (0.0, 0.0);
        for seed in 0..5 {
            let (found, wall) = visits(preset, &LOSSES, path, seed);
            three += wall;
            for (number, fps) in found.iter().enumerate() {
                let (alone, wall) = visits(preset, &LOSSES[number..=number], path, seed);
                strictest += if number == 0 { wall } else { 0.0 };
                let ratio = fps / alone[0];
                assert!((0.985..=1.015).contains(&ratio), "{name} {number}: {ratio}");
            }
        }
        assert!(
            three <= 1.25 * strictest,
            "{preset:?} {name}: {three} {strictest}"
        );
    }
}

/// A path that loses every 11,000th frame has no load without loss but the lowest, and meets 0.01 %.
#[test]
fn goals_that_lie_far_apart_are_told_apart() {
    let path = busy_paths()
        .into_iter()
        .find(|path| path.0 == "every11k")
        .unwrap()
        .1;
    for seed in 0..5 {
        let (found, _) = visits(Preset::Robust, &LOSSES, path, seed);
        assert!(found[0] < 0.2e6, "{found:?}");
        assert!(
            found[1..].iter().all(|fps| (0.97e6..=1.02e6).contains(fps)),
            "{found:?}"
        );
    }
}

#[test]
fn a_stricter_goal_never_has_more() {
    for (name, path) in busy_paths() {
        for seed in 0..3 {
            let (found, _) = visits(Preset::Robust, &LOSSES, path, seed);
            assert!(found.is_sorted(), "{name}: {found:?}");
        }
    }
}

#[test]
fn goals_that_no_load_meets_fail_alone() {
    let path = Path::Lossy { loss_ratio: 0.02 };
    for preset in [Preset::Robust, Preset::Std, Preset::Binary] {
        // Of fewer frames a share of 2 % is none.
        let mut plan = plan(preset, &[0.0, 1e-4, 0.05]);
        plan.min = Fps(9_001.0);
        let mut cell = Cell::new(plan).unwrap();
        visit(&mut cell, &mut Sut::new(path, 1));
        let result = cell.finish(context());
        assert_eq!(
            (result.verdict, result.throughput_fps),
            (Verdict::Failed, None)
        );
        let verdicts: Vec<Verdict> = result.goals.iter().map(|goal| goal.verdict).collect();
        let expected = [Verdict::Failed, Verdict::Failed, Verdict::TesterLimited];
        assert_eq!(verdicts, expected, "{preset:?}: {:?}", result.goals);
        assert!(result.goals[..2].iter().all(|goal| goal.notes.len() == 1));
        assert_eq!(result.goals[2].bounds.lower_fps, Some(MAX.0), "{preset:?}");
    }
}

/// Goals with windows of other lengths get slots, and put them together.
#[test]
fn each_goal_judges_by_windows_of_its_own() {
    let mut edges = Edges::new(&LOSSES, Fps(100.0), MAX, Duration::from_secs(45));
    edges.expect_forwarding(Fps(3e5));
    let request = edges.next_trial().unwrap();
    let slot = Duration::from_nanos(SLOT_NS);
    assert_eq!(request.window, Some(slot));
    let lengths = LOSSES.map(|goal| window::of(request.load.0, goal));
    let own: Vec<Duration> = (0..3).filter_map(|goal| edges.window_of(goal)).collect();
    assert_eq!(own, lengths);
    assert!(lengths[1] > lengths[0] && request.duration >= 5 * lengths[1]);
    // One goal alone has its windows from the engine.
    let mut one = Edges::new(&LOSSES[1..2], Fps(100.0), MAX, Duration::from_secs(45));
    one.expect_forwarding(Fps(3e5));
    assert_eq!(one.next_trial().unwrap().window, Some(lengths[1]));
}

#[test]
fn bisections_make_no_trial_twice_and_find_what_each_finds_alone() {
    let path = Path::Fixed { capacity: 0.7e6 };
    let losses = [0.0, 1e-4, 0.05];
    let run = |losses: &[f64]| {
        let mut cell = Cell::new(plan(Preset::Binary, losses)).unwrap();
        let trials = visit(&mut cell, &mut Sut::new(path, 1)).len();
        let found: Vec<f64> = cell
            .finish(context())
            .goals
            .iter()
            .filter_map(|goal| goal.bounds.lower_fps)
            .collect();
        (found, trials)
    };
    let (found, trials) = run(&losses);
    let alone: Vec<_> = losses.iter().map(|loss| run(&[*loss])).collect();
    let numbers: Vec<f64> = alone.iter().flat_map(|(found, _)| found.clone()).collect();
    assert_eq!(found, numbers);
    assert!(found[2] > 1.03 * found[0]);
    // The first two ask for the same loads.
    let sum: usize = alone.iter().map(|(_, trials)| trials).sum();
    assert!(trials <= sum - alone[0].1, "{trials} of {sum}");
}

#[test]
fn an_interrupted_visit_goes_on_where_it_was() {
    let path = reference_paths()[3].1;
    for preset in [Preset::Robust, Preset::Std] {
        let mut whole = Cell::new(plan(preset, &LOSSES)).unwrap();
        let records = visit(&mut whole, &mut Sut::new(path, 7));
        for cut in [1, records.len() / 2, records.len()] {
            let mut again = Cell::new(plan(preset, &LOSSES)).unwrap();
            assert_eq!(again.replay(&records[..cut]), cut);
            let next = again.next().map(|step| (step.load.0, step.window));
            let recorded = records.get(cut).map(|record| record.load_fps);
            assert_eq!(next.map(|next| next.0), recorded, "{preset:?} {cut}");
        }
        let mut again = Cell::new(plan(preset, &LOSSES)).unwrap();
        again.replay(&records);
        assert_eq!(again.finish(context()), whole.finish(context()));
    }
}

/// Whatever a tester reports, the search ends.
#[test]
fn arbitrary_answers_end() {
    let mut rng = fastrand::Rng::with_seed(5);
    for _ in 0..50 {
        let mut edges = Edges::new(&LOSSES, Fps(100.0), MAX, Duration::from_secs(45));
        for trial in 0.. {
            let Some(request) = edges.next_trial() else {
                break;
            };
            assert!(trial < 2000);
            let loss = [0.0, 1e-3, 0.5][rng.usize(..3)];
            edges.observe(&Seen {
                load: request.load,
                carried: request.load,
                duration: request.duration,
                wall: request.duration,
                loss_ratio: LossRatio(loss),
                single: None,
                clean: 1.0,
                windows: None,
                forwarding: Fps(rng.f64() * 2e6),
            });
        }
    }
}
