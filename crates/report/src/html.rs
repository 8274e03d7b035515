//! One HTML page in one file: no network, no fonts, no images from elsewhere; light, dark,
//! narrow and on paper.

pub(crate) mod axis;
mod cells;
mod control;
mod cpu;
mod flow;
mod front;
mod grid;
mod hardware;
mod heat;
pub mod host;
mod latency;
mod loss;
mod machine;
pub mod measured;
pub(crate) mod page;
mod parameters;
pub(crate) mod parts;
mod sockets;
pub(crate) mod svg;
mod throughput;
mod trials;
mod visits;

use std::io::Write;

use maud::{Markup, html};
use nicety_model::{Run, TrialRecord, Verdict};

use crate::error::ReportError;
use crate::grid::Grid;
use crate::json;
use crate::pick::{self, Group};
use page::{Page, embeddable};
use throughput::{Throughput, Unit};

/// Cells with figures of their own; the others are in the tables.
const DRAWN_CELLS: usize = 24;

/// A section of the page: anchor, title, content.
type Section = (&'static str, &'static str, Markup);

/// Writes the run as one self-contained HTML file. Loss curves need `run.trials`; without
/// trials the page says that they are missing.
///
/// # Errors
/// [`ReportError::Draw`] when a figure cannot be drawn, [`ReportError::Json`] when the run's
/// data cannot be embedded, [`ReportError::Write`] when the writer fails.
pub fn render(run: &Run, out: &mut impl Write) -> Result<(), ReportError> {
    let groups = pick::groups(run);
    let sections = sections(run, &groups)?;
    let figure = match Throughput::new(run, &groups) {
        Some(throughput) => throughput.figure(Unit::Fps, "Throughput")?,
        None => html! {},
    };
    let first = match groups.is_empty() && !run.sockets.is_empty() {
        true => "#sockets",
        false => "#throughput",
    };
    let page = Page {
        title: &format!("{} · nicety", run.run.name),
        generator: Some(&format!("nicety {}", run.run.host.nicety)),
        body: html! {
            a.skip href=(first) { "Skip to the results" }
            (front::head(run, &groups))
            main {
                (figure)
                (front::tiles(&groups))
                nav aria-label="Sections" {
                    ul { @for (id, title, _) in &sections { li { a href={ "#" (id) } { (title) } } } }
                }
                @for (id, title, body) in &sections { (parts::section(id, title, body.clone())) }
            }
            footer {
                p { "Written by nicety " (run.run.host.nicety) ". Terms as in RFC 1242 and RFC 2544; frame sizes include the FCS." }
                button #save .download type="button" hidden { "Save this run as JSON" }
            }
        },
        data: data(run)?,
        data_name: "nicety-run.json",
    };
    page.write(out)
}

/// The run for saving it from the page: shorter numbers when there are very many.
fn data(run: &Run) -> Result<String, ReportError> {
    let style = match run.cells.len() > parts::ROWS {
        true => json::Style::Short,
        false => json::Style::Compact,
    };
    Ok(embeddable(&json::text(run, style)?))
}

fn sections(run: &Run, groups: &[Group<'_>]) -> Result<Vec<Section>, ReportError> {
    let sockets = sockets::section(run)?;
    let mut all: Vec<Section> = Vec::new();
    if sockets.is_none() || !groups.is_empty() {
        all.push(("throughput", "Throughput", results(run, groups)?));
    }
    let rankings = crate::grid::rankings(groups);
    if !rankings.is_empty() {
        all.push(("ranking", "Ranking of the paths", grids(&rankings)));
    }
    if let Some(map) = heat::map(groups) {
        all.push(("matrix", "The matrix", map));
    }
    if let Some(maps) = parameters::section(groups) {
        all.push(("parameters", "Which parameter matters", maps));
    }
    let directions = crate::grid::directions(groups);
    if !directions.is_empty() {
        all.push(("directions", "One direction and both", grids(&directions)));
    }
    if let Some(sockets) = sockets {
        all.push(("sockets", "Socket workloads", sockets));
    }
    if let Some(notes) = cells::notes(run, groups) {
        all.push(("notes", "Notes", notes));
    }
    if !groups.is_empty() {
        all.push(("loss", "Loss against load", losses(run, groups)?));
        all.push(("latency", "Latency", latencies(groups)?));
        all.push(("cpu", "CPU time", cpus(groups)?));
        all.push(("ledger", "Where frames died", deaths(groups)?));
    }
    if let Some(control) = &run.control {
        all.push(("control", "Control cell", control::section(control)?));
    }
    if !run.skipped.is_empty() || !run.left_out.is_empty() {
        all.push(("missing", "Skipped and left out", missing(run)));
    }
    if run.sockets.is_empty() || !groups.is_empty() {
        all.push(("verdicts", "What the verdicts mean", meanings(groups)));
    }
    all.push(("machine", "Machine", machine::fingerprint(run)));
    all.push((
        "repeat",
        "Repeat it",
        html! { pre { code { (run.run.command) } } },
    ));
    if !run.trials.is_empty() {
        let body = html! {
            details {
                summary { "All " (crate::words::plural(run.trials.len(), "trial")) }
                (trials::table(run))
            }
        };
        all.push(("trials", "Trials", body));
    }
    Ok(all)
}

fn grids(grids: &[Grid]) -> Markup {
    html! { @for grid in grids { (grid::table(grid)) } }
}

fn results(run: &Run, groups: &[Group<'_>]) -> Result<Markup, ReportError> {
    let Some(throughput) = Throughput::new(run, groups) else {
        return Ok(html! {
            p { "No cell has a throughput." }
            @if !groups.is_empty() { (cells::results(groups)) }
        });
    };
    Ok(html! {
        (cells::results(groups))
        (visits::how(run, groups))
        (throughput.figure(Unit::L1, "Bit rate")?)
        (throughput.remarks())
    })
}

/// Figures of the first cells that have one, in a grid, each under its name and verdict.
fn figures(
    groups: &[Group<'_>],
    draw: impl Fn(&Group<'_>) -> Result<Option<Markup>, ReportError>,
    below: impl Fn(&Group<'_>) -> Markup,
) -> Result<Option<Markup>, ReportError> {
    let mut drawn = Vec::new();
    for group in groups {
        if drawn.len() == DRAWN_CELLS {
            break;
        }
        if let Some(figure) = draw(group)? {
            drawn.push(html! {
                figure {
                    figcaption { strong { (group.name) } (parts::badge(group.verdict())) }
                    (figure)
                    (below(group))
                }
            });
        }
    }
    if drawn.is_empty() {
        return Ok(None);
    }
    let capped = drawn.len() == DRAWN_CELLS && groups.len() > DRAWN_CELLS;
    Ok(Some(html! {
        div.grid { @for figure in &drawn { (figure) } }
        @if capped {
            p.muted {
                "Drawn for the first " (DRAWN_CELLS) " of " (groups.len()) " cells; the tables have them all."
            }
        }
    }))
}

fn losses(run: &Run, groups: &[Group<'_>]) -> Result<Markup, ReportError> {
    let by_cell = pick::trials_by_cell(run);
    let none: Vec<&TrialRecord> = Vec::new();
    let grid = figures(
        groups,
        |group| loss::figure(group, by_cell.get(group.name).unwrap_or(&none)),
        |_| html! {},
    )?;
    Ok(match grid {
        Some(grid) => html! {
            p { "Every trial of the search: intended load in frames/s against the share of frames lost, on a logarithmic scale with zero on a line of its own." }
            (loss::legend())
            (grid)
        },
        None => html! { p { "The trials are not at hand, so no curve is drawn." } },
    })
}

fn latencies(groups: &[Group<'_>]) -> Result<Markup, ReportError> {
    let known = latency::load_shares(groups);
    let grid = figures(groups, |group| latency::figure(group, &known), |_| html! {})?;
    Ok(match grid {
        Some(grid) => html! {
            p { "One-way, from the stamp of sending to the receiver’s clock on the same machine, on a logarithmic scale." }
            (latency::legend(&known))
            (grid)
            (latency::table(groups))
            (hardware::table(groups))
        },
        None => html! { p { "Latency was not measured." } },
    })
}

fn cpus(groups: &[Group<'_>]) -> Result<Markup, ReportError> {
    let grid = figures(groups, cpu::figure, cpu::who)?;
    let any = groups.iter().any(|group| group.shown.cpu.is_some());
    Ok(html! {
        @if let Some(grid) = grid {
            p { "Share of each core’s time while the confirm trial sent at the throughput." }
            (cpu::legend())
            (grid)
        }
        @if any { (cpu::table(groups)) } @else { p { "CPU time was not read." } }
    })
}

fn deaths(groups: &[Group<'_>]) -> Result<Markup, ReportError> {
    let grid = figures(groups, |group| Ok(flow::figure(group)), |_| html! {})?;
    Ok(html! {
        @if let Some(grid) = grid {
            p {
                "The lost frames of a cell as a stream, from left to right the way they went: at every place "
                "some fall out, with their share of all that were lost."
            }
            (grid)
        }
        (cells::ledger(groups))
    })
}

fn missing(run: &Run) -> Markup {
    html! {
        @if !run.skipped.is_empty() {
            (parts::table(
                "Skipped: this machine cannot build them",
                html! { tr { th scope="col" { "cell" } th scope="col" { "what is missing" } th scope="col" { "what to do" } } },
                html! {
                    @for cell in &run.skipped {
                        tr { th scope="row" { (cell.cell) } td.wrap { (cell.reason) } td.wrap { (cell.remedy) } }
                    }
                },
            ))
        }
        @if !run.left_out.is_empty() {
            p { "Left out by the time box or an interruption: " (run.left_out.join(", ")) "." }
        }
    }
}

/// Every verdict with its meaning and how many cells have it.
fn meanings(groups: &[Group<'_>]) -> Markup {
    html! {
        dl.meaning {
            @for verdict in Verdict::ALL {
                dt { (parts::badge(verdict)) }
                dd {
                    (verdict.meaning()) " "
                    @match groups.iter().filter(|g| g.verdict() == verdict).count() {
                        0 => {}
                        n => { span.muted { "(" (crate::words::plural(n, "cell")) ")" } }
                    }
                }
            }
        }
    }
}
