use nicety_model::plan::Preset;
use nicety_testkit::sut::{Path, Sut};

use super::*;
use crate::preset::Settings;

const MAX: Fps = Fps(16_000.0);

fn binary(loss_ratio: f64) -> Binary {
    let settings = Settings::of(Preset::Binary, loss_ratio);
    Binary::new(&settings.goal(), Fps(100.0), MAX, settings.timeout)
}

fn seen(load: f64, loss: f64) -> Seen {
    Seen {
        load: Fps(load),
        carried: Fps(load),
        duration: Duration::from_secs(10),
        wall: Duration::from_secs(11),
        loss_ratio: nicety_model::LossRatio(loss),
        single: None,
        clean: 1.0,
        windows: None,
        forwarding: Fps(load * (1.0 - loss)),
    }
}

/// Loads asked for on a path that carries `capacity`.
fn loads(search: &mut Binary, capacity: f64) -> Vec<f64> {
    let mut sut = Sut::new(Path::Fixed { capacity }, 1);
    let mut loads = Vec::new();
    while let Some(request) = search.next_trial() {
        loads.push(request.load.0);
        let shot = sut.trial(request.load, 10.0);
        search.observe(&seen(request.load.0, shot.loss_ratio.0));
    }
    loads
}

#[test]
fn halves_on_loss_and_goes_to_the_middle_without() {
    let mut search = binary(0.0001);
    let loads = loads(&mut search, 5_000.0);
    assert_eq!(
        loads[..6],
        [16_000.0, 8_000.0, 4_000.0, 6_000.0, 5_000.0, 5_500.0]
    );
    let outcome = search.outcome();
    assert_eq!(outcome.throughput, Some(Fps(5_000.0)));
    assert!(outcome.width_met && outcome.upper.unwrap().0 <= 5_000.0 / 0.995);
    assert_eq!(loads.len(), 11);
}

#[test]
fn loss_at_the_limit_is_not_acceptable_loss_below_it_is() {
    for (loss, passes) in [(0.0001, false), (0.000_099, true), (0.0, true)] {
        let mut search = binary(0.0001);
        search.observe(&seen(16_000.0, loss));
        assert_eq!(search.outcome().at_max, passes, "{loss}");
    }
    // A limit of zero still lets a trial without loss pass.
    let mut search = binary(0.0);
    search.observe(&seen(16_000.0, 0.0));
    assert!(search.outcome().at_max);
}

#[test]
fn ends_are_irregular() {
    let mut search = binary(0.0001);
    assert_eq!(loads(&mut search, 1e6), [16_000.0]);
    assert!(search.outcome().at_max);
    let mut search = binary(0.0001);
    assert_eq!(loads(&mut search, 1.0).last(), Some(&100.0));
    let outcome = search.outcome();
    assert!(outcome.at_min && outcome.failed.unwrap().to_string().contains("100 frames/s"));
}

#[test]
fn a_cap_lowers_the_highest_load() {
    let mut search = binary(0.0001);
    search.cap(Fps(5_000.0));
    assert_eq!(search.next_trial().unwrap().load, Fps(5_000.0));
    search.observe(&seen(5_000.0, 0.0));
    assert!(search.outcome().at_max);
    // Later, between a load that passed and one that failed.
    let mut search = binary(0.0001);
    search.observe(&seen(16_000.0, 0.5));
    search.observe(&seen(8_000.0, 0.0));
    search.cap(Fps(9_000.0));
    while let Some(request) = search.next_trial() {
        assert!(request.load.0 <= 9_000.0);
        search.observe(&seen(request.load.0, 0.0));
    }
    let outcome = search.outcome();
    assert!(outcome.at_max && !outcome.width_met && outcome.lower == Some(Fps(9_000.0)));
}

#[test]
fn gives_up_after_its_time_out() {
    let mut search = binary(0.0001);
    let mut slow = seen(16_000.0, 0.5);
    slow.wall = Duration::from_secs(901);
    search.observe(&slow);
    assert_eq!(search.next_trial(), None);
    assert_eq!(
        search.outcome().failed,
        Some(SearchNote::OutOfTime { limit_s: 900 }.into())
    );
}

proptest::proptest! {
    #[test]
    fn always_ends_with_a_load_that_passed(answers in proptest::collection::vec(proptest::bool::ANY, 200)) {
        let mut search = binary(0.0001);
        let mut passed = Vec::new();
        for pass in answers {
            let Some(request) = search.next_trial() else { break };
            search.observe(&seen(request.load.0, if pass { 0.0 } else { 0.1 }));
            if pass {
                passed.push(request.load);
            }
        }
        proptest::prop_assert!(search.next_trial().is_none());
        let outcome = search.outcome();
        proptest::prop_assert!(outcome.lower.is_none_or(|lower| passed.contains(&lower)));
        proptest::prop_assert!(outcome.width_met || outcome.at_max || outcome.failed.is_some());
    }
}
