//! A recorded run of the police as one HTML file.

use std::io::Write;

use maud::{Markup, html};
use nicety_model::policed::Policed;

use super::points::{self, Point};
use super::{COLUMNS, LEGEND, answer, figure, rate, rows};
use crate::error::ReportError;
use crate::html::page::{Page, embeddable};
use crate::html::parts;
use crate::html::svg::SERIES;
use crate::number::{self, ABSENT};
use crate::words::plural;

/// Tenants with a figure of their own; the others are in the tables.
const DRAWN: usize = 24;

/// Writes the record as one self-contained HTML file.
///
/// # Errors
/// [`ReportError::Draw`] when a figure cannot be drawn, [`ReportError::Json`] when the data cannot
/// be embedded, [`ReportError::Write`] when the writer fails.
pub fn render(run: &Policed, out: &mut impl Write) -> Result<(), ReportError> {
    let data = serde_json::to_string(run).map_err(|source| ReportError::Json {
        name: run.run.policy.clone(),
        source,
    })?;
    let points = points::points(run);
    let shown = most(run);
    let mut answer = answer(run).into_iter();
    let page = Page {
        title: &format!("{} · nicety", run.run.policy),
        generator: Some(&format!("nicety {}", run.host.nicety)),
        body: html! {
            a.skip href="#tenants" { "Skip to the tenants" }
            header {
                p.eyebrow { "nicety police run" }
                h1 { (run.run.policy) }
                p.lead { (answer.next().unwrap_or_default()) }
                @for more in answer { p.lead.second { (more) } }
            }
            main {
                (together(run, &points, &shown)?)
                (parts::section("tenants", "Tenants", tenants(run)))
                @if !points.is_empty() {
                    (parts::section("limits", "Rates and limits", limits(run, &points)?))
                    (parts::section("periods", "Over time", periods(run, &points, &shown)))
                }
                (parts::section("ports", "Ports", ports(run)))
                @if !run.notes.is_empty() {
                    (parts::section("notes", "Notes", html! { ul { @for note in &run.notes { li { (note.to_string()) } } } }))
                }
                (parts::section("machine", "Machine", machine(run)))
                (parts::section("repeat", "Repeat it", html! { pre { code { (run.run.command) } } }))
            }
            footer {
                p { "Written by nicety " (run.host.nicety) ". Rates count preamble and gap, as the link does." }
                button #save .download type="button" hidden { "Save this record as JSON" }
            }
        },
        data: embeddable(&data),
        data_name: "nicety-police.json",
    };
    page.write(out)
}

/// Tenants whose lines stand in one figure: those that sent most, in the order of the policy.
fn most(run: &Policed) -> Vec<usize> {
    let mut order: Vec<usize> = (0..run.summary.len()).collect();
    order.sort_by(|a, b| {
        let mean = |at: &usize| run.summary[*at].mean_bps;
        mean(b).total_cmp(&mean(a)).then(a.cmp(b))
    });
    order.truncate(SERIES);
    order.sort_unstable();
    order
}

/// What a point is, where it is not one period.
fn means(run: &Policed) -> String {
    match points::step(run) {
        1 => "each period is a point".to_owned(),
        step => format!("each point is the mean of {}", plural(step, "period")),
    }
}

fn together(run: &Policed, points: &[Point], shown: &[usize]) -> Result<Markup, ReportError> {
    if points.is_empty() {
        return Ok(html! { p { "No period was recorded, so nothing is drawn." } });
    }
    let figures = figure::together(run, points, shown)?;
    let more = run.run.tenants.len() - shown.len();
    Ok(html! {
        figure {
            figcaption {
                strong { "Who sent how much" }
                " " span.muted { "Mbit/s on the wire over time; " (means(run)) }
            }
            ul.legend {
                @for (place, tenant) in shown.iter().enumerate() {
                    @if let Some(tenant) = run.run.tenants.get(*tenant) {
                        li { span class={ "key s" (place) } aria-hidden="true" { "━" } (tenant.name) }
                    }
                }
                li { span.key.dash-line aria-hidden="true" {} "all together" }
                li { span.key.rule-line aria-hidden="true" {} "the link" }
                li { span.key.goal-line aria-hidden="true" {} "what of it is shared" }
            }
            @for figure in figures { (figure) }
            @if more > 0 {
                p.muted { "Drawn for the " (shown.len()) " of " (run.run.tenants.len()) " tenants that sent most." }
            }
        }
    })
}

fn tenants(run: &Policed) -> Markup {
    html! {
        (parts::table(
            "Tenants over the whole record",
            html! {
                tr {
                    @for (place, (name, _)) in COLUMNS.iter().enumerate() {
                        th.num[place > 0] scope="col" { (name) }
                    }
                }
            },
            html! {
                @for (tenant, one) in rows(run) {
                    @let values = [
                        None, Some(tenant.weight), Some(tenant.guarantee_bps), tenant.cap_bps,
                        Some(one.mean_bps), Some(one.max_bps), Some(one.limit_max_bps), Some(one.held_ratio),
                    ];
                    tr {
                        @for (place, ((_, of), value)) in COLUMNS.iter().zip(values).enumerate() {
                            @if place == 0 { th scope="row" { (of(tenant, one)) } }
                            @else { td.num data-v=[value] { (of(tenant, one)) } }
                        }
                    }
                }
            },
        ))
        p.muted { (LEGEND) }
    }
}

fn limits(run: &Policed, points: &[Point]) -> Result<Markup, ReportError> {
    let mut figures = Vec::new();
    for (tenant, one) in run.summary.iter().enumerate().take(DRAWN) {
        figures.push((one, figure::alone(one, points, tenant)?));
    }
    let all = run.summary.len();
    Ok(html! {
        ul.legend {
            li { span.key.s0 aria-hidden="true" { "━" } "rate" }
            li { span.key.s1 aria-hidden="true" { "━" } "demand, where it is less than everything" }
            li { span.key.goal-line aria-hidden="true" {} "limit in force" }
            li { span.key.rule-line aria-hidden="true" {} "hard limit: the cap, else the link" }
            li { span.key.dash-line aria-hidden="true" {} "soft limit, set by the guest" }
        }
        div.grid {
            @for (one, figure) in &figures {
                figure {
                    figcaption {
                        strong { (one.tenant) }
                        " " span.muted { "Mbit/s; held " (number::share(one.held_ratio)) " of the time" }
                    }
                    (figure)
                }
            }
        }
        @if all > DRAWN {
            p.muted { "Drawn for the first " (DRAWN) " of " (all) " tenants; the tables have them all." }
        }
    })
}

fn periods(run: &Policed, points: &[Point], shown: &[usize]) -> Markup {
    let mbps = |bps: f64| number::mbps(Some(bps / 1e6));
    let head = html! {
        tr {
            th.num scope="col" { "s" }
            th.num scope="col" { "all" }
            @for tenant in shown {
                @if let Some(tenant) = run.run.tenants.get(*tenant) {
                    th.num scope="col" { (tenant.name) }
                    th.num scope="col" { (tenant.name) ", limit" }
                }
            }
        }
    };
    let rows: Vec<Markup> = points
        .iter()
        .map(|point| {
            html! {
                tr {
                    th.num scope="row" { (number::significant(point.at_s, 4)) }
                    td.num { (mbps(point.total_bps)) }
                    @for tenant in shown {
                        @if let Some(rates) = point.tenants.get(*tenant) {
                            td.num { (mbps(rates.rate_bps)) }
                            td.num { (mbps(rates.limit_bps)) }
                        }
                    }
                }
            }
        })
        .collect();
    html! {
        details {
            summary { "Rates and limits as numbers" }
            (parts::long_table(&format!("Mbit/s over time, {}", means(run)), &head, &rows))
        }
    }
}

fn ports(run: &Policed) -> Markup {
    let last = run.periods.last();
    parts::table(
        "Ports, with their last period",
        html! {
            tr {
                th scope="col" { "port" }
                th scope="col" { "tenant" }
                th.num scope="col" { "rate" }
                th.num scope="col" { "limit" }
                th scope="col" { "there" }
            }
        },
        html! {
            @for (place, port) in run.run.ports.iter().enumerate() {
                @let rates = last.and_then(|last| last.ports.get(place));
                @let limit = rates.map(|r| r.limit_bps).filter(|limit| *limit > 0.0);
                @let sent = rates.and_then(|r| r.rate_bps);
                tr {
                    th scope="row" { (port.name) }
                    td { (run.run.tenants.get(port.tenant).map_or("", |t| t.name.as_str())) }
                    td.num data-v=[sent] { (sent.map_or_else(|| ABSENT.to_owned(), rate)) }
                    td.num data-v=[limit] { (limit.map_or_else(|| ABSENT.to_owned(), rate)) }
                    td { (match rates { Some(r) if r.present => "yes", Some(_) => "no", None => ABSENT }) }
                }
            }
        },
    )
}

fn machine(run: &Policed) -> Markup {
    let facts = [
        ("nicety", run.host.nicety.clone()),
        ("kernel", run.host.kernel.clone()),
        ("CPU", run.host.cpu_model.clone()),
        ("CPUs online", run.host.cpus.to_string()),
        ("started", run.run.started.clone()),
        ("period", number::seconds(run.run.period_s)),
    ];
    parts::table(
        "The machine and the run",
        html! { tr { th scope="col" { "what" } th scope="col" { "value" } } },
        html! { @for (what, value) in facts { tr { th scope="row" { (what) } td.wrap { (value) } } } },
    )
}
