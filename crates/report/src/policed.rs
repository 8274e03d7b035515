//! A recorded run of the police: who sent how much of a link, and might send how much.

mod csv;
mod figure;
mod means;

use maud::{Markup, html};
use nicety_model::policed::{Policed, PolicedSummary};

use crate::Report;
use crate::document::Kind::{Number, Place};
use crate::document::{Block, Cell, Document, Medium, Table, columns};
use crate::error::ReportError;
use crate::figure::svg::SERIES;
use crate::figure::{Key, fill, grid, key, legend, not_all, series};
use crate::json;
use crate::note;
use crate::number::{self, plural};
use crate::run::machine::{facts_table, host_facts};
use means::PeriodMean;

pub use csv::render as csv;

/// Tenants named in the answer; more are counted.
const NAMED: usize = 3;
/// Share of the periods from which a tenant counts as one that its limit held.
const OFTEN: f64 = 0.05;

/// Bits per second in words.
fn rate(bps: f64) -> String {
    number::bit_rate(bps / 1e6)
}

/// What was shared and who had how much, in one sentence; and who was held back, in another.
fn answer(run: &Policed) -> Vec<String> {
    let tenants = plural(run.run.tenants.len(), "tenant");
    let link = rate(run.run.capacity_bps);
    let Some(last) = run.periods.last() else {
        return vec![format!(
            "{tenants} were to share {link}; no period was recorded"
        )];
    };
    let of = |one: &PolicedSummary| format!("{} {}", one.tenant, rate(one.mean_bps));
    let mut by_rate: Vec<&PolicedSummary> = run.summary.iter().collect();
    by_rate.sort_by(|a, b| b.mean_bps.total_cmp(&a.mean_bps));
    let named: Vec<String> = by_rate.iter().map(|one| of(one)).collect();
    let mut all = vec![format!(
        "{tenants} shared {link} for {}; on average {}",
        number::seconds(last.at_s),
        number::first_few(&named, NAMED, ", ")
    )];
    by_rate.retain(|one| one.held_ratio >= OFTEN);
    by_rate.sort_by(|a, b| b.held_ratio.total_cmp(&a.held_ratio));
    if by_rate.is_empty() {
        all.push("everybody got what was asked for".to_owned());
    } else {
        let of = |one: &&PolicedSummary| {
            format!(
                "{} {} of the time",
                one.tenant,
                number::share(one.held_ratio)
            )
        };
        let held: Vec<String> = by_rate.iter().take(NAMED).map(of).collect();
        let more = by_rate.len() - held.len();
        let rest = match more {
            0 => String::new(),
            more => format!(", {more} more less often"),
        };
        all.push(format!("held by their limits: {}{rest}", held.join(", ")));
    }
    all
}

/// What the columns mean.
const LEGEND: &str = "Rates count what a frame takes on the wire. limit: the lowest and highest of \
                      the record; held: share of the periods in which it wanted more than that.";

/// The answer, then each tenant; figures over time on a page.
impl Report for Policed {
    fn document(&self, medium: Medium) -> Result<Document, ReportError> {
        let run = self;
        let mut doc = Document::new(medium, &run.run.policy);
        doc.host = run.host.called();
        doc.answer = answer(run)
            .into_iter()
            .map(|sentence| vec![sentence])
            .collect();
        let others = others(run).map(Block::Table);
        let tables = [Block::Table(tenants(run))].into_iter().chain(others);
        doc.main("tenants", "Tenants", tables.collect());
        if medium == Medium::Page {
            page(&mut doc, run)?;
        }
        doc.list("notes", "Notes", note::lines(&run.notes));
        if medium != Medium::Terminal {
            let mut facts = host_facts(&run.host).to_vec();
            facts.extend([
                ("started", run.run.started.clone()),
                ("period", number::seconds(run.run.period_s)),
                (
                    "shared",
                    format!(
                        "{} of {}",
                        rate(run.run.shared_bps),
                        rate(run.run.capacity_bps)
                    ),
                ),
            ]);
            let table = facts_table("The machine and the run", &facts);
            doc.section("machine", "Machine", vec![Block::Table(table)]);
            doc.section(
                "repeat",
                "Repeat it",
                vec![Block::Code(run.run.command.clone())],
            );
        }
        Ok(doc)
    }
}

/// Figures and tables that only a page has room for, and what is around them.
fn page(doc: &mut Document, run: &Policed) -> Result<(), ReportError> {
    let points = means::points(run);
    let shown = most(run);
    doc.page.figure = Some(together(run, &points, &shown));
    doc.page.generator = Some(format!("nicety {}", run.host.nicety));
    doc.page.eyebrow = "nicety police run".to_owned();
    doc.page.footer = format!(
        "Written by nicety {}. Rates count preamble and gap, as the link does.",
        run.host.nicety
    );
    doc.page.data = json::compact(&run.run.policy, run)?;
    doc.page.save = ("Save this record as JSON", "nicety-police.json");
    if !points.is_empty() {
        doc.section(
            "limits",
            "Rates and limits",
            vec![Block::Drawn(limits(run, &points))],
        );
        let periods = vec![Block::Table(periods(run, &points, &shown))];
        let folded = Block::Folded("Rates and limits as numbers".to_owned(), periods);
        doc.section("periods", "Over time", vec![folded]);
    }
    doc.section("ports", "Ports", vec![Block::Table(ports(run))]);
    Ok(())
}

/// A rate to sort by, in words.
fn rated(bps: Option<f64>) -> Cell {
    Cell::sorted(bps, rate)
}

/// Each tenant beside what it came to.
fn tenants(run: &Policed) -> Table {
    Table::of(
        "Tenants over the whole record",
        run.run.tenants.iter().zip(&run.summary),
        columns![|(tenant, one)|
            "tenant" Name: &tenant.name;
            "weight" Number: tenant.weight;
            "guarantee" Number: rated(Some(tenant.guarantee_bps).filter(|bps| *bps > 0.0));
            "cap" Number: rated(tenant.cap_bps);
            "mean rate" Number: rated(Some(one.mean_bps));
            "highest rate" Number: rated(Some(one.max_bps));
            "limit" Number: limit(one);
            "held" Number: Cell::sorted(one.held_ratio, number::share);
        ],
    )
    .legend(LEGEND)
}

/// What tenants received, and packets of both directions; none where the policy limits neither.
fn others(run: &Policed) -> Option<Table> {
    let packets = |pps: f64| format!("{pps:.0}");
    let limited = |one: &&PolicedSummary| {
        let all = [one.received_mean_bps, one.mean_pps, one.received_mean_pps];
        all.iter().any(Option::is_some)
    };
    let rows: Vec<&PolicedSummary> = run.summary.iter().filter(limited).collect();
    (!rows.is_empty()).then(|| {
        Table::of(
            "What they received, and packets: means of the whole record",
            rows,
            columns![|one|
                "tenant" Name: &one.tenant;
                "received" Number: Cell::sorted(one.received_mean_bps, rate);
                "packets/s" Number: Cell::sorted(one.mean_pps, packets);
                "received packets/s" Number: Cell::sorted(one.received_mean_pps, packets);
            ],
        )
    })
}

/// The limit in force, or the least and the most that it was.
fn limit(one: &PolicedSummary) -> Cell {
    let (min, max) = (rate(one.limit_min_bps), rate(one.limit_max_bps));
    let text = if one.limit_min_bps == one.limit_max_bps {
        min
    } else {
        format!("{min} to {max}")
    };
    Cell::from(text).by(Some(one.limit_max_bps))
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
    match means::step(run) {
        1 => "each period is a point".to_owned(),
        step => format!("each point is the mean of {}", plural(step, "period")),
    }
}

fn together(run: &Policed, points: &[PeriodMean], shown: &[usize]) -> Markup {
    if points.is_empty() {
        return html! { p { "No period was recorded, so nothing is drawn." } };
    }
    let named = shown
        .iter()
        .filter_map(|tenant| run.run.tenants.get(*tenant))
        .enumerate();
    let mut keys: Vec<Key> = named
        .map(|(place, tenant)| series(place, &tenant.name))
        .collect();
    keys.push(key("dash-line", "", "all together"));
    keys.push(key("rule-line", "", "the link"));
    keys.push(key("goal-line", "", "what of it is shared"));
    let (more, all) = (run.run.tenants.len() - shown.len(), run.run.tenants.len());
    let body = html! {
        (legend(&keys))
        (figure::together(run, points, shown))
        @if more > 0 {
            p.muted { "Drawn for the " (shown.len()) " of " (all) " tenants that sent most." }
        }
    };
    crate::figure::figure("Who sent how much", &means(run), body)
}

fn limits(run: &Policed, points: &[PeriodMean]) -> Markup {
    let tenants: Vec<(usize, &PolicedSummary)> = run.summary.iter().enumerate().collect();
    let figures = fill(&tenants, |(tenant, one), room| {
        let about = format!("held {} of the time", number::share(one.held_ratio));
        let drawn = figure::alone(one, points, *tenant, room);
        Some(crate::figure::figure(&one.tenant, &about, drawn))
    });
    let keys = [
        key("s0", "━", "rate"),
        key("s1", "┄", "demand, where it is less than everything"),
        key("goal-line", "", "limit in force"),
        key("rule-line", "", "hard limit: the cap, else the link"),
        key("dash-line", "", "soft limit, set by the guest"),
    ];
    html! { (legend(&keys)) (grid(&figures)) (not_all(run.summary.len(), "tenants")) }
}

fn periods(run: &Policed, points: &[PeriodMean], shown: &[usize]) -> Table {
    let mbps = |bps: f64| Cell::from(number::mbps(Some(bps / 1e6)));
    let mut head = vec![("s".to_owned(), Place), ("all".to_owned(), Number)];
    for tenant in shown
        .iter()
        .filter_map(|tenant| run.run.tenants.get(*tenant))
    {
        head.push((tenant.name.clone(), Number));
        head.push((format!("{}, limit", tenant.name), Number));
    }
    let mut table = Table::new(format!("Mbit/s over time, {}", means(run)), head);
    for point in points {
        let mut row = vec![
            number::significant(point.at_s, 4).into(),
            mbps(point.total_bps),
        ];
        for rates in shown.iter().filter_map(|tenant| point.tenants.get(*tenant)) {
            row.extend([mbps(rates.rate_bps), mbps(rates.limit_bps)]);
        }
        table.push(row);
    }
    table
}

fn ports(run: &Policed) -> Table {
    let rates = |place: usize| run.periods.last().and_then(|last| last.ports.get(place));
    Table::of(
        "Ports, with their last period",
        run.run.ports.iter().enumerate(),
        columns![|(place, port)|
            "port" Name: &port.name;
            "tenant" Text: run.run.tenants.get(port.tenant).map_or("", |tenant| &tenant.name);
            "rate" Number: rated(rates(*place).and_then(|r| r.rate_bps));
            "limit" Number: rated(rates(*place).map(|r| r.limit_bps).filter(|limit| *limit > 0.0));
            "there" Text: rates(*place).map(|r| if r.present { "yes" } else { "no" });
        ],
    )
}
