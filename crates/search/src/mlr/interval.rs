//! Picks the load to measure inside an interval.

/// Splits the interval so that one part is a power of two of `width`, the parts are as even as
/// that allows, and the smaller one lies below: failures, which are likelier above, then leave
/// intervals that halve without rest. Needs `low < high`.
pub fn middle(low: usize, high: usize, width: usize) -> usize {
    let whole = high - low;
    if whole <= 2 * width {
        return low + whole / 2;
    }
    let mut part = width;
    // The product of the parts is greatest when they are most even.
    while 2 * part < whole && 2 * part * (whole - 2 * part) >= part * (whole - part) {
        part *= 2;
    }
    low + part.min(whole - part)
}

/// Bounds or limits a load must keep its distance from.
#[derive(Debug, Clone, Copy)]
pub struct Room {
    /// Highest position that may be measured; the lowest is 0.
    pub top: usize,
    /// Width in steps: nearer than this to a bound nothing is learnt.
    pub width: usize,
}

impl Room {
    /// Moves `load` away from the bounds, or onto a limit it comes too near to. `None` when
    /// there is no load worth measuring.
    pub fn fit(self, load: usize, lower: Option<usize>, upper: Option<usize>) -> Option<usize> {
        if lower.is_some_and(|l| load <= l) || upper.is_some_and(|u| load >= u) {
            return None;
        }
        let (low, low_known) = lower.map_or((0, false), |l| (l, true));
        // A bound above the top, left over from before a cap, leaves the top to be measured.
        let (high, high_known) = match upper {
            Some(upper) if upper <= self.top => (upper, true),
            _ => (self.top, false),
        };
        let load = load.min(high);
        if low >= high && low_known {
            return None;
        }
        if high - low <= self.width {
            return match (low_known, high_known) {
                (false, _) => Some(low),
                (true, false) => Some(high),
                (true, true) => None,
            };
        }
        let (mut soft_low, mut soft_high) = (low + self.width, high - self.width);
        if soft_low > soft_high {
            soft_low = middle(low, high, self.width);
            soft_high = soft_low;
        }
        Some(if load < soft_low {
            if low_known { soft_low } else { low }
        } else if load > soft_high {
            if high_known { soft_high } else { high }
        } else {
            load
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_powers_of_two_of_the_width_smaller_below() {
        for (whole, width, below) in [
            (2, 1, 1),
            (3, 1, 1),
            (4, 1, 2),
            (5, 1, 2),
            (6, 1, 2),
            (7, 1, 3),
            (12, 1, 4),
            (16, 1, 8),
            (9, 8, 4),
            (40, 8, 16),
        ] {
            assert_eq!(
                middle(100, 100 + whole, width),
                100 + below,
                "{whole} in {width}"
            );
        }
    }

    #[test]
    fn limits_may_be_measured_bounds_may_not() {
        let room = Room { top: 100, width: 8 };
        for (load, lower, upper, expected) in [
            (3, None, None, Some(0)),
            (95, None, None, Some(100)),
            (50, None, None, Some(50)),
            (95, Some(50), None, Some(100)),
            (52, Some(50), None, Some(58)),
            (60, Some(95), None, None),
            (97, Some(95), None, Some(100)),
            (4, None, Some(50), Some(0)),
            (49, None, Some(50), Some(42)),
            (50, None, Some(50), None),
            (53, Some(50), Some(58), None),
            (51, Some(50), Some(60), Some(55)),
            (120, Some(90), Some(130), Some(100)),
            (101, Some(100), Some(130), None),
        ] {
            assert_eq!(
                room.fit(load, lower, upper),
                expected,
                "{load} {lower:?} {upper:?}"
            );
        }
    }
}
