//! Pieces that several sections share.

use maud::{Markup, html};
use nicety_model::Verdict;

use crate::number;

/// Rows that tables list besides the one with the results. A page with all rows of thousands of
/// cells would be slow to open.
pub const ROWS: usize = 500;

fn kind(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Ok => "good",
        Verdict::TesterLimited => "info",
        Verdict::Failed => "fail",
        _ => "warn",
    }
}

/// As [`badge`], without its meaning: for tables of thousands of rows.
pub fn short_badge(verdict: Verdict) -> Markup {
    html! { span class={ "badge " (kind(verdict)) } { (verdict.word()) } }
}

/// Says that a table of `rows` rows lists the first of them, when it does.
pub fn cut_off(rows: usize) -> Markup {
    html! {
        @if rows > ROWS {
            p.muted {
                "The first " (ROWS) " of " (number::count(rows as u64))
                " rows; the data saved from this page has them all."
            }
        }
    }
}

/// The verdict as a labelled badge: the word is there, colour only helps.
pub fn badge(verdict: Verdict) -> Markup {
    let kind = kind(verdict);
    html! { span class={ "badge " (kind) } title=(verdict.meaning()) { (verdict.word()) } }
}

/// A captioned table that scrolls on its own when it is wider than the page.
pub fn table(caption: &str, head: Markup, body: Markup) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label=(caption) {
            table.sortable {
                caption { (caption) }
                thead { (head) }
                tbody { (body) }
            }
        }
    }
}

/// Rows that a long table shows until all are asked for. Parsing and laying out thousands takes a
/// browser seconds.
pub const SHOWN: usize = 100;

/// A value to sort a column by: seven digits tell apart what is shown, and a table of thousands of rows
/// has tens of thousands of them.
pub fn sorted_by(value: f64) -> f64 {
    format!("{value:.6e}").parse().unwrap_or(value)
}

/// As [`table`]; of very many rows the first, and the others on demand. These stand in a `noscript`
/// element: a browser that runs scripts reads it as text, another one shows it.
pub fn long_table(caption: &str, head: &Markup, rows: &[Markup]) -> Markup {
    let all = |rows: &[Markup]| html! { @for row in rows { (row) } };
    if rows.len() <= SHOWN {
        return table(caption, head.clone(), all(rows));
    }
    let (first, rest) = rows.split_at(SHOWN);
    html! {
        (table(caption, head.clone(), all(first)))
        noscript.rest {
            (table(&format!("{caption}, continued"), head.clone(), all(rest)))
        }
    }
}

/// A section with a heading that the navigation links to.
pub fn section(id: &str, title: &str, body: Markup) -> Markup {
    html! {
        section id=(id) aria-labelledby={ (id) "-h" } {
            h2 id={ (id) "-h" } { (title) }
            (body)
        }
    }
}
