//! Cells whose loads are judged by windows.

use nicety_model::StallReport;
use nicety_testkit::sut::{Busy, busy_paths};

use super::*;

fn busy(name: &str) -> Path {
    busy_paths()
        .into_iter()
        .find(|path| path.0 == name)
        .unwrap()
        .1
}

#[test]
fn a_visit_takes_a_few_seconds_and_the_last_one_stands_for_ten() {
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
        (0.95e6, 10.0, true)
    );
    assert_eq!((confirm.lost, confirm.bad_windows), (Some(0), Some(0.0)));
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

/// Other programs have the tester's CPU all the time: what was carried is all that is known, and
/// the tester has not reached its limit.
#[test]
fn a_tester_whose_cpu_others_have_is_not_its_limit() {
    let mut cell = Cell::new(plan(Preset::Robust)).unwrap();
    let mut sut = Sut::new(clean(), 1);
    let mut records = 0;
    while let Some(step) = cell.next() {
        let (share, what) = match step.purpose {
            Purpose::Search => (0.6, (step.purpose, Fps(step.load.0 * 0.6))),
            _ => (1.0, (step.purpose, step.load)),
        };
        let (seconds, window) = (step.duration.as_secs_f64(), step.window.unwrap_or_default());
        let mut record = sut.record_by_windows(what, seconds, window);
        record.load_fps = step.load.0;
        if share < 1.0 {
            record.validity = Validity::LoadMissed {
                why: "slow".to_owned(),
            };
            record.cpu = Some(CpuUse {
                who: BTreeMap::from([("other".to_owned(), 0.9)]),
                ..CpuUse::default()
            });
        }
        cell.observe(&record);
        records += 1;
        assert!(records < 40);
    }
    let result = cell.finish(context());
    assert_eq!(result.verdict, Verdict::Ok, "{:?}", result.notes);
    let throughput = result.throughput_fps.unwrap();
    assert!((0.5e6..=0.65e6).contains(&throughput), "{throughput}");
    assert!(
        result.estimate.unwrap().high_fps > 0.95e6,
        "{:?}",
        result.estimate
    );
}

/// A confirm trial that met a slow moment is followed by one at what it forwarded.
#[test]
fn the_load_that_held_is_searched_from_what_was_forwarded() {
    let mut cell = Cell::new(plan(Preset::Robust)).unwrap();
    let mut sut = Sut::new(Path::Busy(Busy::quiet(1e6, 256.0)), 1);
    let mut slow = Sut::new(Path::Busy(Busy::quiet(0.9e6, 256.0)), 1);
    let mut records = Vec::new();
    while let Some(step) = cell.next() {
        let from = if step.purpose == Purpose::Confirm {
            &mut slow
        } else {
            &mut sut
        };
        let (what, seconds) = ((step.purpose, step.load), step.duration.as_secs_f64());
        let record = from.record_by_windows(what, seconds, step.window.unwrap_or_default());
        cell.observe(&record);
        records.push(record);
    }
    assert!(
        purposes(&records).contains("cclll"),
        "{}",
        purposes(&records)
    );
    let result = cell.finish(context());
    assert!(!result.confirm.unwrap().met);
    let held = result.held.unwrap();
    assert!((0.88e6..0.9e6).contains(&held.load_fps), "{held:?}");
    // Ten slow seconds are no contradiction of the search.
    assert_eq!(result.verdict, Verdict::Ok, "{:?}", result.notes);
}

/// On no path does the trial of ten seconds contradict the visits that chose its load often.
#[test]
fn search_and_confirm_judge_alike() {
    for (name, path) in reference_paths().into_iter().chain(busy_paths()) {
        let contradicted = (0..20).filter(|seed| {
            let mut sut = Sut::new(path, *seed);
            let mut visit = plan(Preset::Robust);
            for _ in 1..5 {
                let mut brief = Cell::new(visit.clone().brief()).unwrap();
                run(&mut brief, &mut sut, |_| {});
                let throughput = brief.finish(context()).throughput_fps.map(Fps);
                visit.earlier.extend(throughput);
                visit.expect = throughput;
                sut.wait(25.0);
            }
            let mut last = Cell::new(visit).unwrap();
            run(&mut last, &mut sut, |_| {});
            last.finish(context())
                .confirm
                .is_some_and(|confirm| !confirm.met)
        });
        let count = contradicted.count();
        assert!(count <= 1, "{name}: {count} of 20");
    }
}

#[test]
fn an_engine_without_windows_gives_a_number_too() {
    let mut cell = Cell::new(plan(Preset::Robust)).unwrap();
    run(&mut cell, &mut Sut::new(clean(), 1), |record| {
        record.windows = None
    });
    let result = cell.finish(context());
    let throughput = result.throughput_fps.unwrap();
    assert!((0.97e6..=1.001e6).contains(&throughput), "{throughput}");
}

#[test]
fn a_sender_held_up_is_coupled_and_a_slow_tester_is_the_limit() {
    for (limit, verdict) in [(4.1e5, Verdict::TesterLimited), (MAX.0, Verdict::Coupled)] {
        let mut cell = Cell::new(plan(Preset::Robust)).unwrap();
        let mut sut = Sut::new(clean(), 1).with_tester_limit(4e5);
        let records = run(&mut cell, &mut sut, |_| {});
        let result = cell.finish(CellContext {
            tester_limit: Some(Fps(limit)),
            ..context()
        });
        assert_eq!(
            result.verdict,
            verdict,
            "{:?} {}",
            result.notes,
            purposes(&records)
        );
        let throughput = result.throughput_fps.unwrap();
        assert!((0.97 * 4e5..=4e5).contains(&throughput), "{throughput}");
    }
}

#[test]
fn trials_with_the_cpus_far_apart_are_made_again() {
    let mut cell = Cell::new(CellPlan {
        nearest_ns: Some(50.0),
        ..plan(Preset::Robust).brief()
    })
    .unwrap();
    let mut count = 0;
    let records = run(&mut cell, &mut Sut::new(clean(), 1), |record| {
        count += 1;
        let far = count % 3 == 0;
        record.cache_line_ns = Some(if far { [51.0, 290.0] } else { [52.0, 50.0] });
        if far && let Some(windows) = &mut record.windows {
            // As slow as it may be: nothing of it counts.
            windows.lost.clone_from(&windows.sent);
        }
    });
    assert_eq!(records[2].load_fps, records[3].load_fps);
    let result = cell.finish(context());
    assert!((0.98e6..=1.0e6).contains(&result.throughput_fps.unwrap()));
    assert_eq!(result.cache_line_ns, Some(52.0));
    // A machine that stays so has a number all the same.
    let mut cell = Cell::new(CellPlan {
        nearest_ns: Some(50.0),
        ..plan(Preset::Robust).brief()
    })
    .unwrap();
    run(&mut cell, &mut Sut::new(clean(), 1), |record| {
        record.cache_line_ns = Some([290.0, 290.0]);
    });
    let result = cell.finish(context());
    assert!(result.throughput_fps.is_some());
    assert_eq!(result.cache_line_ns, Some(290.0));
}
