//! Many hosts side by side: who has which finding, and who is not as its siblings are.

mod differences;
mod findings;

use maud::{PreEscaped, html};
use nicety_model::finding::Effect;
use nicety_model::fleet::{FleetGroup, FleetHost, FleetReport};
use nicety_model::host_list;

use crate::Report;
use crate::document::table::Narrow;
use crate::document::{Block, Cell, Document, Medium, Table, columns};
use crate::error::ReportError;
use crate::json;
use crate::number::{self, plural};

const FILTER: &str = include_str!("fleet/filter.js");
/// Parts of a list of hosts that a terminal shows.
const PARTS: usize = 4;
/// Parts from which a page folds a list of hosts.
const FOLDED: usize = 6;

impl Report for FleetReport {
    fn document(&self, medium: Medium) -> Result<Document, ReportError> {
        let mut doc = Document::new(medium, "Fleet");
        doc.answer = answer(self);
        if doc.on_page() {
            doc.opening = vec![filter()];
        }
        doc.main("findings", "Findings", findings::blocks(self, medium));
        let differences = differences::blocks(self, medium);
        doc.main("differences", "Differences between siblings", differences);
        if self.groups.len() > 1 || doc.on_page() {
            let table = Block::Table(groups(self, medium));
            doc.section("groups", "Groups of siblings", vec![table]);
        }
        if doc.on_page() {
            doc.section("hosts", "Hosts", vec![Block::Table(hosts(self))]);
        }
        if medium != Medium::Terminal {
            doc.list("left-out", "Left out", left_out(self));
        }
        doc.page.eyebrow = format!("nicety tune plan, goal {}", self.goal);
        if doc.on_page() {
            doc.page.data = json::compact("fleet", self)?;
        }
        doc.page.save = ("Save the report as JSON", "nicety-fleet.json");
        Ok(doc)
    }
}

/// The answer: the counts, then what brings most, who differs most, and what is not in it.
fn answer(fleet: &FleetReport) -> Vec<Vec<String>> {
    let hosts = counted(fleet.hosts.len(), "host");
    let kinds = plural(fleet.findings.len(), "finding");
    let found = match fleet.with_findings() {
        0 => format!("{hosts}: nothing to change for {}", fleet.goal),
        some => format!("{hosts}: {kinds} for {} on {}", fleet.goal, named(some)),
    };
    let siblings = fleet.groups.iter().any(|group| group.hosts.len() > 1);
    let odd = match (siblings, fleet.odd_ones(), fleet.differences.len()) {
        (false, ..) => "none has siblings".to_owned(),
        (true, 0, 0) => "siblings are the same".to_owned(),
        (true, 0, splits) => format!("siblings are split over {}", plural(splits, "setting")),
        (true, 1, _) => "1 differs from its siblings".to_owned(),
        (true, more, _) => format!("{} differ from their siblings", number::count(more as u64)),
    };
    let mut second = Vec::new();
    let brings = fleet
        .findings
        .iter()
        .find(|of| of.effect != Effect::Nothing);
    if let Some(first) = brings {
        second.push(format!(
            "Most gain: {} ({}) on {}.",
            first.rule,
            first.id,
            named(first.hosts.len())
        ));
    }
    // Of equals the first.
    let most = fleet.hosts.iter().rev().max_by_key(|host| host.differs);
    if let Some(most) = most.filter(|host| host.differs > 0 && fleet.odd_ones() > 1) {
        let settings = plural(most.differs, "setting");
        second.push(format!("{} differs most, in {settings}.", most.name));
    }
    let alone = fleet.alone();
    if siblings && !alone.is_empty() {
        let names = host_list::shortened(&alone, PARTS);
        second.push(format!("Without siblings: {names}."));
    }
    if fleet.riskier > 0 {
        let riskier = plural(fleet.riskier, "finding");
        second.push(format!("Riskier than asked for: {riskier}."));
    }
    let mut left = Vec::new();
    if !fleet.older.is_empty() {
        left.push(plural(fleet.older.len(), "older capture"));
    }
    if !fleet.unread.is_empty() {
        left.push(format!(
            "{} that could not be read",
            plural(fleet.unread.len(), "path")
        ));
    }
    if !left.is_empty() {
        second.push(format!("Left out: {}.", left.join(", ")));
    }
    vec![vec![format!("{found}; {odd}.")], second]
}

/// `1,000 hosts`.
fn counted(count: usize, noun: &str) -> String {
    match count {
        0..1000 => plural(count, noun),
        more => format!("{} {noun}s", number::count(more as u64)),
    }
}

fn named(count: usize) -> String {
    counted(count, "host")
}

/// Names of hosts, as far as the medium has room for them.
fn who(names: &[String], medium: Medium) -> Cell {
    match medium {
        Medium::Terminal => host_list::shortened(names, PARTS).into(),
        Medium::Markdown => host_list::folded(names).into(),
        Medium::Page => {
            if host_list::parts(names).len() > FOLDED {
                Cell::from(named(names.len())).folded(host_list::folded(names))
            } else {
                host_list::folded(names).into()
            }
        }
    }
}

fn groups(fleet: &FleetReport, medium: Medium) -> Table {
    let role = |group: &FleetGroup| group.role.map(|role| role.word().replace('-', " "));
    let table = Table::of(
        "groups",
        &fleet.groups,
        columns![|group|
            "group" Place: group.group;
            "hosts" Number: group.hosts.len();
            "which" Wide: who(&group.hosts, medium);
            "role" Tight: role(group);
            "CPU" Wide: group.cpu.as_deref();
            "ports" Wide: group.nics.as_deref();
            "name" Tight: group.named.as_deref();
            "settings compared" Number: Some(group.compared).filter(|n| *n > 0);
        ],
    );
    let mut table = table
        .speaking(|_, cell| !cell.is_absent())
        .wrapped()
        .narrow(&[
            ("settings compared", Narrow::Named),
            ("ports", Narrow::Named),
            ("CPU", Narrow::Named),
        ]);
    table.whole = true;
    table
}

fn hosts(fleet: &FleetReport) -> Table {
    let time = |host: &FleetHost| {
        let time = host.captured.as_deref();
        time.map(|time| time.get(..16).unwrap_or(time).replace('T', " "))
    };
    let mut table = Table::of(
        "hosts",
        &fleet.hosts,
        columns![|host|
            "host" Name: &host.name;
            "group" Number: host.group;
            "findings" Number: host.findings;
            "differs in" Number: host.differs;
            "captured (UTC)" Tight: time(host);
            "capture" Wide: &host.file;
        ],
    );
    table.whole = true;
    table
}

/// Captures that are not in the report, and why.
fn left_out(fleet: &FleetReport) -> Vec<String> {
    let unread = fleet.unread.iter();
    let unread = unread.map(|of| format!("{}: {}", of.file, of.why));
    let older = fleet.older.iter();
    let older = older.map(|of| format!("{}: {}, older than {}", of.file, of.name, of.newer));
    unread.chain(older).collect()
}

/// A field that hides the rows without what is written in it. Without scripts it is not there.
fn filter() -> Block {
    Block::Drawn(html! {
        p #filter hidden {
            label { "Show rows with " input type="search" placeholder="kvm07 ring"; }
            " " span.muted role="status" {}
        }
        script { (PreEscaped(FILTER)) }
    })
}

#[cfg(test)]
mod tests;
