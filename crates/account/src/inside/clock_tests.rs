use proptest::prelude::*;

use super::*;

/// A guest's clock that runs evenly beside the host's.
#[derive(Debug, Clone, Copy)]
struct Clock {
    ahead: i64,
    faster: f64,
}

const BEGIN: i64 = 70_000_000_000_000;

impl Clock {
    fn ahead(&self, at: i64) -> i64 {
        self.ahead + ((at - BEGIN) as f64 * self.faster).round() as i64
    }

    fn read(&self, at: i64) -> i64 {
        at + self.ahead(at)
    }

    /// A frame that takes so long into the guest, in it and out of it.
    fn bound(&self, sent: i64, [into, within, out]: [i64; 3]) -> Bound {
        let (came, left) = (sent + into, sent + into + within);
        let back = left + out;
        Bound {
            at_ns: sent,
            low_ns: self.read(left) - back,
            high_ns: self.read(came) - sent,
        }
    }

    fn exchange(&self, asked: i64, [there, back]: [i64; 2]) -> Reading {
        Reading {
            before_ns: asked,
            clock_ns: self.read(asked + there),
            after_ns: asked + there + back,
        }
    }
}

fn clocks() -> impl Strategy<Value = Clock> {
    let ahead = -BEGIN..BEGIN;
    (ahead, -5e-4..5e-4).prop_map(|(ahead, faster)| Clock { ahead, faster })
}

/// Frames 100 µs apart; the way in is never as long as the way out.
fn delays() -> impl Strategy<Value = Vec<[i64; 3]>> {
    let way = 3_000_i64..400_000;
    proptest::collection::vec([3_000_i64..90_000, 1_000..40_000, way], 20..4_000)
}

fn bounds(clock: &Clock, delays: &[[i64; 3]]) -> Vec<Bound> {
    let sent = (0..).map(|n| BEGIN + 100_000 * n);
    let frames = sent.zip(delays);
    frames
        .map(|(at, delays)| clock.bound(at, *delays))
        .collect()
}

/// Whether the comparison is within what it says of itself.
fn holds(clock: &Clock, found: &Offset, at: i64) -> bool {
    let off = found.at(at).abs_diff(clock.ahead(at));
    off as f64 <= found.error_ns() + 2.0
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_truth_is_within_what_frames_and_exchanges_say(
        clock in clocks(),
        delays in delays(),
        asked in proptest::collection::vec([50_000_i64..3_000_000, 10_000..900_000], 2..8),
    ) {
        let bounds = bounds(&clock, &delays);
        let end = BEGIN + 100_000 * delays.len() as i64;
        let exchanges = |from: i64| -> Vec<Reading> {
            let at = (0..).map(|n| from + 5_000_000 * n);
            at.zip(&asked).map(|(at, ways)| clock.exchange(at, *ways)).collect()
        };
        let (before, after) = (exchanges(BEGIN - 100_000_000), exchanges(end + 10_000_000));
        let both = compare([&before, &after], &bounds).unwrap();
        let frames = compare([&[], &[]], &bounds).unwrap();
        let asked = compare([&before, &after], &[]).unwrap();
        for bound in &bounds {
            for (found, by) in [(&both, "both"), (&frames, "frames"), (&asked, "exchanges")] {
                prop_assert!(holds(&clock, found, bound.at_ns), "{by}: {found:?}, {}", clock.ahead(bound.at_ns));
            }
        }
    }
}

#[test]
fn many_frames_tell_more_than_questions() {
    let clock = Clock {
        ahead: 12_345_678_901,
        faster: 80e-6,
    };
    // Into the guest 20 µs and more, out of it 60 µs and more.
    let wait = |n: i64| (n * 7919) % 200 * 1_000;
    let delays: Vec<[i64; 3]> = (0..5_000)
        .map(|n| [20_000 + wait(n), 15_000, 60_000 + wait(n + 31)])
        .collect();
    let bounds = bounds(&clock, &delays);
    let end = BEGIN + 500_000_000;
    let asked = [
        vec![clock.exchange(BEGIN - 1_000_000, [200_000, 700_000])],
        vec![clock.exchange(end, [300_000, 800_000])],
    ];
    let slow = compare([&asked[0], &asked[1]], &[]).unwrap();
    assert!(slow.error_ns() > 400_000.0, "{slow:?}");
    let found = compare([&asked[0], &asked[1]], &bounds).unwrap();
    // Half of both ways together, as the fastest frames had them.
    assert!(
        (38_000.0..60_000.0).contains(&found.error_ns()),
        "{found:?}"
    );
    assert!((found.drift_ppb() - 80_000.0).abs() < 5_000.0, "{found:?}");
    assert!(holds(&clock, &found, BEGIN) && holds(&clock, &found, end));
}

#[test]
fn where_nothing_is_known_there_is_no_comparison() {
    assert_eq!(compare([&[], &[]], &[]), None);
    let one = Reading {
        before_ns: 10,
        clock_ns: 100,
        after_ns: 30,
    };
    // One exchange shows no drift.
    assert_eq!(compare([&[one], &[]], &[]), None);
    // A clock that was set meanwhile leaves no small error.
    let bound = |at_ns, low_ns| Bound {
        at_ns,
        low_ns,
        high_ns: low_ns + 1_000,
    };
    let set = [
        bound(BEGIN, 0),
        bound(BEGIN + SPAN_NS, 5_000_000),
        bound(BEGIN + 2 * SPAN_NS, 0),
    ];
    assert!(compare([&[], &[]], &set).unwrap().error_ns() > 4_000_000.0);
}
