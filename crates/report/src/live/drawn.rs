//! What tests see of a buffer.

use ratatui_core::buffer::Buffer;

use super::Look;

/// A terminal that shows the least.
pub const ASCII_LOOK: Look = Look {
    colour: false,
    unicode: false,
};

/// The characters of a buffer, a line for each row, blanks at the right cut off.
pub fn text(buf: &Buffer) -> String {
    let area = buf.area();
    (area.top()..area.bottom())
        .map(|y| {
            let row = (area.left()..area.right()).filter_map(|x| buf.cell((x, y)));
            let row: String = row.map(|cell| cell.symbol()).collect();
            row.trim_end().to_owned() + "\n"
        })
        .collect()
}
