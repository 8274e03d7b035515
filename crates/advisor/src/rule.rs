//! The rules, in the order in which they are asked.

mod backlog;
mod bond_hash;
mod bridge_netfilter;
mod channels;
mod cloud_allowances;
mod coalescing;
mod conntrack;
mod cstate;
mod driver_binding;
mod governor;
mod guest_offloads;
mod halt_poll;
mod host_cpus;
mod hugepages;
mod iommu;
mod irq_affinity;
mod irqbalance;
mod limits_on_way;
mod link_errors;
mod link_speed;
mod lro;
mod mitigations;
mod moderate_rcvbuf;
mod mtu;
mod mtu_on_way;
mod multiqueue;
mod napi_budget;
mod never_lower;
mod offload;
mod pause;
mod pcie_link;
mod qdisc;
mod rfs;
mod ring;
mod rival_owner;
mod rps;
mod rss;
mod socket_buffer;
mod softirq_cpu;
mod tap_drops;
mod tcp_buffer;
mod tcp_windows;
mod tuned_dynamic;
mod vcpu_placement;
mod vhost_net;
mod vhost_placement;
mod xps;
mod zerocopy;

use nicety_model::finding::Gain;

use crate::case::Case;
use crate::draft::{Reason, Report};

/// A rule: what `nicety explain` says of it, and what it asks.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// Id: `T04`.
    pub id: &'static str,
    /// Name: that of its file.
    pub name: &'static str,
    /// What is so on a host that needs no change.
    pub checks: &'static str,
    /// When it finds something.
    pub fires: &'static str,
    /// The settings that nicety changes; `None` where a person has to act.
    pub writes: Option<&'static str>,
    /// What a change usually brings where the rule fires.
    pub gain: Gain,
    /// Why, by which source, at what cost: one for each kind of finding.
    pub reasons: &'static [Reason],
    /// What it asks.
    pub check: fn(&Case<'_>, &mut Report),
}

/// All rules, in the order in which they are asked. Later ones may look at what earlier ones found.
pub const RULES: &[Rule] = &[
    host_cpus::RULE,
    vcpu_placement::RULE,
    vhost_placement::RULE,
    irq_affinity::RULE,
    irqbalance::RULE,
    rps::RULE,
    rfs::RULE,
    xps::RULE,
    ring::RULE,
    channels::RULE,
    coalescing::RULE,
    lro::RULE,
    offload::RULE,
    mtu::RULE,
    backlog::RULE,
    napi_budget::RULE,
    socket_buffer::RULE,
    moderate_rcvbuf::RULE,
    tcp_buffer::RULE,
    never_lower::RULE,
    bridge_netfilter::RULE,
    qdisc::RULE,
    governor::RULE,
    cstate::RULE,
    hugepages::RULE,
    vhost_net::RULE,
    zerocopy::RULE,
    multiqueue::RULE,
    iommu::RULE,
    halt_poll::RULE,
    mitigations::RULE,
    driver_binding::RULE,
    rival_owner::RULE,
    tuned_dynamic::RULE,
    rss::RULE,
    link_errors::RULE,
    pause::RULE,
    cloud_allowances::RULE,
    tcp_windows::RULE,
    pcie_link::RULE,
    conntrack::RULE,
    link_speed::RULE,
    softirq_cpu::RULE,
    mtu_on_way::RULE,
    tap_drops::RULE,
    limits_on_way::RULE,
    bond_hash::RULE,
    guest_offloads::RULE,
];

#[cfg(test)]
mod tests {
    use super::RULES;

    #[test]
    fn every_rule_of_the_catalogue_is_asked_in_its_order() {
        let ids: Vec<&str> = RULES.iter().map(|rule| rule.id).collect();
        let mut sorted = ids.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(ids, sorted);
    }

    #[test]
    fn sentences_of_rules_are_short_and_whole() {
        for rule in RULES {
            let reasons = rule.reasons.iter();
            let texts = reasons.flat_map(|reason| [reason.why, reason.cost]);
            for text in texts.chain([rule.fires]) {
                assert!(text.ends_with('.'), "{}: {text}", rule.name);
                for sentence in text.split(". ") {
                    let words = sentence.split_whitespace().count();
                    assert!(words <= 25, "{}: {words} words: {sentence}", rule.name);
                }
            }
            assert!(!rule.reasons.is_empty(), "{}", rule.name);
            assert!(
                !rule.checks.ends_with('.'),
                "{}: a line of a table",
                rule.name
            );
        }
    }
}
