use std::time::Duration;

use nicety_model::plan::Preset;
use nicety_model::{LossRatio, Purpose};
use nicety_testkit::sut::{Busy, Path, Sut, busy_paths, reference_paths};

use super::*;
use crate::preset::Settings;

const MIN: Fps = Fps(100.0);
const MAX: Fps = Fps(2e6);
const GOAL: f64 = 1e-4;

fn search(goal: f64) -> EdgeSearch {
    let timeout = Settings::of(Preset::Robust, goal).timeout;
    EdgeSearch::new(goal, MIN, MAX, timeout)
}

/// Runs a search on a simulated path; loads and lengths of its trials.
fn run(search: &mut EdgeSearch, sut: &mut Sut) -> Vec<(f64, f64)> {
    let mut trials = Vec::new();
    while let Some(request) = search.next_trial() {
        assert_eq!(search.next_trial(), Some(request));
        let seconds = request.duration.as_secs_f64();
        let window = request.window.unwrap();
        let record = sut.record_by_windows((Purpose::Search, request.load), seconds, window);
        let windows = record.windows.unwrap();
        search.observe(&Seen {
            load: request.load,
            carried: request.load,
            duration: request.duration,
            wall: Duration::from_secs_f64(record.wall_s),
            loss_ratio: record.loss_ratio,
            single: Some(windows.iter().filter(|window| window.lost == 1).count() as u32),
            clean: 1.0,
            windows: Some(windows.judged(GOAL)),
            forwarding: windows.forwarding(1).unwrap(),
        });
        trials.push((request.load.0, seconds));
        assert!(trials.len() < 50, "does not end: {trials:?}");
    }
    trials
}

fn search_fps(path: Path, seed: u64) -> f64 {
    let mut search = search(GOAL);
    search.expect_forwarding(Fps(1e6));
    run(&mut search, &mut Sut::new(path, seed));
    search.outcome().throughput.unwrap().0
}

#[test]
fn the_edge_is_found_from_below_on_paths_that_are_disturbed() {
    for (name, path) in reference_paths() {
        for seed in 0..10 {
            let fps = search_fps(path, seed);
            assert!((0.97e6..=1.0e6).contains(&fps), "{name} {seed}: {fps}");
        }
    }
    for (name, path) in busy_paths() {
        let mut all: Vec<f64> = (0..21).map(|seed| search_fps(path, seed)).collect();
        all.sort_by(f64::total_cmp);
        assert!((0.96e6..=1.02e6).contains(&all[10]), "{name}: {all:?}");
    }
}

#[test]
fn a_wrong_expectation_costs_trials_not_the_result() {
    for expected in [0.5e6, 0.8e6, 1.3e6, 1.9e6] {
        let mut search = search(GOAL);
        search.expect(Fps(expected));
        let path = Path::Busy(Busy::quiet(1e6, 256.0));
        let trials = run(&mut search, &mut Sut::new(path, 1));
        let fps = search.outcome().throughput.unwrap().0;
        assert!(
            (0.97e6..=1.001e6).contains(&fps),
            "{expected}: {fps} {trials:?}"
        );
        assert!(trials.len() <= 14, "{expected}: {trials:?}");
    }
}

/// A machine that is slower than it was at the visit before, as by a neighbour on its host.
#[test]
fn a_slow_phase_costs_few_trials() {
    for (expected, capacity) in [(1e6, 0.75e6), (1e6, 0.9e6), (1.8e6, 0.5e6)] {
        let mut search = search(GOAL);
        search.expect(Fps(expected));
        let path = Path::Busy(Busy::quiet(capacity, 256.0));
        let trials = run(&mut search, &mut Sut::new(path, 1));
        let fps = search.outcome().throughput.unwrap().0 / capacity;
        assert!(
            (0.97..=1.001).contains(&fps),
            "{expected}: {fps} {trials:?}"
        );
        assert!(trials.len() <= 9, "{expected}: {trials:?}");
        assert!(
            trials.iter().all(|(load, _)| *load > 0.9 * capacity),
            "{trials:?}"
        );
    }
}

/// A shaper that holds frames for 50 ms lets a tenth more through for half a second, one that holds them
/// for 15 ms 3 %.
#[test]
fn a_long_queue_is_not_taken_for_capacity() {
    for (capacity, queue) in [(3e5, 15_000.0), (1e4, 150.0)] {
        for seed in 0..10 {
            let mut search = search(GOAL);
            search.expect_forwarding(Fps(capacity));
            let path = Path::Busy(Busy::quiet(capacity, queue));
            let trials = run(&mut search, &mut Sut::new(path, seed));
            let fps = search.outcome().throughput.unwrap().0 / capacity;
            assert!((0.98..=1.02).contains(&fps), "{seed}: {fps} {trials:?}");
        }
    }
}

#[test]
fn a_path_that_carries_all_ends_at_the_highest_load() {
    let mut search = search(GOAL);
    let trials = run(&mut search, &mut Sut::new(Path::Fixed { capacity: 5e6 }, 1));
    let outcome = search.outcome();
    assert_eq!((outcome.throughput, outcome.at_max), (Some(MAX), true));
    assert_eq!(trials.len(), 2);
    let mut capped = self::search(GOAL);
    capped.cap(Fps(7e5));
    run(&mut capped, &mut Sut::new(Path::Fixed { capacity: 1e6 }, 1));
    assert_eq!(capped.outcome().throughput, Some(Fps(7e5)));
    assert!(capped.outcome().at_max);
}

#[test]
fn loss_at_every_load_fails_with_the_loss_that_was_measured() {
    let every = |every| {
        Path::Busy(Busy {
            every,
            ..Busy::quiet(1e6, 256.0)
        })
    };
    let mut search = search(GOAL);
    search.expect_forwarding(Fps(1e6));
    let trials = run(&mut search, &mut Sut::new(every(9_000), 1));
    let outcome = search.outcome();
    assert!(
        outcome.at_min && outcome.throughput.is_none(),
        "{outcome:?}"
    );
    let why = outcome.failed.unwrap().to_string();
    assert!(why.contains("frames/s lost 0.01"), "{why}");
    let lowest = trials.iter().map(|(load, _)| *load).fold(MAX.0, f64::min);
    assert!(lowest < 0.15e6, "{trials:?}");
    let fps = search_fps(every(11_000), 1);
    assert!((0.97e6..=1.0e6).contains(&fps), "{fps}");
}

/// A stall now and then is not the loss that a whole look is for.
#[test]
fn stalls_do_not_fail_the_look_at_a_slow_path() {
    let path = Path::Busy(Busy {
        stalls_per_s: 0.5,
        stall_s: 5e-3,
        ..Busy::quiet(12_345.0, 5.0)
    });
    for seed in 0..10 {
        let mut search = search(GOAL);
        search.expect_forwarding(Fps(12_345.0));
        run(&mut search, &mut Sut::new(path, seed));
        let fps = search.outcome().throughput.unwrap_or_default().0;
        assert!((12_000.0..=12_400.0).contains(&fps), "{seed}: {fps}");
    }
}

/// Windows of a few thousand frames see no loss of every 9,000th: whole ones do.
#[test]
fn a_slow_path_is_looked_at_by_whole_windows() {
    for (every, carries) in [(0, true), (11_000, true), (9_000, false)] {
        let path = Path::Busy(Busy {
            every,
            ..Busy::quiet(12_345.0, 5.0)
        });
        let mut search = search(GOAL);
        search.expect_forwarding(Fps(12_345.0));
        let trials = run(&mut search, &mut Sut::new(path, 1));
        let longest = trials.iter().map(|trial| trial.1).fold(0.0, f64::max);
        assert!((4.0..10.1).contains(&longest), "{trials:?}");
        let outcome = search.outcome();
        if carries {
            let fps = outcome.throughput.unwrap().0;
            assert!(
                (12_200.0..=12_350.0).contains(&fps),
                "{every}: {fps} {trials:?}"
            );
        } else {
            assert!(outcome.failed.is_some(), "{outcome:?} {trials:?}");
        }
    }
}

#[test]
fn engines_without_windows_are_judged_by_whole_trials() {
    let mut search = search(GOAL);
    search.expect_forwarding(Fps(1e6));
    while let Some(request) = search.next_trial() {
        let loss = (1.0 - 1e6 / request.load.0).max(0.0);
        search.observe(&Seen {
            load: request.load,
            carried: request.load,
            duration: request.duration,
            wall: request.duration,
            loss_ratio: LossRatio(loss),
            single: None,
            clean: 1.0,
            windows: None,
            forwarding: Fps(request.load.0.min(1e6)),
        });
    }
    let fps = search.outcome().throughput.unwrap().0;
    assert!((0.97e6..=1.0e6).contains(&fps), "{fps}");
}

#[test]
fn time_that_is_up_keeps_what_was_found() {
    let mut search = EdgeSearch::new(GOAL, MIN, MAX, Duration::from_secs(2));
    search.expect_forwarding(Fps(1e6));
    let trials = run(&mut search, &mut Sut::new(reference_paths()[0].1, 1));
    assert!(trials.len() <= 3, "{trials:?}");
    let outcome = search.outcome();
    assert!(
        outcome.timed_out && outcome.throughput.is_some(),
        "{outcome:?}"
    );
}

/// A sender that shares its CPU offers less than was asked for. What it did not offer, the path did not carry.
#[test]
fn a_load_that_was_not_offered_is_not_carried() {
    const OFFERED: f64 = 0.95;
    let mut search = search(GOAL);
    search.expect_forwarding(Fps(1e6));
    while let Some(request) = search.next_trial() {
        let offered = request.load.0 * OFFERED;
        let good = offered <= 1e6;
        search.observe(&Seen {
            load: request.load,
            carried: Fps(offered),
            duration: request.duration,
            wall: request.duration,
            loss_ratio: LossRatio(if good { 0.0 } else { 0.01 }),
            single: Some(0),
            clean: 1.0,
            windows: Some(if good { (5, 0) } else { (0, 5) }),
            forwarding: Fps(offered.min(1e6)),
        });
    }
    let outcome = search.outcome();
    let [lower, upper] = [outcome.lower, outcome.upper].map(|load| load.unwrap().0);
    assert!(lower <= 1.005e6 && lower > 0.93e6, "{lower}");
    assert!((1e6..1.1e6).contains(&upper), "{upper}");
}
