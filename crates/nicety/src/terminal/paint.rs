//! Buffers as bytes for a terminal.

use std::io;

use crossterm::cursor::{MoveToColumn, MoveUp};
use crossterm::queue;
use crossterm::style::{Attribute, Print, SetAttribute, SetForegroundColor};
use crossterm::terminal::{
    BeginSynchronizedUpdate, Clear, ClearType, DisableLineWrap, EnableLineWrap,
    EndSynchronizedUpdate,
};
use ratatui_core::backend::Backend;
use ratatui_core::buffer::{Buffer, Cell};
use ratatui_core::style::{Color, Modifier};
use ratatui_crossterm::{CrosstermBackend, IntoCrossterm};

/// The few lines, drawn over what was drawn there before. The cursor is at their first character before
/// and after, whatever the size of the terminal has become meanwhile.
pub fn lines(buffer: &Buffer) -> io::Result<Vec<u8>> {
    let mut out = Vec::new();
    // Lines that are too long for a terminal that has just become narrow are cut, never wrapped.
    queue!(
        out,
        BeginSynchronizedUpdate,
        DisableLineWrap,
        MoveToColumn(0)
    )?;
    let area = buffer.area;
    for y in area.top()..area.bottom() {
        if y > area.top() {
            queue!(out, Print("\r\n"))?;
        }
        row(buffer, y, &mut out)?;
        queue!(out, Clear(ClearType::UntilNewLine))?;
    }
    queue!(out, Clear(ClearType::FromCursorDown), MoveToColumn(0))?;
    // A parameter of 0 moves by one line.
    if area.height > 1 {
        queue!(out, MoveUp(area.height - 1))?;
    }
    queue!(out, EnableLineWrap, EndSynchronizedUpdate)?;
    Ok(out)
}

/// One line, without the blanks at its end.
fn row(buffer: &Buffer, y: u16, out: &mut Vec<u8>) -> io::Result<()> {
    let area = buffer.area;
    let cells: Vec<&Cell> = (area.left()..area.right())
        .filter_map(|x| buffer.cell((x, y)))
        .collect();
    let blank = |cell: &&Cell| cell.symbol() == " ";
    let end = cells.iter().rposition(|cell| !blank(cell));
    let (mut colour, mut modifier) = (Color::Reset, Modifier::empty());
    for cell in &cells[..end.map_or(0, |last| last + 1)] {
        if (cell.fg, cell.modifier) != (colour, modifier) {
            (colour, modifier) = (cell.fg, cell.modifier);
            queue!(out, SetAttribute(Attribute::Reset))?;
            if colour != Color::Reset {
                queue!(out, SetForegroundColor(colour.into_crossterm()))?;
            }
            for (bit, attribute) in [
                (Modifier::BOLD, Attribute::Bold),
                (Modifier::DIM, Attribute::Dim),
            ] {
                if modifier.contains(bit) {
                    queue!(out, SetAttribute(attribute))?;
                }
            }
        }
        queue!(out, Print(cell.symbol()))?;
    }
    if (colour, modifier) != (Color::Reset, Modifier::empty()) {
        queue!(out, SetAttribute(Attribute::Reset))?;
    }
    Ok(())
}

/// The whole screen: what differs from `before`, or everything where its size was another one.
pub fn screen(before: Option<&Buffer>, now: &Buffer) -> io::Result<Vec<u8>> {
    let mut out = Vec::new();
    queue!(out, BeginSynchronizedUpdate)?;
    let same = before.filter(|before| before.area == now.area);
    let empty = Buffer::empty(now.area);
    if same.is_none() {
        queue!(out, Clear(ClearType::All))?;
    }
    let changes = same.unwrap_or(&empty).diff(now);
    CrosstermBackend::new(&mut out).draw(changes.into_iter())?;
    queue!(out, EndSynchronizedUpdate)?;
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui_core::layout::Rect;
    use ratatui_core::style::Style;

    fn buffer(text: &[&str]) -> Buffer {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 10, text.len() as u16));
        for (y, line) in text.iter().enumerate() {
            buffer.set_string(0, y as u16, line, Style::new().fg(Color::Green));
        }
        buffer
    }

    #[test]
    fn the_cursor_ends_where_it_began() {
        let bytes = lines(&buffer(&["a", "b", "c"])).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        assert_eq!(text.matches("\r\n").count(), 2);
        assert!(text.contains("\x1b[J"), "{text:?}");
        assert!(text.contains("\x1b[2A"), "{text:?}");
        // A line alone moves nowhere.
        let text = String::from_utf8(lines(&buffer(&["a"])).unwrap()).unwrap();
        assert!(!text.contains('A'), "{text:?}");
    }

    #[test]
    fn another_size_draws_everything_anew() {
        let (old, new) = (buffer(&["ab"]), buffer(&["ac"]));
        let changed = String::from_utf8(screen(Some(&old), &new).unwrap()).unwrap();
        assert!(
            changed.contains('c') && !changed.contains("\x1b[2J"),
            "{changed:?}"
        );
        let larger = buffer(&["ac", ""]);
        let all = String::from_utf8(screen(Some(&old), &larger).unwrap()).unwrap();
        assert!(all.contains("\x1b[2J") && all.contains("ac"), "{all:?}");
    }
}
