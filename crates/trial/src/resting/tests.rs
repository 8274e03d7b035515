use nicety_model::{CpuUse, Fps, PacingReport};
use proptest::prelude::*;

use super::*;
use crate::record;

const REST: Option<Rest> = Some(Rest::SHORT);
const SECOND: Duration = Duration::from_secs(1);

/// A second in which CPU 0, the path's, was busy for this share, and CPU 1 all the time.
fn trial(offered: f64, carried: f64, busy: f64) -> TrialRecord {
    let spec = record::tests::spec(Fps(offered));
    let core = |cpu, busy| CoreUse {
        cpu,
        idle: 1.0 - busy,
        ..CoreUse::default()
    };
    TrialRecord {
        forwarding_fps: carried,
        pacing: PacingReport {
            offered_fps: offered,
            sending_s: 1.0,
            ..PacingReport::default()
        },
        cpu: Some(CpuUse {
            cores: vec![core(0, busy), core(1, 1.0)],
            ..CpuUse::default()
        }),
        ..record::broken(&spec, SECOND, SECOND, String::new())
    }
}

fn after(trials: &[(f64, f64, f64)]) -> Memory {
    let mut memory = Memory::default();
    for &(offered, carried, busy) in trials {
        memory.note(&trial(offered, carried, busy), &[0], SECOND);
    }
    memory
}

#[test]
fn before_the_first_trial_nothing_is_known() {
    assert_eq!(Memory::default().rest(REST, 1000.0), REST);
    assert_eq!(Memory::default().rest(None, 1000.0), None);
}

#[test]
fn a_path_with_time_to_spare_needs_no_rest() {
    let memory = after(&[(100_000.0, 100_000.0, 0.5)]);
    assert_eq!(memory.rest(REST, 100_000.0), None);
    assert_eq!(memory.rest(REST, 10.0), None);
    assert_eq!(memory.rest(REST, 169_000.0), None);
    assert_eq!(memory.rest(REST, 171_000.0), REST);
    assert_eq!(memory.rest(None, 171_000.0), None);
}

#[test]
fn overload_counts_by_what_was_carried() {
    let memory = after(&[(2e6, 500_000.0, 1.0)]);
    assert_eq!(memory.rest(REST, 480_000.0), REST);
    assert_eq!(memory.rest(REST, 1e6), REST);
    assert_eq!(memory.rest(REST, 420_000.0), None);
    // A path that drops most and has time: more load than that is no more work.
    let memory = after(&[(1e6, 10_000.0, 0.5)]);
    assert_eq!(memory.rest(REST, 1e6), None);
    assert_eq!(memory.rest(REST, 500_000.0), None);
}

#[test]
fn the_nearest_load_counts_and_of_equal_ones_the_newest() {
    // A thread that polls: busy at any load.
    let memory = after(&[(1e6, 1e6, 1.0), (100_000.0, 100_000.0, 0.95)]);
    assert_eq!(memory.rest(REST, 90_000.0), REST);
    assert_eq!(memory.rest(REST, 800_000.0), None);
    let memory = after(&[(1e6, 1e6, 1.0), (1e6, 1e6, 0.5)]);
    assert_eq!(memory.rest(REST, 1e6), None);
}

#[test]
fn only_the_cpus_of_the_path_and_the_time_of_sending_count() {
    let mut memory = Memory::default();
    memory.note(&trial(1e5, 1e5, 0.5), &[1], SECOND);
    assert_eq!(memory.rest(REST, 1e5), REST);
    // Half a second longer than it was sent: all of its half was while sending.
    let mut memory = Memory::default();
    memory.note(&trial(1e5, 1e5, 0.6), &[0], SECOND * 3 / 2);
    assert_eq!(memory.rest(REST, 1e5), REST);
    // Nothing is known of them.
    for path in [&[][..], &[7]] {
        let mut memory = Memory::default();
        memory.note(&trial(1e5, 1e5, 0.1), path, SECOND);
        assert_eq!(memory, Memory::default());
    }
    let mut memory = Memory::default();
    memory.note(&trial(1e5, 0.0, 0.1), &[0], SECOND);
    let nothing = TrialRecord {
        cpu: None,
        ..trial(1e5, 1e5, 0.1)
    };
    memory.note(&nothing, &[0], SECOND);
    assert_eq!(memory, Memory::default());
}

proptest! {
    /// Where a load needs rests, the same trials never say that a higher one below what was
    /// sent then needs none.
    #[test]
    fn a_higher_load_is_no_less_work(
        offered in 1e3..1e7, share in 0.01..1.0, busy in 0.0..1.0, at in 0.01..1.0, more in 1.0..10.0,
    ) {
        let memory = after(&[(offered, offered * share, busy)]);
        if memory.rest(REST, offered * at).is_some() {
            prop_assert_eq!(memory.rest(REST, offered * at * more), REST);
        }
    }
}

/// Waking takes time: the pace in between makes up for what a rest was seen to take.
#[test]
fn rests_are_paced_by_what_they_took() {
    let mut record = trial(1e5, 1e5, 1.0);
    record.pacing.rests = 100;
    record.pacing.rested_s = 0.03;
    let mut memory = Memory::default();
    memory.note(&record, &[0], SECOND);
    let rest = memory.rest(REST, 1e5).unwrap();
    assert_eq!(rest.takes, Duration::from_micros(300));
    assert_eq!(rest.length, Rest::SHORT.length);
}
