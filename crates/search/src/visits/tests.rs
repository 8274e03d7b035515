use nicety_model::{CellKey, Direction, FrameSize, PathSpec, SearchBounds};

use super::*;

fn visit(fps: Option<f64>, verdict: Verdict) -> CellResult {
    let mut visit = crate::summary::tests::cell("a", fps, verdict);
    visit.key = CellKey {
        path: PathSpec::Bridge,
        frame_size_bytes: FrameSize::new(64).unwrap(),
        direction: Direction::Uni,
        flows: 1,
        shape: nicety_model::Shape::default(),
    };
    visit.bounds = SearchBounds::default();
    visit.window_s = Some(0.05);
    visit.notes = vec![Note::Recorded("said".to_owned())];
    visit
}

fn of(numbers: &[f64]) -> Together {
    let visits: Vec<CellResult> = numbers
        .iter()
        .map(|n| visit(Some(*n), Verdict::Ok))
        .collect();
    together(&visits.iter().collect::<Vec<_>>())
}

fn bounds(numbers: &[f64]) -> Vec<VisitBounds> {
    let one = |fps: &f64| VisitBounds {
        fps: *fps,
        high_fps: *fps,
    };
    numbers.iter().map(one).collect()
}

#[test]
fn five_visits_give_their_median_and_range() {
    let estimate = estimate(&bounds(&[103.0, 99.0, 100.0, 97.0, 101.0])).unwrap();
    assert_eq!(
        (estimate.fps, estimate.low_fps, estimate.high_fps),
        (100.0, 96.5, 103.5)
    );
    assert_eq!((estimate.confidence, estimate.visits), (Some(0.9375), 5));
    assert_eq!(super::estimate(&bounds(&[5.0])), None);
}

#[test]
fn fewer_visits_are_trusted_less_and_more_of_them_lose_their_ends() {
    let half = |visits: &[f64]| estimate(&bounds(visits)).unwrap().half_width();
    assert!((half(&[99.0, 101.0]) - 0.105).abs() < 1e-9);
    assert!((half(&[99.0, 100.0, 101.0]) - 0.032).abs() < 1e-9);
    // 1 - 2 (1 + 9) / 2^9 = 96.1 % without the two ends, 93.0 % of eight; of seven none can be spared.
    let nine: Vec<f64> = (0..9).map(|n| 100.0 + f64::from(n)).collect();
    let estimate = super::estimate(&bounds(&nine)).unwrap();
    assert_eq!((estimate.low_fps, estimate.high_fps), (100.48, 107.52));
    assert!((estimate.confidence.unwrap() - 0.9609375).abs() < 1e-9);
    let eight = super::estimate(&bounds(&nine[..8])).unwrap();
    assert_eq!(eight.confidence, Some(0.9296875));
    assert!((eight.low_fps - (101.0 - 0.5175)).abs() < 1e-9);
    let seven = super::estimate(&bounds(&nine[..7])).unwrap();
    assert!((seven.low_fps - (100.0 - 0.515)).abs() < 1e-9);
}

#[test]
fn close_visits_are_ok_and_others_wide_with_the_reason() {
    assert_eq!(of(&[98.0, 99.0, 100.0, 101.0, 104.0]).verdict, Verdict::Ok);
    let wide = of(&[91.0, 96.0, 100.0, 103.0, 108.0]);
    assert_eq!(wide.verdict, Verdict::Wide);
    assert!(
        wide.why[0].to_string().contains("found different speeds"),
        "{:?}",
        wide.why
    );
    let mut disturbed = visit(Some(91.0), Verdict::Ok);
    disturbed.disturbance = Some(Disturbance {
        stalls_ms_per_s: Some(40.0),
        programs: vec![Program {
            name: "rustc".to_owned(),
            pid: 812,
            cpus: 0.9,
        }],
    });
    let calm = visit(Some(106.0), Verdict::Ok);
    let both = together(&[&disturbed, &calm, &calm, &disturbed, &disturbed]);
    // Three that are the same and two that are: two speeds.
    assert_eq!(both.verdict, Verdict::Unstable);
    let both = together(&[&disturbed, &calm]);
    assert_eq!(both.verdict, Verdict::Wide);
    assert!(
        both.why[0].to_string().contains("rustc (PID 812, 0.9 CPU)"),
        "{:?}",
        both.why
    );
    assert!(
        both.why[1].to_string().contains("40 ms per second"),
        "{:?}",
        both.why
    );
}

#[test]
fn visits_that_contradict_each_other_are_unstable() {
    let two = of(&[604.0, 784.0, 610.0, 841.0, 819.0]);
    assert_eq!(two.verdict, Verdict::Unstable);
    assert!(
        two.why[0].to_string().contains("contradict each other"),
        "{:?}",
        two.why
    );
    // One slow visit of five is none.
    assert_eq!(
        of(&[604.0, 784.0, 800.0, 790.0, 780.0]).verdict,
        Verdict::Wide
    );
}

#[test]
fn what_most_visits_say_holds_and_a_failed_one_does_not_fail_the_cell() {
    let limited = visit(Some(100.0), Verdict::TesterLimited);
    let failed = visit(None, Verdict::Failed);
    let ok = visit(Some(100.0), Verdict::Ok);
    assert_eq!(
        together(&[&limited, &limited, &ok]).verdict,
        Verdict::TesterLimited
    );
    assert_eq!(
        together(&[&failed, &ok, &ok, &ok, &ok]).verdict,
        Verdict::Ok
    );
    let none = together(&[&failed, &failed]);
    assert_eq!(
        (none.verdict, Note::texts(&none.why)),
        (Verdict::Failed, vec!["said".to_owned()])
    );
}

/// CPUs were taken away whenever more was tried: no number and no interval, but what two visits carried.
#[test]
fn visits_that_ended_because_cpus_were_taken_away_are_a_bound() {
    let bound = |fps: f64| visit(Some(fps), Verdict::Bound);
    let ok = |fps: f64| visit(Some(fps), Verdict::Ok);
    let low = [bound(16.0), bound(49.0), bound(84.0), ok(16.5), ok(17.0)];
    let both = together(&low.iter().collect::<Vec<_>>());
    assert_eq!((both.verdict, both.bound_fps), (Verdict::Bound, Some(49.0)));
    assert_eq!(both.estimate, None);
    assert_eq!(together(&[&low[0]]).bound_fps, Some(16.0));
    // The others stand for the cell where they are most.
    let few = [ok(100.0), ok(101.0), ok(99.0), bound(16.0), bound(49.0)];
    let both = together(&few.iter().collect::<Vec<_>>());
    assert_eq!((both.verdict, both.bound_fps), (Verdict::Ok, None));
    assert_eq!(both.estimate.map(|e| (e.fps, e.visits)), Some((100.0, 3)));
    // A path with a fault of its own has that, whatever took the CPUs.
    let faulty = visit(Some(100.0), Verdict::Faulty);
    assert_eq!(
        together(&[&faulty, &faulty, &low[0]]).verdict,
        Verdict::Faulty
    );
}

/// The tester could not offer more than the path carried: nobody knows how much it would have.
#[test]
fn what_was_not_offered_may_be_carried() {
    let mut held_up = visit(Some(60.0), Verdict::Ok);
    held_up.bounds.upper_fps = Some(100.0);
    let ok = visit(Some(95.0), Verdict::Ok);
    let both = together(&[&held_up, &held_up, &held_up, &held_up, &ok]);
    let estimate = both.estimate.unwrap();
    assert_eq!(
        (estimate.fps, estimate.low_fps, estimate.high_fps),
        (60.0, 59.7, 100.3)
    );
    assert_eq!(both.verdict, Verdict::Wide);
}

/// The hypervisor moves CPUs apart for seconds: visits then are of another machine.
#[test]
fn visits_with_the_cpus_far_apart_are_left_out_where_enough_are_not() {
    let at = |fps: f64, ns: f64| {
        let mut visit = visit(Some(fps), Verdict::Ok);
        visit.cache_line_ns = Some(ns);
        visit
    };
    let near = [at(710.0, 51.0), at(720.0, 55.0), at(700.0, 52.0)];
    let far = [at(500.0, 290.0), at(510.0, 280.0)];
    let all: Vec<&CellResult> = near.iter().chain(&far).collect();
    let both = together(&all);
    assert_eq!(both.estimate.map(|e| (e.fps, e.visits)), Some((710.0, 3)));
    assert_eq!(both.verdict, Verdict::Ok, "{:?}", both.why);
    let why = both.why.last().unwrap().to_string();
    assert!(
        why.contains("2 of 5 visits") && why.contains("285 ns instead of 52"),
        "{why}"
    );
    // Too few near ones: all count, and contradict each other.
    let all: Vec<&CellResult> = near.iter().take(2).chain(&far).collect();
    assert_eq!(together(&all).verdict, Verdict::Unstable);
}

/// Ten seconds in a slow phase: what held instead widens the interval and is no contradiction.
#[test]
fn ten_seconds_that_lost_too_much_are_one_more_visit() {
    let ten = |load_fps: f64, met: bool, loss: f64| nicety_model::ConfirmResult {
        load_fps,
        duration_s: 10.0,
        loss_ratio: nicety_model::LossRatio(loss),
        met,
        lost: Some((loss * 1e6) as u64),
        lost_in_stalls: Some(0),
        bad_windows: None,
    };
    let at = |confirm, held, stalls| {
        let mut last = visit(Some(100.0), Verdict::Ok);
        last.loss_goal = 1e-4;
        last.frames = Some(nicety_model::FrameCounts {
            sent: 1_000_000,
            ..nicety_model::FrameCounts::default()
        });
        last.confirm = Some(confirm);
        last.held = held;
        last.disturbance = Some(Disturbance {
            stalls_ms_per_s: Some(stalls),
            programs: Vec::new(),
        });
        let ok = visit(Some(100.0), Verdict::Ok);
        together(&[&ok, &ok, &ok, &ok, &last])
    };
    let with = |confirm, held| at(confirm, held, 1.0);
    let held = with(ten(100.0, false, 0.02), Some(ten(97.0, true, 0.0)));
    let estimate = held.estimate.unwrap();
    assert_eq!((estimate.low_fps, estimate.visits), (96.5, 6));
    assert_eq!(held.verdict, Verdict::Ok);
    // Nothing lower was tried: what the ten seconds forwarded, less 2 %.
    let slow = with(ten(100.0, false, 0.2), None);
    assert_eq!(slow.estimate.map(|e| e.low_fps), Some(77.9));
    assert_eq!(slow.verdict, Verdict::Wide);
    // Most windows lost nothing, the others a lot, and no CPU stood still.
    assert_eq!(with(ten(100.0, true, 0.009), None).verdict, Verdict::Ok);
    let pauses = with(ten(100.0, true, 0.04), None);
    assert_eq!(pauses.verdict, Verdict::Unstable);
    // On a machine that stalls all the time they may be its work.
    assert_eq!(at(ten(100.0, true, 0.04), None, 20.0).verdict, Verdict::Ok);
    assert!(
        pauses.why[0]
            .to_string()
            .contains("Something pauses the path"),
        "{:?}",
        pauses.why
    );
}
