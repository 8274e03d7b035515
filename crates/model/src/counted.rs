//! A count with its noun.

/// `1 cell`, `3 cells`, `12,000 frames`, `2 directories`.
pub fn plural(count: u64, noun: &str) -> String {
    if count == 1 {
        return format!("1 {noun}");
    }
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3 + noun.len() + 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
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
