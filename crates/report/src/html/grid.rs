//! Tables of the grids, with numbers that can be sorted by and marks that say why.

use maud::{Markup, html};

use super::parts;
use crate::grid::{Field, Grid};
use crate::number::ABSENT;

/// The table with its legend; of thousands of rows the first.
pub fn table(grid: &Grid) -> Markup {
    let head = html! {
        tr {
            @for (heading, number) in &grid.head { th.num[*number] scope="col" { (heading) } }
        }
    };
    let row = |fields: &Vec<Field>| html! { tr { @for field in fields { (cell(field)) } } };
    let rows: Vec<Markup> = grid.rows.iter().take(parts::ROWS).map(row).collect();
    html! {
        (parts::long_table(&grid.caption, &head, &rows))
        (parts::cut_off(grid.rows.len()))
        p.muted { (grid.legend) }
    }
}

fn cell(field: &Field) -> Markup {
    match field {
        Field::Name(text) => html! { th scope="row" { (text) } },
        Field::Text(text) => html! { td { (text) } },
        Field::Count(text) => html! { td.num { (text) } },
        Field::Absent => html! { td.num { (ABSENT) } },
        Field::Verdict(verdict) => html! { td { (parts::badge(*verdict)) } },
        Field::Number { text, value, doubt } => {
            let value = value.is_finite().then(|| parts::sorted_by(*value));
            html! {
                td.num data-v=[value] {
                    (text)
                    @if !doubt.mark().is_empty() { abbr title=(doubt.words()) { (doubt.mark()) } }
                }
            }
        }
    }
}
