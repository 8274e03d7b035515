//! Colours in tables that are laid out by a library which takes escape codes for text.
//!
//! A coloured word goes through the layout in private-use characters, one column wide each and never
//! broken; afterwards they become the word in its colour.

use crate::document::Tone;

/// The private-use area of the Basic Multilingual Plane.
const FIRST: u32 = 0xe000;
/// Characters for each tone: ASCII.
const EACH: u32 = 0x80;

const TONES: [Tone; 5] = [Tone::Good, Tone::Same, Tone::Info, Tone::Warn, Tone::Fail];

/// Whether a character stands for one in colour.
pub fn is_mark(c: char) -> bool {
    (FIRST..FIRST + EACH * TONES.len() as u32).contains(&u32::from(c))
}

/// An ASCII word in the colour of a tone; any other text stays as it is.
pub fn mark(word: &str, tone: Tone) -> String {
    let at = TONES.iter().position(|known| *known == tone);
    let first = at.map(|at| FIRST + EACH * at as u32);
    match first.filter(|_| word.is_ascii()) {
        Some(first) => word
            .bytes()
            .filter_map(|byte| char::from_u32(first + u32::from(byte)))
            .collect(),
        None => word.to_owned(),
    }
}

/// The word and the tone of a mark.
fn meant(c: char) -> Option<(char, Tone)> {
    let offset = u32::from(c).checked_sub(FIRST)?;
    let tone = TONES.get((offset / EACH) as usize)?;
    Some((char::from_u32(offset % EACH)?, *tone))
}

/// A line with its marks in colour.
pub fn paint(line: &str, colour: bool) -> String {
    if !colour {
        return line.to_owned();
    }
    let mut text = String::with_capacity(line.len());
    let mut open = None;
    for c in line.chars() {
        let (c, tone) = meant(c).map_or((c, None), |(c, tone)| (c, Some(tone)));
        if tone != open {
            if open.is_some() {
                text.push_str("\u{1b}[0m");
            }
            if let Some(tone) = tone {
                text.push_str(&format!("\u{1b}[{}m", tone.colour()));
            }
            open = tone;
        }
        text.push(c);
    }
    if open.is_some() {
        text.push_str("\u{1b}[0m");
    }
    text
}
