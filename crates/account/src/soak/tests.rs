use std::sync::LazyLock;

use nicety_model::interval::{GapWhy, LossSpan};
use nicety_model::{FrameCounts, LatencySummary, Validity};

use super::*;
use crate::Latency;

/// Latencies of every interval; made once, since that takes longer than all else.
static LATENCY: LazyLock<(Option<LatencySummary>, LatencyHistogram)> = LazyLock::new(|| {
    let mut latency = Latency::new().unwrap();
    (0..200).for_each(|ns| latency.record(3000 + ns * 37));
    (latency.summary(), latency.histogram())
});

/// An interval of 100,000 frames of which so many were lost.
fn interval(number: u64, wall_s: f64, lost: u64) -> Interval {
    Interval {
        schema: SCHEMA,
        number,
        started_unix_s: 1e9 + number as f64 * wall_s,
        wall_s,
        sending_s: wall_s - 0.05,
        load_fps: 1e4,
        offered_fps: 9990.0,
        received_fps: 1e4,
        frames: FrameCounts {
            intended: 100_000,
            sent: 100_000,
            received: 100_000 - lost,
            lost,
            ..FrameCounts::default()
        },
        set_apart: 0,
        validity: Validity::Valid,
        losses: Vec::new(),
        loss_ledger: Vec::new(),
        latency_us: LATENCY.0,
        histogram: LATENCY.1.clone(),
        several: None,
        flows: Vec::new(),
    }
}

fn ledger(places: &[(&str, u64)]) -> Vec<LossEntry> {
    let one = |(place, frames): &(&str, u64)| LossEntry::counted(*place, *frames);
    places.iter().map(one).collect()
}

#[test]
fn the_first_loss_alone_is_an_alarm() {
    let mut totals = Totals::default();
    assert_eq!(totals.observe(&interval(1, 10.0, 0)), None);
    let mut apart = interval(2, 10.0, 5);
    apart.set_apart = 5;
    assert_eq!(
        totals.observe(&apart),
        None,
        "frames set apart are no loss of the path"
    );
    let mut lossy = interval(3, 10.0, 7);
    lossy.losses.push(LossSpan {
        at_unix_s: 1e9 + 34.5,
        seconds: 0.25,
        frames: 7,
        stream: 0,
        first: 45_000,
    });
    lossy.loss_ledger = ledger(&[("unexplained", 2), ("d1 rx_dropped", 5)]);
    let alarm = totals.observe(&lossy).unwrap();
    assert_eq!(
        (alarm.number, alarm.lost, alarm.at_unix_s),
        (3, 7, 1e9 + 34.5)
    );
    assert_eq!(
        totals.observe(&interval(4, 10.0, 2)),
        None,
        "only the first"
    );
    let told = totals.summary(true);
    assert_eq!(
        (told.frames.lost, told.lost(), told.lossy_intervals),
        (14, 9, 2)
    );
    assert_eq!(told.losses[0].place, "d1 rx_dropped");
    assert_eq!(told.losses[1].place, "unexplained");
    // Whose frame was lost when is not known of the last.
    assert_eq!(told.last_loss_unix_s, Some(1e9 + 50.0));
    assert!((told.loss_ratio - 9.0 / 399_995.0).abs() < 1e-12);
}

#[test]
fn a_restart_is_a_gap_and_alarms_no_more() {
    let mut whole = Totals::default();
    let mut lines: Vec<LoadLine> = (1..=6)
        .map(|n| LoadLine::Interval(Box::new(interval(n, 10.0, u64::from(n == 2)))))
        .collect();
    lines.insert(
        3,
        LoadLine::Gap(Gap {
            schema: SCHEMA,
            from_unix_s: 1e9 + 40.0,
            to_unix_s: 1e9 + 100.0,
            why: GapWhy::Restart,
        }),
    );
    for line in &lines {
        whole.replay(line);
    }
    let told = whole.summary(false);
    assert_eq!((told.intervals, told.gap_count, told.gap_s), (6, 1, 60.0));
    assert_eq!(
        told.frames.sent, 600_000,
        "frames of the gap are neither sent nor lost"
    );
    assert_eq!(told.frames.lost, 1);
    assert_eq!(
        whole.observe(&interval(7, 10.0, 3)),
        None,
        "told in the earlier session"
    );
}

#[test]
fn totals_stay_small() {
    let mut totals = Totals::default();
    for n in 1..=5000 {
        let mut one = interval(n, 1.0, 1);
        one.loss_ledger = ledger(&[(&format!("place {n}"), 1)]);
        totals.observe(&one);
        totals.gap(&Gap {
            schema: SCHEMA,
            from_unix_s: 0.0,
            to_unix_s: 1.0,
            why: GapWhy::Restart,
        });
    }
    let told = totals.summary(true);
    assert_eq!((told.losses.len(), told.gaps.len()), (LOSSES, GAPS));
    assert_eq!(
        (told.lossy_intervals, told.gap_count, told.gap_s),
        (5000, 5000, 5000.0)
    );
    assert!(told.loss_ledger.len() <= PLACES);
    assert_eq!(
        told.loss_ledger
            .iter()
            .map(|entry| entry.frames)
            .sum::<u64>(),
        5000
    );
    assert!(serde_json::to_string(&told).unwrap().len() < 20_000);
}

/// A histogram of as many buckets as there are.
static WIDEST: LazyLock<LatencyHistogram> = LazyLock::new(|| {
    histogram::of((0..3600).map(|n| ((1 << (n / 100)) + ((n % 100) << (n / 100)) / 100, 1 << 40)))
});

/// An interval that has all that an interval can have, and most of it.
fn worst(number: u64, wall_s: f64) -> Interval {
    let mut one = interval(number, wall_s, 50_000);
    let long = "x".repeat(5000);
    one.loss_ledger = (0..100)
        .map(|n| LossEntry::counted(format!("{n} {long}"), u64::MAX / 1000))
        .collect();
    one.losses = vec![
        LossSpan {
            at_unix_s: 1_795_000_000.123_456_7,
            seconds: 0.123_456_789_012_34,
            frames: u64::MAX,
            stream: 1,
            first: u64::MAX,
        };
        SPANS_MORE
    ];
    one.validity = Validity::LoadMissed { why: long };
    one.histogram = WIDEST.clone();
    one.latency_us = Some(LatencySummary {
        load_ratio: None,
        min: 1.234_567_890_123,
        mean: 1_234.567_890_123,
        p50: 1_234.567_890_123,
        p90: 1_234.567_890_123,
        p99: 1_234.567_890_123,
        p999: 1_234.567_890_123,
        max: 1_234.567_890_123,
        samples: u64::MAX / 1000,
    });
    one.frames.sent = u64::MAX / 10_000;
    one
}

const SPANS_MORE: usize = 50;

#[test]
fn an_hour_takes_less_than_a_megabyte() {
    for wall_s in [1.0, 3.0, 10.0, 60.0] {
        for make in [worst as fn(u64, f64) -> Interval, |n, wall_s| {
            interval(n, wall_s, 1)
        }] {
            let mut keeper = Keeper::default();
            let (mut bytes, mut lines) = (0, 0);
            let count = (3600.0 / wall_s) as u64;
            for n in 1..=count {
                let kept = keeper.add(&make(n, wall_s));
                if let Some(line) = kept {
                    let line = LoadLine::Interval(Box::new(line));
                    bytes += serde_json::to_string(&line).unwrap().len() + 1;
                    lines += 1;
                }
            }
            assert!(
                bytes <= 1_000_000,
                "{bytes} bytes in {lines} lines of {wall_s} s"
            );
            assert!(lines >= 60, "{lines} lines of {wall_s} s");
        }
    }
}

#[test]
fn what_is_kept_comes_to_the_same() {
    let (mut keeper, mut all, mut kept) = (Keeper::default(), Totals::default(), Totals::default());
    for n in 1..=25 {
        let mut one = interval(n, 1.0, n % 3);
        one.loss_ledger = ledger(&[("d1 rx_dropped", n % 3)]);
        all.observe(&one);
        if let Some(line) = keeper.add(&one) {
            kept.observe(&line);
        }
    }
    kept.observe(&keeper.flush().unwrap());
    assert_eq!(keeper.flush(), None);
    let (all, kept) = (all.summary(true), kept.summary(true));
    assert_eq!(all.frames, kept.frames);
    assert_eq!(all.loss_ledger, kept.loss_ledger);
    assert_eq!(all.histogram, kept.histogram);
    assert_eq!(all.intervals, kept.intervals);
    assert_eq!(all.lossy_intervals, kept.lossy_intervals);
    assert_eq!(
        all.latency_us.unwrap().samples,
        kept.latency_us.unwrap().samples
    );
    assert!(
        (all.wall_s - kept.wall_s).abs() < 1e-6 && (all.sending_s - kept.sending_s).abs() < 1e-6
    );
    assert!((all.offered_fps - kept.offered_fps).abs() < 1e-6);
}

#[test]
fn a_page_has_few_points_of_any_number_of_intervals() {
    for count in [1, 599, 600, 601, 1200, 5000] {
        let mut points = Points::default();
        for n in 1..=count {
            points.add(LoadLine::Interval(Box::new(interval(n, 10.0, 1))));
        }
        let told = points.finish();
        assert!(
            told.len() <= POINTS && told.len() as u64 >= count.min(300),
            "{}",
            told.len()
        );
        let lost = told.iter().map(|line| match line {
            LoadLine::Interval(interval) => interval.frames.lost,
            _ => 0,
        });
        assert_eq!(lost.sum::<u64>(), count);
    }
}
