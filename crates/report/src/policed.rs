//! A recorded run of the police: who sent how much of a link, and might send how much.

mod csv;
mod figure;
mod html;
mod points;

use std::io::Write;

use nicety_model::policed::{Policed, PolicedSummary, PolicedTenant};

use crate::error::{ReportError, write_text};
use crate::markdown::{escape, record};
use crate::number::{self, ABSENT};
use crate::table::{Options, Page};
use crate::words::plural;

pub use csv::render as csv;
pub use html::render as html;

/// Tenants named in the answer; more are counted.
const NAMED: usize = 3;
/// Share of the periods from which a tenant counts as one that its limit held.
const OFTEN: f64 = 0.05;

/// Bits per second in words.
fn rate(bps: f64) -> String {
    number::bit_rate(bps / 1e6)
}

/// What was shared and who had how much, in one sentence; and who was held back, in another.
pub fn answer(run: &Policed) -> Vec<String> {
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
    let named: Vec<String> = by_rate.iter().take(NAMED).map(|one| of(one)).collect();
    let more = by_rate.len() - named.len();
    let rest = match more {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let mut all = vec![format!(
        "{tenants} shared {link} for {}; on average {}{rest}",
        number::seconds(last.at_s),
        named.join(", ")
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

/// Heading and content of a column.
type Column = (&'static str, fn(&PolicedTenant, &PolicedSummary) -> String);

const COLUMNS: [Column; 8] = [
    ("tenant", |tenant, _| tenant.name.clone()),
    ("weight", |tenant, _| tenant.weight.to_string()),
    ("guarantee", |tenant, _| match tenant.guarantee_bps > 0.0 {
        true => rate(tenant.guarantee_bps),
        false => ABSENT.to_owned(),
    }),
    ("cap", |tenant, _| {
        tenant.cap_bps.map_or_else(|| ABSENT.to_owned(), rate)
    }),
    ("mean rate", |_, one| rate(one.mean_bps)),
    ("highest rate", |_, one| rate(one.max_bps)),
    ("limit", |_, one| {
        match one.limit_min_bps == one.limit_max_bps {
            true => rate(one.limit_min_bps),
            false => format!("{} to {}", rate(one.limit_min_bps), rate(one.limit_max_bps)),
        }
    }),
    ("held", |_, one| number::share(one.held_ratio)),
];

/// What the columns mean.
const LEGEND: &str = "Rates count what a frame takes on the wire. limit: the lowest and highest of \
                      the record; held: share of the periods in which it wanted more than that.";

/// Each tenant beside what it came to.
fn rows(run: &Policed) -> impl Iterator<Item = (&PolicedTenant, &PolicedSummary)> {
    run.run.tenants.iter().zip(&run.summary)
}

/// Writes the record for a terminal: the answer, then each tenant.
///
/// # Errors
/// [`ReportError::Write`].
pub fn table(run: &Policed, out: &mut impl Write, options: Options) -> Result<(), ReportError> {
    let mut page = Page::new(options);
    for sentence in answer(run) {
        page.strong(&sentence);
    }
    for (tenant, one) in rows(run) {
        page.blank();
        page.prose(0, &tenant.name);
        let told: Vec<String> = COLUMNS
            .iter()
            .skip(1)
            .map(|(name, of)| (name, of(tenant, one)))
            .filter(|(_, value)| value != ABSENT)
            .map(|(name, value)| format!("{name} {value}"))
            .collect();
        page.prose(2, &told.join(", "));
    }
    page.blank();
    page.prose(0, LEGEND);
    for note in &run.notes {
        page.prose(0, &note.to_string());
    }
    write_text(out, "table", &page.text)
}

/// Writes the record as Markdown: the answer, then a table of tenants.
///
/// # Errors
/// [`ReportError::Write`].
pub fn markdown(run: &Policed, out: &mut impl Write) -> Result<(), ReportError> {
    let mut page = format!("# {}\n\n", escape(&run.run.policy));
    for sentence in answer(run) {
        page.push_str(&format!("**{}**\n\n", escape(&sentence)));
    }
    page.push_str(&format!(
        "Started {}, a period every {}, {} of {} shared.\n\n",
        escape(&run.run.started),
        number::seconds(run.run.period_s),
        rate(run.run.shared_bps),
        rate(run.run.capacity_bps)
    ));
    let names = COLUMNS.iter().map(|(name, _)| (*name).to_owned());
    page.push_str(&format!("{}\n", record(names)));
    let rule = COLUMNS.iter().enumerate().map(|(place, _)| match place {
        0 => "---".to_owned(),
        _ => "---:".to_owned(),
    });
    page.push_str(&format!("{}\n", record(rule)));
    for (tenant, one) in rows(run) {
        let cells = COLUMNS.iter().map(|(_, of)| escape(&of(tenant, one)));
        page.push_str(&format!("{}\n", record(cells)));
    }
    page.push_str(&format!("\n{LEGEND}\n"));
    for note in &run.notes {
        page.push_str(&format!("\n- {}\n", escape(&note.to_string())));
    }
    page.push_str(&format!(
        "\n{}, kernel {}, nicety {}. Repeat it: {}\n",
        escape(&run.host.cpu_model),
        escape(&run.host.kernel),
        escape(&run.host.nicety),
        escape(&run.run.command)
    ));
    write_text(out, "Markdown", &page)
}

/// Writes the whole record as JSON, ended by a newline.
///
/// # Errors
/// [`ReportError::Json`], [`ReportError::Write`].
pub fn json(run: &Policed, out: &mut impl Write) -> Result<(), ReportError> {
    let mut text = serde_json::to_string_pretty(run).map_err(|source| ReportError::Json {
        name: run.run.policy.clone(),
        source,
    })?;
    text.push('\n');
    write_text(out, "JSON", &text)
}
