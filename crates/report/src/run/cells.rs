//! The table of a run: a row per cell.

use std::collections::HashMap;

use nicety_model::note::List;
use nicety_model::{CellResult, Run};

use super::legend;
use crate::document::table::Narrow::{Listed, Named};
use crate::document::{Block, Cell, Document, Medium, Table, columns};
use crate::figure;
use crate::number;
use crate::pick::{self, Group};
use crate::threads;

/// The table; path, direction, size, throughput and verdict always, else what a cell has.
pub(super) fn table(groups: &[Group<'_>], medium: Medium) -> Table {
    let series = pick::series(groups);
    let rows: Vec<&&Group<'_>> = series.iter().flat_map(|(_, cells)| cells).collect();
    let number = |of: Option<f64>, words: fn(f64) -> String| Cell::number(of, words);
    // Under its number a cell is asked for by `--cell`. One alone needs none.
    let numbers: HashMap<&str, u64> = groups.iter().map(|g| g.name).zip(1..).collect();
    let cell = |g: &Group<'_>| numbers.get(g.name).filter(|_| groups.len() > 1);
    // What an interval says better, or another column.
    let older = |group: &&&Group<'_>| group.estimate().is_none();
    let held = &*legend::held(groups);
    let mut table = Table::of(
        "Throughput of every result",
        rows.iter().copied(),
        columns![|g|
            "cell" Place: cell(g).copied();
            "path" Name: Cell::from(path(g)).anchored(figure::anchor("result", g.name), g.name);
            "direction" Text: g.key.direction;
            "bytes" Number: bytes(g);
            "frames/s" Main: Cell::from(g.fps_text()).by(g.throughput_fps()).interval(g.interval_text());
            "interval" Number: Cell::of(g.interval_text()).details(g.half_width_text());
            held Number: (!older(g)).then(|| g.held_text());
            "capacity" Number: number(g.capacity_fps(), number::short);
            "held" Number: number(g.shown.held.filter(|_| older(g)).map(|held| held.load_fps), number::short);
            "min to max" Number: g.extremes_fps().filter(|_| older(g)).map(number::interval);
            "cv" Number: number(g.summary.filter(|_| older(g)).and_then(|s| s.spread_fps?.cv), number::variation);
            "Mbit/s" Number: number::mbps(g.told_mbps());
            "loss" Number: loss(g);
            "p50 µs" Number: number(g.latency().map(|l| l.p50), number::micros);
            "p99 µs" Number: number(g.latency().map(|l| l.p99), number::micros);
            "busiest CPU" Tight: cpu(g.shown);
            "guest CPU" Text: g.shown.cpu.as_ref().and_then(threads::guest);
            "verdict" Text: g.verdict();
        ],
    );
    let always = ["path", "direction", "bytes", "frames/s", "verdict"];
    table = table
        .speaking(|heading, cell| always.contains(&heading) || !cell.is_absent())
        .legend(legend::legend(groups))
        .narrow(&[
            ("min to max", Listed),
            ("p50 µs", Named),
            ("cv", Listed),
            ("p99 µs", Named),
            ("Mbit/s", Named),
            ("loss", Named),
            ("guest CPU", Named),
            ("busiest CPU", Named),
            ("capacity", Named),
            (held, Named),
            ("interval", Named),
            ("cell", Named),
        ]);
    table.whole = true;
    if medium == Medium::Terminal {
        table.names = rows.iter().map(|g| g.name.to_owned()).collect();
        table.headings = rows
            .iter()
            .map(|g| format!("{}, {}", path(g), pick::direction(g.key.direction)))
            .collect();
        table.headed = vec!["path", "direction"];
    }
    if medium == Medium::Page {
        // Beside the throughput the verdict stays in sight when a narrow screen cuts the table off.
        table.rearrange("verdict", "frames/s");
    }
    table
}

fn path(group: &Group<'_>) -> String {
    let mut path = group.key.path_name();
    if group.key.flows > 1 {
        path.push_str(&format!(", {} flows", group.key.flows));
    }
    for word in group.key.shape.words() {
        path.push_str(&format!(", {word}"));
    }
    path
}

/// The frame size, or the mix.
fn bytes(group: &Group<'_>) -> Cell {
    let key = group.key;
    let cell = Cell::from(key.size_name());
    match key.shape.imix {
        Some(mix) => cell.by(Some(mix.mean_bytes())),
        None => cell,
    }
}

/// Loss of the confirm trial, and the part of it that fell into stalls.
fn loss(group: &Group<'_>) -> Cell {
    let loss = group
        .shown
        .confirm
        .map(|confirm| number::loss(confirm.loss_ratio.0));
    match (loss, group.stalls_text()) {
        (Some(loss), Some(stalls)) => Cell::from(format!("{loss}, {stalls}"))
            .on_page(loss)
            .details([stalls]),
        (loss, _) => Cell::of(loss),
    }
}

/// A CPU on which a thread polls is always busy: how much of that was of use stands beside it.
fn cpu(shown: &CellResult) -> Option<String> {
    let cpu = shown.cpu.as_ref()?;
    let busiest = cpu.busiest.as_ref()?;
    let (number, busy) = (busiest.cpu, number::share(busiest.busy_ratio));
    Some(match cpu.polls_on_busiest() {
        None => format!("{number}: {busy} {}", threads::greatest_user(busiest)),
        Some(thread) => match thread.useful_ratio {
            Some(useful) => format!(
                "{number}: {} polls, {} useful",
                thread.who,
                number::share(useful)
            ),
            None => format!("{number}: {} polls", thread.who),
        },
    })
}

/// Who used the CPUs, for the first cell of every path on which programs or guests work. Pages have a
/// table of it.
pub(super) fn users(doc: &mut Document, groups: &[Group<'_>]) {
    let cpus = || groups.iter().filter_map(|group| group.shown.cpu.as_ref());
    if doc.on_page() || !cpus().any(threads::worth_telling) {
        return;
    }
    let told = pick::series(groups).into_iter().filter_map(|(_, cells)| {
        cells.into_iter().find_map(|group| {
            let cpu = group.shown.cpu.as_ref()?;
            let users = threads::users(cpu).filter(|_| threads::worth_telling(cpu))?;
            let mut line = format!("{}: {users}", group.name);
            for guest in threads::guests(cpu) {
                line.push_str(&format!("; by the count of {guest}"));
            }
            Some(line)
        })
    });
    doc.list(
        "users",
        "Who used the CPUs (1.00 is one CPU)",
        told.collect(),
    );
}

/// What is to be put right, or the facts of the run: notes of the run as a whole and of its cells, each
/// kind once with the cells that have it.
pub(crate) fn notes(run: &Run, groups: &[Group<'_>], list: List) -> Vec<String> {
    let of_run = pick::run_notes(run, list).into_iter();
    let of_cells = pick::notes(groups, list).into_iter();
    let of_cells = of_cells.map(|noted| noted.to_string());
    match list {
        List::Problem => of_cells.chain(of_run).collect(),
        List::Condition => of_run.chain(of_cells).collect(),
    }
}

/// The verdicts that occur with their meanings and how many results have each.
pub(super) fn verdicts(groups: &[Group<'_>]) -> Vec<Block> {
    let terms = pick::verdicts(groups).into_iter().map(|(verdict, cells)| {
        let cells = number::plural(cells, "result");
        (
            Cell::badge(verdict),
            format!("{} ({cells})", verdict.meaning()),
        )
    });
    let terms: Vec<(Cell, String)> = terms.collect();
    if terms.is_empty() {
        Vec::new()
    } else {
        vec![Block::Terms(terms)]
    }
}
