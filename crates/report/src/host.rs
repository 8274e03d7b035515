//! A host as one HTML file: its nodes, cores, NICs, interrupts and virtual CPUs as a picture in
//! which a misplaced one is seen.

use std::io::Write;

use maud::{Markup, html};
use nicety_model::HostFacts;
use nicety_model::picture::{CpuPicture, Mark, MarkKind, NodePicture, Picture};

use crate::document::{Block, Document, Medium};
use crate::error::ReportError;
use crate::figure::{self, grid, key, legend};
use crate::json;
use crate::number::{self, plural};

/// Side of a CPU's square, and the gap between cores, in units of the drawing.
const CPU: usize = 22;
const GAP: usize = 6;
/// Cores in a row of a node.
const CORES: usize = 10;
/// Width that names need at least.
const LEAST_WIDTH: usize = 250;
/// Height of a line of words.
const LINE: usize = 16;
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
    let host = format!(
        "{}, {}, Linux {}",
        facts.host.cpu_model,
        plural(facts.cpu.cpus.len(), "CPU"),
        facts.host.kernel
    );
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
    html! {
        (legend(&[
            key("s0", glyph(MarkKind::Interrupt), "interrupt of a NIC"),
            key("s2", glyph(MarkKind::VirtualCpu), "virtual CPU"),
            key("s5", glyph(MarkKind::Vhost), "vhost thread"),
            key("bad", "✕", "misplaced"),
        ]))
        p { "A square is a CPU, squares that touch are threads of one core. Marks below the squares may run on several CPUs of the node." }
        @if !picture.anywhere.is_empty() {
            p { strong { "May run on several nodes: " } (names(&picture.anywhere)) }
        }
        (grid(&picture.nodes.iter().map(node_figure).collect::<Vec<_>>()))
    }
}

fn node_figure(node: &NodePicture) -> Markup {
    let threads = node.cores.iter().map(Vec::len).max().unwrap_or(1);
    let step = threads * CPU + GAP;
    let per_row = CORES.min(node.cores.len().max(1));
    let rows = node.cores.len().div_ceil(per_row);
    let (nics, top) = (node.nics.len(), node.nics.len() * LINE + GAP);
    let within = top + rows * (CPU + GAP) + LINE;
    let width = (per_row * step).max(LEAST_WIDTH);
    let height = within + usize::from(!node.within.is_empty()) * LINE;
    let name = match node.node {
        Some(number) => format!("Node {number}"),
        None => "The machine".to_owned(),
    };
    let label = format!("{name}: {} cores, {nics} NICs", node.cores.len());
    let memory = node
        .memory_mib
        .map(|mib| format!("{} MiB", number::grouped(mib as f64)));
    let drawn = html! {
        svg.small viewBox={ "0 0 " (width) " " (height) } role="img" aria-label=(label) {
            @for (n, nic) in node.nics.iter().enumerate() {
                text x="0" y=((n + 1) * LINE - 4) font-size="12" fill="var(--ink)" { "▭ " (nic.name) " " tspan fill="var(--muted)" { (nic.about) } }
            }
            @for (n, core) in node.cores.iter().enumerate() {
                @for (thread, cpu) in core.iter().enumerate() {
                    (square(cpu, n % per_row * step + thread * CPU, top + n / per_row * (CPU + GAP)))
                }
            }
            @if !node.within.is_empty() {
                text x="0" y=(within) font-size="12" fill="var(--ink)" { (names(&node.within)) }
            }
        }
    };
    figure::figure(&name, &memory.unwrap_or_default(), drawn)
}

/// A CPU with its number, or what runs on it.
fn square(cpu: &CpuPicture, x: usize, y: usize) -> Markup {
    let bad = cpu.marks.iter().any(|mark| mark.misplaced);
    let stroke = if bad { "var(--bad)" } else { "var(--rule)" };
    let names: Vec<&str> = cpu.marks.iter().map(|mark| mark.name.as_str()).collect();
    let (words, ink) = match cpu.marks.as_slice() {
        [] => (cpu.cpu.to_string(), "var(--muted)"),
        _ if bad => ("✕".to_owned(), "var(--bad)"),
        [mark] => (glyph(mark.kind).to_owned(), ink(mark.kind)),
        marks => (marks.len().to_string(), ink(marks[0].kind)),
    };
    let size = if cpu.marks.is_empty() { 9 } else { 14 };
    html! {
        g {
            title { "CPU " (cpu.cpu) @if !names.is_empty() { ": " (names.join(", ")) } }
            rect x=(x) y=(y) width=(CPU) height=(CPU) fill="var(--paper)" stroke=(stroke) stroke-width=(if bad { 2 } else { 1 }) {}
            text x=(x + CPU / 2) y=(y + CPU / 2) font-size=(size) text-anchor="middle" dominant-baseline="central" fill=(ink) { (words) }
        }
    }
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
fn names(marks: &[Mark]) -> String {
    let one = |mark: &Mark| match mark.misplaced {
        true => format!("✕ {}", mark.name),
        false => format!("{} {}", glyph(mark.kind), mark.name),
    };
    let mut words: Vec<String> = marks.iter().take(NAMED).map(one).collect();
    if marks.len() > NAMED {
        words.push(format!("and {} more", marks.len() - NAMED));
    }
    words.join(", ")
}
