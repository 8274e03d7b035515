//! Text with tones, independent of any terminal.

/// How a piece of text is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    Plain,
    Bold,
    Dim,
    Good,
    Doubtful,
    Bad,
}

impl Tone {
    /// Select Graphic Rendition parameters (ECMA-48, 8.3.117); none for plain text.
    fn code(self) -> Option<&'static str> {
        match self {
            Self::Plain => None,
            Self::Bold => Some("1"),
            Self::Dim => Some("2"),
            Self::Good => Some("32"),
            Self::Doubtful => Some("33"),
            Self::Bad => Some("31"),
        }
    }
}

/// A line in pieces.
pub type Line = Vec<(String, Tone)>;

/// Columns of a text. All marks here are one column wide; names come from outside, where wide
/// characters count as one and only cut a line early.
pub fn width_of(text: &str) -> usize {
    text.chars().count()
}

/// `text` in exactly `width` columns.
pub fn pad(text: &str, width: usize) -> String {
    let cut: String = text.chars().take(width).collect();
    format!("{cut:<width$}")
}

/// The line in at most `width` columns, without control characters.
pub fn cut(line: Line, width: usize) -> Line {
    let mut left = width;
    let mut kept = Line::new();
    for (text, tone) in line {
        let clean = text
            .chars()
            .map(|c| if c.is_control() { '\u{fffd}' } else { c });
        let text: String = clean.take(left).collect();
        left -= width_of(&text);
        if !text.is_empty() {
            kept.push((text, tone));
        }
    }
    kept
}

/// Lines as a terminal takes them.
pub fn text(lines: &[Line], colour: bool) -> String {
    let mut out = String::new();
    for (number, line) in lines.iter().enumerate() {
        if number > 0 {
            out.push('\n');
        }
        for (text, tone) in line {
            match tone.code().filter(|_| colour) {
                Some(code) => out.push_str(&format!("\x1b[{code}m{text}\x1b[0m")),
                None => out.push_str(text),
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_steer_the_terminal() {
        let line = vec![
            ("a\x1b[2J".to_owned(), Tone::Bold),
            ("bc".to_owned(), Tone::Plain),
        ];
        assert_eq!(text(&[cut(line, 6)], false), "a\u{fffd}[2Jb");
    }

    #[test]
    fn tones_are_codes_only_where_they_are_wanted() {
        let lines = [
            vec![("x".to_owned(), Tone::Good)],
            vec![("y".to_owned(), Tone::Plain)],
        ];
        assert_eq!(text(&lines, false), "x\ny");
        assert_eq!(text(&lines, true), "\x1b[32mx\x1b[0m\ny");
    }
}
