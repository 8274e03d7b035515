//! A host as one HTML file: its nodes, cores, NICs, interrupts and virtual CPUs as a picture in
//! which a misplaced one is seen.

mod drawing;

use std::io::Write;

use maud::{Markup, html};
use nicety_model::HostFacts;
use nicety_model::picture::{Mark, MarkKind, Picture};

use crate::document::{Block, Document, Medium};
use crate::error::ReportError;
use crate::figure::{self, Room, key, legend};
use crate::json;
use crate::number::{self, plural};

/// Marks named one by one; of more only the number is told.
const NAMED: usize = 6;

/// Writes the page.
///
/// # Errors
/// [`ReportError::Json`] when the facts cannot be embedded, [`ReportError::Write`] when the writer
/// fails.
pub fn render(
    facts: &HostFacts,
    picture: &Picture,
    out: &mut impl Write,
) -> Result<(), ReportError> {
    let mut doc = Document::new(Medium::Page, "Who runs where");
    let misplaced = match picture.misplaced.len() {
        0 => html! { span.badge.good { "nothing is misplaced" } },
        n => html! { span.badge.warn { (n) " misplaced" } },
    };
    let host = about(facts);
    doc.opening = vec![Block::Drawn(
        html! { p.lead { (misplaced) } p class="lead second" { (host) } },
    )];
    doc.main("picture", "The host", vec![Block::Drawn(drawing(picture))]);
    if !picture.misplaced.is_empty() {
        let why = "Away from the node of its NIC: every frame then crosses between nodes. “nicety tune \
                   plan” says what would be right.";
        let lines = Block::List(picture.misplaced.clone());
        doc.section("misplaced", "Misplaced", vec![Block::text(why), lines]);
    }
    doc.host = facts.host.called();
    doc.page.window = Some("Host");
    doc.page.eyebrow = "nicety inspect".to_owned();
    doc.page.data = json::compact("facts", facts)?;
    doc.page.save = ("Save the facts as JSON", "nicety-facts.json");
    crate::document::html::write(&doc, out)
}

fn drawing(picture: &Picture) -> Markup {
    let mut keys = vec![
        key("s0", glyph(MarkKind::Interrupt), "interrupt of a NIC"),
        key("s2", glyph(MarkKind::VirtualCpu), "virtual CPU"),
        key("s5", glyph(MarkKind::Vhost), "vhost thread"),
    ];
    if !picture.misplaced.is_empty() {
        keys.push(key("bad", "✕", "misplaced; an arrow leads to its NIC"));
    }
    let drawn = Room::Whole.draw_tall(|width| drawing::host(picture, width));
    let body = html! {
        (legend(&keys))
        @if !picture.anywhere.is_empty() {
            p { strong { (if picture.nodes.len() > 1 { "May run on several nodes: " } else { "May run on any CPU: " }) } (names(&picture.anywhere, NAMED)) }
        }
        (drawn)
    };
    let about = "each square is a CPU; squares that touch are threads of one core";
    figure::figure("NICs, CPUs and what runs on them", about, body)
}

fn glyph(kind: MarkKind) -> &'static str {
    match kind {
        MarkKind::Interrupt => "●",
        MarkKind::VirtualCpu => "■",
        MarkKind::Vhost => "▲",
    }
}

fn ink(kind: MarkKind) -> &'static str {
    match kind {
        MarkKind::Interrupt => "var(--s0)",
        MarkKind::VirtualCpu => "var(--s2)",
        MarkKind::Vhost => "var(--s5)",
    }
}

/// The first names, misplaced ones with their sign, and how many more.
fn names(marks: &[Mark], most: usize) -> String {
    let one = |mark: &Mark| {
        if mark.misplaced {
            format!("✕ {}", mark.name)
        } else {
            format!("{} {}", glyph(mark.kind), mark.name)
        }
    };
    let words: Vec<String> = marks.iter().map(one).collect();
    number::first_few(&words, most.max(1), ", ")
}

/// `AMD EPYC 7B13, 160 CPUs, Linux 6.18.5`, without what is not known.
fn about(facts: &HostFacts) -> String {
    let known = |text: &str| !text.is_empty() && text != "unknown";
    let (model, kernel) = (&facts.host.cpu_model, &facts.host.kernel);
    let mut words = Vec::new();
    if known(model) {
        words.push(model.clone());
    }
    words.push(plural(facts.cpu.cpus.len(), "CPU"));
    if known(kernel) {
        words.push(format!("Linux {kernel}"));
    }
    words.join(", ")
}
