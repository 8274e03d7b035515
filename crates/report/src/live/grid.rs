//! The cells of a run as marks.

use nicety_model::Verdict;
use nicety_model::visible::visible;
use ratatui_core::text::{Line, Span};

use super::board::{Board, Row, Square};
use super::look::{Look, Tone};

/// The mark of a cell.
pub fn mark(name: &str, square: &Square, board: &Board, look: Look) -> (&'static str, Tone) {
    let current = board.measures(name);
    match (square.worst, square) {
        _ if current => (look.pick("◆", "@"), Tone::Bold),
        (_, Square { skipped: true, .. }) => (look.dash(), Tone::Dim),
        (None, _) => (look.pick("·", "."), Tone::Dim),
        (Some(Verdict::Failed), _) => (look.pick("×", "x"), Tone::Bad),
        (Some(worst), square) if worst.is_own() => {
            if square.done < board.repeats {
                (look.pick("▪", "+"), Tone::Good)
            } else {
                (look.pick("■", "#"), Tone::Good)
            }
        }
        (Some(_), _) => (look.pick("▲", "!"), Tone::Doubtful),
    }
}

/// A line for each path, or all cells in a row, or only how many are done; at most `most` lines.
pub fn lines(board: &Board, width: usize, most: usize, look: Look) -> Vec<Line<'static>> {
    let all = board.squares().count();
    if all <= 1 || most == 0 {
        return Vec::new();
    }
    let cells = board.rows.iter().map(|row| row.cells.len()).max();
    let label = board.rows.iter().map(|row| row.path.chars().count()).max();
    let (cells, label) = (cells.unwrap_or(0), label.unwrap_or(0).min(width / 3));
    let marked = |row: &Row| -> Vec<Span<'static>> {
        row.cells
            .iter()
            .map(|(name, square)| {
                let (mark, tone) = mark(name, square, board, look);
                Span::styled(mark, look.style(tone))
            })
            .collect()
    };
    if board.rows.len() <= most && cells + label < width {
        return board
            .rows
            .iter()
            .map(|row| {
                let path: String = visible(&row.path).chars().take(label).collect();
                let mut spans = vec![Span::raw(format!("{path:<label$} "))];
                spans.extend(marked(row));
                Line::from(spans)
            })
            .collect();
    }
    if all <= width * most {
        let squares: Vec<Span<'static>> = board.rows.iter().flat_map(marked).collect();
        return squares
            .chunks(width)
            .map(|squares| Line::from(squares.to_vec()))
            .collect();
    }
    let done = |square: &Square| square.done > 0 || square.skipped;
    let done = board.squares().filter(|(_, square)| done(square)).count();
    let full = (done * width / all).min(width);
    vec![Line::from(vec![
        Span::styled(look.full().repeat(full), look.style(Tone::Good)),
        Span::styled(look.empty().repeat(width - full), look.style(Tone::Dim)),
    ])]
}
