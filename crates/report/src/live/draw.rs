//! The view of a run: a few lines below what was written, or the whole screen.

use std::time::Duration;

use nicety_model::visible::visible;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::text::{Line, Span};

use super::board::Board;
use super::cpus::meters;
use super::keys::View;
use super::look::{Look, Tone};
use super::{cells, grid, help, searched};

/// Most lines for the cells, and for the CPUs.
const GRID: usize = 8;
const CPUS: usize = 4;
/// Lines of the head: what is measured, what is known of it, the same on a scale.
const HEAD: usize = 3;
/// Lines that stay on a full screen besides the head, the rows and the CPUs.
const RECENT: usize = 3;
/// Widest drawing of the few lines, for 80 columns. Longer bars say no more, and a terminal that becomes narrower than a
/// line wraps it: what that pushes into the scroll-back cannot be taken away again.
const WIDEST: usize = 78;

/// What is drawn.
#[derive(Debug, Clone, Copy)]
pub struct Frame<'f> {
    /// The run.
    pub board: &'f Board,
    /// Time since its start.
    pub elapsed: Duration,
    /// What the terminal shows.
    pub look: Look,
    /// Somebody listens to keys.
    pub keys: bool,
    /// The user has asked to stop.
    pub stopping: bool,
}

/// Lines that the few lines take on a terminal of this size: the same for all of a run.
pub fn height(frame: Frame<'_>, size: (u16, u16)) -> u16 {
    let lines = lines(frame, &View::default(), size).len();
    u16::try_from(lines).unwrap_or(u16::MAX)
}

/// Draws the few lines.
pub fn inline(frame: Frame<'_>, view: &View, size: (u16, u16), buf: &mut Buffer) {
    let area = buf.area;
    for (y, line) in (area.top()..area.bottom()).zip(lines(frame, view, size)) {
        buf.set_line(area.x, y, &line, area.width.saturating_sub(1));
    }
}

fn lines(frame: Frame<'_>, view: &View, (width, height): (u16, u16)) -> Vec<Line<'static>> {
    // The cursor rests in the first column, and many terminals wrap when the last one is written.
    let width = usize::from(width).saturating_sub(2).clamp(1, WIDEST);
    let room = usize::from(height).saturating_sub(1).max(1);
    let Frame { board, look, .. } = frame;
    let mut lines = if view.help {
        keys(look)
    } else {
        head(frame, width)
    };
    let foot = foot(frame, view, width);
    // A low terminal keeps what changes most: the head and the time.
    let left = room.saturating_sub(lines.len() + foot.len());
    let mut cpus = meters(&board.cores, width, CPUS, look);
    cpus.truncate(left);
    lines.extend(grid::lines(board, width, GRID.min(left - cpus.len()), look));
    lines.extend(cpus);
    lines.truncate(room.saturating_sub(foot.len()));
    lines.extend(foot);
    lines.truncate(room);
    for line in &mut lines {
        line.spans.insert(0, Span::raw(" "));
    }
    lines
}

/// The keys, in as many lines as the head has.
fn keys(look: Look) -> Vec<Line<'static>> {
    [
        "q  finish the trial, keep what is measured; again: end at once",
        "f  all test points on the full screen",
        "space  freeze     ?  close this help",
    ]
    .map(|text| Line::styled(text, look.style(Tone::Bold)))
    .to_vec()
}

/// What is measured and what is known of it; as many lines whatever it is, so that nothing jumps.
fn head(frame: Frame<'_>, width: usize) -> Vec<Line<'static>> {
    let Frame { board, look, .. } = frame;
    let bold = look.style(Tone::Bold);
    let mut lines = match &board.now {
        Some(now) => {
            let control = if now.control { " (control)" } else { "" };
            let name = format!("{}{control}", visible(&now.cell));
            let mut first = vec![Span::styled(name, bold)];
            if let Some((index, _)) = now.trial {
                first.push(Span::raw(format!("  trial {index}")));
            }
            let mut words = searched::words(now, look);
            if !words.is_empty() && words.chars().count() + 9 <= width {
                words += " frames/s";
            }
            vec![
                Line::from(first),
                Line::from(words),
                searched::bar(now, look, width),
            ]
        }
        None => vec![Line::styled(visible(&board.stage), bold)],
    };
    lines.resize(HEAD, Line::default());
    lines
}

/// How much is done, how long it takes yet, and what the user may do.
fn foot(frame: Frame<'_>, view: &View, width: usize) -> Vec<Line<'static>> {
    let Frame { board, look, .. } = frame;
    let mut parts = Vec::new();
    if frame.stopping {
        let again = if frame.keys {
            "q again"
        } else {
            "Ctrl-C again"
        };
        parts.push((format!("stopping; {again} ends at once"), Tone::Doubtful));
    } else if let Some(end) = board.end {
        parts.push((end.words(frame.elapsed, look.pick("±", "+-")), Tone::Bold));
    }
    if view.frozen {
        parts.push(("frozen".to_owned(), Tone::Doubtful));
    }
    parts.extend(cells::counts(board));
    if frame.keys {
        parts.push(("q quit  ? keys".to_owned(), Tone::Dim));
    }
    flow(parts, width, look)
}

/// One after the other in a line; what does not fit at the end is left out, the first never is.
fn flow(parts: Vec<(String, Tone)>, width: usize, look: Look) -> Vec<Line<'static>> {
    let mut spans: Vec<Span<'static>> = Vec::new();
    let mut used = 0;
    for (text, tone) in parts {
        let gap = if spans.is_empty() { 0 } else { 2 };
        let wide = text.chars().count() + gap;
        if used > 0 && used + wide > width {
            continue;
        }
        used += wide;
        spans.push(Span::raw(" ".repeat(gap)));
        spans.push(Span::styled(text, look.style(tone)));
    }
    vec![Line::from(spans)]
}

/// Draws the full screen: the head, a row for each cell, the last lines, the CPUs.
pub fn full(frame: Frame<'_>, view: &mut View, buf: &mut Buffer) {
    let Frame { board, look, .. } = frame;
    let area = buf.area;
    let width = usize::from(area.width);
    let put = |lines: Vec<Line<'static>>, y: u16, buf: &mut Buffer| {
        for (y, line) in (y..area.bottom()).zip(lines) {
            buf.set_line(area.x, y, &line, area.width);
        }
    };
    let mut top = head(frame, width);
    top.truncate(area.height.into());
    let mut bottom: Vec<Line<'static>> = Vec::new();
    // A low screen is for the rows.
    if area.height >= 16 {
        let recent = board.recent.iter().take(RECENT).rev();
        bottom.extend(recent.map(|line| Line::styled(visible(line), look.style(Tone::Dim))));
        bottom.extend(meters(&board.cores, width, CPUS, look));
    }
    bottom.push(status(frame, view, width));
    let from = area.bottom().saturating_sub(bottom.len() as u16);
    let rows = Rect::new(
        area.x,
        area.y + top.len() as u16,
        area.width,
        from.saturating_sub(area.y + top.len() as u16),
    );
    put(top, area.y, buf);
    cells::list(board, look).render(view, look, rows, buf);
    put(bottom, from.max(area.y), buf);
    if view.help {
        let mut keys = help::LIST.to_vec();
        keys.insert(0, ("f", "back to the few lines below the results"));
        if let Some(quit) = keys.last_mut() {
            quit.1 = "finish the trial, keep what is measured; again: end at once";
        }
        help::render(&keys, look, area, buf);
    }
}

fn status(frame: Frame<'_>, view: &View, width: usize) -> Line<'static> {
    if let Some(line) = filter(view, frame.look) {
        return line;
    }
    let mut lines = foot(frame, view, width);
    lines.pop().unwrap_or_default()
}

/// The filter, while it is typed or used.
pub(crate) fn filter(view: &View, look: Look) -> Option<Line<'static>> {
    let filter = visible(&view.filter);
    match (view.typing, view.filter.is_empty()) {
        (true, _) => Some(Line::styled(
            format!("filter: {filter}_"),
            look.style(Tone::Bold),
        )),
        (false, true) => None,
        (false, false) => Some(Line::styled(
            format!("only rows with {filter}; Esc shows all"),
            look.style(Tone::Doubtful),
        )),
    }
}

#[cfg(test)]
#[path = "draw_tests.rs"]
mod tests;
