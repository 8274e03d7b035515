//! Which parameters of a path matter: a map of drivers, placement and queues for one frame size.

use std::collections::{BTreeMap, BTreeSet};

use nicety_model::{Direction, FrameSize};

use super::heat;
use crate::confidence;
use crate::document::Kind::{Name, Number};
use crate::document::{Block, Cell as Field, Table};
use crate::pick::{self, Group};

/// Parameters in the order in which they are rows; the last that varies makes the columns.
const ORDER: [&str; 11] = [
    "nic",
    "switch",
    "accel",
    "vdev",
    "vcpus",
    "pin",
    "ring",
    "cores",
    "vms",
    "queues",
    "host_queues",
];
/// Most rows and columns: more are not looked at, they are searched in the table.
const ROWS: usize = 60;
const COLUMNS: usize = 12;

/// One map: cells of one kind, frame size and direction by the parameters that vary.
struct Map<'a, 'r> {
    kind: &'a str,
    size: FrameSize,
    direction: Direction,
    flows: u32,
    /// Parameters of the rows, that of the columns.
    rows: Vec<&'a str>,
    column: &'a str,
    cells: Vec<Cell<'a, 'r>>,
}

/// A cell with its path's parameters in words.
struct Cell<'a, 'r> {
    group: &'a Group<'r>,
    words: BTreeMap<&'a str, String>,
}

impl<'a, 'r> Cell<'a, 'r> {
    fn of(group: &'a Group<'r>) -> Self {
        Self {
            group,
            words: group.key.path.words(),
        }
    }

    /// The path's value of a parameter, `–` where it has none.
    fn value(&self, parameter: &str) -> &str {
        let value = self.words.get(parameter);
        value.map_or(crate::number::ABSENT, String::as_str)
    }
}

fn varying<'a>(cells: &[Cell<'a, '_>]) -> Vec<&'a str> {
    let names: BTreeSet<&str> = cells
        .iter()
        .flat_map(|cell| cell.words.keys().copied())
        .collect();
    let mut found: Vec<&str> = names
        .into_iter()
        .filter(|name| {
            let values: BTreeSet<&str> = cells.iter().map(|cell| cell.value(name)).collect();
            values.len() > 1
        })
        .collect();
    let place = |name: &str| ORDER.iter().position(|known| *known == name);
    found.sort_by_key(|name| place(name).unwrap_or(0));
    found
}

/// Maps where two parameters or more vary, each for the smallest frames, which tell the most.
fn maps<'a, 'r>(groups: &'a [Group<'r>]) -> Vec<Map<'a, 'r>> {
    let mut alike: BTreeMap<(&str, Direction, u32, String), Vec<&Group<'_>>> = BTreeMap::new();
    for group in groups {
        let traffic = group.key.traffic_words();
        let key = (
            group.key.kind(),
            group.key.direction,
            group.key.flows,
            traffic,
        );
        alike.entry(key).or_default().push(group);
    }
    alike
        .into_iter()
        .filter_map(|((kind, direction, flows, _), mut cells)| {
            let size = cells.iter().map(|group| group.key.frame_size_bytes).min()?;
            cells.retain(|group| group.key.frame_size_bytes == size);
            let cells: Vec<Cell<'_, '_>> = cells.into_iter().map(Cell::of).collect();
            let mut rows = varying(&cells);
            let column = rows.pop()?;
            (!rows.is_empty()).then_some(Map {
                kind,
                size,
                direction,
                flows,
                rows,
                column,
                cells,
            })
        })
        .collect()
}

impl Map<'_, '_> {
    fn row(&self, cell: &Cell<'_, '_>) -> Vec<String> {
        let values = self.rows.iter().map(|name| cell.value(name).to_owned());
        values.collect()
    }

    fn caption(&self) -> String {
        let direction = pick::direction(self.direction);
        let flows = match self.flows {
            1 => String::new(),
            many => format!(", {many} flows"),
        };
        let names = self.rows.join(" × ");
        format!(
            "{}: {names} × {}, frames/s of {} bytes, {direction}{flows}",
            self.kind, self.column, self.size
        )
    }

    fn table(&self) -> Table {
        let best = self
            .cells
            .iter()
            .filter_map(|cell| cell.group.throughput_fps());
        let best = best.fold(0.0, f64::max);
        let mut columns: Vec<&str> = Vec::new();
        let mut rows: Vec<Vec<String>> = Vec::new();
        let mut at: BTreeMap<(Vec<String>, &str), &Group<'_>> = BTreeMap::new();
        // In the order of the plan.
        for cell in &self.cells {
            let (row, column) = (self.row(cell), cell.value(self.column));
            if !columns.contains(&column) {
                columns.push(column);
            }
            if !rows.contains(&row) {
                rows.push(row.clone());
            }
            at.insert((row, column), cell.group);
        }
        let more = rows.len() > ROWS || columns.len() > COLUMNS;
        rows.truncate(ROWS);
        columns.truncate(COLUMNS);
        let names = self.rows.iter().map(|name| ((*name).to_owned(), Name));
        let values = columns
            .iter()
            .map(|value| (format!("{} {value}", self.column), Number));
        let mut table = Table::new(self.caption(), names.chain(values).collect());
        for row in rows {
            let squares: Vec<Field> = columns
                .iter()
                .map(|column| heat::square(at.get(&(row.clone(), *column)).copied(), best))
                .collect();
            table.push(row.into_iter().map(Field::from).chain(squares).collect());
        }
        if more {
            table.legend("The first rows and columns; the table of results has all.")
        } else {
            table
        }
    }
}

/// The maps; nothing where fewer than two parameters vary.
pub(super) fn section(groups: &[Group<'_>]) -> Vec<Block> {
    let maps = maps(groups);
    let mut blocks: Vec<Block> = maps.iter().map(|map| Block::Table(map.table())).collect();
    if !blocks.is_empty() {
        let told = "The darker, the nearer to the fastest cell of the map (100 %).";
        blocks.push(Block::Remark(format!("{told} {}", confidence::LEGEND)));
    }
    blocks
}
