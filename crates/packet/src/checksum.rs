//! The Internet checksum (RFC 1071) and its incremental update (RFC 1624).

/// Bytes summed per step; several 32-bit lanes let the compiler use vector registers.
const STEP: usize = 32;
const LANES: usize = STEP / 4;

/// A sum of 16-bit big-endian words, not yet folded: congruent modulo 65535 to the one's
/// complement sum. Words of 32 or more bits may be added whole, because 2^16 is 1 modulo 65535.
///
/// It holds at least 2^15 additions of 48 bits, far more than a frame can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sum(u64);

impl Sum {
    /// Adds one word.
    #[must_use]
    pub const fn add_u16(self, word: u16) -> Self {
        Self(self.0 + word as u64)
    }

    /// Adds two words.
    #[must_use]
    pub const fn add_u32(self, words: u32) -> Self {
        Self(self.0 + words as u64)
    }

    /// Adds three words: the low 48 bits.
    #[must_use]
    pub const fn add_u48(self, words: u64) -> Self {
        Self(self.0 + (words & 0xffff_ffff_ffff))
    }

    /// Adds what another sum holds.
    #[must_use]
    pub const fn add(self, other: Self) -> Self {
        Self(self.0 + other.fold() as u64)
    }

    /// Adds bytes that start at an even offset of the data; an odd last byte counts as the high
    /// half of a word whose low half is zero (RFC 1071 §4.1).
    #[must_use]
    pub fn add_bytes(self, bytes: &[u8]) -> Self {
        // The sum does not depend on byte order until the end (RFC 1071 §2 B), so whole native
        // words are added and the folded result is turned round once.
        let mut lanes = [0_u64; LANES];
        let (steps, rest) = bytes.as_chunks::<STEP>();
        for step in steps {
            for (lane, word) in lanes.iter_mut().zip(step.as_chunks::<4>().0) {
                *lane += u64::from(u32::from_ne_bytes(*word));
            }
        }
        let mut sum: u64 = lanes.iter().sum();
        let (words, tail) = rest.as_chunks::<2>();
        for word in words {
            sum += u64::from(u16::from_ne_bytes(*word));
        }
        if let [last] = tail {
            sum += u64::from(u16::from_ne_bytes([*last, 0]));
        }
        Self(self.0 + u64::from(u16::from_be_bytes(Self(sum).fold().to_ne_bytes())))
    }

    /// The one's complement sum in 16 bits.
    pub const fn fold(self) -> u16 {
        let mut sum = (self.0 & 0xffff_ffff) + (self.0 >> 32);
        sum = (sum & 0xffff) + ((sum >> 16) & 0xffff) + (sum >> 32);
        sum = (sum & 0xffff) + (sum >> 16);
        sum = (sum & 0xffff) + (sum >> 16);
        sum as u16
    }

    /// The checksum to put into a header whose checksum field was zero in the sum.
    pub const fn checksum(self) -> u16 {
        !self.fold()
    }

    /// Whether a sum that includes the checksum field says that nothing changed.
    pub const fn is_all_ones(self) -> bool {
        self.fold() == 0xffff
    }
}

/// The checksum after one word of the data changed from `old` to `new` (RFC 1624 equation 3).
pub const fn update(checksum: u16, old: u16, new: u16) -> u16 {
    Sum(0)
        .add_u16(!checksum)
        .add_u16(!old)
        .add_u16(new)
        .checksum()
}

#[cfg(test)]
mod tests;
