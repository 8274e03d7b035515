//! What most siblings have, and who has something else.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};

use nicety_model::fleet::{FleetDifference, FleetValue};

use super::Host;
use super::profile::Area;
use super::words::Words;

/// Values of a setting that are listed; where every host has its own, more would tell nothing.
const LISTED: usize = 12;

/// What a comparison of siblings gives.
#[derive(Debug, Default)]
pub(super) struct Compared {
    pub(super) differences: Vec<FleetDifference>,
    /// Indices of hosts, once for each setting in which one is not as most are.
    pub(super) odd: Vec<usize>,
    /// Settings that two siblings or more have.
    pub(super) compared: usize,
}

/// A setting's values and who has them.
type Values<'a> = BTreeMap<&'a str, Vec<usize>>;

/// Compares siblings. Hosts whose facts do not tell a setting have no part in it.
pub(super) fn compare(hosts: &[Host], group: &[usize], words: &Words) -> Compared {
    let mut compared = Compared::default();
    if group.len() < 2 {
        return compared;
    }
    let mut settings: HashMap<u32, Vec<(u32, usize)>> = HashMap::new();
    for &at in group {
        for &(setting, value) in &hosts[at].settings {
            settings.entry(setting).or_default().push((value, at));
        }
    }
    let stacked = stacked(&settings, group.len(), words);
    let mut listed: Vec<(u32, Vec<(u32, usize)>)> = settings.into_iter().collect();
    listed.sort_by(|(a, _), (b, _)| words.setting_of(*a).order(words.setting_of(*b)));
    for (number, of) in listed {
        let setting = words.setting_of(number);
        if setting.area == Area::Stacked && !stacked.contains(&setting.interface.as_str()) {
            continue;
        }
        let mut values: Values<'_> = BTreeMap::new();
        for (value, at) in &of {
            values.entry(words.value_of(*value)).or_default().push(*at);
        }
        if let Some(lacking) = setting.lacking() {
            let with: HashSet<usize> = of.iter().map(|(_, at)| *at).collect();
            let without = group
                .iter()
                .filter(|at| !with.contains(at) && hosts[**at].known.contains(&setting.area));
            let without: Vec<usize> = without.copied().collect();
            if !without.is_empty() {
                values.entry(lacking).or_default().extend(without);
            }
        }
        let known: usize = values.values().map(Vec::len).sum();
        if known < 2 {
            continue;
        }
        compared.compared += 1;
        if values.len() > 1 {
            let words = setting.words();
            let unknown = group.len() - known;
            let difference = difference(hosts, words, values, unknown, &mut compared.odd);
            compared.differences.push(difference);
        }
    }
    compared
}

/// Interfaces of software that more than half of the siblings have.
fn stacked<'w>(
    settings: &HashMap<u32, Vec<(u32, usize)>>,
    siblings: usize,
    words: &'w Words,
) -> Vec<&'w str> {
    let there = settings.iter().filter_map(|(number, of)| {
        let setting = words.setting_of(*number);
        let is_itself = setting.area == Area::Stacked && setting.name.is_empty();
        (is_itself && of.len() * 2 > siblings).then_some(setting.interface.as_str())
    });
    there.collect()
}

fn difference(
    hosts: &[Host],
    setting: String,
    values: Values<'_>,
    unknown: usize,
    odd: &mut Vec<usize>,
) -> FleetDifference {
    let known: usize = values.values().map(Vec::len).sum();
    let mut values: Vec<(&str, Vec<usize>)> = values.into_iter().collect();
    values.sort_by_key(|(_, hosts)| Reverse(hosts.len()));
    let most = values.first().map_or(0, |(_, hosts)| hosts.len());
    let usual = (most * 2 > known).then(|| values.remove(0));
    if usual.is_some() {
        odd.extend(values.iter().flat_map(|(_, hosts)| hosts));
    }
    let more = values.split_off(values.len().min(LISTED));
    FleetDifference {
        group: 0,
        setting,
        usual_hosts: usual.as_ref().map_or(0, |(_, hosts)| hosts.len()),
        usual: usual.map(|(value, _)| value.to_owned()),
        others: values
            .into_iter()
            .map(|(value, mut at)| {
                at.sort_unstable();
                FleetValue {
                    value: value.to_owned(),
                    hosts: at.into_iter().map(|at| hosts[at].name.clone()).collect(),
                }
            })
            .collect(),
        more_hosts: more.iter().map(|(_, hosts)| hosts.len()).sum(),
        unknown,
    }
}
