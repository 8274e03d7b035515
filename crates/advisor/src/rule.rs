//! The rules, in the order in which they are asked.

mod backlog;
mod bridge_netfilter;
mod channels;
mod coalescing;
mod cstate;
mod driver_binding;
mod governor;
mod halt_poll;
mod host_cpus;
mod hugepages;
mod iommu;
mod irq_affinity;
mod irqbalance;
mod lro;
mod mitigations;
mod moderate_rcvbuf;
mod mtu;
mod multiqueue;
mod napi_budget;
mod never_lower;
mod offload;
mod qdisc;
mod rfs;
mod ring;
mod rival_owner;
mod rps;
mod rss;
mod socket_buffer;
mod tcp_buffer;
mod tuned_dynamic;
mod vcpu_placement;
mod vhost_net;
mod vhost_placement;
mod xps;
mod zerocopy;

use crate::case::Case;
use crate::draft::Report;

/// A rule.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// Id: `T04`.
    pub id: &'static str,
    /// Name: that of its file.
    pub name: &'static str,
    /// What it asks.
    pub check: fn(&Case<'_>, &mut Report),
}

const fn rule(id: &'static str, name: &'static str, check: fn(&Case<'_>, &mut Report)) -> Rule {
    Rule { id, name, check }
}

/// All rules. Later ones may look at what earlier ones found.
pub const RULES: &[Rule] = &[
    rule("T01", "host-cpus", host_cpus::check),
    rule("T02", "vcpu-placement", vcpu_placement::check),
    rule("T03", "vhost-placement", vhost_placement::check),
    rule("T04", "irq-affinity", irq_affinity::check),
    rule("T05", "irqbalance", irqbalance::check),
    rule("T06", "rps", rps::check),
    rule("T07", "rfs", rfs::check),
    rule("T08", "xps", xps::check),
    rule("T09", "ring", ring::check),
    rule("T10", "channels", channels::check),
    rule("T10", "rss", rss::check),
    rule("T11", "coalescing", coalescing::check),
    rule("T12", "lro", lro::check),
    rule("T13", "offload", offload::check),
    rule("T14", "mtu", mtu::check),
    rule("T15", "backlog", backlog::check),
    rule("T16", "napi-budget", napi_budget::check),
    rule("T17", "socket-buffer", socket_buffer::check),
    rule("T18", "moderate-rcvbuf", moderate_rcvbuf::check),
    rule("T19", "tcp-buffer", tcp_buffer::check),
    rule("T20", "never-lower", never_lower::check),
    rule("T21", "bridge-netfilter", bridge_netfilter::check),
    rule("T22", "qdisc", qdisc::check),
    rule("T23", "governor", governor::check),
    rule("T24", "cstate", cstate::check),
    rule("T25", "hugepages", hugepages::check),
    rule("T26", "vhost-net", vhost_net::check),
    rule("T27", "zerocopy", zerocopy::check),
    rule("T28", "multiqueue", multiqueue::check),
    rule("T29", "iommu", iommu::check),
    rule("T30", "halt-poll", halt_poll::check),
    rule("T31", "mitigations", mitigations::check),
    rule("T32", "driver-binding", driver_binding::check),
    rule("T33", "rival-owner", rival_owner::check),
    rule("T34", "tuned-dynamic", tuned_dynamic::check),
];

#[cfg(test)]
mod tests {
    use super::RULES;

    #[test]
    fn every_rule_of_the_catalogue_is_asked_in_its_order() {
        let mut ids: Vec<&str> = RULES.iter().map(|rule| rule.id).collect();
        assert!(ids.is_sorted());
        ids.dedup();
        let catalogue: Vec<String> = (1..=34).map(|number| format!("T{number:02}")).collect();
        assert_eq!(ids, catalogue);
    }
}
