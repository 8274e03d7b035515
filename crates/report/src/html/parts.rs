//! Pieces that several sections share.

use maud::{Markup, html};
use nicety_model::Verdict;

/// The verdict as a labelled badge: the word is there, colour only helps.
pub fn badge(verdict: Verdict) -> Markup {
    let kind = match verdict {
        Verdict::Ok => "good",
        Verdict::TesterLimited => "info",
        Verdict::Failed => "fail",
        _ => "warn",
    };
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

/// A section with a heading that the navigation links to.
pub fn section(id: &str, title: &str, body: Markup) -> Markup {
    html! {
        section id=(id) aria-labelledby={ (id) "-h" } {
            h2 id={ (id) "-h" } { (title) }
            (body)
        }
    }
}
