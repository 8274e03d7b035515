use proptest::prelude::*;

use super::*;
use crate::rest::{Rest, Rests};

const MS: u64 = 1_000_000;
/// 2 ms in every 50 ms.
const REST: Rest = Rest {
    period: std::time::Duration::from_millis(50),
    length: std::time::Duration::from_millis(2),
    takes: std::time::Duration::from_millis(2),
};

/// Owes as much as a sender in overload may.
fn much(rate: f64) -> Arrears {
    Arrears::of(Fps(rate), true)
}

/// Owes as little as a sender in other trials may.
fn little(rate: f64) -> Arrears {
    Arrears::of(Fps(rate), false)
}

/// Runs a pacer against a clock that advances `step_ns` per look, with one stall.
fn run(
    rate: f64,
    arrears: Arrears,
    frames: u64,
    step_ns: u64,
    stall: Option<(u64, u64)>,
) -> (Pacer, u64) {
    let mut pacer = Pacer::new(Fps(rate), arrears, frames, MS);
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
        let (pacer, end) = run(rate, little(rate), Fps(rate).frames_in(1.0), 500, None);
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
    let mut pacer = Pacer::new(Fps(1e6), little(1e6), 10, MS);
    assert_eq!(pacer.due(MS - 1, 16), 0);
    assert_eq!(pacer.due(MS, 16), 1);
}

#[test]
fn in_overload_a_short_stall_is_caught_up() {
    let stall = Some((300 * MS, 3 * MS));
    let (pacer, end) = run(10_000.0, much(10_000.0), 10_000, 500, stall);
    let report = pacer.report(end);
    assert_eq!((report.slips, report.refused), (0, 0));
    assert!((report.offered_fps - 10_000.0).abs() < 1.0, "{report:?}");
    assert!(report.late_max_us >= 2_900.0, "{report:?}");
}

#[test]
fn a_long_stall_moves_the_schedule_instead_of_flooding_the_path() {
    for arrears in [much(500_000.0), little(500_000.0)] {
        let (pacer, end) = run(500_000.0, arrears, 500_000, 500, Some((300 * MS, 5 * MS)));
        let report = pacer.report(end);
        assert_eq!(report.slips, 1);
        assert!((report.slipped_s - 0.005).abs() < 0.0003, "{report:?}");
        assert!((report.sending_s - 1.005).abs() < 0.0003, "{report:?}");
    }
}

#[test]
fn the_frames_of_64_microseconds_may_be_owed() {
    let most = |rate| {
        let arrears = little(rate);
        assert_eq!(arrears.kept, 1);
        arrears.most
    };
    assert_eq!([0.0, 1.0, 12_345.0, 31_250.0].map(most), [2; 4]);
    assert_eq!([31_251.0, 100_000.0, 800_000.0].map(most), [3, 7, 52]);
    assert_eq!([1e6, 10e6].map(most), [64; 2]);
    assert_eq!((much(1.0).most, much(1.0).kept), (64, 64));
}

#[test]
fn a_late_sender_owes_nothing_but_the_frame_that_is_due() {
    let mut pacer = Pacer::new(Fps(10_000.0), little(10_000.0), 100, 0);
    assert_eq!(pacer.due(0, 16), 1);
    pacer.sent(1, 0);
    // Two are due, and leave together.
    assert_eq!(pacer.due(2 * MS / 10, 16), 2);
    pacer.sent(2, 0);
    // Three are due since 0.5 ms, 0.4 ms and 0.3 ms ago.
    let now = 5 * MS / 10;
    assert_eq!(pacer.due(now, 16), 1);
    pacer.sent(1, 0);
    assert_eq!(pacer.due(now, 16), 0);
    assert_eq!(pacer.due(now + MS / 10 - 1, 16), 0);
    assert_eq!(pacer.due(now + MS / 10, 16), 1);
    let report = pacer.report(now);
    assert_eq!((report.slips, report.burst_max), (1, 2));
    assert!((report.slipped_s - 0.0002).abs() < 1e-9, "{report:?}");
}

proptest! {
    /// Whenever the sender looks, it sends no more in any time than the load asks for in it and
    /// what may be owed.
    #[test]
    fn no_burst_exceeds_what_the_load_asks_for(
        rate in 1_000.0..3e6,
        looks in prop::collection::vec((0..2_000_000_u64, 1..200_usize), 1..200),
    ) {
        let arrears = little(rate);
        let mut pacer = Pacer::new(Fps(rate), arrears, u64::MAX >> 1, 0);
        let (mut now, mut sent) = (0, Vec::new());
        for (wait, room) in looks {
            now += wait;
            let due = pacer.due(now, room);
            pacer.sent(due, 0);
            sent.push((now, due as f64));
        }
        for from in 0..sent.len() {
            let mut sum = 0.0;
            for (at, frames) in &sent[from..] {
                sum += frames;
                // Slots begun, in whole numbers.
                let due = (at - sent[from].0) as f64 * 1e-9 * rate + 1.0;
                prop_assert!(sum <= due + arrears.most as f64, "{sum} in {due}");
            }
        }
    }
}

#[test]
fn a_sender_too_slow_for_the_rate_slips_until_the_end() {
    // One look per 10 µs and at most 16 frames: 1.6 M/s at best, 3 M/s asked.
    let (pacer, end) = run(3e6, much(3e6), 300_000, 10_000, None);
    let report = pacer.report(end);
    assert!(report.slips > 100);
    assert!(
        (report.offered_fps / 1.6e6 - 1.0).abs() < 0.02,
        "{report:?}"
    );
}

#[test]
fn refused_frames_use_their_slot_but_are_not_offered() {
    let mut pacer = Pacer::new(Fps(1000.0), little(1000.0), 10, 0);
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
    let rest = REST;
    let pace = rest.pace(Fps(500_000.0));
    let mut pacer = Pacer::new(pace, Arrears::of(pace, false), 500_000, MS);
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

#[test]
fn behind_a_step_frames_come_at_the_other_rate() {
    let stepped = || {
        Pacer::new(Fps(10_000.0), much(10_000.0), 1_500, 0).with_step(
            1_000,
            Fps(5_000.0),
            little(5_000.0),
        )
    };
    let mut pacer = stepped();
    let (mut now, mut sent) = (0, Vec::new());
    while !pacer.is_done() {
        let due = pacer.due(now, 16);
        pacer.sent(due, 0);
        sent.extend(std::iter::repeat_n(now, due));
        now += 1_000;
    }
    assert_eq!(sent.len(), 1_500);
    for (number, at) in (0_u64..).zip(&sent) {
        let due = match number {
            ..=1_000 => number * 100_000,
            _ => 100 * MS + (number - 1_000) * 200_000,
        };
        assert!(at.abs_diff(due) <= 1_000, "{number}: {at}, not {due}");
        let told = pacer.timetable().due_ns(number).unwrap();
        assert!((told - due as f64).abs() < 1.0, "{number}: {told}");
    }
    assert_eq!(pacer.report(now).slips, 0);
    // A sender that slept over the step owes what is left before it, and begins behind it with one frame.
    let mut pacer = stepped();
    pacer.sent(990, 0);
    assert_eq!(pacer.due(150 * MS, 16), 10);
    pacer.sent(10, 0);
    assert_eq!(pacer.due(150 * MS, 16), 1);
    pacer.sent(1, 0);
    assert_eq!(pacer.due(150 * MS, 16), 0);
    assert_eq!(pacer.report(150 * MS).slips, 2);
}

proptest! {
    /// Whatever the schedule does, a frame is not sent before it was due by the timetable, and not more than is
    /// owed behind it.
    #[test]
    fn the_timetable_tells_when_frames_left(
        rate in 1_000.0..1e6,
        share in 0.1..1.0,
        at in 0..2_000_u64,
        looks in prop::collection::vec((0..2_000_000_u64, 1..100_usize, prop::option::of(0..MS)), 1..200),
    ) {
        let then = rate * share;
        let mut pacer = Pacer::new(Fps(rate), much(rate), u64::MAX >> 1, 0)
            .with_step(at, Fps(then), little(then));
        let (mut now, mut sent) = (0, Vec::new());
        for (wait, room, rest) in looks {
            now += wait;
            if let Some(rest) = rest {
                now += rest;
                pacer.rested(rest);
            }
            let first = pacer.used();
            let due = pacer.due(now, room);
            pacer.sent(due, 0);
            sent.extend((first..first + due as u64).map(|number| (number, now)));
        }
        for (number, left) in sent {
            let due = pacer.timetable().due_ns(number).unwrap();
            let late = left as f64 - due;
            prop_assert!(late >= -1.0, "{number} left {late} ns early");
            let owed = (CATCH_UP_FRAMES + 1) as f64 * 1e9 / rate.min(then);
            prop_assert!(late <= owed + 1.0, "{number} left {late} ns late");
        }
    }
}
