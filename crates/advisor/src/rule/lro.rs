//! No large receive offload below a bridge (T12).

use nicety_model::finding::{Certainty, Gain, Risk};
use nicety_model::knob::Knob;

use crate::case::Case;
use crate::draft::{Reason, Report, change};
use crate::rule::Rule;

pub(super) const RULE: Rule = Rule {
    id: "T12",
    name: "lro",
    checks: "LRO is off where frames are forwarded",
    fires: "Fires when LRO is on and frames of the NIC are bridged or routed.",
    writes: Some("rx-lro of the NIC (ethtool -K): off"),
    gain: Gain::Large,
    reasons: &[OFF],
    check,
};

const OFF: Reason = Reason {
    why: "LRO merges segments for good. The merged frame exceeds the next link's MTU and is \
          dropped. GRO saves the same work and can be undone.",
    source: "Linux net/bridge/br_if.c and net/ipv4/devinet.c call dev_disable_lro; Oracle VM 3 \
             10GbE network performance tuning (2013), NIC offload",
    cost: "None while GRO is on.",
    risk: Risk::Low,
    certainty: Certainty::Certain,
};

fn check(case: &Case<'_>, report: &mut Report) {
    for net in case.nics() {
        let lro = net.feature("rx-lro");
        let Some(lro) = lro.filter(|lro| lro.on && case.forwards(net)) else {
            continue;
        };
        let finding = report.find(
            net.name(),
            "LRO is on and frames are forwarded",
            "LRO off",
            &OFF,
        );
        if lro.changeable {
            let knob = Knob::Feature {
                interface: net.link.name.clone(),
                feature: "rx-lro".to_owned(),
            };
            finding.changes.push(change(knob, "on", "off"));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::fixture::Host;

    #[test]
    fn lro_goes_off_where_frames_go_on() {
        let host = Host::new(1, 4)
            .nic("eth0", 10_000, 0)
            .feature("rx-lro", true);
        host.none("lro");
        assert_eq!(host.clone().bridged().one("lro").changes[0].to, "off");
        assert_eq!(
            host.clone()
                .sysctl("net.ipv4.ip_forward", "1")
                .find("lro")
                .len(),
            1
        );
        host.clone().vlan_bridged().one("lro");
        host.feature("rx-lro", false).bridged().none("lro");
    }
}
