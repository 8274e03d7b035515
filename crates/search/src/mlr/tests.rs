use nicety_model::LossRatio;
use nicety_model::plan::Preset;
use nicety_testkit::sut::{Path, REFERENCE_MAX, Sut, reference_paths};
use proptest::prelude::*;

use super::*;
use crate::classify::Class;
use crate::preset::Settings;

const MIN: Fps = Fps(9_001.0);

fn mlr(preset: Preset) -> Mlr {
    let settings = Settings::of(preset, 0.0001);
    Mlr::new(vec![settings.goal()], MIN, REFERENCE_MAX, settings.timeout).unwrap()
}

fn seen(sut: &mut Sut, request: TrialRequest) -> Seen {
    let seconds = request.duration.as_secs_f64();
    let shot = sut.trial(request.load, seconds);
    Seen {
        load: request.load,
        carried: request.load,
        duration: request.duration,
        wall: Duration::from_secs_f64(sut.wall_s(seconds)),
        loss_ratio: shot.loss_ratio,
        single: None,
        clean: 1.0,
        windows: None,
        forwarding: shot.forwarding,
    }
}

/// Runs to the end; returns what was asked and seen.
fn run(search: &mut Mlr, sut: &mut Sut) -> Vec<Seen> {
    let mut all = Vec::new();
    while let Some(request) = search.next_trial() {
        assert_eq!(
            search.next_trial(),
            Some(request),
            "asking again changes nothing"
        );
        let seen = seen(sut, request);
        search.observe(&seen);
        all.push(seen);
        assert!(all.len() < 20_000, "does not end");
    }
    all
}

fn fixed() -> Path {
    Path::Fixed { capacity: 1e6 }
}

/// Numbers of trials on a path without noise. A rise is a regression.
#[test]
fn trials_on_a_clean_path() {
    let clean = reference_paths()[0].1;
    for (preset, trials, traffic_s) in [
        (Preset::Std, 9, 13.0),
        (Preset::Csit, 14, 23.0),
        (Preset::Rfc2544, 5, 70.745),
    ] {
        let mut search = mlr(preset);
        let all = run(&mut search, &mut Sut::new(clean, 1));
        let traffic: f64 = all.iter().map(|seen| seen.duration.as_secs_f64()).sum();
        assert_eq!(
            (all.len(), traffic.round() as u64),
            (trials, f64::round(traffic_s) as u64),
            "{preset:?}"
        );
        assert!((traffic - traffic_s).abs() < 1e-2, "{preset:?}: {traffic}");
        let (count, seconds) = Settings::of(preset, 0.0001).typical();
        assert_eq!(count as usize, trials, "the preset's estimate");
        assert!((seconds - traffic_s).abs() < 0.3, "the preset's estimate");
    }
}

/// Odd paths with the number of trials each takes with `std`, and where the result must lie.
#[test]
fn odd_paths() {
    let table: [(&str, Path, usize, std::ops::RangeInclusive<f64>); 7] = [
        ("no buffer", fixed(), 9, 0.99e6..=1e6),
        (
            "slow",
            Path::Fixed { capacity: 20_000.0 },
            9,
            19_800.0..=20_000.0,
        ),
        (
            "forwards a third under overload",
            Path::Livelock {
                capacity: 1e6,
                power: 0.4,
            },
            18,
            0.985e6..=1e6,
        ),
        (
            "cold first trial",
            Path::SlowStart {
                cold: 2e5,
                warm: 1e6,
                trials: 1,
            },
            20,
            0.985e6..=1e6,
        ),
        (
            "hole below the capacity",
            Path::Inversion {
                capacity: 1e6,
                from: 0.985e6,
                to: 0.999e6,
                loss_ratio: 0.01,
            },
            11,
            0.97e6..=0.985e6,
        ),
        (
            "two states, the better more often",
            Path::Bistable {
                high: 1e6,
                low: 8e5,
                low_share: 0.2,
            },
            16,
            0.78e6..=1e6,
        ),
        (
            "noisy",
            Path::Noisy {
                capacity: 1e6,
                sd: 0.003,
            },
            25,
            0.985e6..=1.01e6,
        ),
    ];
    let (mut counts, mut expected) = (Vec::new(), Vec::new());
    for (name, path, trials, result) in table {
        let mut search = mlr(Preset::Std);
        let all = run(&mut search, &mut Sut::new(path, 5));
        let outcome = search.outcome();
        assert!(
            result.contains(&outcome.throughput.unwrap().0),
            "{name}: {outcome:?}"
        );
        assert!(outcome.width_met, "{name}: {outcome:?}");
        counts.push((name, all.len()));
        expected.push((name, trials));
    }
    assert_eq!(counts, expected);
}

#[test]
fn a_path_faster_than_the_tester_is_irregular() {
    let mut search = mlr(Preset::Std);
    let all = run(&mut search, &mut Sut::new(Path::Fixed { capacity: 1e9 }, 1));
    let outcome = search.outcome();
    assert_eq!(all.len(), 6);
    assert!(outcome.at_max && !outcome.width_met && outcome.failed.is_none());
    assert_eq!(
        (outcome.throughput, outcome.upper),
        (Some(REFERENCE_MAX), None)
    );
}

#[test]
fn a_path_that_always_loses_fails_at_the_lowest_load() {
    let mut search = mlr(Preset::Std);
    let all = run(
        &mut search,
        &mut Sut::new(Path::Lossy { loss_ratio: 0.1 }, 1),
    );
    let outcome = search.outcome();
    assert!(outcome.at_min && outcome.throughput.is_none());
    assert!(
        outcome
            .failed
            .unwrap()
            .to_string()
            .contains("9.00 k frames/s")
    );
    assert!(all.len() < 40, "{}", all.len());
}

#[test]
fn the_time_out_is_counted_in_wall_time_of_trials() {
    let settings = Settings::of(Preset::Std, 0.0001);
    let timeout = Duration::from_secs(5);
    let mut search = Mlr::new(vec![settings.goal()], MIN, REFERENCE_MAX, timeout).unwrap();
    let all = run(&mut search, &mut Sut::new(fixed(), 1));
    let outcome = search.outcome();
    assert!(outcome.timed_out, "{outcome:?}");
    assert_eq!(outcome.failed.is_some(), outcome.lower.is_none());
    // 1.5 s each: two trials, then a long one that goes beyond.
    assert!(all.len() <= 4 && outcome.wall_s > 5.0);
}

#[test]
fn a_hint_saves_the_first_trial_and_a_wrong_one_costs_two() {
    let path = reference_paths()[0].1;
    let mut plain = mlr(Preset::Std);
    let without = run(&mut plain, &mut Sut::new(path, 1)).len();
    let lower = plain.outcome().lower.unwrap();
    let trials = |hint: Fps| {
        let mut search = mlr(Preset::Std);
        search.expect(hint);
        let count = run(&mut search, &mut Sut::new(path, 1)).len();
        let fps = search.outcome().throughput.unwrap().0;
        assert!((0.985e6..=1e6).contains(&fps), "{fps}");
        count
    };
    // Without a trial at the highest load, a second one at the upper load must agree.
    assert!(trials(lower) <= without);
    assert!(trials(Fps(lower.0 / 3.0)) <= without + 2);
    assert!(trials(Fps(lower.0 * 3.0)) <= without + 2);
    assert!(trials(Fps(1.0)) <= without + 2);

    let mut warmed = mlr(Preset::Std);
    warmed.expect_forwarding(Fps(1.001e6));
    assert_eq!(run(&mut warmed, &mut Sut::new(path, 1)).len(), without - 1);
}

#[test]
fn one_long_trial_only_where_the_path_is_plainly_overloaded() {
    let mut search = mlr(Preset::Std);
    let all = run(&mut search, &mut Sut::new(fixed(), 1));
    let long: Vec<&Seen> = all
        .iter()
        .filter(|s| s.duration > Duration::from_secs(1))
        .collect();
    assert_eq!(long.len(), 1);
    assert_eq!(long[0].duration, Duration::from_secs(5));
    assert!(long[0].load.0 > 1e6);
    // A path whose losses have nothing to do with the load is measured in single seconds: two
    // stalled trials that happen to forward the same rate are rare.
    let stalls = Path::Stalls {
        capacity: 1e7,
        ring: 64.0,
        stalls_per_s: 1.0,
        stall_s: 0.002,
    };
    let (mut long, mut total) = (0, 0);
    for seed in 0..20 {
        let all = run(&mut mlr(Preset::Std), &mut Sut::new(stalls, seed));
        let below = all.iter().filter(|seen| seen.load.0 < 9e6);
        long += below
            .clone()
            .filter(|seen| seen.duration > Duration::from_secs(1))
            .count();
        total += below.count();
    }
    assert!(total > 500 && long * 50 < total, "{long} of {total}");
}

#[test]
fn goals_share_their_trials() {
    let goals = [0.0001, 0.0, 0.005].map(|loss| Settings::of(Preset::Std, loss).goal());
    let mut search =
        Mlr::new(goals.to_vec(), MIN, REFERENCE_MAX, Duration::from_secs(600)).unwrap();
    let all = run(&mut search, &mut Sut::new(fixed(), 1));
    let alone: usize = goals
        .iter()
        .map(|goal| {
            let mut one =
                Mlr::new(vec![*goal], MIN, REFERENCE_MAX, Duration::from_secs(600)).unwrap();
            run(&mut one, &mut Sut::new(fixed(), 1)).len()
        })
        .sum();
    assert!(all.len() < alone, "{} of {alone}", all.len());
    for goal in 0..3 {
        assert!(search.outcome_of(goal).width_met, "{goal}");
    }
    let strict = search.outcome_of(1).throughput.unwrap();
    assert!(strict.0 <= search.outcome_of(2).throughput.unwrap().0);
}

#[test]
fn bad_goals_are_refused() {
    let bad = Goal {
        width: 2.0,
        ..Settings::of(Preset::Std, 0.0).goal()
    };
    assert_eq!(
        Mlr::new(vec![bad], MIN, REFERENCE_MAX, Duration::ZERO)
            .unwrap_err()
            .field,
        "width"
    );
    assert!(Mlr::new(vec![], MIN, REFERENCE_MAX, Duration::ZERO).is_err());
}

/// Repeats on the noisy reference path agree within one per cent, in 26 s at most.
#[test]
fn std_on_the_path_with_one_stall_a_second() {
    let (mut results, mut wall) = (Vec::new(), 0.0);
    for seed in 0..40 {
        let mut search = mlr(Preset::Std);
        run(&mut search, &mut Sut::new(reference_paths()[2].1, seed));
        results.push(search.outcome().throughput.unwrap().0);
        wall += search.outcome().wall_s / 40.0;
    }
    assert!(crate::stats::spread(&results).unwrap().cv.unwrap() < 0.01);
    assert!(wall <= 26.0, "{wall}");
}

fn any_path() -> impl Strategy<Value = Path> {
    let capacity = 5_000.0f64..3e7;
    prop_oneof![
        capacity
            .clone()
            .prop_map(|capacity| Path::Fixed { capacity }),
        (capacity.clone(), 0.0f64..0.2).prop_map(|(capacity, sd)| Path::Noisy { capacity, sd }),
        (capacity.clone(), 0.1f64..1.0, 0.0f64..1.0).prop_map(|(high, share, low_share)| {
            Path::Bistable {
                high,
                low: high * share,
                low_share,
            }
        }),
        (capacity.clone(), 1.0f64..10.0, 0u64..20).prop_map(|(warm, factor, trials)| {
            Path::SlowStart {
                cold: warm / factor,
                warm,
                trials,
            }
        }),
        (capacity.clone(), 0.1f64..1.0, 1.0f64..2.0, 0.0f64..0.5).prop_map(
            |(capacity, from, factor, loss_ratio)| Path::Inversion {
                capacity,
                from: capacity * from,
                to: capacity * from * factor,
                loss_ratio,
            }
        ),
        (capacity.clone(), 0.0f64..2.0)
            .prop_map(|(capacity, power)| Path::Livelock { capacity, power }),
        (0.0f64..0.01).prop_map(|loss_ratio| Path::Lossy { loss_ratio }),
        (capacity, 8.0f64..4096.0, 0.01f64..20.0, 1e-5f64..5e-3).prop_map(
            |(capacity, ring, stalls_per_s, stall_s)| Path::Stalls {
                capacity,
                ring,
                stalls_per_s,
                stall_s,
            }
        ),
    ]
}

fn any_preset() -> impl Strategy<Value = Preset> {
    prop_oneof![Just(Preset::Std), Just(Preset::Csit), Just(Preset::Rfc2544)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// Any path, any preset: the search ends, and its result is what its own trials say.
    #[test]
    fn the_search_ends_with_what_its_trials_show(
        path in any_path(), preset in any_preset(), seed in 0u64..1000, hint in proptest::option::of(1.0f64..2e7),
    ) {
        let mut search = mlr(preset);
        if let Some(hint) = hint {
            search.expect(Fps(hint));
        }
        let all = run(&mut search, &mut Sut::new(path, seed));
        let outcome = search.outcome();
        prop_assert_eq!(outcome.trials as usize, all.len());
        let rule = search.final_target(0).rule;
        let class = |load: Fps| {
            let mut sums = crate::classify::Sums::default();
            for seen in all.iter().filter(|seen| (seen.load.0 / load.0 - 1.0).abs() < 1e-9) {
                sums.add(&rule, seen.duration.as_secs_f64(), seen.loss_ratio.0);
            }
            sums.class(&rule)
        };
        let lost_at = |load: Fps| {
            all.iter()
                .filter(move |seen| (seen.load.0 / load.0 - 1.0).abs() < 1e-9)
                .map(|seen| seen.loss_ratio.0)
        };
        if let (Some(lower), true) = (outcome.lower, outcome.timed_out) {
            // A search cut short goes by a coarser target, but never without a good trial.
            prop_assert!(lost_at(lower).any(|loss| loss <= rule.loss_ratio));
        } else if let Some(lower) = outcome.lower {
            prop_assert_eq!(class(lower), Class::Lower);
            prop_assert!(outcome.throughput.unwrap().0 >= lower.0 * (1.0 - rule.loss_ratio));
        }
        if let (Some(upper), true) = (outcome.upper, outcome.timed_out) {
            prop_assert!(lost_at(upper).any(|loss| loss > rule.loss_ratio));
        } else if let Some(upper) = outcome.upper {
            prop_assert_eq!(class(upper), Class::Upper);
        }
        // The width was met, or the outcome says why not.
        prop_assert!(outcome.width_met || outcome.at_max || outcome.timed_out || outcome.failed.is_some(), "{:?}", outcome);
        if let (true, Some(lower), Some(upper)) = (outcome.width_met, outcome.lower, outcome.upper) {
            let width = search.goals[0].width;
            prop_assert!(lower.0 < upper.0 && (upper.0 - lower.0) / upper.0 <= width * (1.0 + 1e-9));
        }
        prop_assert_eq!(search.left(), Left::default());
    }

    /// Feeding the same results again asks the same questions.
    #[test]
    fn replay_gives_the_same_asks(path in any_path(), preset in any_preset(), seed in 0u64..1000, cut in 0usize..30) {
        let mut search = mlr(preset);
        let all = run(&mut search, &mut Sut::new(path, seed));
        let mut again = mlr(preset);
        for seen in all.iter().take(cut) {
            let request = again.next_trial().unwrap();
            prop_assert_eq!((request.load, request.duration), (seen.load, seen.duration));
            again.observe(seen);
        }
        let next = all.get(cut).map(|seen| (seen.load, seen.duration));
        prop_assert_eq!(again.next_trial().map(|request| (request.load, request.duration)), next);
    }

    /// Once capped, at any moment, nothing above the cap is asked for, and the search ends.
    #[test]
    fn a_cap_is_kept(path in any_path(), preset in any_preset(), seed in 0u64..1000, at in 0usize..20, max in 5e3f64..1.4e7) {
        let mut sut = Sut::new(path, seed);
        let mut search = mlr(preset);
        for _ in 0..at {
            let Some(request) = search.next_trial() else { break };
            let seen = seen(&mut sut, request);
            search.observe(&seen);
        }
        search.cap(Fps(max));
        for seen in run(&mut search, &mut sut) {
            prop_assert!(seen.load.0 <= max);
        }
        let outcome = search.outcome();
        prop_assert!(outcome.width_met || outcome.at_max || outcome.timed_out || outcome.failed.is_some(), "{:?}", outcome);
    }

    /// Whatever a tester reports, even nonsense, the search ends.
    #[test]
    fn arbitrary_answers_end(answers in proptest::collection::vec((0.0f64..1.0, 0.0f64..2e7), 50)) {
        let mut search = mlr(Preset::Std);
        for (loss, rate) in answers.iter().cycle().take(20_000) {
            let Some(request) = search.next_trial() else { return Ok(()) };
            let loss = if *loss < 0.5 { 0.0 } else { *loss };
            search.observe(&Seen {
                load: request.load,
                carried: request.load,
                duration: request.duration,
                wall: request.duration,
                loss_ratio: LossRatio(loss),
                single: None,
                clean: 1.0,
                windows: None,
                forwarding: Fps(*rate),
            });
        }
        prop_assert!(search.next_trial().is_none());
    }
}

#[test]
fn a_result_that_comes_just_after_the_time_out_counts() {
    let settings = Settings::of(Preset::Std, 0.0001);
    // Nine trials take 17.5 s; the last begins after 16 s.
    let timeout = Duration::from_millis(17_000);
    let mut search = Mlr::new(vec![settings.goal()], MIN, REFERENCE_MAX, timeout).unwrap();
    run(&mut search, &mut Sut::new(fixed(), 1));
    let outcome = search.outcome();
    assert!(outcome.wall_s > 17.0 && outcome.failed.is_none() && outcome.width_met);
}

/// However steeply a path's rate falls under overload, and however far below the highest load it
/// lies: with `std`, after a warm-up trial.
#[test]
fn a_path_that_forwards_ever_less_is_found_from_two_overloaded_trials() {
    for (power, most) in [(0.0, 8), (0.02, 12), (0.3, 12), (0.9, 12), (1.1, 15)] {
        for capacity in [2e4, 6e5, 4e6] {
            let mut sut = Sut::new(Path::Livelock { capacity, power }, 1);
            let mut search = mlr(Preset::Std);
            search.expect_forwarding(sut.trial(REFERENCE_MAX, 1.0).forwarding);
            let trials = run(&mut search, &mut sut).len();
            let fps = search.outcome().throughput.unwrap().0 / capacity;
            assert!((0.985..=1.0).contains(&fps), "{capacity}, {power}: {fps}");
            assert!(trials <= most, "{capacity}, {power}: {trials} trials");
        }
    }
}
