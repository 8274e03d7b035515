//! What a terminal can show, and how things are marked there.

use ratatui_core::style::{Color, Modifier, Style};

/// What the terminal can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// Colours are wanted.
    pub colour: bool,
    /// It shows more than ASCII.
    pub unicode: bool,
}

/// How a piece of text is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tone {
    /// Nothing special.
    #[default]
    Plain,
    /// What one looks for.
    Bold,
    /// What one may overlook.
    Dim,
    /// As it should be.
    Good,
    /// To be looked at.
    Doubtful,
    /// Wrong.
    Bad,
}

impl Look {
    /// The style of a tone: colours only where they are wanted, weights always.
    pub fn style(self, tone: Tone) -> Style {
        let colour = |colour| {
            if self.colour {
                Style::new().fg(colour)
            } else {
                Style::new()
            }
        };
        match tone {
            Tone::Plain => Style::new(),
            Tone::Bold => Style::new().add_modifier(Modifier::BOLD),
            Tone::Dim => Style::new().add_modifier(Modifier::DIM),
            Tone::Good => colour(Color::Green),
            Tone::Doubtful => colour(Color::Yellow),
            Tone::Bad => colour(Color::Red),
        }
    }

    /// One of two, by what the terminal shows.
    pub fn pick<'t>(self, unicode: &'t str, ascii: &'t str) -> &'t str {
        if self.unicode { unicode } else { ascii }
    }

    /// A full part of a bar.
    pub fn full(self) -> &'static str {
        self.pick("█", "#")
    }

    /// An empty part of a bar.
    pub fn empty(self) -> &'static str {
        self.pick("░", ".")
    }

    /// Between the ends of an interval.
    pub fn dash(self) -> &'static str {
        self.pick("–", "-")
    }

    /// Between the ends of a wide interval.
    pub fn dots(self) -> &'static str {
        self.pick("…", "...")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_only_where_they_are_wanted() {
        let plain = Look {
            colour: false,
            unicode: true,
        };
        for tone in [Tone::Good, Tone::Doubtful, Tone::Bad] {
            assert_eq!(plain.style(tone), Style::new());
        }
        let colour = Look {
            colour: true,
            ..plain
        };
        assert_eq!(colour.style(Tone::Bad).fg, Some(Color::Red));
    }
}
