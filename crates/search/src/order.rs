//! Random order from a seed.

/// The numbers `0..count` in an order that the same seed gives again.
pub fn shuffled(count: usize, seed: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    fastrand::Rng::with_seed(seed).shuffle(&mut order);
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_order_of_all() {
        assert_eq!(shuffled(20, 7), shuffled(20, 7));
        assert_ne!(shuffled(20, 7), shuffled(20, 8));
        let mut all = shuffled(20, 7);
        all.sort_unstable();
        assert_eq!(all, (0..20).collect::<Vec<_>>());
    }
}
