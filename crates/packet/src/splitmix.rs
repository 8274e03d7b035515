//! SplitMix64 (G. L. Steele, D. Lea, C. H. Flood, "Fast splittable pseudorandom number generators", 2014): numbers that
//! look random, each computed on its own.

/// What its state grows by from number to number.
const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// Number `n`, counted from 0, of the sequence that begins with this seed.
pub fn nth(seed: u64, n: u64) -> u64 {
    mixed(seed.wrapping_add(n.wrapping_mul(GAMMA)))
}

/// The number that follows a state: all its bits over all bits of the result.
pub fn mixed(state: u64) -> u64 {
    let mut bits = state.wrapping_add(GAMMA);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_reference() {
        // The first of the seed 1234567, as the authors' program prints them.
        let first = [0, 1, 2].map(|n| nth(1_234_567, n));
        assert_eq!(
            first,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423
            ]
        );
    }
}
