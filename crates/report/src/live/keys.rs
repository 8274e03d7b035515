//! Keys of a live view, and what they have changed about it.

/// A key, as far as the views know any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// A character.
    Char(char),
    /// Return.
    Enter,
    /// Escape.
    Escape,
    /// Delete to the left.
    Backspace,
    /// One line up.
    Up,
    /// One line down.
    Down,
    /// One page up.
    PageUp,
    /// One page down.
    PageDown,
    /// The first line.
    Home,
    /// The last line.
    End,
}

/// What the user has chosen to see.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct View {
    /// Nothing moves.
    pub frozen: bool,
    /// The whole screen is used.
    pub full: bool,
    /// The keys are explained.
    pub help: bool,
    /// Times that another column to sort by was asked for; 0 is the order as it comes.
    pub sort: usize,
    /// The other way round.
    pub reversed: bool,
    /// Only rows that have this in one of their cells, whatever their case.
    pub filter: String,
    /// The filter is being typed.
    pub typing: bool,
    /// Rows above the first one that is shown.
    pub top: usize,
    /// Rows that fit, as drawn last.
    pub page: usize,
}

impl View {
    /// Takes a key; true when the user wants to quit.
    pub fn press(&mut self, key: Key) -> bool {
        if self.typing {
            self.typed(key);
            return false;
        }
        // Whoever asks for help reads it; the next key closes it, and quits all the same.
        let helped = std::mem::take(&mut self.help);
        match key {
            Key::Char('q' | 'Q') => return true,
            Key::Char('?' | 'h') => self.help = !helped,
            Key::Char(' ') => self.frozen = !self.frozen,
            Key::Char('f') => self.full = !self.full,
            Key::Char('s') => self.sort += 1,
            Key::Char('r') => self.reversed = !self.reversed,
            Key::Char('/') => self.typing = true,
            Key::Escape if !helped => self.filter.clear(),
            key => self.scroll(key),
        }
        false
    }

    fn typed(&mut self, key: Key) {
        self.top = 0;
        match key {
            Key::Char(c) if !c.is_control() => self.filter.push(c),
            Key::Backspace => drop(self.filter.pop()),
            Key::Enter => self.typing = false,
            Key::Escape => {
                self.filter.clear();
                self.typing = false;
            }
            key => self.scroll(key),
        }
    }

    fn scroll(&mut self, key: Key) {
        self.top = match key {
            Key::Up | Key::Char('k') => self.top.saturating_sub(1),
            Key::Down | Key::Char('j') => self.top.saturating_add(1),
            Key::PageUp => self.top.saturating_sub(self.page.max(1)),
            Key::PageDown => self.top.saturating_add(self.page.max(1)),
            Key::Home => 0,
            Key::End => usize::MAX,
            _ => self.top,
        };
    }

    /// `rows` lines are to be shown, of which `page` fit: scrolls no further than the last.
    pub fn settle(&mut self, rows: usize, page: usize) {
        self.page = page;
        self.top = self.top.min(rows.saturating_sub(page));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_may_have_any_letter() {
        let mut view = View::default();
        for key in "/qsx".chars().map(Key::Char) {
            assert!(!view.press(key));
        }
        view.press(Key::Backspace);
        assert_eq!((view.filter.as_str(), view.sort), ("qs", 0));
        view.press(Key::Enter);
        assert!(view.press(Key::Char('q')));
        view.press(Key::Escape);
        assert_eq!(view.filter, "");
    }

    #[test]
    fn scrolling_ends_at_the_ends() {
        let mut view = View::default();
        view.press(Key::Up);
        assert_eq!(view.top, 0);
        view.press(Key::End);
        view.settle(64, 10);
        assert_eq!(view.top, 54);
        view.press(Key::PageUp);
        assert_eq!(view.top, 44);
        // A screen that grew shows more, never an empty half.
        view.settle(64, 60);
        assert_eq!(view.top, 4);
    }

    #[test]
    fn help_is_closed_by_the_next_key() {
        let mut view = View::default();
        view.press(Key::Char('?'));
        assert!(view.help);
        view.press(Key::Escape);
        assert!(!view.help);
        view.press(Key::Char('?'));
        assert!(view.press(Key::Char('q')));
    }
}
