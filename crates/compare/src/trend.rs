//! Where a series of numbers changes its level.
//!
//! E-divisive (Matteson and James 2014, "A nonparametric approach for multiple change point
//! analysis of multivariate data", J. Am. Stat. Assoc. 109), which assumes no distribution and
//! has proved itself on histories of benchmarks (Daly et al. 2020, "The use of change point
//! detection to identify software performance regressions in a continuous integration system",
//! ICPE). A stretch is split where the energy statistic of its two sides is largest, if shuffled
//! stretches rarely reach as much; then each side in turn.

/// Fewest numbers of a level: one or two strays make none.
pub const SHORTEST: usize = 3;
/// Shuffles behind a p-value; the smallest p is 1 / (this + 1).
const SHUFFLES: usize = 499;
/// Seed of the shuffles: the same history always gives the same answer.
const SEED: u64 = 0x006e_6963_6574_7900;

/// A change of level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Change {
    /// Index of the first number of the new level.
    pub at: usize,
    /// Chance that the same numbers in another order would show as large a change.
    pub p: f64,
}

/// Changes of level in order, each with a chance of at most `level` to be one where the numbers
/// come in random order. All numbers must be finite.
pub fn changes(values: &[f64], level: f64) -> Vec<Change> {
    let mut random = fastrand::Rng::with_seed(SEED);
    let mut points = Vec::new();
    let mut open = vec![(0, values.len())];
    while let Some((from, to)) = open.pop() {
        let mut shuffled = numbers(&values[from..to]);
        let Some((split, energy)) = best(&shuffled) else {
            continue;
        };
        let mut as_large = 0_usize;
        for done in 1..=SHUFFLES {
            random.shuffle(&mut shuffled);
            // The same split in another order differs by rounding.
            let most = energy * (1.0 - 1e-9);
            as_large += usize::from(best(&shuffled).is_some_and(|(_, other)| other >= most));
            // No need to know how far above the level it is.
            if as_large as f64 > level * (SHUFFLES + 1) as f64 + 1.0 && done > 50 {
                break;
            }
        }
        let p = (as_large + 1) as f64 / (SHUFFLES + 1) as f64;
        if p <= level {
            points.push(Change {
                at: from + split,
                p,
            });
            open.push((from, from + split));
            open.push((from + split, to));
        }
    }
    points.sort_by_key(|change| change.at);
    points
}

/// A number of a stretch with what does not depend on the order of the others.
#[derive(Debug, Clone, Copy)]
struct Number {
    value: f64,
    /// How many of the stretch are not larger.
    rank: usize,
    /// Sum of absolute differences to all of the stretch.
    to_all: f64,
}

fn numbers(stretch: &[f64]) -> Vec<Number> {
    let mut sorted = stretch.to_vec();
    sorted.sort_by(f64::total_cmp);
    let mut sums = vec![0.0];
    for value in &sorted {
        sums.push(sums[sums.len() - 1] + value);
    }
    let (n, sum) = (sorted.len(), sums[sorted.len()]);
    let number = |value: &f64| {
        let rank = sorted.partition_point(|other| other <= value);
        let (below, above) = (sums[rank], sum - sums[rank]);
        let to_all = value * rank as f64 - below + above - value * (n - rank) as f64;
        Number {
            value: *value,
            rank,
            to_all,
        }
    };
    stretch.iter().map(number).collect()
}

/// The split with the largest energy statistic, `None` for stretches too short to split or
/// without any difference.
fn best(numbers: &[Number]) -> Option<(usize, f64)> {
    let n = numbers.len();
    if n < 2 * SHORTEST {
        return None;
    }
    let sums = within(numbers);
    let total = sums[n].0;
    (SHORTEST..=n - SHORTEST)
        .map(|split| {
            let (m, k) = (split as f64, (n - split) as f64);
            let (before, after) = sums[split];
            let between = total - before - after;
            // Equation 5 of the paper with the exponent 1; sums over pairs counted once.
            let energy = 2.0 * between / (m * k)
                - 2.0 * before / (m * (m - 1.0))
                - 2.0 * after / (k * (k - 1.0));
            (split, energy * m * k / (m + k))
        })
        .filter(|(_, energy)| *energy > 0.0)
        .max_by(|a, b| a.1.total_cmp(&b.1))
}

/// For every split, the sum of absolute differences of all pairs before it, and of those after it.
///
/// A Fenwick tree over ranks holds how many numbers and what sum lie below each: so a new
/// number's distances to all before it take logarithmic time. Its distances to those after it
/// are the rest of those to all.
fn within(numbers: &[Number]) -> Vec<(f64, f64)> {
    let mut tree = vec![(0.0_f64, 0.0_f64); numbers.len() + 1];
    let (mut count, mut sum, mut before) = (0.0, 0.0, 0.0);
    let mut after = numbers.iter().map(|number| number.to_all).sum::<f64>() / 2.0;
    let mut all = Vec::with_capacity(numbers.len() + 1);
    all.push((before, after));
    for &Number {
        value,
        rank,
        to_all,
    } in numbers
    {
        let (mut below, mut below_sum) = (0.0, 0.0);
        let mut at = rank;
        while at > 0 {
            below += tree[at].0;
            below_sum += tree[at].1;
            at &= at - 1;
        }
        let to_earlier = value * below - below_sum + (sum - below_sum) - value * (count - below);
        before += to_earlier;
        after -= to_all - to_earlier;
        all.push((before, after));
        count += 1.0;
        sum += value;
        at = rank;
        while at < tree.len() {
            tree[at].0 += 1.0;
            tree[at].1 += value;
            at += at & at.wrapping_neg();
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slow(values: &[f64]) -> f64 {
        let mut sum = 0.0;
        for (i, a) in values.iter().enumerate() {
            for b in &values[..i] {
                sum += (a - b).abs();
            }
        }
        sum
    }

    #[test]
    fn sums_of_pairs_are_those_of_the_definition() {
        let mut random = fastrand::Rng::with_seed(3);
        let values: Vec<f64> = (0..40).map(|_| (random.f64() * 10.0).round()).collect();
        let sums = within(&numbers(&values));
        for n in 0..=values.len() {
            assert!((sums[n].0 - slow(&values[..n])).abs() < 1e-9, "{n}");
            assert!((sums[n].1 - slow(&values[n..])).abs() < 1e-9, "{n}");
        }
    }

    #[test]
    fn a_clear_change_is_found_where_it_is() {
        let mut values = vec![10.0, 10.1, 9.9, 10.05, 9.95, 10.0];
        values.extend([9.0, 9.1, 8.9, 9.05, 8.95, 9.0]);
        let points = changes(&values, 0.05);
        assert_eq!(points.iter().map(|c| c.at).collect::<Vec<_>>(), [6]);
        assert!(points[0].p < 0.01);
    }

    #[test]
    fn two_changes_are_found() {
        let level = |base: f64| (0..10).map(move |i| base + f64::from(i % 3) * 0.01);
        let values: Vec<f64> = level(1.0).chain(level(2.0)).chain(level(1.5)).collect();
        let points = changes(&values, 0.05);
        assert_eq!(points.iter().map(|c| c.at).collect::<Vec<_>>(), [10, 20]);
    }

    #[test]
    fn short_and_constant_series_have_no_change() {
        assert!(changes(&[], 0.05).is_empty());
        assert!(changes(&[1.0, 9.0, 1.0, 9.0, 9.0], 0.05).is_empty());
        assert!(changes(&[4.0; 50], 0.05).is_empty());
    }

    #[test]
    fn one_stray_is_no_change() {
        let mut values = vec![10.0; 20];
        for (i, value) in values.iter_mut().enumerate() {
            *value += (i % 4) as f64 * 0.01;
        }
        values[9] = 3.0;
        assert!(changes(&values, 0.05).is_empty());
    }
}
