//! The keys of a view, in a box over it.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::symbols::border;
use ratatui_core::text::Line;
use ratatui_core::widgets::Widget;
use ratatui_widgets::block::Block;
use ratatui_widgets::borders::Borders;
use ratatui_widgets::clear::Clear;
use ratatui_widgets::paragraph::Paragraph;

use super::look::Look;

/// Keys of a list that fills the screen.
pub const LIST: [(&str, &str); 6] = [
    ("s, r", "sort by the next column, reverse the order"),
    ("/", "filter rows; Enter keeps, Esc clears the filter"),
    ("space", "freeze what is shown"),
    ("arrows", "scroll; PgUp, PgDn, Home, End"),
    ("?", "show or close this help"),
    ("q", "quit"),
];

/// Draws a box with these keys in the middle of `area`.
pub fn render(keys: &[(&str, &str)], look: Look, area: Rect, buf: &mut Buffer) {
    let left = keys.iter().map(|(key, _)| key.chars().count()).max();
    let left = left.unwrap_or(0);
    let lines: Vec<Line<'_>> = keys
        .iter()
        .map(|(key, what)| Line::from(format!(" {key:<left$}  {what} ")))
        .collect();
    let width = lines.iter().map(Line::width).max().unwrap_or(0) as u16 + 2;
    let height = lines.len() as u16 + 2;
    let (width, height) = (width.min(area.width), height.min(area.height));
    let area = Rect::new(
        area.x + (area.width - width) / 2,
        area.y + (area.height - height) / 2,
        width,
        height,
    );
    let block = Block::new().title(" Keys ").borders(Borders::ALL);
    Clear.render(area, buf);
    Paragraph::new(lines)
        .block(block.border_set(if look.unicode { border::ROUNDED } else { ASCII }))
        .render(area, buf);
}

/// A frame without Unicode.
const ASCII: border::Set<'static> = border::Set {
    top_left: "+",
    top_right: "+",
    bottom_left: "+",
    bottom_right: "+",
    vertical_left: "|",
    vertical_right: "|",
    horizontal_top: "-",
    horizontal_bottom: "-",
};
