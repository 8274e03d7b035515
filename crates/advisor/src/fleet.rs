//! Many recorded hosts side by side: findings by the hosts that have them, and settings that are not the
//! same on hosts that should be the same.
//!
//! Each host is reduced to a [`Profile`] and its findings while its facts are at hand. [`Fleet`] keeps these
//! as numbers of words, so that thousands of hosts fit in memory, and [`Fleet::report`] compares them. The
//! order in which hosts are added does not matter.

mod findings;
mod group;
mod majority;
mod options;
mod ports;
mod profile;
mod shape;
mod system;
#[cfg(test)]
mod tests;
mod words;

use std::collections::BTreeMap;

use nicety_model::SCHEMA;
use nicety_model::finding::{Advice, Goal};
use nicety_model::fleet::{
    FleetHost, FleetReport, FleetWaiting, GroupBy, OlderCapture, UnreadCapture,
};
use nicety_model::host_list::natural;

pub use profile::{Profile, Traits, profile};

use findings::Kept;
use profile::Area;
use words::Words;

/// A recorded host.
#[derive(Debug, Clone, PartialEq)]
pub struct HostRecord {
    /// Name.
    pub name: String,
    /// File or folder that it was read from.
    pub file: String,
    /// When it was recorded, as in RFC 3339 in UTC, so that later is greater.
    pub captured: Option<String>,
    /// What is compared.
    pub profile: Profile,
    /// What the rules say.
    pub advice: Advice,
}

/// Hosts so far.
#[derive(Debug, Default)]
pub struct Fleet {
    words: Words,
    hosts: Vec<Host>,
    unread: Vec<UnreadCapture>,
}

/// A host in numbers of words.
#[derive(Debug)]
struct Host {
    name: String,
    file: String,
    captured: Option<String>,
    traits: Traits,
    known: Vec<Area>,
    /// Settings and values.
    settings: Vec<(u32, u32)>,
    findings: Vec<Kept>,
    waiting: Vec<FleetWaiting>,
    checked: usize,
    riskier: usize,
}

impl Fleet {
    /// Adds a host.
    pub fn add(&mut self, record: HostRecord) {
        let Profile {
            traits,
            known,
            settings,
        } = record.profile;
        let words = &mut self.words;
        let settings = settings
            .into_iter()
            .map(|(setting, value)| (words.setting(setting), words.value(value)))
            .collect();
        let findings = record.advice.findings.iter();
        let findings = findings.map(|finding| Kept::of(finding, words)).collect();
        let mut waiting: Vec<FleetWaiting> = Vec::new();
        for of in record.advice.waiting {
            if !waiting.iter().any(|known| known.rule == of.rule) {
                waiting.push(FleetWaiting {
                    id: of.id,
                    rule: of.rule,
                    option: of.option,
                    hosts: 1,
                });
            }
        }
        self.hosts.push(Host {
            name: record.name,
            file: record.file,
            captured: record.captured,
            traits,
            known,
            settings,
            findings,
            waiting,
            checked: record.advice.checked,
            riskier: record.advice.riskier,
        });
    }

    /// Adds something that is no host.
    pub fn add_unread(&mut self, unread: UnreadCapture) {
        self.unread.push(unread);
    }

    /// How many hosts there are; captures of one host count as many.
    pub fn len(&self) -> usize {
        self.hosts.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.hosts.is_empty()
    }

    /// What there is to say of all of them.
    pub fn report(mut self, goal: Goal, by: &[GroupBy]) -> FleetReport {
        self.hosts.sort_by(|a, b| {
            natural(&a.name, &b.name)
                .then_with(|| b.captured.cmp(&a.captured))
                .then_with(|| natural(&b.file, &a.file))
        });
        let (hosts, older) = newest(self.hosts);
        self.unread.sort_by(|a, b| natural(&a.file, &b.file));
        let mut by = by.to_vec();
        by.sort_unstable();
        by.dedup();
        let groups = group::groups(&hosts, &by);
        let mut of_host = vec![0; hosts.len()];
        let mut reported = Vec::new();
        let mut differences = Vec::new();
        let mut differs = vec![0; hosts.len()];
        for (at, group) in groups.into_iter().enumerate() {
            for &host in &group.hosts {
                of_host[host] = at + 1;
            }
            let found = majority::compare(&hosts, &group.hosts, &self.words);
            for &host in &found.odd {
                differs[host] += 1;
            }
            differences.extend(found.differences.into_iter().map(|mut difference| {
                difference.group = at + 1;
                difference
            }));
            reported.push(group.report(at + 1, found.compared, &hosts));
        }
        FleetReport {
            schema: SCHEMA,
            goal,
            grouped_by: by,
            checked: hosts.iter().map(|host| host.checked).max().unwrap_or(0),
            riskier: hosts.iter().map(|host| host.riskier).sum(),
            findings: findings::table(&hosts, &self.words),
            waiting: waiting(&hosts),
            hosts: hosts
                .iter()
                .enumerate()
                .map(|(at, host)| FleetHost {
                    name: host.name.clone(),
                    file: host.file.clone(),
                    captured: host.captured.clone(),
                    group: of_host[at],
                    findings: host.findings.len(),
                    differs: differs[at],
                })
                .collect(),
            groups: reported,
            differences,
            older,
            unread: self.unread,
        }
    }
}

/// Of hosts in order the first of each name, which is the newest, and the others.
fn newest(hosts: Vec<Host>) -> (Vec<Host>, Vec<OlderCapture>) {
    let mut kept: Vec<Host> = Vec::new();
    let mut older = Vec::new();
    for host in hosts {
        match kept.last().filter(|last| last.name == host.name) {
            Some(last) => older.push(OlderCapture {
                name: host.name,
                file: host.file,
                captured: host.captured,
                newer: last.file.clone(),
            }),
            None => kept.push(host),
        }
    }
    (kept, older)
}

/// Rules that could not decide, and on how many hosts.
fn waiting(hosts: &[Host]) -> Vec<FleetWaiting> {
    let mut rules: BTreeMap<(&str, &str), FleetWaiting> = BTreeMap::new();
    for of in hosts.iter().flat_map(|host| &host.waiting) {
        let known = rules.entry((of.id.as_str(), of.rule.as_str()));
        known
            .and_modify(|known| {
                known.hosts += 1;
                known.option = known.option.take().or_else(|| of.option.clone());
            })
            .or_insert_with(|| of.clone());
    }
    rules.into_values().collect()
}
