//! Findings by the hosts that have them.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use nicety_model::finding::{Certainty, Effect, Finding, Gain, Risk};
use nicety_model::fleet::{FleetExample, FleetFinding};

use super::Host;
use super::profile::clip_to;
use super::words::Words;
use crate::rule::RULES;

/// Longest sentence, in characters: of a hostile record it may hold any name.
const LONGEST: usize = 1000;

/// A finding of one host, in numbers of words.
#[derive(Debug, Clone)]
pub(super) struct Kept {
    id: u32,
    rule: u32,
    why: u32,
    source: u32,
    cost: u32,
    subject: u32,
    is: u32,
    should: u32,
    advice: Vec<u32>,
    risk: Risk,
    certainty: Certainty,
    gain: Option<Gain>,
    effect: Effect,
    changes: bool,
}

impl Kept {
    pub(super) fn of(finding: &Finding, words: &mut Words) -> Self {
        let mut word = |text: &str| words.value(clip_to(text, LONGEST));
        Self {
            id: word(&finding.id),
            rule: word(&finding.rule),
            why: word(&finding.why),
            source: word(&finding.source),
            cost: word(&finding.cost),
            subject: word(&finding.subject),
            is: word(&finding.is),
            should: word(&finding.should),
            advice: finding.advice.iter().map(|line| word(line)).collect(),
            risk: finding.risk,
            certainty: finding.certainty,
            gain: finding.gain,
            effect: finding.effect,
            changes: !finding.changes.is_empty(),
        }
    }
}

/// Findings of one kind, each with the index of its host.
type OfKind<'a> = Vec<(usize, &'a Kept)>;

/// A row for each rule and reason, those that bring most first, then those of most hosts, then the safe
/// ones.
pub(super) fn table(hosts: &[Host], words: &Words) -> Vec<FleetFinding> {
    let mut kinds: BTreeMap<[&str; 3], OfKind<'_>> = BTreeMap::new();
    for (at, host) in hosts.iter().enumerate() {
        for kept in &host.findings {
            let key = [kept.id, kept.rule, kept.why].map(|number| words.value_of(number));
            kinds.entry(key).or_default().push((at, kept));
        }
    }
    let rows = kinds.into_values();
    let mut rows: Vec<FleetFinding> = rows.filter_map(|of| row(hosts, &of, words)).collect();
    rows.sort_by_key(|row| {
        let brings = (row.effect != Effect::Nothing, row.gain);
        (Reverse(brings), Reverse(row.hosts.len()), row.risk)
    });
    rows
}

fn row(hosts: &[Host], of: &[(usize, &Kept)], words: &Words) -> Option<FleetFinding> {
    let &(first, example) = of.first()?;
    let word = |number: u32| words.value_of(number).to_owned();
    let name = |at: usize| hosts[at].name.clone();
    let mut who: Vec<usize> = of.iter().map(|(at, _)| *at).collect();
    who.dedup();
    let mut changed: Vec<usize> = of
        .iter()
        .filter(|(_, kept)| kept.changes)
        .map(|(at, _)| *at)
        .collect();
    changed.dedup();
    let same = of.iter().all(|(_, kept)| kept.should == example.should);
    let rule = words.value_of(example.rule);
    let expects = RULES.iter().find(|known| known.name == rule);
    Some(FleetFinding {
        id: word(example.id),
        rule: rule.to_owned(),
        expects: expects.map_or("", |rule| rule.checks).to_owned(),
        why: word(example.why),
        source: word(example.source),
        cost: word(example.cost),
        risk: of
            .iter()
            .map(|(_, kept)| kept.risk)
            .max()
            .unwrap_or(example.risk),
        certainty: example.certainty,
        gain: example.gain,
        effect: of
            .iter()
            .map(|(_, kept)| kept.effect)
            .min_by_key(|effect| soon(*effect))
            .unwrap_or(example.effect),
        changes: changed.len(),
        should: same.then(|| word(example.should)),
        subjects: of.len(),
        hosts: who.into_iter().map(name).collect(),
        example: FleetExample {
            host: name(first),
            subject: word(example.subject),
            is: word(example.is),
            should: word(example.should),
            advice: example.advice.iter().map(|line| word(*line)).collect(),
        },
    })
}

/// Order of effects, the soonest first.
fn soon(effect: Effect) -> u8 {
    match effect {
        Effect::Now => 0,
        Effect::VmRestart => 1,
        Effect::ModuleReload => 2,
        Effect::Reboot => 3,
        Effect::Never => 4,
        Effect::Nothing => 5,
    }
}
