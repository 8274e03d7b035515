use std::ops::Range;

use nicety_model::{Fps, FrameCounts, LossRatio, TrialRecord, Validity};
use nicety_port::{EngineReport, PortError, Stop, TrialOrder};

use super::*;
use crate::record::tests::spec;
use crate::record::{broken, set_apart};

const MS: u64 = 1_000_000;
const US: u64 = 1_000;

/// Says the same of any spans, and checks them.
struct Known {
    part: Option<Part>,
    spans: Vec<Range<u64>>,
}

impl Engine for Known {
    fn name(&self) -> String {
        "known".to_owned()
    }

    fn learn(&mut self) -> Result<(), PortError> {
        Ok(())
    }

    fn trial(&mut self, _: &TrialOrder, _: &Stop) -> Result<EngineReport, PortError> {
        unreachable!("no trial is run")
    }

    fn part(&self, spans: &[Range<u64>]) -> Option<Part> {
        assert_eq!(spans, self.spans);
        self.part
    }
}

fn stall(cpu: u32, from_ms: u64, to_ms: u64) -> Stall {
    Stall {
        cpu,
        by_program: cpu == 1,
        ns: from_ms * MS..to_ms * MS,
    }
}

#[test]
fn stalls_are_counted_with_the_frames_around_them() {
    let engine = Known {
        part: Some(Part {
            sent: 500,
            lost: 30,
        }),
        spans: vec![99_500 * US..105 * MS, 0..8 * MS],
    };
    let stalls = [stall(0, 100, 103), stall(1, 0, 6)];
    let seen = report(Some(&stalls), &[0, 1], &engine).unwrap();
    // Nothing is known of the path.
    assert_eq!(report(Some(&stalls), &[], &engine), Some(seen));
    assert_eq!((seen.stalls, seen.programs), (1, 1));
    assert_eq!((seen.frames, seen.lost), (500, 30));
    assert!((seen.longest_s - 0.006).abs() < 1e-12 && (seen.stalled_s - 0.009).abs() < 1e-12);
}

#[test]
fn frames_are_set_apart_for_the_paths_cpus_alone() {
    let stalls = [stall(0, 100, 103), stall(1, 1, 6), stall(2, 50, 52)];
    let engine = Known {
        part: Some(Part { sent: 50, lost: 3 }),
        spans: std::iter::once(49_500 * US..54 * MS).collect(),
    };
    let seen = report(Some(&stalls), &[2, 3], &engine).unwrap();
    assert_eq!((seen.stalls, seen.programs), (2, 1));
    assert!((seen.stalled_s - 0.010).abs() < 1e-12, "{seen:?}");
    assert_eq!((seen.frames, seen.lost), (50, 3));
    // No stall of the path: the engine is not asked.
    let engine = Known {
        part: None,
        spans: Vec::new(),
    };
    let seen = report(Some(&stalls), &[3], &engine).unwrap();
    assert_eq!((seen.stalls, seen.frames, seen.lost), (2, 0, 0));
}

#[test]
fn without_stalls_the_engine_is_not_asked() {
    let engine = Known {
        part: None,
        spans: Vec::new(),
    };
    assert_eq!(
        report(Some(&[]), &[0], &engine),
        Some(StallReport::default())
    );
    assert_eq!(report(None, &[0], &engine), None);
}

#[test]
fn what_cannot_be_told_apart_is_not_reported() {
    let engine = Known {
        part: None,
        spans: std::iter::once(9_500 * US..13 * MS).collect(),
    };
    assert_eq!(report(Some(&[stall(0, 10, 11)]), &[0], &engine), None);
}

fn trial(sent: u64, lost: u64) -> TrialRecord {
    let now = std::time::Duration::ZERO;
    TrialRecord {
        validity: Validity::Valid,
        frames: FrameCounts {
            intended: sent,
            sent,
            received: sent - lost,
            lost,
            ..FrameCounts::default()
        },
        ..broken(&spec(Fps(1000.0)), now, now, String::new())
    }
}

#[test]
fn the_loss_ratio_is_that_of_the_other_frames() {
    let apart = |frames, lost| {
        let mut record = trial(1000, 31);
        let stalls = StallReport {
            stalls: 3,
            programs: 2,
            longest_s: 0.004,
            stalled_s: 0.007,
            frames,
            lost,
        };
        set_apart(&mut record, stalls);
        assert_eq!((record.frames.sent, record.frames.lost), (1000, 31));
        assert_eq!(record.stalls, Some(stalls));
        record
    };
    let record = apart(200, 30);
    assert_eq!(record.loss_ratio, LossRatio::of(1, 800));
    assert_eq!(record.validity, Validity::Valid);
    // Up to the limit something can be said.
    assert_eq!(apart(250, 31).validity, Validity::Valid);
    let record = apart(251, 31);
    let Validity::Stalled { why } = &record.validity else {
        panic!("{:?}", record.validity);
    };
    assert_eq!(
        why,
        "in 0.0 s CPUs stood still 3 times and other programs had them 2 times, for 4.0 ms at most; that concerns 25 % of the frames"
    );
    // All of them: no loss can be stated.
    assert_eq!(apart(1000, 31).loss_ratio, LossRatio::of(0, 0));
}
