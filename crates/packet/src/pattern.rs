//! What fills a frame behind its stamp.
//!
//! A fixed pseudo-random sequence: comparing it finds every change, also those that the one's
//! complement sum cannot see (words exchanged, 0000 for ffff).

use nicety_model::FrameSize;

const BYTES: usize = FrameSize::MAX as usize;

static PATTERN: [u8; BYTES] = generate();

/// The first `bytes` bytes of the pattern; all of it when more are asked for, which is more
/// than any frame holds.
pub fn pattern(bytes: usize) -> &'static [u8] {
    &PATTERN[..bytes.min(BYTES)]
}

const fn generate() -> [u8; BYTES] {
    let mut pattern = [0; BYTES];
    let mut state = 0x6e69_6365_u32;
    let mut at = 0;
    while at < BYTES {
        // Full-period linear congruential step (Numerical Recipes' constants); its high byte is
        // the most random one.
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        pattern[at] = (state >> 24) as u8;
        at += 1;
    }
    pattern
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn neighbouring_words_differ() {
        let words: Vec<_> = pattern(1500).chunks(2).collect();
        assert!(words.windows(2).all(|pair| pair[0] != pair[1]));
        let distinct: HashSet<_> = words.iter().collect();
        assert!(distinct.len() > 700, "{} of 750", distinct.len());
    }

    #[test]
    fn never_longer_than_a_frame() {
        assert_eq!(pattern(usize::MAX).len(), BYTES);
        assert_eq!(pattern(0).len(), 0);
    }
}
