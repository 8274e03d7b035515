//! Sums of counters that other programs wrote.

use std::borrow::Borrow;

/// The sum, or `u64::MAX` where it would be larger: a counter that runs backwards shows as nearly that
/// much, and one wrong counter must not make the sum small.
pub fn total<V: Borrow<u64>>(counters: impl IntoIterator<Item = V>) -> u64 {
    let add = |sum: u64, counter: V| sum.saturating_add(*counter.borrow());
    counters.into_iter().fold(0, add)
}

#[cfg(test)]
mod tests {
    use super::total;

    #[test]
    fn it_stays_at_the_largest() {
        assert_eq!(total([1, 2, 3]), 6);
        assert_eq!(total([u64::MAX, 2]), u64::MAX);
        assert_eq!(total([0_u64; 0]), 0);
    }
}
