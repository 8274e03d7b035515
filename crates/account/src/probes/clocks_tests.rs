use proptest::prelude::*;

use super::*;

/// Two clocks that run evenly beside the system's.
#[derive(Debug, Clone, Copy)]
struct Clocks {
    ahead: [i64; 2],
    faster: [f64; 2],
}

const EPOCH: i64 = 1_790_000_000_000_000_000;

impl Clocks {
    fn read(&self, clock: usize, system: i64) -> i64 {
        system + self.ahead[clock] + ((system - EPOCH) as f64 * self.faster[clock]) as i64
    }

    /// A reading `width` long whose clock was read at a `part` of it.
    fn reading(&self, clock: usize, before: i64, (width, part): (i64, f64)) -> Reading {
        let at = before + (width as f64 * part) as i64;
        Reading {
            before_ns: before,
            clock_ns: self.read(clock, at),
            after_ns: before + width,
        }
    }

    fn sample(&self, at: i64, delays: [(i64, f64); 3]) -> Option<OffsetSample> {
        let [first, b, again] = delays;
        let a = self.reading(0, at, first);
        let b = self.reading(1, at + 20_000, b);
        let again = self.reading(0, at + 40_000, again);
        OffsetSample::of(&[a], &[b], &[again])
    }
}

fn clocks() -> impl Strategy<Value = Clocks> {
    let ahead = -2_000_000_000_000_000_i64..100_000_000_000;
    let faster = -1e-4..1e-4;
    let pair = ([ahead.clone(), ahead], [faster.clone(), faster]);
    pair.prop_map(|(ahead, faster)| Clocks { ahead, faster })
}

fn delay() -> impl Strategy<Value = (i64, f64)> {
    (100_i64..9_000, 0.0..=1.0)
}

proptest! {
    #[test]
    fn the_offset_is_within_its_error(clocks in clocks(), delays in [delay(), delay(), delay()]) {
        let sample = clocks.sample(EPOCH, delays).unwrap();
        let system = EPOCH + 20_000 + delays[1].0 / 2;
        let truth = clocks.read(1, system) - clocks.read(0, system);
        // Rounding, and what the clocks differ in speed while they are read.
        let off = (sample.offset_ns - truth).abs() as f64;
        prop_assert!(off <= sample.error_ns + 8.0, "{off} {}", sample.error_ns);
        prop_assert!((sample.at_ns - clocks.read(0, system)).abs() as f64 <= sample.error_ns + 8.0);
    }

    #[test]
    fn a_trial_of_even_clocks_is_within_the_error(
        clocks in clocks(),
        delays in proptest::collection::vec([delay(), delay(), delay()], 2..8),
        at in 0.0..1.0,
    ) {
        let step = 1_000_000_000;
        let samples: Vec<_> = delays
            .iter()
            .enumerate()
            .map(|(n, delays)| clocks.sample(EPOCH + n as i64 * step, *delays).unwrap())
            .collect();
        let offset = Offset::over(&samples).unwrap();
        let system = EPOCH + (at * ((delays.len() - 1) as i64 * step) as f64) as i64;
        let (a, b) = (clocks.read(0, system), clocks.read(1, system));
        let off = (a + offset.at(a) - b).abs() as f64;
        prop_assert!(off <= offset.error_ns() + 12.0, "{off} {}", offset.error_ns());
        let off = (b - offset.at_b(b) - a).abs() as f64;
        prop_assert!(off <= offset.error_ns() + 14.0, "{off} {}", offset.error_ns());
        let faster = (1.0 + clocks.faster[1]) / (1.0 + clocks.faster[0]) - 1.0;
        let slack = 2.0 * offset.error_ns() / ((delays.len() - 1) as f64 * step as f64) * 1e9 + 20.0;
        prop_assert!((offset.drift_ppb() - faster * 1e9).abs() <= slack);
    }

    #[test]
    fn a_stepped_system_clock_is_seen(clocks in clocks(), by in 30_000_i64..1 << 50, back: bool) {
        let delay = (1_000, 0.5);
        let a = clocks.reading(0, EPOCH, delay);
        let by = if back { -by } else { by };
        let stepped = |mut reading: Reading| {
            reading.before_ns += by;
            reading.after_ns += by;
            reading
        };
        let b = clocks.reading(1, EPOCH + 10_000, delay);
        let again = clocks.reading(0, EPOCH + 20_000, delay);
        prop_assert_eq!(OffsetSample::of(&[a], &[b], &[stepped(again)]), None);
        prop_assert_eq!(OffsetSample::of(&[a], &[stepped(b)], &[stepped(again)]), None);
    }
}

#[test]
fn the_tightest_reading_counts_and_backwards_ones_do_not() {
    let reading = |before_ns, clock_ns, after_ns| Reading {
        before_ns,
        clock_ns,
        after_ns,
    };
    let a = [
        reading(0, 900, 500),
        reading(600, 1_610, 620),
        reading(700, 5, 690),
    ];
    let b = [reading(1_000, 3_010, 1_020)];
    let again = [reading(2_000, 3_010, 2_020)];
    let sample = OffsetSample::of(&a, &b, &again).unwrap();
    assert_eq!(
        (sample.at_ns, sample.offset_ns, sample.error_ns),
        (2_010, 1_000, 20.0)
    );
    assert_eq!(OffsetSample::of(&[], &b, &again), None);
    // Out of order.
    assert_eq!(OffsetSample::of(&again, &b, &a), None);
}

#[test]
fn a_clock_that_is_steered_meanwhile_has_a_larger_error() {
    let sample = |at_ns, offset_ns| OffsetSample {
        at_ns,
        offset_ns,
        error_ns: 10.0,
    };
    let even = [sample(0, 0), sample(50, 25), sample(100, 50)];
    assert_eq!(Offset::over(&even).unwrap().error_ns(), 10.0);
    let steered = [sample(0, 0), sample(50, 525), sample(100, 50)];
    assert_eq!(Offset::over(&steered).unwrap().error_ns(), 510.0);
    assert_eq!(Offset::over(&even[..1]), None);
    assert_eq!(Offset::over(&[sample(5, 0), sample(5, 0)]), None);
    assert_eq!(Offset::NONE.at(i64::MAX), 0);
}
