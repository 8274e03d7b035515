//! Numbers that others have written: read in one way, and none beyond what can be meant.
//!
//! Sums of a thousand of them fit into 64 bits, and every reader of JSON takes them exactly.

use serde::{Deserialize, Deserializer, de};

/// The largest count, number or rate that is believed: 2^53, nine petabits in a second.
pub const MOST: u64 = 1 << 53;

/// A number where it can be meant.
///
/// # Errors
/// What it is, and what it may be at most.
pub fn believed(number: u64) -> Result<u64, String> {
    if number <= MOST {
        Ok(number)
    } else {
        Err(format!("{number} is beyond {MOST}"))
    }
}

/// Reads a number for serde (`deserialize_with`).
///
/// # Errors
/// No number, or one that is not [`believed`].
pub fn count<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    believed(u64::deserialize(from)?).map_err(de::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_beyond_what_can_be_meant_are_named() {
        assert_eq!(believed(MOST), Ok(MOST));
        let error = believed(u64::MAX).unwrap_err();
        assert_eq!(error, "18446744073709551615 is beyond 9007199254740992");
    }
}
