use super::*;
use crate::rest::{Rest, Rests};

const MS: u64 = 1_000_000;

/// Runs a pacer against a clock that advances `step_ns` per look, with one stall.
fn run(rate: f64, frames: u64, step_ns: u64, stall: Option<(u64, u64)>) -> (Pacer, u64) {
    let mut pacer = Pacer::new(Fps(rate), frames, MS);
    let (mut now, mut stalled) = (0, false);
    while !pacer.is_done() {
        let due = pacer.due(now, 16);
        pacer.sent(due, 0);
        now += step_ns;
        if let Some((at, length)) = stall
            && !stalled
            && now >= at
        {
            stalled = true;
            now += length;
        }
    }
    (pacer, now)
}

#[test]
fn every_frame_is_sent_and_the_rate_is_exact() {
    for rate in [1_000.0, 10_000.0, 123_456.7, 500_000.0] {
        let (pacer, end) = run(rate, Fps(rate).frames_in(1.0), 500, None);
        let report = pacer.report(end);
        assert_eq!(report.slips, 0, "{rate}");
        assert!(
            (report.offered_fps / rate - 1.0).abs() < 1e-4,
            "{rate}: {report:?}"
        );
    }
}

#[test]
fn nothing_is_due_before_the_start() {
    let mut pacer = Pacer::new(Fps(1e6), 10, MS);
    assert_eq!(pacer.due(MS - 1, 16), 0);
    assert_eq!(pacer.due(MS, 16), 1);
}

#[test]
fn a_short_stall_is_caught_up() {
    let (pacer, end) = run(10_000.0, 10_000, 500, Some((300 * MS, 3 * MS)));
    let report = pacer.report(end);
    assert_eq!((report.slips, report.refused), (0, 0));
    assert!((report.offered_fps - 10_000.0).abs() < 1.0, "{report:?}");
    assert!(report.late_max_us >= 2_900.0, "{report:?}");
}

#[test]
fn a_long_stall_moves_the_schedule_instead_of_flooding_the_path() {
    let (pacer, end) = run(500_000.0, 500_000, 500, Some((300 * MS, 5 * MS)));
    let report = pacer.report(end);
    assert_eq!(report.slips, 1);
    assert!((report.slipped_s - 0.005).abs() < 0.0003, "{report:?}");
    assert!((report.sending_s - 1.005).abs() < 0.0003, "{report:?}");
}

#[test]
fn a_sender_too_slow_for_the_rate_slips_until_the_end() {
    // One look per 10 µs and at most 16 frames: 1.6 M/s at best, 3 M/s asked.
    let (pacer, end) = run(3e6, 300_000, 10_000, None);
    let report = pacer.report(end);
    assert!(report.slips > 100);
    assert!(
        (report.offered_fps / 1.6e6 - 1.0).abs() < 0.02,
        "{report:?}"
    );
}

#[test]
fn refused_frames_use_their_slot_but_are_not_offered() {
    let mut pacer = Pacer::new(Fps(1000.0), 10, 0);
    for n in 0..10 {
        assert_eq!(pacer.due(n * MS, 16), 1);
        pacer.sent(usize::from(n % 2 == 0), usize::from(n % 2 == 1));
    }
    let report = pacer.report(10 * MS);
    assert_eq!(report.refused, 5);
    assert!((report.offered_fps - 500.0).abs() < 1.0);
}

#[test]
fn a_rest_moves_the_schedule_and_leaves_nothing_to_catch_up() {
    let rest = Rest::IN_A_FULL_MACHINE;
    let mut pacer = Pacer::new(rest.pace(Fps(500_000.0)), 500_000, MS);
    let mut rests = Rests::new(Some(rest), MS);
    let mut now = MS;
    while !pacer.is_done() {
        if let Some(length) = rests.begins(now) {
            // Waking takes a little longer.
            let length = length.as_nanos() as u64 + 60_000;
            now += length;
            pacer.rested(length);
        }
        let due = pacer.due(now, 16);
        pacer.sent(due, 0);
        now += 500;
    }
    let report = pacer.report(now);
    assert_eq!((report.slips, report.burst_max), (0, 1), "{report:?}");
    assert!((19..=20).contains(&report.rests), "{report:?}");
    assert!((report.rested_s - 0.041).abs() < 0.0011, "{report:?}");
    assert!(
        (report.offered_fps / 500_000.0 - 1.0).abs() < 0.004,
        "{report:?}"
    );
}
