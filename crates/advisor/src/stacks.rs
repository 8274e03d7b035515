//! What hangs on what: which interfaces a frame of a NIC passes, and which NIC carries a guest.
//! Looked up once, for a host has hundreds of interfaces and every rule asks.

use std::collections::{BTreeMap, BTreeSet};

use nicety_model::HostFacts;
use nicety_model::facts::way::{Hops, Way};
use nicety_model::facts::{InterfaceClass, NetFacts};

/// Interfaces by place in the facts.
#[derive(Debug, Clone)]
pub(crate) struct Stacks<'a> {
    facts: &'a HostFacts,
    by_name: BTreeMap<&'a str, usize>,
    /// Stacked on an interface: VLANs, macvtaps.
    above: BTreeMap<&'a str, Vec<usize>>,
    /// Ports of a bridge, switch or bond.
    ports: BTreeMap<&'a str, Vec<usize>>,
    hops: Hops<'a>,
}

impl<'a> Stacks<'a> {
    pub(crate) fn new(facts: &'a HostFacts) -> Self {
        let mut stacks = Self {
            facts,
            by_name: BTreeMap::new(),
            above: BTreeMap::new(),
            ports: BTreeMap::new(),
            hops: facts.interfaces.iter().collect(),
        };
        for (at, net) in facts.interfaces.iter().enumerate() {
            stacks.by_name.insert(net.name(), at);
            if let Some(lower) = &net.link.lower {
                stacks.above.entry(lower).or_default().push(at);
            }
            if let Some(master) = &net.link.master {
                stacks.ports.entry(master).or_default().push(at);
            }
        }
        stacks
    }

    pub(crate) fn interface(&self, name: &str) -> Option<&'a NetFacts> {
        self.by_name.get(name).map(|&at| &self.facts.interfaces[at])
    }

    /// Interfaces stacked on one.
    pub(crate) fn above(&self, name: &str) -> impl Iterator<Item = &'a NetFacts> {
        let above = self.above.get(name).into_iter().flatten();
        above.map(|&at| &self.facts.interfaces[at])
    }

    /// The way from a guest's interface to its NIC.
    pub(crate) fn way(&self, from: &str) -> Way {
        self.hops.way(from)
    }

    /// Interfaces a frame of a NIC passes on this host: itself, what is stacked on it, its
    /// masters and their other ports that are no hardware, and the other ends of veths.
    pub(crate) fn traversed(&self, net: &'a NetFacts) -> Vec<&'a NetFacts> {
        let all = &self.facts.interfaces;
        let mut known: BTreeSet<&str> = BTreeSet::from([net.name()]);
        let mut stack = vec![net];
        let mut at = 0;
        while let Some(&here) = stack.get(at) {
            at += 1;
            let of = |map: &BTreeMap<&str, Vec<usize>>| {
                map.get(here.name()).cloned().unwrap_or_default()
            };
            let mut next = of(&self.above);
            let beside = [&here.link.master, &here.link.peer];
            let beside = beside.into_iter().flatten();
            next.extend(beside.filter_map(|name| self.by_name.get(name.as_str())));
            let soft = |at: &usize| all[*at].class != InterfaceClass::Hardware;
            next.extend(of(&self.ports).into_iter().filter(soft));
            // In the kernel's order.
            next.sort_unstable();
            stack.extend(
                next.into_iter()
                    .map(|at| &all[at])
                    .filter(|net| known.insert(net.name())),
            );
        }
        stack
    }
}
