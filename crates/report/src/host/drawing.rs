//! The drawing of a host: a box for each node with its NICs and CPUs. CPUs on which nothing runs are
//! folded into ranges, and an arrow leads from what is misplaced to its NIC, clear of all words.

use std::collections::BTreeMap;

use maud::{Markup, html};
use nicety_model::cpu_list::format_cpu_list;
use nicety_model::picture::{CpuPicture, Mark, NodePicture, Picture};

use super::{glyph, ink, names};
use crate::number::{self, plural};

/// A CPU's square, the gap between cores, the height of a line of words, and the room inside a box.
const CPU: (f64, f64) = (30.0, 36.0);
const GAP: f64 = 8.0;
const LINE: f64 = 21.0;
const PAD: f64 = 12.0;
/// Width from which nodes stand beside each other.
const BESIDE: f64 = 1000.0;
/// CPUs of a node up to which each has a square.
const SMALL: usize = 24;
/// Cores in a row without a mark from which they are folded.
const FOLDED: usize = 3;
/// Parts of a list of CPUs that are named.
const PARTS: usize = 3;
/// Room beside the boxes, in which arrows go up and down.
const GUTTER: f64 = 14.0;
/// Width of a letter at most.
const LETTER: f64 = 6.9;

/// What stands in the rows of a box.
enum Item<'a> {
    Core(&'a [CpuPicture]),
    /// CPUs of several cores without a mark.
    Range(String),
}

impl Item<'_> {
    fn width(&self) -> f64 {
        match self {
            Self::Core(threads) => threads.len() as f64 * CPU.0,
            Self::Range(text) => text.chars().count() as f64 * LETTER + 2.0 * PAD,
        }
    }
}

/// What has been drawn, and what the arrows need.
#[derive(Default)]
struct Canvas {
    parts: Vec<Markup>,
    nics: BTreeMap<String, NicPlace>,
    /// Left edges of the boxes.
    lefts: Vec<f64>,
    /// Where something misplaced is, by node and NIC.
    misplaced: BTreeMap<(usize, String), Vec<(f64, f64)>>,
}

/// Where a NIC stands.
struct NicPlace {
    /// Edges of its box.
    left: f64,
    right: f64,
    /// Begin and end of its words, and the height of their middle.
    words: (f64, f64),
    y: f64,
}

/// The drawing for a width in CSS pixels.
pub(super) fn host(picture: &Picture, width: f64) -> Markup {
    let count = picture.nodes.len();
    let beside = if width >= BESIDE && count > 1 { 2 } else { 1 };
    let wide = width / beside as f64 - GUTTER;
    let mut canvas = Canvas::default();
    let mut below = 1.0;
    for (row, nodes) in picture.nodes.chunks(beside).enumerate() {
        let top = below;
        for (column, node) in nodes.iter().enumerate() {
            let left = GUTTER + column as f64 * (wide + GUTTER);
            canvas.lefts.push(left);
            let height = node_box(
                &mut canvas,
                (row * beside + column, node),
                (left, top),
                wide,
            );
            below = f64::max(below, top + height + 2.0 * GAP);
        }
    }
    canvas.arrows();
    let cpus = picture
        .nodes
        .iter()
        .flat_map(|node| node.cores.iter().map(Vec::len));
    let label = format!(
        "{} with {}; {} misplaced",
        plural(count, "node"),
        plural(cpus.sum::<usize>(), "CPU"),
        picture.misplaced.len()
    );
    html! {
        svg viewBox={ "0 0 " (width) " " (below.max(20.0)) } role="img" aria-label=(label) {
            @for part in &canvas.parts { (part) }
        }
    }
}

fn node_box(
    canvas: &mut Canvas,
    (at, node): (usize, &NodePicture),
    (left, top): (f64, f64),
    wide: f64,
) -> f64 {
    let first = canvas.parts.len();
    let (inner, right) = (left + PAD, left + wide - PAD);
    let mut y = top + LINE;
    let cpus: usize = node.cores.iter().map(Vec::len).sum();
    let memory = node
        .memory_mib
        .map(|mib| format!(", {} MiB of memory", number::grouped(mib as f64)));
    let name = match node.node {
        Some(number) => format!("Node {number}"),
        None => "The machine".to_owned(),
    };
    let about = format!(": {}{}", plural(cpus, "CPU"), memory.unwrap_or_default());
    canvas.parts.push(html! {
        text x=(inner) y=(y) font-size="13" fill="var(--ink)" { tspan font-weight="600" { (name) } (about) }
    });
    for nic in &node.nics {
        y += LINE;
        let words = nic.name.chars().count() + nic.about.chars().count() + 3;
        let place = NicPlace {
            left,
            right: left + wide,
            words: (inner, (inner + words as f64 * LETTER).min(right)),
            y: y - 5.0,
        };
        canvas.nics.insert(nic.name.clone(), place);
        canvas.parts.push(html! {
            text x=(inner) y=(y) font-size="12" fill="var(--ink)" { "▭ " (nic.name) " " tspan fill="var(--muted)" { (nic.about) } }
        });
    }
    y += 1.5 * GAP;
    let mut x = inner;
    for item in items(node) {
        if x > inner && x + item.width() > right {
            x = inner;
            y += CPU.1 + GAP;
        }
        match &item {
            Item::Core(threads) => {
                for (n, cpu) in threads.iter().enumerate() {
                    canvas.square(at, cpu, (x + n as f64 * CPU.0, y));
                }
            }
            Item::Range(text) => canvas.range(text, (x, y), item.width().min(right - inner)),
        }
        x += item.width() + GAP;
    }
    y += CPU.1;
    if !node.within.is_empty() {
        y += LINE;
        canvas.within(at, &node.within, (inner, y), right - inner);
    }
    let height = y - top + PAD;
    let frame = html! {
        rect x=(left + 0.5) y=(top) width=(wide - 1.0) height=(format!("{height:.1}")) rx="8" fill="var(--page)" stroke="var(--edge)" {}
    };
    canvas.parts.insert(first, frame);
    height
}

/// Cores with their squares; of a large node those without a mark as ranges.
fn items(node: &NodePicture) -> Vec<Item<'_>> {
    let all: usize = node.cores.iter().map(Vec::len).sum();
    let is_bare = |core: &Vec<CpuPicture>| core.iter().all(|cpu| cpu.marks.is_empty());
    let runs = node.cores.chunk_by(|a, b| is_bare(a) == is_bare(b));
    runs.flat_map(|run| {
        if all <= SMALL || run.len() < FOLDED || !is_bare(&run[0]) {
            return run.iter().map(|core| Item::Core(core)).collect::<Vec<_>>();
        }
        let mut cpus: Vec<u32> = run.iter().flatten().map(|cpu| cpu.cpu).collect();
        cpus.sort_unstable();
        vec![Item::Range(format!("CPUs {}", ranges(&cpus)))]
    })
    .collect()
}

/// `0–19, 40–59`, of many parts the first few.
fn ranges(cpus: &[u32]) -> String {
    let list = format_cpu_list(cpus).replace('-', "–");
    let parts: Vec<String> = list.split(',').map(str::to_owned).collect();
    number::first_few(&parts, PARTS, ", ")
}

impl Canvas {
    fn misplaced(&mut self, node: usize, marks: &[Mark], at: (f64, f64)) {
        // Marks that share a place share an arrow.
        let mut nics: Vec<&String> = marks
            .iter()
            .filter(|m| m.misplaced)
            .filter_map(|m| m.nic.as_ref())
            .collect();
        nics.dedup();
        for nic in nics {
            self.misplaced
                .entry((node, nic.clone()))
                .or_default()
                .push(at);
        }
    }

    /// A CPU with its number and what runs on it.
    fn square(&mut self, node: usize, cpu: &CpuPicture, (x, y): (f64, f64)) {
        let bad = cpu.marks.iter().any(|mark| mark.misplaced);
        let (stroke, width) = if bad {
            ("var(--bad)", 2)
        } else {
            ("var(--rule)", 1)
        };
        let names: Vec<&str> = cpu.marks.iter().map(|mark| mark.name.as_str()).collect();
        let (mut words, colour) = match cpu.marks.first() {
            None => (String::new(), ""),
            _ if bad => ("✕".to_owned(), "var(--bad)"),
            Some(mark) => (glyph(mark.kind).to_owned(), ink(mark.kind)),
        };
        if cpu.marks.len() > 1 {
            words.push_str(&cpu.marks.len().to_string());
        }
        let (middle, number) = (x + CPU.0 / 2.0, if words.is_empty() { 22.0 } else { 14.0 });
        self.parts.push(html! {
            rect.pt x=(x) y=(y) width=(CPU.0) height=(CPU.1) fill="var(--paper)" stroke=(stroke) stroke-width=(width) {
                title { "CPU " (cpu.cpu) @if names.is_empty() { ": nothing is pinned here" } @else { ": " (names.join(", ")) } }
            }
            g text-anchor="middle" pointer-events="none" {
                text x=(middle) y=(y + number) font-size="11" fill="var(--muted)" { (cpu.cpu) }
                @if !words.is_empty() { text x=(middle) y=(y + 30.0) font-size="14" fill=(colour) { (words) } }
            }
        });
        self.misplaced(node, &cpu.marks, (middle, y));
    }

    fn range(&mut self, text: &str, (x, y): (f64, f64), width: f64) {
        self.parts.push(html! {
            rect.pt x=(x) y=(y) width=(width) height=(CPU.1) rx="6" fill="var(--paper)" stroke="var(--rule)" stroke-dasharray="4 3" {
                title { (text) ": nothing is pinned here" }
            }
            text x=(x + width / 2.0) y=(y + 22.0) font-size="12" text-anchor="middle" fill="var(--muted)" pointer-events="none" { (text) }
        });
    }

    /// What may run on several CPUs of the node, as many names as fit.
    fn within(&mut self, node: usize, marks: &[Mark], (x, y): (f64, f64), width: f64) {
        let words = |most| format!("On any CPU of the node: {}", names(marks, most));
        let fits = |most: &usize| words(*most).chars().count() as f64 * LETTER <= width;
        let most = (1..=marks.len()).take_while(fits).last().unwrap_or(1);
        self.parts
            .push(html! { text x=(x) y=(y) font-size="12" fill="var(--ink)" { (words(most)) } });
        self.misplaced(node, marks, (x + 4.0, y - 12.0));
    }

    /// From what is misplaced along its row, past the boxes, to its NIC.
    fn arrows(&mut self) {
        for ((from, nic), places) in std::mem::take(&mut self.misplaced) {
            let Some(to) = self.nics.get(&nic) else {
                continue;
            };
            // A NIC further left is reached from the right.
            let rightwards = to.left >= self.lefts[from];
            let (beside, end, back) = if rightwards {
                (to.left - GUTTER / 2.0, to.words.0 - 3.0, -8)
            } else {
                (to.right + GUTTER / 2.0, to.words.1 + 3.0, 8)
            };
            let y = to.y;
            let mut drawn: Vec<Markup> = Vec::new();
            for (x, top) in places {
                let row = top - GAP / 2.0;
                let d = format!("M{x:.1} {top:.1}V{row:.1}H{beside:.1}V{y:.1}H{end:.1}");
                drawn.push(html! { path d=(d) fill="none" stroke="var(--bad)" stroke-width="1.5" stroke-linejoin="round" {} });
            }
            let head = format!("M{end:.1} {y:.1}l{back} -4.5v9Z");
            drawn.push(html! { path d=(head) fill="var(--bad)" {} });
            self.parts.extend(drawn);
        }
    }
}
