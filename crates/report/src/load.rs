//! The keys of a load by hand, and the line that shows what they have set.

use nicety_model::number;
use nicety_model::soak::rate;
use ratatui_core::buffer::Buffer;

use crate::live::Look;
use crate::live::keys::Key;
use crate::live::look::Tone;

/// What one press of `+` or `-` changes the rate by.
const STEP: f64 = 1.1;
/// Lowest and highest rate in frames per second.
const RATES: (f64, f64) = (1.0, 1e9);
/// Characters of a rate that is typed.
const TYPED: usize = 12;

/// What a key asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turned {
    /// Another rate, a pause or its end: the interval ends.
    Load,
    /// The end.
    Quit,
    /// Nothing but that it is shown.
    Shown,
}

/// The rate, as the user has set it.
#[derive(Debug, Clone, PartialEq)]
pub struct Dial {
    /// Frames per second and direction.
    pub fps: f64,
    /// Nothing is sent.
    pub paused: bool,
    typed: String,
    /// What was typed is no rate.
    wrong: bool,
}

impl Dial {
    /// Begins at a rate.
    pub fn new(fps: f64) -> Self {
        Self {
            fps,
            paused: false,
            typed: String::new(),
            wrong: false,
        }
    }

    /// Takes a key.
    pub fn press(&mut self, key: Key) -> Turned {
        self.wrong = false;
        match key {
            Key::Char('q' | 'Q') => return Turned::Quit,
            Key::Char('p' | ' ') => {
                self.paused = !self.paused;
                return Turned::Load;
            }
            Key::Char('+' | '=') | Key::Up => return self.set(self.fps * STEP),
            Key::Char('-' | '_') | Key::Down => return self.set(self.fps / STEP),
            Key::Char('*') | Key::PageUp => return self.set(self.fps * 2.0),
            Key::Char('/') | Key::PageDown => return self.set(self.fps / 2.0),
            Key::Char(c @ ('0'..='9' | '.')) if self.typed.len() < TYPED => self.typed.push(c),
            Key::Char(c @ ('k' | 'K' | 'm' | 'M')) if !self.typed.is_empty() => {
                self.typed.push(c);
                return self.enter();
            }
            Key::Enter if !self.typed.is_empty() => return self.enter(),
            Key::Backspace => drop(self.typed.pop()),
            Key::Escape => self.typed.clear(),
            _ => {}
        }
        Turned::Shown
    }

    fn enter(&mut self) -> Turned {
        let typed = std::mem::take(&mut self.typed);
        match rate(&typed) {
            Ok(fps) => self.set(fps.0),
            Err(_) => {
                self.wrong = true;
                Turned::Shown
            }
        }
    }

    fn set(&mut self, fps: f64) -> Turned {
        self.typed.clear();
        // Four digits, so that many steps leave no rest.
        self.fps = number::rounded(fps, 4).clamp(RATES.0, RATES.1);
        Turned::Load
    }

    /// The line below the intervals.
    fn line(&self, width: usize) -> String {
        let rate = if self.paused {
            "paused".to_owned()
        } else {
            format!("{} frames/s", number::short(self.fps))
        };
        let typed = match (self.typed.as_str(), self.wrong) {
            ("", false) => String::new(),
            ("", true) => "  no rate".to_owned(),
            (typed, _) => format!("  > {typed}"),
        };
        let keys = "+ - 10 %   * / twice, half   200k Enter   p pause   q quit";
        let text = format!("{rate}{typed}   {keys}");
        if text.chars().count() <= width {
            text
        } else {
            format!("{rate}{typed}   + - p q")
        }
    }

    /// Draws it.
    pub fn draw(&self, look: Look, buffer: &mut Buffer) {
        let width = usize::from(buffer.area.width);
        let tone = if self.paused {
            Tone::Doubtful
        } else {
            Tone::Bold
        };
        buffer.set_stringn(0, 0, self.line(width), width, look.style(tone));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pressed(dial: &mut Dial, keys: &str) -> Turned {
        let keys = keys.chars().map(|c| match c {
            '\n' => Key::Enter,
            c => Key::Char(c),
        });
        keys.fold(Turned::Shown, |_, key| dial.press(key))
    }

    #[test]
    fn keys_set_the_rate() {
        let mut dial = Dial::new(200_000.0);
        for (keys, turned, fps) in [
            ("+", Turned::Load, 220_000.0),
            ("-", Turned::Load, 200_000.0),
            ("*", Turned::Load, 400_000.0),
            ("/", Turned::Load, 200_000.0),
            // Not before it is whole.
            ("15", Turned::Shown, 200_000.0),
            ("k", Turned::Load, 15_000.0),
            ("700\n", Turned::Load, 700.0),
            ("1.5M", Turned::Load, 1.5e6),
            ("1.2.3\n", Turned::Shown, 1.5e6),
            // Zero is a pause, which has a key of its own.
            ("0\n", Turned::Shown, 1.5e6),
        ] {
            assert_eq!(pressed(&mut dial, keys), turned, "{keys:?}");
            assert_eq!(dial.fps, fps, "{keys:?}");
        }
        assert!(dial.line(80).contains("no rate"), "{}", dial.line(80));
        assert_eq!(pressed(&mut dial, "p"), Turned::Load);
        assert!(dial.paused && dial.line(80).starts_with("paused"));
        assert_eq!(pressed(&mut dial, " "), Turned::Load);
        assert!(!dial.paused);
        assert_eq!(pressed(&mut dial, "12q"), Turned::Quit);
    }

    #[test]
    fn rates_stay_in_range_and_the_line_in_the_terminal() {
        let mut dial = Dial::new(1.0);
        pressed(&mut dial, "----");
        assert_eq!(dial.fps, 1.0);
        pressed(&mut dial, &"*".repeat(60));
        assert_eq!(dial.fps, 1e9);
        pressed(&mut dial, &"9".repeat(40));
        assert!(dial.line(80).chars().count() <= 80, "{}", dial.line(80));
        assert!(dial.line(30).chars().count() <= 44, "{}", dial.line(30));
        assert!(Dial::new(123_456.0).line(80).contains("q quit"));
    }
}
