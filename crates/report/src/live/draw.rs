//! The live view as lines: a function of the board, the time and the size of the terminal.

use std::time::Duration;

use nicety_model::{CoreUse, Purpose, Verdict};

use super::board::{Board, Now, Row, Square};
use super::span::{Line, Tone, cut, pad, width_of};

/// Most lines for the cells.
const GRID: usize = 8;
/// Widest drawing: longer bars say no more.
const WIDEST: usize = 100;
/// Narrowest meter of a CPU, with its label and its percentage.
const METER: usize = 18;

/// What marks are made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Marks {
    to_come: &'static str,
    now: &'static str,
    some: &'static str,
    ok: &'static str,
    doubtful: &'static str,
    failed: &'static str,
    skipped: &'static str,
    full: &'static str,
    empty: &'static str,
    load: &'static str,
}

impl Marks {
    /// For terminals that show Unicode.
    pub const UNICODE: Self = Self {
        to_come: "·",
        now: "◆",
        some: "▪",
        ok: "■",
        doubtful: "▲",
        failed: "×",
        skipped: "–",
        full: "█",
        empty: "░",
        load: "◆",
    };
    /// For all others.
    pub const ASCII: Self = Self {
        to_come: ".",
        now: "@",
        some: "+",
        ok: "#",
        doubtful: "!",
        failed: "x",
        skipped: "-",
        full: "#",
        empty: ".",
        load: "@",
    };
}

/// Where to draw.
#[derive(Debug, Clone, Copy)]
pub struct Canvas {
    /// Columns of the terminal.
    pub width: usize,
    /// Its lines.
    pub height: usize,
    /// What it can show.
    pub marks: Marks,
}

/// Draws the board `elapsed` after the start.
pub fn draw(board: &Board, elapsed: Duration, canvas: Canvas) -> Vec<Line> {
    // The last column stays empty: many terminals wrap when it is written.
    let width = canvas.width.saturating_sub(1).clamp(1, WIDEST);
    let marks = canvas.marks;
    let mut lines = match &board.now {
        Some(now) => head(now, width, marks),
        None => vec![vec![(board.stage.clone(), Tone::Bold)]],
    };
    let mut grid = grid(board, width, marks);
    let mut cpus = cpus(&board.cores, width, marks);
    let last = foot(board, elapsed, width);
    // A low terminal keeps what changes most: the head and the time.
    let room = canvas.height.saturating_sub(lines.len() + last.len() + 1);
    cpus.truncate(room);
    grid.truncate(room - cpus.len());
    lines.extend(grid);
    lines.extend(cpus);
    lines.extend(last);
    lines.truncate(canvas.height.saturating_sub(1).max(1));
    lines.into_iter().map(|line| cut(line, width)).collect()
}

fn head(now: &Now, width: usize, marks: Marks) -> Vec<Line> {
    let name = match now.control {
        true => format!("{} (control)", now.cell),
        false => now.cell.clone(),
    };
    let Some((index, purpose)) = now.trial else {
        return vec![vec![(name, Tone::Bold)]];
    };
    let what = match purpose {
        Purpose::WarmUp => "warm-up".to_owned(),
        Purpose::Search => "search".to_owned(),
        Purpose::Confirm => "confirm".to_owned(),
        Purpose::Latency { load_ratio } => format!("latency at {:.0} %", load_ratio * 100.0),
    };
    let trial = format!(
        "trial {index}, {what}, {} frames/s",
        thousands(now.load_fps)
    );
    let mut lines = match width_of(&name) + 2 + width_of(&trial) <= width {
        true => vec![vec![
            (name, Tone::Bold),
            (format!("  {trial}"), Tone::Plain),
        ]],
        false => vec![
            vec![(name, Tone::Bold)],
            vec![(
                format!("{index} {what} {}", thousands(now.load_fps)),
                Tone::Plain,
            )],
        ],
    };
    lines.push(bounds(now, width, marks));
    lines
}

/// The interval that the throughput is known to lie in, on a scale that begins at 0.
fn bounds(now: &Now, width: usize, marks: Marks) -> Line {
    let word = |fps: Option<f64>| fps.map_or_else(|| "?".to_owned(), thousands);
    let (lower, upper) = (now.bounds.lower_fps, now.bounds.upper_fps);
    let (left, right) = (word(lower), word(upper));
    let room = width.saturating_sub(18);
    if room < 10 || now.scale_fps <= 0.0 {
        return vec![(format!("{left} .. {right}"), Tone::Plain)];
    }
    let at = |fps: f64| ((fps / now.scale_fps * room as f64) as usize).min(room - 1);
    let (from, to) = (lower.map_or(0, at), upper.map_or(room - 1, at));
    let load = at(now.load_fps);
    let mut line: Line = vec![(format!("{left:>8} "), Tone::Plain)];
    for column in 0..room {
        line.push(match column {
            _ if column == load => (marks.load.to_owned(), Tone::Bold),
            _ if (from..=to).contains(&column) => (marks.full.to_owned(), Tone::Good),
            _ => (marks.empty.to_owned(), Tone::Dim),
        });
    }
    line.push((format!(" {right}"), Tone::Plain));
    line
}

fn mark(name: &str, square: &Square, board: &Board, marks: Marks) -> (String, Tone) {
    let current = board
        .now
        .as_ref()
        .is_some_and(|now| !now.control && now.cell == name);
    let (mark, tone) = match (square.worst, square) {
        _ if current => (marks.now, Tone::Bold),
        (_, Square { skipped: true, .. }) => (marks.skipped, Tone::Dim),
        (None, _) => (marks.to_come, Tone::Dim),
        (Some(Verdict::Failed), _) => (marks.failed, Tone::Bad),
        (Some(worst), square) if worst.is_own() => match square.done < board.repeats {
            true => (marks.some, Tone::Good),
            false => (marks.ok, Tone::Good),
        },
        (Some(_), _) => (marks.doubtful, Tone::Doubtful),
    };
    (mark.to_owned(), tone)
}

/// The cells: a line for each path, or all in a row, or only how many.
fn grid(board: &Board, width: usize, marks: Marks) -> Vec<Line> {
    let all = board.squares().count();
    if all <= 1 {
        return Vec::new();
    }
    let longest = board
        .rows
        .iter()
        .map(|row| row.cells.len())
        .max()
        .unwrap_or(0);
    let label = board
        .rows
        .iter()
        .map(|row| width_of(&row.path))
        .max()
        .unwrap_or(0);
    let label = label.min(width / 3);
    let marked = |row: &Row| -> Line {
        row.cells
            .iter()
            .map(|(name, square)| mark(name, square, board, marks))
            .collect()
    };
    if board.rows.len() <= GRID && longest + label < width {
        return board
            .rows
            .iter()
            .map(|row| {
                let mut line = vec![(pad(&row.path, label) + " ", Tone::Plain)];
                line.extend(marked(row));
                line
            })
            .collect();
    }
    if all <= width * GRID {
        let squares: Line = board.rows.iter().flat_map(marked).collect();
        return squares.chunks(width).map(<[_]>::to_vec).collect();
    }
    let done = board
        .squares()
        .filter(|(_, square)| square.done > 0 || square.skipped)
        .count();
    vec![meter(done as f64 / all as f64, width, Tone::Good, marks)]
}

fn meter(ratio: f64, width: usize, tone: Tone, marks: Marks) -> Line {
    let full = ((ratio.clamp(0.0, 1.0) * width as f64).round() as usize).min(width);
    vec![
        (marks.full.repeat(full), tone),
        (marks.empty.repeat(width - full), Tone::Dim),
    ]
}

/// A meter for each CPU, as many in a line as fit; of very many CPUs the busiest.
fn cpus(cores: &[CoreUse], width: usize, marks: Marks) -> Vec<Line> {
    const MOST: usize = 4;
    let columns = (width / (METER + 2)).clamp(1, cores.len().max(1));
    let wide = ((width + 2) / columns).saturating_sub(2).min(40);
    let mut shown: Vec<&CoreUse> = cores.iter().collect();
    if shown.len() > columns * MOST {
        shown.sort_by(|a, b| b.busy().total_cmp(&a.busy()));
        shown.truncate(columns * MOST);
        shown.sort_by_key(|core| core.cpu);
    }
    let draw = |core: &&CoreUse| -> Line {
        let label = format!("CPU{:<3}", core.cpu);
        let share = format!("{:>4.0} %", core.busy() * 100.0);
        let bar = wide.saturating_sub(width_of(&label) + width_of(&share) + 1);
        let mut line = vec![(label + " ", Tone::Plain)];
        line.extend(stacked(core, bar, marks));
        line.push((share, Tone::Plain));
        line
    };
    shown
        .chunks(columns)
        .map(|cores| {
            let drawn: Vec<Line> = cores.iter().map(draw).collect();
            drawn.join(&("  ".to_owned(), Tone::Plain))
        })
        .collect()
}

/// Programs and the kernel, then interrupts, then what the hypervisor took.
fn stacked(core: &CoreUse, width: usize, marks: Marks) -> Line {
    let mut line = Line::new();
    let (mut until, mut filled) = (0.0, 0);
    for (share, tone) in [
        (core.user + core.system, Tone::Good),
        (core.irq + core.softirq, Tone::Doubtful),
        (core.steal, Tone::Bad),
    ] {
        until += share.clamp(0.0, 1.0);
        let to = ((until * width as f64).round() as usize).clamp(filled, width);
        line.push((marks.full.repeat(to - filled), tone));
        filled = to;
    }
    line.push((marks.empty.repeat(width - filled), Tone::Dim));
    line
}

/// How many cells are done, and how long it takes yet.
fn foot(board: &Board, elapsed: Duration, width: usize) -> Vec<Line> {
    let count =
        |of: &dyn Fn(&Square) -> bool| board.squares().filter(|(_, square)| of(square)).count();
    let all = count(&|_| true);
    let done = count(&|square| square.done >= board.repeats || square.skipped);
    let doubtful = count(&|square| {
        let doubtful = |worst: Verdict| !worst.is_own() && worst != Verdict::Failed;
        square.worst.is_some_and(doubtful)
    });
    let failed = count(&|square| square.worst == Some(Verdict::Failed));
    let mut words = vec![(format!("{done} of {all} cells"), Tone::Plain)];
    if board.sockets > 0 {
        words.push((format!("{} socket tests", board.sockets), Tone::Plain));
    }
    if doubtful > 0 {
        words.push((format!("{doubtful} doubtful"), Tone::Doubtful));
    }
    if failed > 0 {
        words.push((format!("{failed} failed"), Tone::Bad));
    }
    let left = board.end.map(|end| {
        (
            format!("{} left", clock(end.saturating_sub(elapsed))),
            Tone::Bold,
        )
    });
    let wide: usize = words
        .iter()
        .chain(&left)
        .map(|(text, _)| width_of(text) + 2)
        .sum();
    if wide.saturating_sub(2) > width {
        // One below the other, the time first.
        return left
            .into_iter()
            .chain(words)
            .map(|span| vec![span])
            .collect();
    }
    let spans: Vec<Line> = words
        .into_iter()
        .chain(left)
        .map(|span| vec![span])
        .collect();
    vec![spans.join(&("  ".to_owned(), Tone::Plain))]
}

/// `412.3k`: enough digits for a line that moves.
pub fn thousands(fps: f64) -> String {
    match fps {
        f if f >= 1e6 => format!("{:.2}M", f / 1e6),
        f if f >= 1e3 => format!("{:.1}k", f / 1e3),
        f => format!("{f:.0}"),
    }
}

fn clock(left: Duration) -> String {
    let s = left.as_secs();
    match s / 3600 {
        0 => format!("{}:{:02}", s / 60, s % 60),
        hours => format!("{hours}:{:02}:{:02}", s / 60 % 60, s % 60),
    }
}

#[cfg(test)]
#[path = "draw_tests.rs"]
mod tests;
