//! Trials of fates come last, and nothing that is measured pays for them.

use std::time::Duration;

use nicety_model::hop::HopReport;
use nicety_model::{FateCause, FateOf, FateReport};

use super::*;

fn with_fates() -> CellPlan {
    let mut plan = plan(Preset::Std);
    plan.settings.fate = Duration::from_millis(500);
    plan
}

/// What the kernel told of a trial, which lost `lost` frames.
fn told(record: &mut TrialRecord, lost: u64) {
    record.frames.lost = lost;
    let cause = FateCause::Refused {
        device: "a".to_owned(),
    };
    record.loss_ledger = vec![LossEntry::found(cause, lost)];
    record.fate = Some(FateReport::default());
}

fn run_with(plan: CellPlan, lost: u64) -> (Vec<TrialRecord>, CellResult) {
    let mut cell = Cell::new(plan).unwrap();
    let records = run(
        &mut cell,
        &mut Sut::new(clean(), 1),
        |record| match record.purpose {
            Purpose::Fate { .. } => told(record, lost),
            Purpose::Confirm => record.frames.lost = 1,
            _ => {}
        },
    );
    assert_eq!(cell.left().trials, 0);
    (records, cell.finish(context()))
}

#[test]
fn the_lowest_lossy_trial_and_a_lossy_confirm_trial_are_repeated() {
    let (records, result) = run_with(with_fates(), 7);
    assert_eq!(purposes(&records), "wsssclllff");
    let (plain, _) = run_cell(Preset::Std, clean());
    assert_eq!(plain.len() + 2, records.len());
    let loads: Vec<_> = result
        .fates
        .iter()
        .map(|fate| (fate.of, fate.load_fps))
        .collect();
    let (upper, confirm) = (result.bounds.upper_fps.unwrap(), result.confirm.unwrap());
    let wanted = [
        (FateOf::Overload, upper),
        (FateOf::Confirm, confirm.load_fps),
    ];
    assert_eq!(loads, wanted);
    assert_eq!(result.fates[0].lost, 7);
    // The ledger of overload is that of the repeat, that of the confirm trial its own.
    assert_eq!(result.overload_ledger[0].place, "a tx_dropped");
    assert!(result.loss_ledger.is_empty());
}

#[test]
fn a_repeat_without_loss_leaves_the_ledger_of_the_search() {
    let (_, result) = run_with(with_fates(), 0);
    assert_eq!(result.fates.len(), 2);
    assert!(result.overload_ledger.is_empty());
}

#[test]
fn without_programs_and_in_brief_visits_there_are_none() {
    let (records, result) = run_with(plan(Preset::Std), 7);
    assert!(!purposes(&records).contains('f') && result.fates.is_empty());
    let (records, _) = run_with(with_fates().brief(), 7);
    assert!(!purposes(&records).contains('f'));
    let mut cell = Cell::new(with_fates()).unwrap();
    cell.without_fates();
    let records = run(&mut cell, &mut Sut::new(clean(), 1), |_| {});
    assert!(!purposes(&records).contains('f'));
}

#[test]
fn a_trial_of_fates_that_fails_costs_the_result_nothing() {
    let mut cell = Cell::new(with_fates()).unwrap();
    let records = run(&mut cell, &mut Sut::new(clean(), 1), |record| {
        if let Purpose::Fate { .. } = record.purpose {
            let why = "refused".to_owned();
            record.validity = Validity::TesterDropped { frames: 1 };
            record.notes = vec![nicety_model::note::TrialNote::FatesUnknown { why }.into()];
        }
    });
    assert!(purposes(&records).ends_with('f'));
    let result = cell.finish(context());
    assert_eq!((result.verdict, result.fates.len()), (Verdict::Ok, 0));
}

#[test]
fn a_run_goes_on_after_its_trials_of_fates() {
    let (records, _) = run_with(with_fates(), 7);
    let mut cell = Cell::new(with_fates()).unwrap();
    assert_eq!(cell.replay(&records), records.len());
    assert_eq!(cell.next(), None);
}

#[test]
fn where_frames_wait_is_looked_for_at_the_first_load_of_latency() {
    let plan = with_fates();
    for share in [plan.latency_shares[0], 0.0] {
        looked_for_at(plan.clone(), share);
    }
}

/// A load of 0 stands for one frame at a time.
fn looked_for_at(mut plan: CellPlan, share: f64) {
    plan.settings.hops = true;
    plan.latency_shares[0] = share;
    let mut cell = Cell::new(plan).unwrap();
    let records = run(&mut cell, &mut Sut::new(clean(), 1), |record| {
        if let Purpose::Fate { of } = record.purpose {
            let hops = (of == FateOf::Latency).then(HopReport::default);
            record.fate = Some(FateReport {
                hops,
                ..FateReport::default()
            });
        }
    });
    assert!(
        purposes(&records).ends_with("lllff"),
        "{}",
        purposes(&records)
    );
    let latency = |record: &&TrialRecord| record.purpose == Purpose::Latency { load_ratio: share };
    let (repeated, plain) = (
        records.last().unwrap(),
        records.iter().find(latency).unwrap(),
    );
    assert_eq!(repeated.load_fps, plain.load_fps);
    let result = cell.finish(context());
    let hops = result
        .fates
        .last()
        .and_then(|fate| fate.report.hops.clone());
    let mean = plain
        .latency_us
        .map(|latency| (latency.mean * 1e3).round() as u64);
    assert_eq!(hops.map(|hops| hops.plain_mean_ns), Some(mean));
}
