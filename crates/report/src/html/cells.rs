//! Tables of cells: results, the loss ledger, notes.

use std::collections::BTreeMap;

use maud::{Markup, html};
use nicety_model::{LossEntry, Run, Verdict};

use super::parts::{self, badge};
use crate::guests;
use crate::legend;
use crate::number::{self, ABSENT};
use crate::pick::Group;
use crate::place;
use crate::row::{self, Column};

/// One row per cell with everything the terminal table has.
pub fn results(groups: &[Group<'_>]) -> Markup {
    let badge = match groups.len() > parts::ROWS {
        true => parts::short_badge,
        false => parts::badge,
    };
    let mut columns = row::columns(groups);
    // Beside the throughput, the verdict stays in sight when a narrow screen cuts the table off.
    columns.retain(|column| *column != Column::Verdict);
    let beside = columns
        .iter()
        .position(|column| *column == Column::Throughput)
        .map_or(columns.len(), |at| at + 1);
    columns.insert(beside, Column::Verdict);
    let head = html! {
        tr {
            @for column in &columns {
                th.num[column.is_number()] scope="col" { (column.heading()) }
            }
        }
    };
    let row = |group: &Group<'_>| {
        html! { tr { @for column in &columns { (field(group, *column, badge)) } } }
    };
    let rows: Vec<Markup> = groups.iter().map(row).collect();
    html! {
        (parts::long_table("Throughput of every cell", &head, &rows))
        p.muted { (legend::legend(groups)) }
        @let guests = guests::lines(groups);
        @if !guests.is_empty() {
            h3 { "Guests that share a path, in the confirm trial" }
            ul { @for line in guests { li { (line) } } }
        }
    }
}

fn field(group: &Group<'_>, column: Column, badge: fn(Verdict) -> Markup) -> Markup {
    let text = column.text(group);
    match column {
        Column::Path => html! { th scope="row" { (text) } },
        Column::Verdict => html! { td { (badge(group.verdict())) } },
        Column::Throughput => html! {
            td.num.strong data-v=[group.throughput_fps().map(parts::sorted_by)] { (text) }
        },
        Column::Interval => html! {
            td.num.nowrap {
                (text)
                @if let Some(half) = group.half_width_text() { span.sub { (half) } }
            }
        },
        Column::Loss => html! {
            td.num {
                (row::loss(group))
                @if let Some(stalls) = group.stalls_text() { span.sub { (stalls) } }
            }
        },
        Column::Cpu => html! { td.nowrap { (text) } },
        column if column.is_number() => html! { td.num { (text) } },
        _ => html! { td { (text) } },
    }
}

/// Where frames died, in the confirm trial and just above the throughput.
pub fn ledger(groups: &[Group<'_>]) -> Markup {
    let told: Vec<&Group<'_>> = groups
        .iter()
        .filter(|g| {
            g.shown.frames.is_some()
                || !g.shown.loss_ledger.is_empty()
                || !g.shown.overload_ledger.is_empty()
        })
        .collect();
    if told.is_empty() {
        return html! { p { "No counters on the way were read." } };
    }
    html! {
        p {
            "Counters on the way that moved, in frames. “Overload” is the search trial just above the throughput: "
            "what gave out first. “Unexplained” frames were lost where no counter looks."
        }
        (parts::long_table(
            "Where frames died",
            &html! {
                tr {
                    th scope="col" { "cell" }
                    th.num scope="col" { "lost in confirm" }
                    th scope="col" { "where, in confirm" }
                    th.num scope="col" { "unexplained" }
                    th scope="col" { "where, in overload" }
                    th.num scope="col" { "unexplained" }
                    th scope="col" { "verdict" }
                }
            },
            &told.iter().take(parts::ROWS).map(|group| died(group)).collect::<Vec<_>>(),
        ))
        (parts::cut_off(told.len()))
        (meanings(groups))
    }
}

/// A row of the ledger.
fn died(group: &Group<'_>) -> Markup {
    html! {
        tr {
            th scope="row" { (group.name) }
            td.num data-v=[group.shown.frames.map(|f| f.lost)] {
                @match group.shown.frames {
                    Some(frames) => {
                        (number::count(frames.lost))
                        span.sub { "of " (number::count(frames.sent)) }
                    }
                    None => { (ABSENT) }
                }
            }
            (places(&group.shown.loss_ledger))
            (places(&group.shown.overload_ledger))
            td { (badge(group.verdict())) }
        }
    }
}

/// What stands behind places whose names do not say it.
fn meanings(groups: &[Group<'_>]) -> Markup {
    let entries = groups
        .iter()
        .flat_map(|g| g.shown.loss_ledger.iter().chain(&g.shown.overload_ledger));
    let told: BTreeMap<&str, String> = entries
        .filter_map(|entry| Some((entry.place.as_str(), place::meaning(&entry.place)?)))
        .collect();
    html! {
        @if !told.is_empty() {
            dl.meaning {
                @for (place, meaning) in &told { dt { (place) } dd { (meaning) } }
            }
        }
    }
}

/// Two columns: the places that have a name, and what none of them explains.
fn places(entries: &[LossEntry]) -> Markup {
    let named: Vec<&LossEntry> = entries
        .iter()
        .filter(|e| e.place != "unexplained")
        .collect();
    let unexplained = entries.iter().find(|e| e.place == "unexplained");
    html! {
        td {
            @if named.is_empty() { (ABSENT) } @else {
                ul.plain {
                    @for entry in named {
                        li { (entry.place) " " b.tab { (number::count(entry.frames)) } }
                    }
                }
            }
        }
        td.num {
            @match unexplained {
                Some(entry) => { (number::count(entry.frames)) }
                None if entries.is_empty() => { (ABSENT) }
                None => { "0" }
            }
        }
    }
}

/// Notes of the cells, each text once with the cells that have it, then those of the run.
pub fn notes(run: &Run, groups: &[Group<'_>]) -> Option<Markup> {
    let notes = crate::pick::notes(groups);
    if notes.is_empty() && run.run.notes.is_empty() {
        return None;
    }
    Some(html! {
        ul {
            @for note in &run.run.notes { li { (note.to_string()) } }
            @for (note, cells) in notes {
                li { (note) " " span.muted { "(" (crate::pick::named(&cells)) ")" } }
            }
        }
    })
}
