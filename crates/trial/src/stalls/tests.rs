use std::ops::Range;

use nicety_model::{FrameCounts, LossRatio, Purpose, TrialRecord, Validity};
use nicety_port::{EngineReport, PortError, Stop, TrialOrder};

use super::*;
use crate::TrialAsk;
use crate::record::{broken, set_apart};

const MS: u64 = 1_000_000;

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
        spans: vec![98 * MS..109 * MS, 0..12 * MS],
    };
    let stalls = [stall(0, 100, 103), stall(1, 1, 6)];
    let seen = report(Some(&stalls), &engine).unwrap();
    assert_eq!((seen.stalls, seen.programs), (1, 1));
    assert_eq!((seen.frames, seen.lost), (500, 30));
    assert!((seen.longest_s - 0.005).abs() < 1e-12 && (seen.stalled_s - 0.008).abs() < 1e-12);
}

#[test]
fn without_stalls_the_engine_is_not_asked() {
    let engine = Known {
        part: None,
        spans: Vec::new(),
    };
    assert_eq!(report(Some(&[]), &engine), Some(StallReport::default()));
    assert_eq!(report(None, &engine), None);
}

#[test]
fn what_cannot_be_told_apart_is_not_reported() {
    let engine = Known {
        part: None,
        spans: std::iter::once(8 * MS..17 * MS).collect(),
    };
    assert_eq!(report(Some(&[stall(0, 10, 11)]), &engine), None);
}

fn trial(sent: u64, lost: u64) -> TrialRecord {
    let ask = TrialAsk {
        cell: "bridge/64/uni".to_owned(),
        repeat: 1,
        control: None,
        index: 1,
        purpose: Purpose::Search,
        load: nicety_model::Fps(1000.0),
        duration: std::time::Duration::from_secs(1),
        window: None,
    };
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
        ..broken(&ask, now, now, String::new())
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
