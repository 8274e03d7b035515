//! Which flow a frame belongs to where flows are not all alike, or new ones come.

use nicety_model::Popularity;

use crate::splitmix;

/// Chooses a flow for each frame. The same number and time give the same flow, so a stream can be
/// repeated; receivers need not know it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picker {
    flows: u32,
    /// Tables of the alias method; empty where flows take turns.
    chances: Box<[Place]>,
    /// New flows per second.
    born_per_s: u64,
}

/// One place of an alias table (M. D. Vose, "A linear algorithm for generating random numbers with a
/// given distribution", 1991).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    /// Chance of 2^32 that the place is the flow's own.
    own: u32,
    /// The flow otherwise.
    other: u32,
}

impl Picker {
    /// For `flows` flows, of which `born_per_s` are replaced by new ones every second.
    pub fn new(flows: u32, popularity: Popularity, born_per_s: u32) -> Self {
        let chances = match popularity {
            Popularity::Uniform => Box::default(),
            Popularity::Zipf(thousandths) => zipf(flows.max(1), f64::from(thousandths) / 1e3),
        };
        Self {
            flows: flows.max(1),
            chances,
            born_per_s: born_per_s.into(),
        }
    }

    /// The flow of frame `sequence` sent at `now_ns` of the monotonic clock: below [`FlowRange::MAX`](crate::FlowRange::MAX).
    pub fn pick(&self, sequence: u32, now_ns: u64) -> u32 {
        let place = if self.chances.is_empty() {
            sequence % self.flows
        } else {
            self.drawn(sequence)
        };
        match self.born_per_s {
            0 => place,
            rate => self.now_at(
                place,
                (u128::from(now_ns) * u128::from(rate) / 1_000_000_000) as u64,
            ),
        }
    }

    /// The flow that has a place when `born` flows have come since the beginning: each new one takes the
    /// place of the oldest.
    fn now_at(&self, place: u32, born: u64) -> u32 {
        let flows = u64::from(self.flows);
        let since = (u64::from(place) + flows - born % flows) % flows;
        ((born + since) % u64::from(crate::FlowRange::MAX)) as u32
    }

    fn drawn(&self, sequence: u32) -> u32 {
        let bits = splitmix::nth(0, sequence.into());
        // The upper half chooses the place, the lower one who has it.
        let at = ((bits >> 32) * u64::from(self.flows)) >> 32;
        let place = self.chances[at as usize];
        if (bits as u32) < place.own {
            at as u32
        } else {
            place.other
        }
    }
}

/// The alias table of shares `k^-exponent`.
fn zipf(flows: u32, exponent: f64) -> Box<[Place]> {
    let weights: Vec<f64> = (1..=flows).map(|k| f64::from(k).powf(-exponent)).collect();
    let sum: f64 = weights.iter().sum();
    let mut scaled: Vec<f64> = weights
        .iter()
        .map(|weight| weight * f64::from(flows) / sum)
        .collect();
    let whole = Place {
        own: u32::MAX,
        other: 0,
    };
    let mut table: Vec<Place> = (0..flows)
        .map(|flow| Place {
            other: flow,
            ..whole
        })
        .collect();
    let (mut small, mut large): (Vec<u32>, Vec<u32>) =
        (0..flows).partition(|flow| scaled[*flow as usize] < 1.0);
    while let (Some(less), Some(more)) = (small.pop(), large.last().copied()) {
        let own = scaled[less as usize];
        table[less as usize] = Place {
            own: (own * f64::from(u32::MAX)) as u32,
            other: more,
        };
        scaled[more as usize] -= 1.0 - own;
        if scaled[more as usize] < 1.0 {
            large.pop();
            small.push(more);
        }
    }
    table.into_boxed_slice()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// Pearson's test at 0.1 %: the sum for `freedom` degrees is above this once in a thousand times
    /// (Wilson and Hilferty's approximation). Sequence numbers are fixed, so it is always the same.
    fn critical(freedom: f64) -> f64 {
        let part = 2.0 / (9.0 * freedom);
        freedom * (1.0 - part + 3.09 * part.sqrt()).powi(3)
    }

    fn chi_square(flows: u32, exponent: f64, frames: u32) -> f64 {
        let picker = Picker::new(flows, Popularity::Zipf((exponent * 1e3).round() as u32), 0);
        let mut counts = vec![0_u32; flows as usize];
        for sequence in 0..frames {
            counts[picker.pick(sequence, 0) as usize] += 1;
        }
        let shares: Vec<f64> = (1..=flows).map(|k| f64::from(k).powf(-exponent)).collect();
        let sum: f64 = shares.iter().sum();
        let expected = shares.iter().map(|share| share / sum * f64::from(frames));
        counts
            .iter()
            .zip(expected)
            .map(|(n, e)| (f64::from(*n) - e).powi(2) / e)
            .sum()
    }

    #[test]
    fn frames_are_shared_as_zipf_says() {
        for (flows, exponent) in [(2, 1.0), (10, 0.5), (100, 1.0), (1000, 1.1), (1000, 0.001)] {
            let sum = chi_square(flows, exponent, 2_000_000);
            let most = critical(f64::from(flows - 1));
            assert!(sum < most, "{flows} flows, {exponent}: {sum} of {most}");
        }
    }

    #[test]
    fn another_exponent_is_told_apart() {
        let picker = Picker::new(100, Popularity::Zipf(1_100), 0);
        let first = (0..1_000_000).filter(|n| picker.pick(*n, 0) == 0).count();
        // 1 / H(100, 1.1) = 0.2347..., of 1.0 it is 0.1928.
        let share: f64 = 1.0 / (1..=100).map(|k| f64::from(k).powf(-1.1)).sum::<f64>();
        assert!(
            (first as f64 / 1e6 - share).abs() < 0.002,
            "{first}, {share}"
        );
    }

    #[test]
    fn flows_take_turns_unless_told_otherwise() {
        let picker = Picker::new(7, Popularity::Uniform, 0);
        let flows: Vec<u32> = (0..9).map(|n| picker.pick(n, 123)).collect();
        assert_eq!(flows, [0, 1, 2, 3, 4, 5, 6, 0, 1]);
    }

    #[test]
    fn new_flows_take_the_place_of_the_oldest() {
        let picker = Picker::new(4, Popularity::Uniform, 1_000);
        let at = |ms: u64| -> Vec<u32> { (0..4).map(|n| picker.pick(n, ms * 1_000_000)).collect() };
        assert_eq!(at(0), [0, 1, 2, 3]);
        assert_eq!(at(1), [4, 1, 2, 3]);
        assert_eq!(at(2), [4, 5, 2, 3]);
        assert_eq!(at(6), [8, 9, 6, 7]);
        // In a second 1,000 of them came, and no flow had two places.
        let mut seen = HashSet::new();
        for ms in 0..1_000 {
            let now = at(ms);
            assert_eq!(now.iter().collect::<HashSet<_>>().len(), 4);
            seen.extend(now);
        }
        assert_eq!(seen.len(), 1_003);
        // A long-running clock, and one that has gone round.
        let late = Picker::new(1000, Popularity::Zipf(1000), 1_000_000);
        for n in 0..10_000 {
            assert!(late.pick(n, u64::MAX - u64::from(n)) < crate::FlowRange::MAX);
        }
    }
}
