//! A document as one HTML page in one file: no network, no fonts, no images from elsewhere; its data
//! inside; light, dark, narrow and on paper.

use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use nicety_model::Verdict;

use super::table::MOST;
use super::{Badge, Block, Cell, Document, Headline, Kind, Section, Table};
use crate::error::ReportError;
use crate::figure;
use crate::number;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");
/// Nothing may be loaded from anywhere; what is in the page may run, and a chart becomes a picture.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:";
/// Bytes of data from which they are kept compressed.
const PACKED: usize = 1 << 20;
/// Rows that a long table shows until all are asked for. Parsing and laying out thousands takes a
/// browser seconds.
const SHOWN: usize = 100;
/// Sections from which a page has a list of them.
const SECTIONS: usize = 4;

/// Writes the page, section by section.
pub(crate) fn write(document: &Document, out: &mut impl Write) -> Result<(), ReportError> {
    pieces(document, out).map_err(|source| ReportError::Write {
        format: "HTML",
        source,
    })
}

fn pieces(document: &Document, out: &mut impl Write) -> std::io::Result<()> {
    let page = &document.page;
    let sections = &document.sections;
    let window = match page.window {
        Some(window) => format!("{window} · nicety"),
        None => format!("{} · nicety", document.title),
    };
    let head = html! {
        head {
            meta charset="utf-8";
            meta http-equiv="Content-Security-Policy" content=(POLICY);
            meta name="viewport" content="width=device-width, initial-scale=1";
            @if let Some(generator) = &page.generator { meta name="generator" content=(generator); }
            title { (window) }
            style { (PreEscaped(STYLE)) }
        }
    };
    // Elements that are open over many pieces.
    write!(
        out,
        "{}<html lang=\"en\">{}<body><div class=\"page\">",
        DOCTYPE.into_string(),
        head.into_string()
    )?;
    let head = html! {
        @if let Some(section) = sections.first() {
            a.skip href={ "#" (section.id) } { "Skip to: " (section.title) }
        }
        (header(document))
    };
    write!(out, "{}<main>", head.into_string())?;
    let before = html! {
        @if let Some(figure) = &page.figure { (figure) }
        @if sections.len() >= SECTIONS {
            nav aria-label="Sections" {
                ul { @for section in sections { li { a href={ "#" (section.id) } { (section.title) } } } }
            }
        }
    };
    out.write_all(before.into_string().as_bytes())?;
    for of in sections {
        out.write_all(section(of).into_string().as_bytes())?;
    }
    let packed = if page.data.len() > PACKED {
        Some(pack(page.data.as_bytes())?)
    } else {
        // JSON cannot end its script element: no `<` is left in it.
        None
    };
    let (kind, data) = match packed {
        Some(packed) => ("application/gzip", packed),
        None => ("application/json", page.data.replace('<', "\\u003c")),
    };
    let (button, name) = page.save;
    let footer = html! {
        footer {
            @if !page.footer.is_empty() { p { (page.footer) } }
            button #save .download type="button" hidden { (button) }
        }
    };
    let scripts = html! {
        script #run-data type=(kind) data-name=(name) { (PreEscaped(data)) }
        script { (PreEscaped(SCRIPT)) }
    };
    let (footer, scripts) = (footer.into_string(), scripts.into_string());
    write!(out, "</main>{footer}</div>{scripts}</body></html>")?;
    out.flush()
}

/// Compressed, as text that may stand in a page.
fn pack(data: &[u8]) -> std::io::Result<String> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(data)?;
    Ok(STANDARD.encode(encoder.finish()?))
}

/// Title and the answer, of which the first sentence is large.
fn header(document: &Document) -> Markup {
    let mut answer = document.answer.iter();
    let lead = match &document.headline {
        // The number is what is large.
        Some(_) => None,
        None => answer.next().and_then(|first| first.split_first()),
    };
    let (lead, rest) = match lead {
        Some((lead, rest)) => (lead.as_str(), rest.join(" ")),
        None => ("", String::new()),
    };
    html! {
        header {
            p.eyebrow {
                @if let Some(host) = &document.host { strong.host { (host) } " · " }
                (document.page.eyebrow)
            }
            h1 { (document.title) }
            @if let Some(headline) = &document.headline { (number(headline)) }
            @if !lead.is_empty() { p.lead { (lead) } }
            @for text in std::iter::once(rest).chain(answer.map(|sentences| sentences.join(" "))) {
                @if !text.is_empty() { p class="lead second" { (text) } }
            }
            (blocks(&document.opening))
        }
    }
}

/// The number, large, with its unit, interval and verdict, and below it the numbers beside it.
fn number(headline: &Headline) -> Markup {
    html! {
        p.headline {
            span.of { (headline.of) } " "
            strong { (headline.number) } " "
            span.unit { (headline.unit) }
            @if let Some(interval) = &headline.interval { " " span.known { "(" (interval) ")" } }
            " " (badge(headline.badge))
        }
        @if !headline.beside.is_empty() { p.beside { (headline.beside.join(" · ")) } }
    }
}

fn section(section: &Section) -> Markup {
    let id = section.id;
    html! {
        section id=(id) aria-labelledby={ (id) "-h" } {
            h2 id={ (id) "-h" } { (section.title) }
            (blocks(&section.blocks))
        }
    }
}

/// The blocks of a section.
fn blocks(all: &[Block]) -> Markup {
    html! {
        @for block in all {
            @match block {
                Block::Text(text) => p { (text) },
                Block::Remark(text) => p.muted { (text) },
                Block::List(lines) => ul { @for line in lines { li { (line) } } },
                Block::Steps(title, steps) => section.steps aria-label=(title) {
                    h2 { (title) }
                    ol { @for step in steps { li { (step) } } }
                },
                Block::Terms(terms) => dl.meaning {
                    @for (term, meaning) in terms {
                        dt {
                            @match term.extras().badge { Some(of) => (badge(of)), None => (term.text) }
                        }
                        dd { (meaning) }
                    }
                },
                Block::Table(of) => (table(of)),
                Block::Code(text) => pre { code { (text) } },
                Block::Routes(routes) => (routes.drawn()),
                Block::Folded(summary, inner) => details { summary { (summary) } (blocks(inner)) },
                Block::Drawn(drawing) => (drawing),
            }
        }
    }
}

/// The word as a labelled badge: it is there, colour only helps.
pub(crate) fn badge(badge: impl Into<Badge>) -> Markup {
    let badge = badge.into();
    let meaning = Some(badge.meaning).filter(|meaning| !meaning.is_empty());
    html! { span class={ "badge " (badge.tone.class()) } title=[meaning] { (badge.word) } }
}

/// The verdict beside a figure, only where it makes the figure doubtful: the table has them all.
pub(crate) fn doubt(verdict: Verdict) -> Markup {
    html! { @if verdict != Verdict::Ok { (badge(verdict)) } }
}

/// The table with its legend. Of very many rows it has the first, and the others on demand: these stand
/// in a `noscript` element, which a browser that runs scripts reads as text and another one shows.
fn table(table: &Table) -> Markup {
    let most = if table.whole { usize::MAX } else { MOST };
    let rows = &table.rows[..table.rows.len().min(most)];
    let shown = if table.folds { SHOWN } else { usize::MAX };
    let (first, rest) = rows.split_at(rows.len().min(shown));
    html! {
        (part(table, &table.caption, first))
        @if !rest.is_empty() {
            noscript.rest { (part(table, &format!("{}, continued", table.caption), rest)) }
        }
        @if table.total > most {
            p.muted {
                "The first " (most) " of " (number::count(table.total as u64))
                " rows; the data saved from this page has them all."
            }
        }
        @if !table.legend.is_empty() { p.muted { (table.legend) } }
    }
}

/// A captioned table that scrolls on its own when it is wider than the page.
fn part(table: &Table, caption: &str, rows: &[Vec<Cell>]) -> Markup {
    // In tables of thousands of rows meanings would be most of the page.
    let meanings = table.rows.len() <= MOST;
    html! {
        // A name of its own: a section may have the caption's words as its title.
        div.scroll tabindex="0" role="region" aria-label={ "Table: " (caption) } {
            table.sortable {
                caption { (caption) }
                thead {
                    tr {
                        @for (heading, kind) in &table.head {
                            th class=[kind.is_number().then_some("num")] scope="col" { (heading) }
                        }
                    }
                }
                tbody {
                    @for row in rows {
                        tr {
                            @for ((_, kind), cell) in table.head.iter().zip(row) {
                                (field(*kind, cell, meanings))
                            }
                        }
                    }
                }
            }
        }
    }
}

fn field(kind: Kind, cell: &Cell, meanings: bool) -> Markup {
    let content = content(cell, meanings);
    let shade = cell.extras().shade.map(|shade| format!("num heat{shade}"));
    html! {
        @match (kind, shade) {
            (Kind::Name, _) => th scope="row" id=[cell.extras().anchor.as_ref().map(|(id, _)| id)] { (content) },
            (Kind::Place, _) => th.num scope="row" { (content) },
            (_, Some(shade)) => td class=(shade) data-v=[cell.value] { (content) },
            (Kind::Text, _) => td { (content) },
            (Kind::Wide, _) => td.wrap data-v=[cell.extras().folded.as_ref()] { (content) },
            (Kind::Tight, _) => td.nowrap { (content) },
            (Kind::Number, _) => td.num data-v=[cell.value] { (content) },
            (Kind::Main, _) => td.num.strong data-v=[cell.value] { (content) },
        }
    }
}

fn content(cell: &Cell, meanings: bool) -> Markup {
    let extras = cell.extras();
    let mark = extras.confidence.mark();
    // A verdict, or that of the number above it.
    let verdict = extras.badge.map(|mut badge| {
        if !meanings {
            badge.meaning = "";
        }
        (badge.word == cell.text, self::badge(badge))
    });
    html! {
        @match &verdict {
            Some((true, badge)) => (badge),
            _ if extras.folded.is_some() => details.folded style="margin:0" { summary { (cell.text) } (extras.folded.as_deref().unwrap_or_default()) },
            _ if !extras.list.is_empty() => ul.plain { @for line in &extras.list { li { (line) } } },
            _ => (extras.on_page.as_ref().unwrap_or(&cell.text)),
        }
        @if let Some((id, what)) = &extras.anchor { (figure::link(id, what)) }
        @if !mark.is_empty() { abbr title=(extras.confidence.words()) { (mark) } }
        @if let Some(drawing) = &extras.drawing { (drawing) }
        @for line in &extras.details { span.sub { (line) } }
        @if !extras.unit.is_empty() && !cell.is_absent() { span.sub { (extras.unit) } }
        @if let Some((false, badge)) = &verdict { span.sub { (badge) } }
    }
}
