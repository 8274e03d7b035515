//! Cells whose loads are judged by windows.

use nicety_model::StallReport;
use nicety_testkit::sut::busy_paths;

use super::*;

fn busy(name: &str) -> Path {
    busy_paths()
        .into_iter()
        .find(|path| path.0 == name)
        .unwrap()
        .1
}

#[test]
fn a_visit_takes_a_few_seconds_and_the_last_one_is_confirmed() {
    let mut brief = Cell::new(plan(Preset::Robust).brief()).unwrap();
    let records = run(&mut brief, &mut Sut::new(clean(), 1), |_| {});
    let traffic: f64 = records.iter().map(|record| record.duration_s).sum();
    assert!(
        !purposes(&records).contains(['c', 'l']) && traffic <= 6.0,
        "{traffic}"
    );
    let first = brief.finish(context());
    assert_eq!(first.verdict, Verdict::Ok, "{:?}", first.notes);
    let throughput = first.throughput_fps.unwrap();
    assert!((0.97e6..=1e6).contains(&throughput), "{throughput}");
    // The warm-up trial overloads: the ring is all that it forwards beyond the capacity.
    let capacity = first.capacity_fps.unwrap();
    assert!((capacity / 1e6 - 1.0).abs() < 0.001, "{capacity}");
    assert!((0.05..0.1).contains(&first.window_s.unwrap()));
    let mut last = Cell::new(CellPlan {
        earlier: vec![Fps(0.95e6), Fps(0.94e6)],
        expect: Some(Fps(throughput)),
        ..plan(Preset::Robust)
    })
    .unwrap();
    let records = run(&mut last, &mut Sut::new(clean(), 1), |_| {});
    assert!(
        purposes(&records).ends_with("clll"),
        "{}",
        purposes(&records)
    );
    let confirm = last.finish(context()).confirm.unwrap();
    assert_eq!(
        (confirm.load_fps, confirm.duration_s, confirm.met),
        (0.95e6, 5.0, true)
    );
    assert_eq!((confirm.lost, confirm.bad_windows), (Some(0), Some(0.0)));
}

/// A path that a flood slows down to 0.6 M: less of a flood finds what it carries, however far it has to climb.
#[test]
fn the_capacity_is_the_highest_rate_under_overload() {
    let mut cell = Cell::new(plan(Preset::Robust).brief()).unwrap();
    let records = run(&mut cell, &mut Sut::new(clean(), 1), |record| {
        if record.load_fps > 2e6 {
            record.forwarding_fps = 0.6e6;
            record.windows = None;
        }
    });
    let warm_ups: Vec<f64> = records
        .iter()
        .filter(|record| record.purpose == Purpose::WarmUp)
        .map(|record| (record.load_fps / 1e4).round() / 1e2)
        .collect();
    assert_eq!(warm_ups[1..], [0.9, 1.35], "{warm_ups:?}");
    let capacity = cell.finish(context()).capacity_fps.unwrap();
    assert!((capacity / 1e6 - 1.0).abs() < 0.001, "{capacity}");
}

/// What stops whole trials is nothing to windows: nearly everything is lost or set apart for
/// moments, most windows are as they should be.
#[test]
fn stalls_neither_void_trials_nor_fail_the_cell() {
    let mut cell = Cell::new(plan(Preset::Robust)).unwrap();
    run(&mut cell, &mut Sut::new(busy("stall25"), 3), |record| {
        record.validity = Validity::Stalled {
            why: "CPUs stood still".to_owned(),
        };
        record.stalls = Some(StallReport {
            stalls: 9,
            stalled_s: 0.03 * record.duration_s,
            lost: record.frames.lost,
            ..StallReport::default()
        });
    });
    let result = cell.finish(context());
    assert!(
        result.throughput_fps.is_some_and(|fps| fps > 0.9e6),
        "{:?}",
        result.notes
    );
    assert_ne!(result.verdict, Verdict::Failed);
    assert!((cell.stalls_ms_per_s().unwrap() - 30.0).abs() < 1e-6);
    let confirm = result.confirm.unwrap();
    assert_eq!(confirm.lost, confirm.lost_in_stalls);
}

/// Every load beyond a tenth of what the path carries meets a CPU that is taken away: that is no limit of the path.
#[test]
fn what_stopped_cpus_lose_is_a_bound() {
    let found = |beyond: f64, in_stalls: f64| {
        let mut cell = Cell::new(plan(Preset::Robust)).unwrap();
        run(&mut cell, &mut Sut::new(clean(), 1), |record| {
            let Some(windows) = &mut record.windows else {
                return;
            };
            if record.load_fps > beyond {
                for (sent, lost) in windows.sent.iter().zip(&mut windows.lost) {
                    *lost = (*lost).max(sent / 50);
                }
            }
            record.frames.lost = windows.lost.iter().sum();
            record.stalls = Some(StallReport {
                lost: (record.frames.lost as f64 * in_stalls) as u64,
                ..StallReport::default()
            });
        });
        cell.finish(context())
    };
    let taken = found(1e5, 0.9);
    assert_eq!(taken.verdict, Verdict::Bound, "{:?}", taken.notes);
    assert!(taken.throughput_fps.is_some_and(|fps| fps <= 1e5));
    let own = found(1e5, 0.1);
    assert_eq!(own.verdict, Verdict::Ok, "{:?}", own.notes);
    let none = found(0.0, 0.9);
    assert_eq!(none.notes.first(), Some(&SearchNote::CpusTaken.into()));
}

/// Not one window without a stall: those within the goal make a bound, the others say nothing.
#[test]
fn a_machine_that_is_disturbed_all_the_time_gives_a_bound() {
    let found = |beyond: f64| {
        let mut cell = Cell::new(plan(Preset::Robust)).unwrap();
        run(&mut cell, &mut Sut::new(clean(), 1), |record| {
            let Some(windows) = &mut record.windows else {
                return;
            };
            windows.disturbed = true;
            if record.load_fps > beyond {
                for (sent, lost) in windows.sent.iter().zip(&mut windows.lost) {
                    *lost = (*lost).max(sent / 50);
                }
            }
            record.frames.lost = windows.lost.iter().sum();
            record.stalls = Some(StallReport {
                frames: record.frames.sent,
                lost: record.frames.lost,
                ..StallReport::default()
            });
            record.validity = Validity::Stalled {
                why: "CPUs stood still".to_owned(),
            };
        });
        cell.finish(context())
    };
    let bound = found(6e5);
    assert_eq!(bound.verdict, Verdict::Bound, "{:?}", bound.notes);
    assert!(
        bound
            .throughput_fps
            .is_some_and(|fps| (4e5..=6.1e5).contains(&fps))
    );
    assert_eq!(
        found(0.0).notes.first(),
        Some(&SearchNote::CpusTaken.into())
    );
}

/// Close to what it forwards under overload a path has given out by itself, whatever stalls had lost beside.
#[test]
fn what_is_near_the_capacity_is_no_bound() {
    let found = |in_stalls: f64| {
        let mut cell = Cell::new(plan(Preset::Robust)).unwrap();
        run(&mut cell, &mut Sut::new(clean(), 1), |record| {
            record.stalls = Some(StallReport {
                frames: (record.frames.sent as f64 * in_stalls) as u64,
                lost: record.frames.lost,
                ..StallReport::default()
            });
        });
        cell.finish(context()).verdict
    };
    assert_eq!(found(0.2), Verdict::Ok);
    // Nobody knows how much it forwards where the overload met stalls itself.
    assert_eq!(found(0.3), Verdict::Bound);
}

/// The sender did not run in some windows: the others judge the load.
#[test]
fn windows_in_which_the_load_was_offered_judge_it() {
    let mut cell = Cell::new(plan(Preset::Robust)).unwrap();
    let records = run(&mut cell, &mut Sut::new(clean(), 1), |record| {
        if record.purpose == Purpose::Search {
            record.pacing.offered_fps = record.load_fps * 0.7;
            record.validity = Validity::LoadMissed {
                why: "slipped".to_owned(),
            };
            let windows = record.windows.as_mut().unwrap();
            // Half of the frames, and none of them lost.
            windows.sent[0] /= 2;
            windows.lost[0] = 0;
        }
    });
    let result = cell.finish(context());
    let throughput = result.throughput_fps.unwrap();
    assert!((0.98e6..=1.0e6).contains(&throughput), "{throughput}");
    assert!(records.len() < 25, "{}", purposes(&records));
}

/// Other programs have the tester's CPU all the time: what was carried is all that is known, and the tester has not
/// reached its limit.
#[test]
fn a_tester_whose_cpu_others_have_gives_a_bound() {
    let contended = |record: &mut TrialRecord| {
        record.cpu = Some(CpuUse {
            who: BTreeMap::from([("other".to_owned(), 0.9)]),
            ..CpuUse::default()
        });
    };
    held_up(0.6, contended);
    // Those of the path too: hardly anything was offered.
    held_up(0.2, |record| {
        contended(record);
        if let Some(windows) = &mut record.windows {
            windows.disturbed = true;
        }
    });
}

/// Every search trial offers a `share` of its load, and loses nothing.
fn held_up(share: f64, why: impl Fn(&mut TrialRecord)) {
    let mut cell = Cell::new(plan(Preset::Robust)).unwrap();
    let mut sut = Sut::new(clean(), 1);
    let mut records = 0;
    while let Some(step) = cell.next() {
        let offered = if step.purpose == Purpose::Search {
            share
        } else {
            1.0
        };
        let what = (step.purpose, Fps(step.load.0 * offered));
        let (seconds, window) = (step.duration.as_secs_f64(), step.window.unwrap_or_default());
        let mut record = sut.record_by_windows(what, seconds, window);
        record.load_fps = step.load.0;
        if offered < 1.0 {
            record.validity = Validity::LoadMissed {
                why: "slow".to_owned(),
            };
            why(&mut record);
        }
        cell.observe(&record);
        records += 1;
        assert!(records < 40);
    }
    let result = cell.finish(context());
    assert_eq!(
        result.verdict,
        Verdict::Bound,
        "{share}: {:?}",
        result.notes
    );
    let throughput = result.throughput_fps.unwrap();
    assert!(throughput <= 1.05e6 * share, "{share}: {throughput}");
}
