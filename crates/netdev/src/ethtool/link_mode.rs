//! Speeds of link modes.

/// Speed in Mbit/s, and the bits of its modes (include/uapi/linux/ethtool.h, `ethtool_link_mode_bit_indices`).
const SPEEDS: [(u32, &[u32]); 14] = [
    (10, &[0, 1, 92, 99, 100, 101]),
    (100, &[2, 3, 67, 90, 91]),
    (1_000, &[4, 5, 17, 41, 68]),
    (2_500, &[15, 47]),
    (5_000, &[48]),
    (10_000, &[12, 18, 19, 20, 42, 43, 44, 45]),
    (20_000, &[21, 22]),
    (25_000, &[31, 32, 33]),
    (40_000, &[23, 24, 25, 26]),
    (50_000, &[34, 35, 40, 52, 53, 54, 55, 56]),
    (56_000, &[27, 28, 29, 30]),
    (
        100_000,
        &[36, 37, 38, 39, 57, 58, 59, 60, 61, 75, 76, 77, 78, 79],
    ),
    (200_000, &[62, 63, 64, 65, 66, 80, 81, 82, 83, 84]),
    (400_000, &[69, 70, 71, 72, 73, 85, 86, 87, 88, 89]),
];

/// The fastest of a mask's modes in Mbit/s; `None` where none of them is known here.
pub(super) fn fastest(mask: impl Iterator<Item = u32>) -> Option<u32> {
    let words: Vec<u32> = mask.collect();
    let there = |bit: &u32| {
        let word = words.get(*bit as usize / 32);
        word.is_some_and(|word| word & 1 << (bit % 32) != 0)
    };
    let mut speeds = SPEEDS.iter().rev();
    let (speed, _) = speeds.find(|(_, bits)| bits.iter().any(there))?;
    Some(*speed)
}

#[cfg(test)]
mod tests {
    use super::fastest;

    #[test]
    fn the_fastest_mode_counts() {
        // 10 to 100 Mbit/s, then with 1000baseT too; twisted pair and autonegotiation are no modes.
        assert_eq!(fastest([0b1100_1111].into_iter()), Some(100));
        assert_eq!(fastest([0b1110_1111].into_iter()), Some(1_000));
        assert_eq!(fastest([1 << 12, 1 << (47 - 32)].into_iter()), Some(10_000));
        assert_eq!(fastest([0, 0, 1 << (69 - 64)].into_iter()), Some(400_000));
        assert_eq!(fastest([1 << 6, 0].into_iter()), None);
        assert_eq!(fastest([].into_iter()), None);
    }
}
