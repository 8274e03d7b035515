//! Steps and dates. Expected dates are those of `date -u -d @N +%FT%TZ`.

use super::*;

#[test]
fn dates_agree_with_the_calendar() {
    for (seconds, text) in [
        (0, "1970-01-01T00:00:00Z"),
        (951_782_399, "2000-02-28T23:59:59Z"),
        (951_782_400, "2000-02-29T00:00:00Z"),
        (951_868_800, "2000-03-01T00:00:00Z"),
        (1_709_164_800, "2024-02-29T00:00:00Z"),
        (1_735_689_599, "2024-12-31T23:59:59Z"),
        (1_772_366_400, "2026-03-01T12:00:00Z"),
        (4_107_542_400, "2100-03-01T00:00:00Z"),
        (253_402_300_799, "9999-12-31T23:59:59Z"),
    ] {
        assert_eq!(rfc3339(Duration::from_secs(seconds)), text);
    }
    assert_eq!(
        rfc3339(Duration::from_millis(1_999)),
        "1970-01-01T00:00:01Z"
    );
}

#[test]
fn consecutive_days_differ_by_one_day() {
    // Walks 400 years, a whole cycle of leap years, with the month lengths written out.
    let leap = |y: u64| (y.is_multiple_of(4) && !y.is_multiple_of(100)) || y.is_multiple_of(400);
    let mut days = 0;
    for year in 1970..2370 {
        let february = if leap(year) { 29 } else { 28 };
        let months = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
        for (month, length) in (1..).zip(months) {
            for day in 1..=length {
                let text = rfc3339(Duration::from_secs(days * 86_400));
                assert_eq!(text, format!("{year:04}-{month:02}-{day:02}T00:00:00Z"));
                days += 1;
            }
        }
    }
}

#[test]
fn a_step_is_what_exceeds_the_doubt() {
    let pair = |offset_ns, width_ns| ClockPair {
        offset_ns,
        width_ns,
    };
    for (before, after, step) in [
        (pair(0, 100), pair(0, 100), None),
        (pair(0, 100), pair(1_100, 100), None),
        (pair(0, 100), pair(1_101, 100), Some(1_101)),
        (
            pair(0, 100),
            pair(-5_000_000_000, 100),
            Some(-5_000_000_000),
        ),
        // A reading that was interrupted for 10 ms cannot prove a step of 4 ms.
        (pair(0, 10_000_000), pair(4_000_000, 100), None),
    ] {
        assert_eq!(after.step_since(&before), step, "{before:?} {after:?}");
    }
}

#[test]
fn live_clocks_run_forwards() {
    let first = monotonic();
    let pair = ClockPair::now();
    assert!(monotonic() >= first);
    assert!(unix_time() > Duration::from_secs(1_500_000_000));
    let apart = i128::try_from(unix_time().as_nanos()).unwrap()
        - i128::try_from(monotonic().as_nanos()).unwrap();
    // Same distance by another way, to within a minute.
    assert!((apart - pair.offset_ns).abs() < 60 * NANOS_PER_S);
    assert!(ClockFacts::measure().resolution_ns >= 1);
}
