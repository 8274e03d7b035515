//! Thread names and the fields of `stat`.

use std::time::Duration;

use super::*;

#[test]
fn threads_are_booked_under_what_they_serve() {
    for (name, label) in [
        ("napi/d0-8193", "napi/d0"),
        ("napi/eth-a-12", "napi/eth-a"),
        // Cut to 15 characters by older kernels: nothing to take off.
        ("napi/abcdefghij", "napi/abcdefghij"),
        ("napi/abcde-fg", "napi/abcde-fg"),
        ("ksoftirqd/17", "softirq"),
        ("vhost-4711", "vhost-4711"),
        ("kworker/0:1", "kworker/0:1"),
    ] {
        assert_eq!(label_of(name), label, "{name}");
    }
    assert!(is_napi_of("napi/d0-8193", "d0"));
    assert!(!is_napi_of("napi/d01-8193", "d0"));
    assert!(!is_napi_of("d0", "d0"));
}

const STAT: &str = "77 (a) b) R 1 77 77 0 -1 4194304 1 0 0 0 30 12 0 0 20 0 1 0 5000 1 1 1 \
                    1 1 1 1 1 0 0 0 0 0 0 0 17 3 0 0 0 0 0";

#[test]
fn stat_survives_names_with_parentheses() {
    let stat = TaskStat::parse(STAT).unwrap();
    assert_eq!(stat.cpu_ticks, 42);
    assert_eq!(stat.start_ticks, 5000);
    assert_eq!(stat.last_cpu, Some(3));
    assert_eq!(
        (stat.name.as_str(), stat.parent, stat.kernel),
        ("a) b", 1, false)
    );
    assert!(!stat.ended);
    let zombie = STAT.replace(" R ", " Z ");
    assert!(TaskStat::parse(&zombie).unwrap().ended);
}

#[test]
fn every_truncated_stat_is_refused_or_understood() {
    for end in 0..STAT.len() {
        if let Some(stat) = TaskStat::parse(&STAT[..end]) {
            assert_eq!(stat.cpu_ticks, 42, "cut at {end}");
        }
    }
    assert!(TaskStat::parse("").is_none());
    assert!(TaskStat::parse("77 (x) R -1 -1 -1 x").is_none());
}

fn sample(ms: u64, start_ticks: u64) -> TaskSample {
    TaskSample {
        cpu_time: Duration::from_millis(ms),
        start_ticks,
        ended: false,
        last_cpu: Some(1),
        pinned_cpu: None,
    }
}

#[test]
fn only_the_same_thread_moving_forward_has_a_time() {
    let before = sample(100, 7);
    assert_eq!(
        sample(130, 7).cpu_time_since(&before),
        Some(Duration::from_millis(30))
    );
    assert_eq!(sample(130, 8).cpu_time_since(&before), None);
    assert_eq!(sample(90, 7).cpu_time_since(&before), None);
}

#[test]
fn home_is_the_pin_or_the_same_cpu_twice() {
    let at = |last_cpu, pinned_cpu| TaskSample {
        last_cpu,
        pinned_cpu,
        ..sample(0, 0)
    };
    for (before, after, home) in [
        ((Some(1), None), (Some(1), None), Some(1)),
        ((Some(1), None), (Some(2), None), None),
        ((None, None), (None, None), None),
        ((Some(1), Some(3)), (Some(3), Some(3)), Some(3)),
        ((Some(1), Some(1)), (Some(2), Some(2)), None),
        ((Some(1), None), (Some(2), Some(2)), None),
    ] {
        let (before, after) = (at(before.0, before.1), at(after.0, after.1));
        assert_eq!(after.home_since(&before), home, "{before:?} {after:?}");
    }
}
