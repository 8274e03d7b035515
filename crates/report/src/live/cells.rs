//! The cells of a run as rows of a full screen.

use super::board::{Board, Square};
use super::grid::mark;
use super::list::{Column, Entry, Item, Key, List};
use super::look::{Look, Tone};
use crate::number::short;

const fn column(title: &'static str, number: bool, rank: u8) -> Column {
    Column {
        title,
        number,
        rank,
    }
}

const COLUMNS: [Column; 4] = [
    column("test point", false, 0),
    column("frames/s", true, 1),
    column("visits", true, 3),
    column("state", false, 2),
];

/// The same with what was found for each of several loss goals.
const BY_GOAL: [Column; 5] = [
    COLUMNS[0],
    COLUMNS[1],
    column("by loss goal", false, 1),
    COLUMNS[2],
    COLUMNS[3],
];

/// A row for each cell.
pub fn list(board: &Board, look: Look) -> List<'static> {
    let by_goal = board.squares().any(|(_, square)| !square.goals.is_empty());
    let items = board.squares().enumerate().map(|(place, (name, square))| {
        let (sign, tone) = mark(name, square, board, look);
        let mut entries = vec![
            Entry {
                key: Key::Place(place),
                ..Entry::text(name)
            },
            Entry::number(square.fps, short, look),
            Entry::number(
                Some(f64::from(square.done)),
                |done| format!("{done:.0}/{}", board.repeats),
                look,
            ),
            Entry::text(&format!("{sign} {}", state(name, square, board))).toned(tone),
        ];
        if by_goal {
            let goals: Vec<String> = square.goals.iter().map(ToString::to_string).collect();
            entries.insert(2, Entry::text(&goals.join(", ")));
        }
        Item {
            entries,
            sparks: Vec::new(),
        }
    });
    List {
        columns: if by_goal { &BY_GOAL } else { &COLUMNS },
        sparks: &[],
        highest: 0.0,
        items: items.collect(),
    }
}

fn state(name: &str, square: &Square, board: &Board) -> String {
    let current = board.measures(name);
    match square.worst {
        _ if current => "being measured".to_owned(),
        _ if square.skipped => "skipped".to_owned(),
        Some(worst) => worst.to_string(),
        None => "to come".to_owned(),
    }
}

/// How many of something there are, where there are any.
pub fn counts(board: &Board) -> Vec<(String, Tone)> {
    let count =
        |of: &dyn Fn(&Square) -> bool| board.squares().filter(|(_, square)| of(square)).count();
    let all = count(&|_| true);
    let done = count(&|square| square.done >= board.repeats || square.skipped);
    let failed = nicety_model::Verdict::Failed;
    let doubtful = count(&|square| {
        square
            .worst
            .is_some_and(|worst| !worst.is_own() && worst != failed)
    });
    let lost = count(&|square| square.worst == Some(failed));
    let mut words = vec![(
        format!("{done} of {}", crate::number::plural(all, "test point")),
        Tone::Plain,
    )];
    if board.sockets > 0 {
        let tests = crate::number::plural(board.sockets, "socket test");
        words.push((tests, Tone::Plain));
    }
    if doubtful > 0 {
        words.push((format!("{doubtful} doubtful"), Tone::Doubtful));
    }
    if lost > 0 {
        words.push((format!("{lost} failed"), Tone::Bad));
    }
    words
}
