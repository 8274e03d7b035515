//! Steps.

use super::*;

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
