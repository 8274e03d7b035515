use std::collections::BTreeMap;

use nicety_model::plan::Preset;
use nicety_model::{
    CellKey, CellResult, CoreUse, CpuUse, Direction, FrameSize, LatencySummary, LoadStep,
    LossEntry, Outage, PathSpec, ResetKind, Validity, Verdict,
};
use nicety_testkit::sut::{Path, Sut, reference_paths};
use proptest::prelude::*;

use super::*;

const MAX: Fps = Fps(14_880_952.0);

fn plan(preset: Preset) -> CellPlan {
    CellPlan::new(Settings::of(preset, 0.0001), MAX)
}

pub(crate) fn context() -> CellContext {
    CellContext {
        key: CellKey {
            path: PathSpec::Bridge,
            frame_size_bytes: FrameSize::new(64).unwrap(),
            direction: Direction::Uni,
            flows: 1,
            shape: nicety_model::Shape::default(),
        },
        repeat: 1,
        control: None,
        engine: "simulated".to_owned(),
        tester_limit: Some(MAX),
        line_rate: None,
        in_sender: false,
        drift: None,
        disturbance: None,
        built: None,
    }
}

/// Runs the cell; `change` may tamper with each record.
fn run(
    cell: &mut Cell,
    sut: &mut Sut,
    mut change: impl FnMut(&mut TrialRecord),
) -> Vec<TrialRecord> {
    let mut all = Vec::new();
    while let Some(step) = cell.next() {
        assert_eq!(cell.next(), Some(step));
        let seconds = step.duration.as_secs_f64();
        let mut record = match step.window {
            Some(window) => sut.record_by_windows((step.purpose, step.load), seconds, window),
            None => sut.record(step.purpose, step.load, seconds),
        };
        record.index = step.index;
        record.latency_us = Some(LatencySummary {
            p50: 9.0,
            samples: 10,
            ..LatencySummary::default()
        });
        change(&mut record);
        cell.observe(&record);
        all.push(record);
        assert!(all.len() < 5_000, "does not end");
    }
    all
}

fn purposes(records: &[TrialRecord]) -> String {
    let letter = |record: &TrialRecord| match record.purpose {
        Purpose::WarmUp => 'w',
        Purpose::Search => 's',
        Purpose::Confirm => 'c',
        Purpose::Latency { .. } => 'l',
        Purpose::Burst => 'B',
        Purpose::Recovery => 'R',
        Purpose::Reset => 'r',
        Purpose::Fate { .. } => 'f',
    };
    records.iter().map(letter).collect()
}

fn run_cell(preset: Preset, path: Path) -> (Vec<TrialRecord>, CellResult) {
    let mut cell = Cell::new(plan(preset)).unwrap();
    let records = run(&mut cell, &mut Sut::new(path, 1), |_| {});
    (records, cell.finish(context()))
}

fn clean() -> Path {
    reference_paths()[0].1
}

/// On a clean path the warm-up trial replaces the first trial of the search and the confirm
/// trial settles the lower bound.
#[test]
fn trials_of_a_cell_on_a_clean_path() {
    for (preset, sequence) in [
        (Preset::Std, "wssscl ll"),
        (Preset::Csit, "wssscl ll"),
        (Preset::Binary, "wsssssssssssssclll"),
        (Preset::Rfc2544, "wsssslll"),
    ] {
        let (records, result) = run_cell(preset, clean());
        assert_eq!(purposes(&records), sequence.replace(' ', ""), "{preset:?}");
        assert_eq!(
            result.verdict,
            Verdict::Ok,
            "{preset:?}: {:?}",
            result.notes
        );
        let fps = result.throughput_fps.unwrap();
        assert!((0.98e6..=1e6).contains(&fps), "{preset:?}: {fps}");
        assert_eq!(result.latency_by_load_us.len(), 3);
        assert_eq!(result.latency_us.unwrap().load_ratio, Some(0.9));
        assert!(
            records
                .iter()
                .enumerate()
                .all(|(i, r)| r.index as usize == i + 1)
        );
    }
}

#[test]
fn the_result_is_filled_in() {
    let mut cell = Cell::new(plan(Preset::Std)).unwrap();
    run(&mut cell, &mut Sut::new(clean(), 1), |record| {
        let core = CoreUse {
            softirq: 1.0,
            ..CoreUse::default()
        };
        let idle = CoreUse {
            cpu: 1,
            idle: 1.0,
            ..CoreUse::default()
        };
        record.cpu = Some(CpuUse {
            cores: vec![core, idle],
            ..CpuUse::default()
        });
        let place = format!("{:?} at {:.0}", record.purpose, record.load_fps);
        record.loss_ledger = vec![LossEntry::counted(place, record.frames.lost)];
    });
    let result = cell.finish(context());
    let (lower, upper) = (
        result.bounds.lower_fps.unwrap(),
        result.bounds.upper_fps.unwrap(),
    );
    assert!(lower < upper && upper - lower <= 0.01 * upper);
    let confirm = result.confirm.unwrap();
    assert_eq!(
        (confirm.load_fps, confirm.duration_s, confirm.met),
        (lower, 30.0, true)
    );
    assert!(result.loss_ledger[0].place.starts_with("Confirm"));
    // What gave out first is told by the lowest lossy trial above the result.
    assert_eq!(
        result.overload_ledger[0].place,
        format!("Search at {upper:.0}")
    );
    assert_eq!(
        Note::texts(&result.notes),
        ["CPU 0 (softirq) was full while all CPUs together were 50 % idle."]
    );
    assert_eq!(result.trials, 3);
    assert!(
        (result.search_s - (1.5 + 1.5 + 5.5)).abs() < 1e-9,
        "{}",
        result.search_s
    );
    let l1 = result.throughput_fps.unwrap() * 84.0 * 8.0 / 1e6;
    assert!((result.throughput_l1_mbps.unwrap() - l1).abs() < 1e-9);
}

#[test]
fn a_confirm_trial_that_fails_is_unstable_and_a_lower_load_is_tried() {
    for (second, confirms_all) in [(true, 2), (false, 1)] {
        let mut cell = Cell::new(CellPlan {
            second_confirm: second,
            ..plan(Preset::Std)
        })
        .unwrap();
        let mut confirms = 0;
        let records = run(&mut cell, &mut Sut::new(clean(), 1), |record| {
            if record.purpose == Purpose::Confirm {
                confirms += 1;
                record.loss_ratio = nicety_model::LossRatio(if confirms == 1 { 0.01 } else { 0.0 });
            }
        });
        let sequence = purposes(&records);
        assert_eq!(sequence.matches('c').count(), confirms_all, "{sequence}");
        assert!(sequence.ends_with("lll"), "{sequence}");
        let result = cell.finish(context());
        assert_eq!(result.verdict, Verdict::Unstable);
        assert!(!result.confirm.unwrap().met);
        let lower = result.bounds.lower_fps.unwrap();
        assert_eq!(result.confirm.unwrap().load_fps, lower);
        // A little below what the path forwarded meanwhile.
        let held = result.held.map(|held| held.load_fps / lower);
        assert!(
            held.is_none_or(|share| (0.97..=0.98).contains(&share)),
            "{held:?}"
        );
        assert_eq!(
            result.notes[0]
                .to_string()
                .contains("frames/s met the goal for as long"),
            second,
            "{:?}",
            result.notes
        );
    }
}

#[test]
fn a_tester_that_cannot_offer_more_caps_the_search() {
    let mut cell = Cell::new(plan(Preset::Std)).unwrap();
    let mut sut = Sut::new(clean(), 1).with_tester_limit(4e5);
    let records = run(&mut cell, &mut sut, |_| {});
    // The missed warm-up trial counts as the first try of the highest load.
    assert_eq!(records[1].load_fps, records[0].load_fps);
    assert!(records[2..].iter().all(|record| record.load_fps <= 4e5));
    let mut limited = context();
    limited.tester_limit = Some(Fps(4.1e5));
    let result = cell.finish(limited);
    assert_eq!(result.verdict, Verdict::TesterLimited, "{:?}", result.notes);
    assert!((0.99 * 4e5..=4e5).contains(&result.throughput_fps.unwrap()));
    assert_eq!(result.bounds.upper_fps, None);
    // Alone the tester makes far more: the path holds the sender up.
    assert_eq!(cell.finish(context()).verdict, Verdict::Coupled);
}

/// A sender that the path holds up never offers the same twice.
#[test]
fn a_sender_held_up_more_and_less_ends_coupled() {
    for seed in 0..20 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut cell = Cell::new(plan(Preset::Std)).unwrap();
        run(&mut cell, &mut Sut::new(clean(), 1), |record| {
            let most = 3e5 * (0.94 + 0.06 * random.f64());
            if record.load_fps > most {
                record.pacing.offered_fps = most;
                record.loss_ratio = nicety_model::LossRatio(0.0);
                record.validity = Validity::LoadMissed {
                    why: "held up".to_owned(),
                };
            }
        });
        let result = cell.finish(context());
        assert_eq!(
            result.verdict,
            Verdict::Coupled,
            "{seed}: {:?}",
            result.notes
        );
        let fps = result.throughput_fps.unwrap();
        assert!((0.9 * 3e5..=3e5).contains(&fps), "{seed}: {fps}");
    }
}

/// A sender that something else stops for half of the time, whatever the load: the search does not follow it down.
#[test]
fn a_sender_stopped_for_half_of_the_time_keeps_what_was_carried() {
    for preset in [Preset::Std, Preset::Robust] {
        let mut cell = Cell::new(plan(preset)).unwrap();
        let mut best: f64 = 0.0;
        run(&mut cell, &mut Sut::new(clean(), 1), |record| {
            let offered = 0.45 * record.load_fps;
            record.pacing.offered_fps = offered;
            record.loss_ratio = nicety_model::LossRatio(0.0);
            record.frames.lost = 0;
            if let Some(windows) = &mut record.windows {
                windows.lost.fill(0);
                windows
                    .sent
                    .iter_mut()
                    .for_each(|sent| *sent = *sent * 45 / 100);
            }
            record.validity = Validity::LoadMissed {
                why: "stopped".to_owned(),
            };
            best = best.max(offered);
        });
        let result = cell.finish(context());
        let fps = result.throughput_fps.unwrap();
        assert!(
            (0.7 * best..=best).contains(&fps),
            "{fps} of {best}: {:?}",
            result.notes
        );
        assert_eq!(result.verdict, Verdict::Coupled);
    }
}

#[test]
fn frames_dropped_by_the_tester_are_never_loss() {
    let mut cell = Cell::new(plan(Preset::Std)).unwrap();
    run(&mut cell, &mut Sut::new(clean(), 1), |record| {
        if record.load_fps > 5e5 {
            record.validity = Validity::TesterDropped { frames: 9 };
        }
    });
    let result = cell.finish(context());
    assert_eq!(result.bounds.upper_fps, None);
    assert!(result.throughput_fps.unwrap() <= 5e5);
    assert_eq!(result.verdict, Verdict::TesterLimited, "{:?}", result.notes);
    assert!(
        result
            .notes
            .iter()
            .any(|note| note.to_string().contains("dropped 9 frames"))
    );
}

#[test]
fn one_invalid_trial_is_run_again_and_forgotten() {
    for broken in [
        Validity::Broken {
            why: "interface down".to_owned(),
        },
        Validity::LoadMissed {
            why: "late".to_owned(),
        },
    ] {
        for nth in 2..=8 {
            let mut cell = Cell::new(plan(Preset::Std)).unwrap();
            let mut count = 0;
            let records = run(&mut cell, &mut Sut::new(clean(), 1), |record| {
                count += 1;
                if count == nth {
                    record.validity = broken.clone();
                }
            });
            let (bad, again) = (&records[nth - 1], records.get(nth));
            if let Some(again) = again {
                assert_eq!(
                    (bad.load_fps, bad.purpose),
                    (again.load_fps, again.purpose),
                    "{nth}"
                );
            }
            assert_eq!(cell.finish(context()).verdict, Verdict::Ok, "{nth}");
        }
    }
}

#[test]
fn a_disturbed_tester_is_not_its_limit() {
    // Everything after the second trial is disturbed: the search must not follow it down.
    let mut cell = Cell::new(plan(Preset::Std)).unwrap();
    let records = run(&mut cell, &mut Sut::new(clean(), 1), |record| {
        if record.index > 2 && record.purpose == Purpose::Search {
            record.pacing.offered_fps = record.load_fps * 0.9;
            record.validity = Validity::LoadMissed {
                why: "slipped".to_owned(),
            };
        }
    });
    let result = cell.finish(context());
    assert_eq!(result.verdict, Verdict::Wide, "{:?}", result.notes);
    assert!(
        result.notes[0].to_string().contains("disturbed twice"),
        "{:?}",
        result.notes
    );
    assert!(result.throughput_fps.unwrap() > 0.0);
    assert!(records.len() < 60, "{}", purposes(&records));
}

/// Where tester and path share few CPUs, the loads that the path is far from are those that the
/// tester can not always make.
#[test]
fn a_load_that_is_missed_and_mostly_lost_is_too_much() {
    let missed = |record: &mut TrialRecord| {
        if record.load_fps > 2e6 {
            record.validity = Validity::LoadMissed {
                why: "slow".to_owned(),
            };
        }
        // The warm-up has frightened the path: the search goes up again.
        if record.purpose == Purpose::WarmUp {
            record.forwarding_fps /= 3.0;
        }
    };
    let high = |r: &&TrialRecord| r.purpose == Purpose::Search && r.load_fps > 2e6;
    let mut cell = Cell::new(plan(Preset::Std)).unwrap();
    let records = run(&mut cell, &mut Sut::new(clean(), 1), missed);
    assert!(records.iter().filter(high).count() > 0);
    let result = cell.finish(context());
    assert_eq!(result.verdict, Verdict::Ok, "{:?}", result.notes);
    let fps = result.throughput_fps.unwrap();
    assert!((0.98e6..=1e6).contains(&fps), "{fps}");
    // Less than half may be lost by the sender's haste: that is no evidence.
    let mut cell = Cell::new(plan(Preset::Std)).unwrap();
    run(&mut cell, &mut Sut::new(clean(), 1), |record| {
        missed(record);
        if record.load_fps > 2e6 {
            record.loss_ratio = nicety_model::LossRatio(0.4);
        }
    });
    let result = cell.finish(context());
    assert!(!result.notes.is_empty());
    let notes = Note::texts(&result.notes).join("; ");
    assert!(notes.contains("missed: slow"), "{notes}");
}

/// A sender that shares its CPU offers a twentieth less than it was asked for, in every window.
#[test]
fn what_was_not_offered_is_not_carried() {
    let mut cell = Cell::new(plan(Preset::Quick)).unwrap();
    run(&mut cell, &mut Sut::new(clean(), 1), |record| {
        let windows = record.windows.iter_mut();
        for (sent, lost) in windows.flat_map(|all| all.sent.iter_mut().zip(&mut all.lost)) {
            let carried = *sent - *lost;
            *sent = *sent * 19 / 20;
            *lost = sent.saturating_sub(carried);
        }
    });
    let fps = cell.finish(context()).throughput_fps.unwrap();
    assert!((0.93e6..1.005e6).contains(&fps), "{fps}");
}

#[test]
fn a_trial_that_breaks_twice_fails_the_cell() {
    let mut cell = Cell::new(plan(Preset::Std)).unwrap();
    let records = run(&mut cell, &mut Sut::new(clean(), 1), |record| {
        if record.index >= 3 {
            record.validity = Validity::Broken {
                why: "interface d1 is down".to_owned(),
            };
        }
    });
    assert_eq!(records.len(), 4);
    let result = cell.finish(context());
    assert_eq!(
        (result.verdict, result.throughput_fps),
        (Verdict::Failed, None)
    );
    assert!(result.notes[0].to_string().contains("interface d1 is down"));
}

#[test]
fn a_confirm_trial_missed_twice_is_late() {
    let mut cell = Cell::new(plan(Preset::Std)).unwrap();
    run(&mut cell, &mut Sut::new(clean(), 1), |record| {
        if record.purpose == Purpose::Confirm {
            record.validity = Validity::LoadMissed {
                why: "slipped".to_owned(),
            };
        }
    });
    let result = cell.finish(context());
    assert_eq!(result.verdict, Verdict::Late, "{:?}", result.notes);
    assert!(result.confirm.is_none() && result.throughput_fps.is_some());
}

#[test]
fn a_path_that_always_loses_fails_with_a_reason() {
    let (_, result) = run_cell(Preset::Std, Path::Lossy { loss_ratio: 0.2 });
    assert_eq!(
        (result.verdict, result.throughput_fps),
        (Verdict::Failed, None)
    );
    assert!(result.notes[0].to_string().contains("Even the lowest load"));
}

#[test]
fn an_interrupted_cell_says_so() {
    let cell = Cell::new(plan(Preset::Std)).unwrap();
    let result = cell.finish(context());
    assert_eq!(result.verdict, Verdict::Failed);
    assert!(result.notes[0].to_string().contains("interrupted"));
}

#[test]
fn a_visit_of_the_control_cell_is_cheap() {
    let (records, result) = run_cell(Preset::Std, clean());
    let mut visit = plan(Preset::Std).brief();
    visit.expect = result.bounds.lower_fps.map(Fps);
    let mut cell = Cell::new(visit).unwrap();
    let again = run(&mut cell, &mut Sut::new(clean(), 1), |_| {});
    assert!(!purposes(&again).contains(['c', 'l']));
    let wall = |records: &[TrialRecord]| records.iter().map(|r| r.wall_s).sum::<f64>();
    assert!(wall(&again) < wall(&records) * 0.6);
    let drift = cell.finish(context()).throughput_fps.unwrap() / result.throughput_fps.unwrap();
    assert!((drift - 1.0).abs() < 0.001, "{drift}");
}

#[test]
fn the_estimate_counts_down_to_nothing() {
    let mut cell = Cell::new(plan(Preset::Std)).unwrap();
    let first = cell.left();
    assert!(first.seconds > 30.0 && first.trials > 8, "{first:?}");
    run(&mut cell, &mut Sut::new(clean(), 1), |_| {});
    assert_eq!((cell.left().trials, cell.left().seconds), (0, 0.0));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    /// Recorded trials fed again, with any of them invalid, lead to the same next step.
    #[test]
    fn a_resumed_cell_goes_on_where_it_was(
        seed in 0u64..500, path in 0usize..4, cut in 0usize..40,
        faults in proptest::collection::vec(0u8..40, 60),
    ) {
        let path = reference_paths()[path].1;
        let mut cell = Cell::new(plan(Preset::Std)).unwrap();
        let mut faults = faults.into_iter().cycle();
        let records = run(&mut cell, &mut Sut::new(path, seed), |record| {
            record.validity = match faults.next() {
                Some(0) => Validity::Broken { why: "broke".to_owned() },
                Some(1) => Validity::LoadMissed { why: "missed".to_owned() },
                Some(2) => Validity::TesterDropped { frames: 1 },
                _ => Validity::Valid,
            };
        });
        let mut again = Cell::new(plan(Preset::Std)).unwrap();
        for record in records.iter().take(cut) {
            again.observe(record);
        }
        let next = again.next().map(|step| (step.purpose, step.load.0, step.index));
        let recorded = records.get(cut).map(|r| (r.purpose, r.load_fps, r.index));
        prop_assert_eq!(next, recorded);
        for record in records.iter().skip(cut) {
            again.observe(record);
        }
        prop_assert_eq!(again.finish(context()), cell.finish(context()));
    }
}

#[test]
fn a_budget_cuts_the_search_and_what_follows_a_failed_confirm_trial() {
    let full_plan = plan(Preset::Std);
    let timeout = |seconds| {
        let budget = Duration::from_secs(seconds);
        full_plan
            .clone()
            .within(budget)
            .settings
            .timeout
            .as_secs_f64()
    };
    assert_eq!(timeout(1000), 600.0);
    assert!((timeout(500) - (500.0 * TRAFFIC_SHARE - 34.0)).abs() < 1e-9);
    assert_eq!(timeout(5), 300.0);
    for (budget, confirms) in [(180, 3), (60, 1)] {
        let mut cell = Cell::new(full_plan.clone().within(Duration::from_secs(budget))).unwrap();
        let records = run(&mut cell, &mut Sut::new(clean(), 1), |record| {
            if record.purpose == Purpose::Confirm {
                record.loss_ratio = nicety_model::LossRatio(0.01);
            }
        });
        let sequence = purposes(&records);
        assert_eq!(sequence.matches('c').count(), confirms, "{sequence}");
    }
}

#[test]
fn a_replay_ends_where_the_machine_wants_something_else() {
    let (records, result) = run_cell(Preset::Std, clean());
    let mut cell = Cell::new(plan(Preset::Std)).unwrap();
    assert_eq!(cell.replay(&records), records.len());
    assert_eq!(cell.finish(context()), result);
    let mut other = records.clone();
    other[3].load_fps *= 0.9;
    let mut cell = Cell::new(plan(Preset::Std)).unwrap();
    assert_eq!(cell.replay(&other), 3);
    assert_eq!(cell.next().unwrap().load.0, records[3].load_fps);
}

#[test]
fn stamps_of_nics_stand_beside_the_kernels() {
    let is_latency = |record: &TrialRecord| matches!(record.purpose, Purpose::Latency { .. });
    let mut sut = Sut::new(clean(), 1);
    let mut cell = Cell::new(plan(Preset::Std)).unwrap();
    let all = run(&mut cell, &mut sut, |record| {
        if is_latency(record) {
            record.hardware_latency = Some(nicety_model::HardwareLatency {
                latency_us: Some(LatencySummary {
                    p50: 2.0,
                    p99: 3.0,
                    samples: 70,
                    ..LatencySummary::default()
                }),
                drivers: vec!["igb".to_owned(), "igb".to_owned()],
                clocks: vec!["ptp0".to_owned(), "ptp1".to_owned()],
                offset_error_ns: 20.0,
                drift_ppb: 0.0,
                probes: nicety_model::HardwareProbes {
                    sent: 80,
                    stamped: 70,
                    lost: 4,
                    not_stamped: 6,
                    clock_errors: 0,
                },
                load_share: 0.001,
            });
        }
    });
    let result = cell.finish(context());
    let latency = all.iter().filter(|record| is_latency(record)).count();
    assert!(latency > 0);
    assert_eq!(result.hardware_latency.len(), latency);
    assert_eq!(result.latency_by_load_us.len(), latency);
    for (hardware, software) in result
        .hardware_latency
        .iter()
        .zip(&result.latency_by_load_us)
    {
        let summary = hardware.latency_us.unwrap();
        assert_eq!(summary.load_ratio, software.load_ratio);
        assert_eq!((summary.p50, software.p50), (2.0, 9.0));
    }
    let said = "Latency at 90 % load: p50 2.0 µs and p99 3.0 µs by the NICs' clocks; p50 9.0 µs and p99 \
                0.0 µs by the kernel's. Stamps: hardware stamps of igb, PHC ptp0 and ptp1, offset error \
                ± 20 ns, 80 probes, 4 lost, 6 not stamped.";
    assert!(
        result.notes.iter().any(|note| note.to_string() == said),
        "{:?}",
        result.notes
    );
}

mod fates;
mod windows;

#[test]
fn a_curve_has_rate_loss_and_latency_from_one_frame_at_a_time_to_overload() {
    let mut plan = plan(Preset::Robust);
    plan.latency_shares = vec![0.0, 0.5, 0.9, 1.0, 1.2];
    plan.curve = true;
    let mut cell = Cell::new(plan).unwrap();
    run(&mut cell, &mut Sut::new(clean(), 1), |record| {
        record.latency_us = Some(LatencySummary {
            p50: record.load_fps,
            ..LatencySummary::default()
        });
    });
    let result = cell.finish(context());
    let throughput = result.throughput_fps.unwrap();
    let shares: Vec<f64> = result.curve.iter().map(|point| point.load_ratio).collect();
    assert_eq!(shares, [0.0, 0.5, 0.9, 1.0, 1.2]);
    assert_eq!(result.curve[0].load_fps, 1_000.0);
    for point in &result.curve[..4] {
        assert_eq!(point.loss_ratio.0, 0.0, "{point:?}");
        assert!(
            (point.forwarding_fps / point.load_fps - 1.0).abs() < 0.01,
            "{point:?}"
        );
    }
    let over = result.curve[4];
    assert!((over.load_fps / throughput - 1.2).abs() < 1e-9);
    assert!((0.1..0.2).contains(&over.loss_ratio.0), "{over:?}");
    assert!((over.forwarding_fps / 1e6 - 1.0).abs() < 0.02, "{over:?}");
    assert_eq!(over.latency_us.unwrap().p50, over.load_fps);
    // What stands for the cell is no full queue.
    let latency = result.latency_us.unwrap();
    assert_eq!(latency.load_ratio, Some(0.9));
    // Without a curve only latency is told.
    let mut cell = Cell::new(self::plan(Preset::Robust)).unwrap();
    run(&mut cell, &mut Sut::new(clean(), 1), |_| {});
    assert!(cell.finish(context()).curve.is_empty());
}

/// A path with a buffer of 500 frames from which 100,000 are taken per second.
#[test]
fn bursts_find_the_buffer_after_everything_else() {
    let mut cell = Cell::new(CellPlan {
        bursts: 3,
        ..CellPlan::new(Settings::of(Preset::Std, 0.0001), Fps(1e6))
    })
    .unwrap();
    let mut sut = Sut::new(Path::Fixed { capacity: 1e5 }, 1);
    let mut bursts = 0;
    while let Some(step) = cell.next() {
        let seconds = step.duration.as_secs_f64();
        let mut record = sut.record(step.purpose, step.load, seconds);
        if step.purpose == Purpose::Burst {
            bursts += 1;
            let frames = &mut record.frames;
            assert_eq!(frames.sent, step.load.frames_in(seconds));
            let over = (frames.sent as f64 * 0.9 - 500.0).max(0.0);
            frames.lost = over as u64;
            frames.received = frames.sent - frames.lost;
        } else {
            assert_eq!(bursts, 0, "{:?}", step.purpose);
        }
        cell.observe(&record);
    }
    let result = cell.finish(context());
    let found = result.back_to_back.unwrap();
    assert!(bursts > 0 && !found.at_least, "{found:?}");
    assert_eq!((found.repeats, found.rate_fps), (3, 1e6));
    let depth = found.buffer_frames.unwrap();
    assert!((depth - 500.0).abs() < 12.0, "{found:?}");
    // A brief visit has none.
    let plan = CellPlan {
        bursts: 3,
        ..plan(Preset::Std)
    };
    assert_eq!(plan.brief().bursts, 0);
}

/// A step of a trial of system recovery on a path that carries 100,000 frames per second.
fn stepped(load: Fps, then: Then, seconds: f64) -> LoadStep {
    let lost = (load.0 - 1e5).max(0.0) * seconds;
    LoadStep {
        then_fps: then.load.0,
        before_s: seconds,
        after_s: then.duration.as_secs_f64(),
        sent_before: load.frames_in(seconds),
        lost_before: lost as u64,
        lost_after: 3,
        last_lost_s: (lost > 0.0).then_some(0.004),
    }
}

#[test]
fn recovery_and_resets_come_after_everything_else() {
    let mut cell = Cell::new(CellPlan {
        bursts: 1,
        recovery: Duration::from_secs(20),
        resets: 2,
        ..CellPlan::new(Settings::of(Preset::Std, 0.0001), Fps(1e6))
    })
    .unwrap();
    cell.reset_within(Duration::from_secs(10));
    let mut sut = Sut::new(Path::Fixed { capacity: 1e5 }, 1);
    let (mut order, mut trials): (Vec<&str>, Vec<TrialRecord>) = (Vec::new(), Vec::new());
    while let Some(step) = cell.next() {
        let seconds = step.duration.as_secs_f64();
        let mut record = sut.record(step.purpose, step.load, seconds);
        let word = match step.purpose {
            Purpose::Recovery => {
                record.step = Some(stepped(step.load, step.then.unwrap(), seconds));
                "recovery"
            }
            Purpose::Reset => {
                assert_eq!(seconds, 10.0);
                record.outage = Some(Outage {
                    by: ResetKind::BridgeDownUp,
                    outage_s: 0.25,
                    frames: 25_000,
                    by_loss_s: 0.26,
                    back: true,
                    limit_s: seconds,
                });
                "reset"
            }
            Purpose::Burst => "burst",
            Purpose::Fate { .. } => "fate",
            _ => "search",
        };
        assert_eq!(step.then.is_some(), word == "recovery");
        if order.last() != Some(&word) {
            order.push(word);
        }
        let left = cell.left();
        cell.observe(&record);
        assert!(cell.left().trials <= left.trials.max(1) + 20, "{word}");
        trials.push(record);
    }
    assert_eq!(&order[..3], ["search", "burst", "recovery"]);
    assert_eq!(order.last(), Some(&"reset"));
    let result = cell.finish(context());
    let found = result.recovery.unwrap();
    let throughput = result.throughput_fps.unwrap();
    assert_eq!((found.trials, found.overloaded), (5, 5));
    assert!((found.overload_fps - 1.1 * throughput).abs() < 1e-6);
    assert_eq!((found.recovery_s, found.watched_s), (Some(0.004), 2.0));
    let reset = result.reset.unwrap();
    assert_eq!((reset.trials, reset.outage_s), (2, Some(0.25)));
    assert_eq!(reset.load_fps, throughput);

    // An interrupted run goes on where it was.
    let mut again = Cell::new(cell.plan.clone()).unwrap();
    assert_eq!(again.replay(&trials), trials.len());
    assert_eq!(again.next(), None);
    assert_eq!(again.finish(context()).recovery, Some(found));
    let brief = cell.plan.clone().brief();
    assert!(brief.recovery.is_zero() && brief.resets == 0);
}

#[test]
fn what_cannot_be_measured_is_left_out_or_given_up() {
    let plan = || CellPlan {
        recovery: Duration::from_secs(20),
        resets: 3,
        ..CellPlan::new(Settings::of(Preset::Std, 0.0001), Fps(1e6))
    };
    let mut cell = Cell::new(plan()).unwrap();
    cell.without_recovery();
    cell.without_reset();
    let mut sut = Sut::new(Path::Fixed { capacity: 1e5 }, 1);
    while let Some(step) = cell.next() {
        let asked = matches!(step.purpose, Purpose::Recovery | Purpose::Reset);
        assert!(!asked, "{step:?}");
        cell.observe(&sut.record(step.purpose, step.load, step.duration.as_secs_f64()));
    }
    let result = cell.finish(context());
    assert_eq!((result.recovery, result.reset), (None, None));

    // Trials that tell nothing end soon, and a note says why.
    let mut cell = Cell::new(plan()).unwrap();
    let mut asked = 0;
    while let Some(step) = cell.next() {
        let mut record = sut.record(step.purpose, step.load, step.duration.as_secs_f64());
        if matches!(step.purpose, Purpose::Recovery | Purpose::Reset) {
            asked += 1;
            record.validity = Validity::Broken {
                why: "the cable is out".to_owned(),
            };
        }
        cell.observe(&record);
    }
    assert_eq!(asked, 5);
    let result = cell.finish(context());
    assert_eq!((result.recovery, result.reset), (None, None));
    assert!(result.throughput_fps.is_some());
    let notes: Vec<String> = result.notes.iter().map(|note| note.to_string()).collect();
    for why in [
        "System recovery was not measured: the cable is out.",
        "The reset time was not measured: the cable is out.",
    ] {
        assert!(notes.iter().any(|note| note == why), "{notes:?}");
    }
}

fn noted(result: &CellResult) -> &'static str {
    result.notes.first().map_or("", |note| note.code().code)
}

/// A path that does this to every trial's frames.
fn with_frames(preset: Preset, change: fn(&mut nicety_model::FrameCounts)) -> CellResult {
    let mut cell = Cell::new(plan(preset)).unwrap();
    run(&mut cell, &mut Sut::new(clean(), 1), |record| {
        change(&mut record.frames)
    });
    cell.finish(context())
}

#[test]
fn a_path_that_repeats_damages_or_reorders_frames_is_faulty() {
    for preset in [Preset::Std, Preset::Robust] {
        let repeats = with_frames(preset, |frames| frames.duplicate = frames.received);
        assert_eq!(
            (repeats.verdict, noted(&repeats)),
            (Verdict::Faulty, "N116")
        );
        let note = repeats.notes[0].to_string();
        assert!(
            note.starts_with("100 % of the frames arrived again"),
            "{note}"
        );
        let damages = with_frames(preset, |frames| frames.corrupt = frames.received / 500);
        assert_eq!(
            (damages.verdict, noted(&damages)),
            (Verdict::Faulty, "N117")
        );
        let reorders = with_frames(preset, |frames| frames.reordered = frames.received / 50);
        assert_eq!(
            (reorders.verdict, noted(&reorders)),
            (Verdict::Faulty, "N118")
        );
        let few = with_frames(preset, |frames| {
            (frames.duplicate, frames.reordered) = (frames.received / 200, frames.received / 200);
        });
        assert_ne!(few.verdict, Verdict::Faulty, "{:?}", few.notes);
    }
}

#[test]
fn several_flows_may_overtake_each_other() {
    let mut cell = Cell::new(plan(Preset::Std)).unwrap();
    run(&mut cell, &mut Sut::new(clean(), 1), |record| {
        record.frames.reordered = record.frames.received / 2;
    });
    let mut context = context();
    context.key.flows = 4;
    assert_ne!(cell.finish(context).verdict, Verdict::Faulty);
}

#[test]
fn a_path_on_which_nothing_arrives_is_no_overloaded_one() {
    for preset in [Preset::Std, Preset::Quick, Preset::Robust] {
        let mut cell = Cell::new(plan(preset)).unwrap();
        run(&mut cell, &mut Sut::new(clean(), 1), |record| {
            let frames = &mut record.frames;
            (frames.received, frames.lost) = (0, frames.sent);
            (record.loss_ratio, record.forwarding_fps) = (nicety_model::LossRatio(1.0), 0.0);
            record.windows = None;
        });
        let dead = cell.finish(context());
        assert_eq!(
            (dead.verdict, noted(&dead)),
            (Verdict::Failed, "N115"),
            "{:?}",
            dead.notes
        );
    }
}
