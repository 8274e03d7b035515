//! Offloads that save work stay on (T13).

use nicety_model::finding::{Certainty, Gain, Goal, Risk};
use nicety_model::knob::Knob;

use crate::case::Case;
use crate::draft::{Reason, Report, change};
use crate::rule::Rule;

pub(super) const RULE: Rule = Rule {
    id: "T13",
    name: "offload",
    checks: "Offloads that save work are on",
    fires: "Fires for throughput when a checksum or segmentation offload, or GRO, is off.",
    writes: Some("Features of the NIC (ethtool -K): on"),
    gain: Gain::Large,
    reasons: &[ON],
    check,
};

const ON: Reason = Reason {
    why: "Each offload handles many segments at once, and saves the stack's work per frame. \
          Through bridge and virtio that reaches into the guest.",
    source: "Linux Documentation/networking/segmentation-offloads.rst; advice to switch GRO off \
             is about Xen before Linux 3",
    cost: "None known. Measure before and after.",
    risk: Risk::Low,
    certainty: Certainty::Likely,
};

const NAMES: [(&str, &str); 5] = [
    ("rx-checksum", "receive checksums"),
    ("tx-checksum-ip-generic", "transmit checksums"),
    ("tx-tcp-segmentation", "TSO"),
    ("tx-generic-segmentation", "GSO"),
    ("rx-gro", "GRO"),
];

fn check(case: &Case<'_>, report: &mut Report) {
    // With small UDP frames neither helps, and a tester may have switched them off on purpose.
    if case.goal != Goal::Throughput {
        return;
    }
    for net in case.nics() {
        let off: Vec<_> = NAMES
            .iter()
            .filter(|(name, _)| net.feature(name).is_some_and(|f| !f.on && f.changeable))
            .collect();
        if off.is_empty() {
            continue;
        }
        let words: Vec<&str> = off.iter().map(|(_, words)| *words).collect();
        let words = words.join(", ");
        let finding = report.find(
            net.name(),
            format!("off: {words}"),
            format!("on: {words}"),
            &ON,
        );
        finding.changes = off
            .iter()
            .map(|(name, _)| {
                let knob = Knob::Feature {
                    interface: net.link.name.clone(),
                    feature: (*name).to_owned(),
                };
                change(knob, "off", "on")
            })
            .collect();
    }
}

#[cfg(test)]
mod tests {
    use nicety_model::finding::Goal;

    use crate::fixture::Host;

    #[test]
    fn offloads_come_on_for_throughput() {
        let host = Host::new(1, 4)
            .nic("eth0", 10_000, 0)
            .feature("rx-gro", false);
        assert_eq!(host.one("offload").changes[0].to, "on");
        host.clone().goal(Goal::Forwarding).none("offload");
        host.feature("rx-gro", true).none("offload");
    }
}
