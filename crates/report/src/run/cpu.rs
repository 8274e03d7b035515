//! CPU time per core at the throughput.

use maud::{Markup, html};
use nicety_model::{CoreUse, CpuUse};

use crate::document::{Cell, Table, columns};
use crate::figure::axis::Axis;
use crate::figure::svg::{self, Frame, Ink};
use crate::figure::{self, Room, key};
use crate::number;
use crate::pick::Group;
use crate::threads;

/// Cores drawn per cell; of more, the busiest.
const CORES: usize = 24;

const PARTS: [(&str, &str); 6] = [
    ("cpu-user", "user"),
    ("cpu-system", "system, kernel threads"),
    ("cpu-irq", "irq"),
    ("cpu-softirq", "softirq"),
    ("cpu-steal", "stolen"),
    ("cpu-idle", "idle"),
];

fn shares(core: &CoreUse) -> [f64; 6] {
    [
        core.user,
        core.system,
        core.irq,
        core.softirq,
        core.steal,
        core.idle,
    ]
}

/// Draws a cell's cores as stacked bars; `None` when the cores were not read.
pub(super) fn figure(group: &Group<'_>, room: Room) -> Option<Markup> {
    let cpu = group.shown.cpu.as_ref().filter(|c| !c.cores.is_empty())?;
    let cores = busiest(cpu);
    let ticks = [0.0, 0.25, 0.5, 0.75, 1.0].map(|at| (at, number::share(at)));
    let x = Axis::linear(0.0, 1.0, ticks.to_vec()).named("share of its time");
    let rows = cores.len() as f64;
    // The first core stands at the top.
    let names = cores.iter().enumerate();
    let names = names.map(|(n, core)| (rows - 1.0 - n as f64, format!("CPU {}", core.cpu)));
    let y = Axis::linear(-0.5, rows - 0.5, names.collect());
    let label = label(group, cpu, &cores);
    Some(room.draw(56.0 + 26.0 * rows, |size| {
        let frame = Frame {
            size,
            axes: (&x, &y),
            label: &label,
        };
        svg::draw(&frame, |plot| {
            for (n, core) in cores.iter().enumerate() {
                let middle = rows - 1.0 - n as f64;
                let mut from = 0.0;
                for (share, (class, part)) in shares(core).into_iter().zip(PARTS) {
                    if share.is_finite() && share > 0.0 {
                        let to = (from + share).min(1.0);
                        let told = format!("CPU {}, {part}: {}", core.cpu, number::share(share));
                        let (low, high) = ((from, middle - 0.34), (to, middle + 0.34));
                        plot.bar(low, high, Ink::Cpu(class), &told);
                        from = to;
                    }
                }
            }
        })
    }))
}

/// At most [`CORES`] cores: the busiest, in order of number.
fn busiest(cpu: &CpuUse) -> Vec<&CoreUse> {
    let mut cores: Vec<&CoreUse> = cpu.cores.iter().collect();
    if cores.len() > CORES {
        cores.sort_by(|a, b| a.idle.total_cmp(&b.idle));
        cores.truncate(CORES);
        cores.sort_by_key(|core| core.cpu);
    }
    cores
}

/// How many of the cores a figure leaves out.
pub(super) fn left_out(group: &Group<'_>) -> Markup {
    let cores = group.shown.cpu.as_ref().map_or(0, |cpu| cpu.cores.len());
    html! {
        @if cores > CORES { p.muted { "The " (CORES) " busiest of " (cores) " CPUs." } }
    }
}

/// The parts of a bar, once for all figures.
pub(super) fn legend() -> Markup {
    figure::legend(&PARTS.map(|(class, name)| key(&format!("swatch {class}"), "", name)))
}

/// Table of every cell's busiest CPU and users; nothing where CPU time was not read.
pub(super) fn table(groups: &[Group<'_>]) -> Option<Table> {
    let rows = groups
        .iter()
        .filter_map(|g| Some((g, g.shown.cpu.as_ref()?)));
    let table = Table::first(
        "CPU use during the confirm trial",
        rows,
        columns![|(group, cpu)|
            "cell" Name: group.name;
            "busiest CPU" Number: cpu.busiest.as_ref().map(|b| b.cpu);
            "busy" Number: Cell::number(cpu.busiest.as_ref().map(|b| b.busy_ratio), number::share);
            "greatest user" Text: greatest_user(cpu);
            "path’s CPU time, µs/frame" Number: Cell::number(cpu.us_per_frame, |us| number::significant(us, 3));
            "who used the CPUs (1.00 is one CPU)" Text: threads::users(cpu);
            "guests, by their own count" Text: threads::guests(cpu);
        ],
    );
    let table = table.speaking(|heading, cell| !heading.starts_with("guests") || !cell.is_absent());
    (table.total > 0).then_some(table)
}

fn greatest_user(cpu: &CpuUse) -> Cell {
    match (&cpu.busiest, cpu.polls_on_busiest()) {
        (None, _) => Cell::absent(),
        (_, Some(thread)) => Cell::from(&thread.who).details([threads::polls(thread)]),
        (Some(busiest), None) => threads::greatest_user(busiest).into(),
    }
}

fn label(group: &Group<'_>, cpu: &CpuUse, cores: &[&CoreUse]) -> String {
    let busy: Vec<String> = cores
        .iter()
        .map(|core| format!("CPU {} {}", core.cpu, number::share(core.busy())))
        .collect();
    let mut text = format!(
        "CPU time per core for {} at its throughput, busy: {}",
        group.name,
        busy.join(", ")
    );
    if let Some(busiest) = &cpu.busiest {
        text.push_str(&format!(
            "; busiest is CPU {} with {}",
            busiest.cpu, busiest.who
        ));
    }
    text.push_str(&format!("; verdict {}", group.verdict()));
    text
}
