//! How often chance alone makes a difference, and how often a real one is found.

use nicety_compare::interval::{log_sample, welch};
use nicety_compare::trend::changes;
use nicety_compare::{Options, compare};
use nicety_model::compare::{Counts, Judgement};
use proptest::prelude::*;

use crate::common::{input, rate, run};

const SIZES: [&str; 7] = [
    "bridge/64/uni",
    "bridge/128/uni",
    "bridge/256/uni",
    "bridge/512/uni",
    "bridge/1024/uni",
    "bridge/1280/uni",
    "bridge/1518/uni",
];

/// Standard deviations by which a count of rare events may exceed its mean.
const TOLERANCE: f64 = 4.0;

/// Most events that `n` draws at probability `p` show.
fn most(n: usize, p: f64) -> usize {
    let mean = n as f64 * p;
    (mean + TOLERANCE * (mean * (1.0 - p)).sqrt()).ceil() as usize
}

fn values(random: &mut fastrand::Rng, n: usize, mean: f64, cv: f64) -> Vec<f64> {
    (0..n).map(|_| rate(random, mean, cv)).collect()
}

/// Rounds down to a grid of `step`, as a search does.
fn grid(value: f64, step: f64) -> f64 {
    ((value.ln() / step).floor() * step).exp()
}

/// Compares two made runs of seven cells with `repeats` numbers each, the new ones `shift`
/// times the old.
fn counts(random: &mut fastrand::Rng, repeats: usize, cv: f64, shift: f64, step: f64) -> Counts {
    let mut side = |shift: f64| {
        let numbers: Vec<Vec<f64>> = SIZES
            .iter()
            .map(|_| {
                let mut numbers = values(random, repeats, 200_000.0 * shift, cv);
                if step > 0.0 {
                    numbers.iter_mut().for_each(|v| *v = grid(*v, step));
                }
                numbers
            })
            .collect();
        let cells: Vec<(&str, &[f64])> = SIZES
            .iter()
            .zip(&numbers)
            .map(|(name, numbers)| (*name, numbers.as_slice()))
            .collect();
        run(&cells)
    };
    let (old, new) = (side(1.0), side(shift));
    let options = Options::default();
    compare(&[input("old", old)], &[input("new", new)], &options)
        .unwrap()
        .counts
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4, ..ProptestConfig::default() })]

    /// The interval of two samples of one distribution misses no difference in at most one
    /// case of twenty.
    #[test]
    fn intervals_cover(seed: u64, n in 2_usize..12, cv in 0.001_f64..0.2) {
        let mut random = fastrand::Rng::with_seed(seed);
        let draws = 2000;
        let missed = (0..draws)
            .filter(|_| {
                let old = log_sample(values(&mut random, n, 1e5, cv)).unwrap();
                let new = log_sample(values(&mut random, n, 1e5, cv)).unwrap();
                let comparison = welch(old, new, None, 0.0, 0.95).unwrap();
                comparison.difference.abs() > comparison.half_width
            })
            .count();
        prop_assert!(missed <= most(draws, 0.05), "{missed} of {draws}");
    }

    /// Where nothing differs, at most one comparison of twenty calls any of its cells better or
    /// worse, whatever the noise and with the search's rounding or without.
    #[test]
    fn false_alarms_stay_below_the_level(
        seed: u64, n in 2_usize..8, cv in 0.001_f64..0.1, step in prop_oneof![Just(0.0), Just(0.02)]
    ) {
        let mut random = fastrand::Rng::with_seed(seed);
        let draws = 200;
        let alarms = (0..draws)
            .filter(|_| {
                let counts = counts(&mut random, n, cv, 1.0, step);
                counts.worse + counts.better > 0
            })
            .count();
        prop_assert!(alarms <= most(draws, 0.05), "{alarms} of {draws}");
    }

    /// A loss of 5 % in all cells is found nearly always with five repeats that vary by 1 %,
    /// and mostly with three.
    #[test]
    fn shifts_of_five_per_cent_are_found(seed: u64, up: bool) {
        let mut random = fastrand::Rng::with_seed(seed);
        let shift = if up { 1.05 } else { 0.95 };
        for (repeats, share) in [(5, 0.95), (3, 0.8)] {
            let draws = 100;
            let mut comparison = 0;
            for _ in 0..draws {
                let counts = counts(&mut random, repeats, 0.01, shift, 0.0);
                comparison += if up { counts.better } else { counts.worse };
                prop_assert_eq!(if up { counts.worse } else { counts.better }, 0);
            }
            let all = f64::from(draws * 7);
            prop_assert!(f64::from(comparison) >= share * all, "{} of {}", comparison, all);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4, ..ProptestConfig::default() })]

    /// A history in which nothing changes shows a change in at most one case of twenty.
    #[test]
    fn quiet_histories_rarely_show_changes(seed: u64, n in 6_usize..60, cv in 0.001_f64..0.2) {
        let mut random = fastrand::Rng::with_seed(seed);
        let draws = 150;
        let alarms = (0..draws)
            .filter(|_| !changes(&values(&mut random, n, 1e5, cv), 0.05).is_empty())
            .count();
        prop_assert!(alarms <= most(draws, 0.05), "{alarms} of {draws}");
    }

    /// A lasting loss of 5 % among numbers that vary by 1 % is found within one run of its place.
    #[test]
    fn lasting_changes_are_found(seed: u64, before in 6_usize..30, after in 4_usize..30) {
        let mut random = fastrand::Rng::with_seed(seed);
        let draws = 40;
        let comparison = (0..draws)
            .filter(|_| {
                let mut history = values(&mut random, before, 1e5, 0.01);
                history.extend(values(&mut random, after, 0.95e5, 0.01));
                let comparison = changes(&history, 0.05);
                comparison.iter().any(|change| change.at.abs_diff(before) <= 1)
            })
            .count();
        prop_assert!(comparison >= draws * 85 / 100, "{comparison} of {draws}");
    }
}

#[test]
fn one_cell_of_seven_that_loses_five_per_cent_is_found() {
    let mut random = fastrand::Rng::with_seed(7);
    let draws = 200;
    let comparison = (0..draws)
        .filter(|_| {
            let numbers: Vec<[Vec<f64>; 2]> = SIZES
                .iter()
                .enumerate()
                .map(|(i, _)| {
                    let shift = if i == 3 { 0.95 } else { 1.0 };
                    [1.0, shift].map(|shift| values(&mut random, 5, 1e5 * shift, 0.01))
                })
                .collect();
            let side = |which: usize| {
                let cells: Vec<(&str, &[f64])> = SIZES
                    .iter()
                    .zip(&numbers)
                    .map(|(name, sides)| (*name, sides[which].as_slice()))
                    .collect();
                run(&cells)
            };
            let comparison = compare(
                &[input("old", side(0))],
                &[input("new", side(1))],
                &Options::default(),
            )
            .unwrap();
            comparison.cells[3].judgement == Judgement::Worse
        })
        .count();
    assert!(comparison >= draws * 85 / 100, "{comparison} of {draws}");
}

#[test]
fn quiet_cells_that_do_not_differ_are_called_the_same() {
    let mut random = fastrand::Rng::with_seed(11);
    let same: u32 = (0..50)
        .map(|_| counts(&mut random, 5, 0.005, 1.0, 0.0).same)
        .sum();
    assert!(same >= 50 * 7 * 95 / 100, "{same}");
}

/// How a bisection between a good and a bad side ended.
#[derive(Debug, Default)]
struct Bisections {
    good: usize,
    bad: usize,
    open: usize,
    measurements: usize,
}

/// Bisections in which good measures 100, bad 85 and the new side `new`, each with `runs` known runs a side and at
/// most `most` measurements, looked at after each.
fn bisections(times: usize, runs: usize, new: f64, cv: f64, most: usize) -> Bisections {
    use nicety_compare::bisect::{Middle, Side};
    let mut random = fastrand::Rng::with_seed(20_261_126 + runs as u64);
    let mut ended = Bisections::default();
    for _ in 0..times {
        let side =
            |random: &mut fastrand::Rng, mean| log_sample(values(random, runs, mean, cv)).unwrap();
        let middle = Middle {
            good: side(&mut random, 100.0),
            bad: side(&mut random, 85.0),
            floor: 1e-10,
            error: 0.05,
        };
        let mut numbers = Vec::new();
        let side = loop {
            if numbers.len() == most {
                break None;
            }
            numbers.push(rate(&mut random, new, cv));
            if let Some(side) = middle.judge(&numbers).side {
                break Some(side);
            }
        };
        ended.measurements += numbers.len();
        match side {
            Some(Side::Good) => ended.good += 1,
            Some(Side::Bad) => ended.bad += 1,
            None => ended.open += 1,
        }
    }
    ended
}

#[test]
fn looking_after_every_measurement_errs_no_more_often_than_stated() {
    // Exactly in the middle, where either answer is wrong, up to 60 looks.
    let middle = (100.0_f64 * 85.0).sqrt();
    for runs in [1, 2, 3] {
        for cv in [0.01, 0.1] {
            let ended = bisections(600, runs, middle, cv, 60);
            let wrong = ended.good + ended.bad;
            assert!(wrong <= most(600, 0.05), "{runs} runs, cv {cv}: {ended:?}");
        }
    }
}

#[test]
fn bisections_find_the_side() {
    for (runs, cv, mean) in [(3, 0.02, 4.0), (2, 0.02, 8.0), (8, 0.05, 12.0)] {
        for (new, good) in [(100.0, true), (85.0, false)] {
            let ended = bisections(300, runs, new, cv, 40);
            let (right, wrong) = if good {
                (ended.good, ended.bad)
            } else {
                (ended.bad, ended.good)
            };
            assert!(wrong <= most(300, 0.01), "{runs} runs, cv {cv}: {ended:?}");
            assert!(right >= 270, "{runs} runs, cv {cv}: {ended:?}");
            let each = ended.measurements as f64 / 300.0;
            assert!(each <= mean, "{runs} runs, cv {cv}: {each} measurements");
        }
    }
}
