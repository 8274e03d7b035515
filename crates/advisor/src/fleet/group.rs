//! Who is a sibling of whom.

use std::collections::BTreeMap;

use nicety_model::fleet::{FleetGroup, GroupBy, Role};
use nicety_model::host_list::stem;

use super::Host;

/// What siblings have in common; absent where hosts are not grouped by it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    cpu: Option<String>,
    nics: Option<String>,
    role: Option<Role>,
    named: Option<String>,
}

/// Siblings, as indices of hosts.
#[derive(Debug)]
pub(super) struct Group {
    key: Key,
    pub(super) hosts: Vec<usize>,
}

impl Key {
    fn of(host: &Host, by: &[GroupBy]) -> Self {
        let has = |part| by.contains(&part);
        Self {
            cpu: has(GroupBy::Cpu).then(|| host.traits.cpu.clone()),
            nics: has(GroupBy::Nic).then(|| host.traits.nics.clone()),
            role: has(GroupBy::Role).then_some(host.traits.role),
            named: has(GroupBy::Name).then(|| stem(&host.name).to_owned()),
        }
    }

    /// Whether the other one differs in its ports alone, or in its role alone.
    fn is_near(&self, other: &Self) -> bool {
        let same_nics = self.nics == other.nics;
        let same_role = self.role == other.role;
        self.cpu == other.cpu && self.named == other.named && same_nics != same_role
    }
}

/// Groups, the largest first. A host that would be alone joins the largest group that differs from it in its
/// ports or in its role alone: a card that failed, or a service that stopped, must not hide it.
pub(super) fn groups(hosts: &[Host], by: &[GroupBy]) -> Vec<Group> {
    let mut keyed: BTreeMap<Key, Vec<usize>> = BTreeMap::new();
    for (at, host) in hosts.iter().enumerate() {
        keyed.entry(Key::of(host, by)).or_default().push(at);
    }
    let (mut groups, alone): (Vec<Group>, Vec<Group>) = keyed
        .into_iter()
        .map(|(key, hosts)| Group { key, hosts })
        .partition(|group| group.hosts.len() > 1);
    // Hosts that are alone do not make a group larger for each other.
    groups.sort_by_key(|group| std::cmp::Reverse(group.hosts.len()));
    let mut left = Vec::new();
    for one in alone {
        match groups.iter_mut().find(|group| group.key.is_near(&one.key)) {
            Some(group) => group.hosts.extend(one.hosts),
            None => left.push(one),
        }
    }
    groups.extend(left);
    for group in &mut groups {
        group.hosts.sort_unstable();
    }
    groups.sort_by_key(|group| {
        (
            std::cmp::Reverse(group.hosts.len()),
            group.hosts.first().copied(),
        )
    });
    groups
}

impl Group {
    pub(super) fn report(self, number: usize, compared: usize, hosts: &[Host]) -> FleetGroup {
        let Key {
            cpu,
            nics,
            role,
            named,
        } = self.key;
        FleetGroup {
            group: number,
            cpu,
            nics,
            role,
            named,
            hosts: self
                .hosts
                .iter()
                .map(|&at| hosts[at].name.clone())
                .collect(),
            compared,
        }
    }
}
