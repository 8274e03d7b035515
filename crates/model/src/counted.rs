//! A count with its noun.

use crate::number::separated;

/// `1 cell`, `3 cells`, `12,000 frames`, `2 directories`.
pub fn plural(count: impl TryInto<u64>, noun: &str) -> String {
    // Counts are of u64 or a smaller type.
    let count = count.try_into().unwrap_or(u64::MAX);
    if count == 1 {
        return format!("1 {noun}");
    }
    let text = separated(&count.to_string());
    match noun.strip_suffix('y') {
        Some(stem) if !stem.ends_with(['a', 'e', 'o', 'u']) => text + " " + stem + "ies",
        _ => text + " " + noun + "s",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_is_singular() {
        for (count, noun, text) in [
            (0, "port", "0 ports"),
            (1, "port", "1 port"),
            (2, "directory", "2 directories"),
            (3, "day", "3 days"),
            (1234, "frame", "1,234 frames"),
            (1_234_567, "virtual CPU", "1,234,567 virtual CPUs"),
        ] {
            assert_eq!(plural(count, noun), text);
        }
    }
}
