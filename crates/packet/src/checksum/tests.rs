use proptest::prelude::*;

use super::*;

/// Word by word with an end-around carry after every addition, as RFC 1071 §1 describes it.
fn naive(bytes: &[u8]) -> u16 {
    let mut sum = 0_u32;
    for pair in bytes.chunks(2) {
        sum += u32::from(pair[0]) << 8 | u32::from(pair.get(1).copied().unwrap_or(0));
        if sum > 0xffff {
            sum -= 0xffff;
        }
    }
    sum as u16
}

#[test]
fn example_of_rfc_1071() {
    // §3: the words 0001 f203 f4f5 f6f7 sum to 2ddf0, folded to ddf2.
    let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
    assert_eq!(Sum::default().add_bytes(&bytes).fold(), 0xddf2);
    assert_eq!(Sum::default().add_bytes(&bytes).checksum(), 0x220d);
}

#[test]
fn example_of_rfc_1624() {
    // §4: checksum dd2f, a word changes from 5555 to 3285: the new checksum is 0000.
    assert_eq!(update(0xdd2f, 0x5555, 0x3285), 0x0000);
}

#[test]
fn folds_the_largest_sum() {
    // 2^64 - 1 is 0 modulo 65535 and not zero: all ones in one's complement.
    assert_eq!(Sum(u64::MAX).fold(), 0xffff);
    assert_eq!(Sum(0).fold(), 0);
    assert_eq!(Sum(0x1_0000).fold(), 1);
}

proptest! {
    #[test]
    fn agrees_with_the_definition(bytes in proptest::collection::vec(any::<u8>(), 0..1600)) {
        prop_assert_eq!(Sum::default().add_bytes(&bytes).fold(), naive(&bytes));
    }

    #[test]
    fn parts_at_even_offsets_add_up(
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
        cut in 0_usize..100,
    ) {
        let cut = (cut * 2).min(bytes.len() & !1);
        let whole = Sum::default().add_bytes(&bytes);
        let parts = Sum::default().add_bytes(&bytes[..cut]).add_bytes(&bytes[cut..]);
        prop_assert_eq!(parts.fold(), whole.fold());
        let added = Sum::default().add_bytes(&bytes[..cut]).add(Sum::default().add_bytes(&bytes[cut..]));
        prop_assert_eq!(added.fold(), whole.fold());
    }

    #[test]
    fn wide_words_count_as_their_parts(words in any::<u64>()) {
        let bytes = words.to_be_bytes();
        prop_assert_eq!(
            Sum::default().add_u48(words).fold(),
            naive(&bytes[2..])
        );
        prop_assert_eq!(
            Sum::default().add_u32(words as u32).fold(),
            naive(&bytes[4..])
        );
    }

    #[test]
    fn update_equals_summing_again(
        mut words in proptest::collection::vec(1_u16.., 2..30),
        at in any::<prop::sample::Index>(),
        new in 1_u16..,
    ) {
        let bytes = |words: &[u16]| -> Vec<u8> { words.iter().flat_map(|w| w.to_be_bytes()).collect() };
        let before = Sum::default().add_bytes(&bytes(&words)).checksum();
        let at = at.index(words.len());
        let old = std::mem::replace(&mut words[at], new);
        let after = Sum::default().add_bytes(&bytes(&words)).checksum();
        prop_assert_eq!(update(before, old, new), after);
    }
}
