//! Names of others in what is printed: a terminal obeys some characters, and others change how a line reads.

/// Whether a character steers a terminal, ends a line, or turns the direction of writing (Unicode Standard Annex 9,
/// table 1; Unicode 16.0, table 23-1).
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// `text` with a mark in the place of each such character.
pub fn visible(text: &str) -> String {
    text.replace(is_hidden, "\u{fffd}")
}

/// `text` on one line, each such character as it is written in a string of Rust.
pub fn escaped(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        if is_hidden(c) {
            line.extend(c.escape_default());
        } else {
            line.push(c);
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_a_terminal_or_turns_the_text_is_marked() {
        let name = "a\x1b[31m\r\n\t\x07\u{7f}\u{9b}b\u{202e}\u{2066}\u{200f}\u{2028}\u{61c}ü→";
        assert_eq!(
            visible(name),
            format!(
                "a\u{fffd}[31m{}b{}ü→",
                "\u{fffd}".repeat(6),
                "\u{fffd}".repeat(5)
            )
        );
        assert_eq!(escaped("a\nb\u{1b}\u{202e}ü"), "a\\nb\\u{1b}\\u{202e}ü");
    }
}
