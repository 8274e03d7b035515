//! The findings: a row for each with the hosts that have it, and its remedy once.

use nicety_model::finding::{Effect, Goal, Risk};
use nicety_model::fleet::{FleetFinding, FleetReport};

use super::{named, who};
use crate::document::table::Narrow;
use crate::document::{Badge, Block, Medium, Table, columns};

pub(super) fn blocks(fleet: &FleetReport, medium: Medium) -> Vec<Block> {
    let mut blocks = Vec::new();
    if !fleet.findings.is_empty() {
        blocks.push(Block::Table(table(fleet, medium)));
        blocks.extend(next(fleet).into_iter().map(Block::Text));
        if medium == Medium::Page {
            blocks.extend(fleet.findings.iter().map(details));
        }
    }
    blocks.extend(undecided(fleet).into_iter().map(Block::Text));
    blocks
}

fn table(fleet: &FleetReport, medium: Medium) -> Table {
    let hosts = |finding: &FleetFinding| {
        if finding.hosts.len() == fleet.hosts.len()
            && medium == Medium::Terminal
            && fleet.hosts.len() > 1
        {
            "all".into()
        } else {
            who(&finding.hosts, medium)
        }
    };
    let mut table = Table::of(
        "findings",
        &fleet.findings,
        columns![|finding|
            "id" Name: &finding.id;
            "rule" Name: &finding.rule;
            "hosts" Number: finding.hosts.len();
            "which" Wide: hosts(finding);
            "should be" Wide: should(finding);
            "by" Tight: by(finding);
            "gain" Tight: finding.gain.map(|gain| gain.to_string());
            "risk" Tight: Badge::from(finding.risk);
        ],
    );
    table.whole = true;
    table.wrapped().narrow(&[
        ("by", Narrow::Named),
        ("gain", Narrow::Named),
        ("rule", Narrow::Named),
    ])
}

/// The remedy: in numbers where they are the same on all hosts, else as the rule has it.
fn should(finding: &FleetFinding) -> &str {
    match &finding.should {
        Some(should) => should,
        None if finding.expects.is_empty() => &finding.example.should,
        None => &finding.expects,
    }
}

/// Who changes it.
fn by(finding: &FleetFinding) -> &'static str {
    match (finding.effect, finding.changes) {
        (Effect::Nothing | Effect::Never, _) => "–",
        (_, 0) => "you",
        (_, some) if some < finding.hosts.len() => "nicety, you",
        _ => "nicety",
    }
}

/// What to run now.
fn next(fleet: &FleetReport) -> Vec<String> {
    let changes = |risk: fn(Risk) -> bool| {
        let mut all = fleet.findings.iter();
        all.any(|of| risk(of.risk) && of.changes > 0)
    };
    let goal = match fleet.goal {
        Goal::Throughput => String::new(),
        goal => format!(" --goal {goal}"),
    };
    let mut lines = Vec::new();
    if changes(|risk| risk == Risk::Low) {
        lines.push(format!(
            "Change the safe ones, on each host: nicety tune apply{goal} --fix-risk low"
        ));
    }
    let mut ids = fleet.findings.iter().map(|of| of.id.as_str());
    if let Some(first) = ids.next() {
        lines.push(format!(
            "Reasons and sources: nicety explain {first}. One host: nicety tune plan -v CAPTURE"
        ));
    }
    lines
}

/// Rules that could not decide, and the options that let them.
fn undecided(fleet: &FleetReport) -> Vec<String> {
    let mut lines = Vec::new();
    let of = |wanted: &dyn Fn(Option<&str>) -> bool| {
        let waiting = fleet
            .waiting
            .iter()
            .filter(|of| wanted(of.option.as_deref()));
        let mut ids: Vec<&str> = waiting.map(|of| of.id.as_str()).collect();
        ids.dedup();
        ids.join(", ")
    };
    let watches = |option: Option<&str>| option.is_some_and(|word| word.starts_with("--window"));
    let counters = of(&watches);
    if !counters.is_empty() {
        lines.push(format!(
            "Undecided without counters: {counters}. Capture under your real load: nicety inspect --window 10s \
             -o HOST.json"
        ));
    }
    let mut options: Vec<&str> = Vec::new();
    for option in fleet.waiting.iter().filter_map(|of| of.option.as_deref()) {
        if !watches(Some(option)) && !options.contains(&option) {
            options.push(option);
        }
    }
    let others = of(&|option| !watches(option));
    if !others.is_empty() {
        let rerun = if options.is_empty() {
            String::new()
        } else {
            format!(". Rerun with {}", options.join(" "))
        };
        lines.push(format!("Undecided: {others}{rerun}"));
    }
    lines
}

/// Why, and what one host has: for who wants to know more.
fn details(finding: &FleetFinding) -> Block {
    let summary = format!(
        "{} {}, {}",
        finding.id,
        finding.rule,
        named(finding.hosts.len())
    );
    let example = &finding.example;
    let mut terms = vec![
        ("why", format!("{} ({})", finding.why, finding.source)),
        ("cost", format!("{} Risk: {}.", finding.cost, finding.risk)),
        (
            "on one host",
            format!(
                "{}, {}: {}; should be: {}",
                example.host, example.subject, example.is, example.should
            ),
        ),
    ];
    if !example.advice.is_empty() {
        terms.push(("by hand there", example.advice.join("; ")));
    }
    let terms = terms.into_iter().map(|(term, text)| (term.into(), text));
    Block::Folded(summary, vec![Block::Terms(terms.collect())])
}
