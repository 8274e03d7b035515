//! CPU time per core at the throughput.

use maud::{Markup, html};
use nicety_model::{CoreUse, CpuUse};

use super::axis::Axis;
use super::parts;
use super::svg::{self, Frame, Ink};
use crate::error::ReportError;
use crate::number::{self, ABSENT};
use crate::pick::Group;
use crate::threads;

/// Cores drawn per cell; of more, the busiest.
pub const CORES: usize = 24;

const PARTS: [(Ink, &str, &str); 6] = [
    (Ink::User, "cpu-user", "user"),
    (Ink::System, "cpu-system", "system, kernel threads"),
    (Ink::Irq, "cpu-irq", "irq"),
    (Ink::Softirq, "cpu-softirq", "softirq"),
    (Ink::Steal, "cpu-steal", "stolen"),
    (Ink::Idle, "cpu-idle", "idle"),
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
///
/// # Errors
/// [`ReportError::Draw`] when plotters refuses.
pub fn figure(group: &Group<'_>) -> Result<Option<Markup>, ReportError> {
    let Some(cpu) = group.shown.cpu.as_ref().filter(|c| !c.cores.is_empty()) else {
        return Ok(None);
    };
    let cores = busiest(cpu);
    let x = Axis {
        min: 0.0,
        max: 1.0,
        ticks: [0.0, 0.25, 0.5, 0.75, 1.0]
            .map(|at| (at, number::share(at)))
            .to_vec(),
        log: false,
    };
    let rows = cores.len() as f64;
    let y = Axis {
        min: -0.5,
        max: rows - 0.5,
        // The first core stands at the top.
        ticks: cores
            .iter()
            .enumerate()
            .map(|(n, core)| (rows - 1.0 - n as f64, format!("CPU {}", core.cpu)))
            .collect(),
        log: false,
    };
    let label = label(group, cpu, &cores);
    let height = 40 + 26 * cores.len() as i32;
    let frame = Frame::small(height, 56, (&x, &y), &label);
    svg::draw(&frame, |plot| {
        for (n, core) in cores.iter().enumerate() {
            let middle = rows - 1.0 - n as f64;
            let mut from = 0.0;
            for (share, (ink, _, _)) in shares(core).into_iter().zip(PARTS) {
                if share.is_finite() && share > 0.0 {
                    let to = (from + share).min(1.0);
                    plot.bar((from, middle - 0.34), (to, middle + 0.34), ink)?;
                    from = to;
                }
            }
        }
        Ok(())
    })
    .map(Some)
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

/// Who used the CPUs, under a figure.
pub fn who(group: &Group<'_>) -> Markup {
    let Some(cpu) = &group.shown.cpu else {
        return html! {};
    };
    html! {
        p.muted {
            @if cpu.cores.len() > CORES {
                "The " (CORES) " busiest of " (cpu.cores.len()) " CPUs. "
            }
            @match threads::users(cpu) {
                Some(users) => { "CPUs’ worth of time: " (users) }
                None => { (ABSENT) }
            }
        }
    }
}

/// The parts of a bar, once for all figures.
pub fn legend() -> Markup {
    html! {
        ul.legend {
            @for (_, class, name) in PARTS {
                li { span class={ "key swatch " (class) } aria-hidden="true" {} (name) }
            }
        }
    }
}

/// Table of every cell's busiest CPU and users.
pub fn table(groups: &[Group<'_>]) -> Markup {
    let guests = groups.iter().any(|g| {
        let cpu = g.shown.cpu.as_ref();
        cpu.is_some_and(|cpu| !cpu.guests.is_empty())
    });
    let rows = || {
        groups
            .iter()
            .filter_map(|g| Some((g, g.shown.cpu.as_ref()?)))
    };
    let row = |(group, cpu): (&Group<'_>, &CpuUse)| {
        html! {
            tr {
                th scope="row" { (group.name) }
                @match &cpu.busiest {
                    Some(busiest) => {
                        td.num { (busiest.cpu) }
                        td.num { (number::share(busiest.busy_ratio)) }
                        td {
                            @match cpu.polls_on_busiest() {
                                Some(thread) => {
                                    (thread.who) " "
                                    span.muted { "(" (threads::polls(thread)) ")" }
                                }
                                None => { (threads::greatest_user(busiest)) }
                            }
                        }
                    }
                    None => { td.num { (ABSENT) } td.num { (ABSENT) } td { (ABSENT) } }
                }
                td.num {
                    @match cpu.us_per_frame.filter(|us| us.is_finite()) {
                        Some(us) => { (number::significant(us, 3)) }
                        None => { (ABSENT) }
                    }
                }
                td { (threads::users(cpu).unwrap_or_else(|| ABSENT.to_owned())) }
                @if guests {
                    td {
                        @if cpu.guests.is_empty() { (ABSENT) } @else {
                            ul.plain { @for guest in threads::guests(cpu) { li { (guest) } } }
                        }
                    }
                }
                td { (parts::badge(group.verdict())) }
            }
        }
    };
    let listed = parts::long_table(
        "CPU use during the confirm trial",
        &html! {
            tr {
                th scope="col" { "cell" }
                th.num scope="col" { "busiest CPU" }
                th.num scope="col" { "busy" }
                th scope="col" { "greatest user" }
                th.num scope="col" { "path’s CPU time, µs/frame" }
                th scope="col" { "who, CPUs’ worth of time" }
                @if guests { th scope="col" { "guests, by their own count" } }
                th scope="col" { "verdict" }
            }
        },
        &rows().take(parts::ROWS).map(row).collect::<Vec<_>>(),
    );
    html! { (listed) (parts::cut_off(rows().count())) }
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
