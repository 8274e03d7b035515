//! One MTU from the NIC to the guest (T45).

use nicety_model::facts::{InterfaceClass, NetFacts};
use nicety_model::finding::{Certainty, Gain, Risk};

use crate::case::Case;
use crate::draft::{Reason, Report};
use crate::rule::Rule;

pub(super) const RULE: Rule = Rule {
    id: "T45",
    name: "mtu-on-way",
    checks: "The ports of a bridge have one MTU",
    fires: "Fires when the NIC of a bridge takes large frames, and a port of the same bridge does not.",
    writes: None,
    gain: Gain::Medium,
    reasons: &[DROPPED],
    check,
};

const DROPPED: Reason = Reason {
    why: "A bridge drops a frame that is longer than the MTU of the port it leaves by. No counter and \
          no ICMP message tells of it.",
    source: "Linux net/bridge/br_forward.c, br_dev_queue_push_xmit; is_skb_forwardable of \
             include/linux/netdevice.h",
    cost: "A larger MTU has to be set in the guest too. A smaller one on the NIC needs more frames for \
           the same bytes.",
    risk: Risk::Medium,
    certainty: Certainty::Likely,
};

/// Headers of tunnels and tags: an MTU that is larger by no more is there for these.
const HEADERS: u32 = 200;
/// Kinds whose MTU is smaller by design: guests behind them have it too.
const TUNNELS: [&str; 12] = [
    "vxlan",
    "geneve",
    "gre",
    "gretap",
    "ip6gretap",
    "erspan",
    "ip6erspan",
    "ipip",
    "sit",
    "batadv",
    "wireguard",
    "bareudp",
];
/// Names of ports in a sentence, at most.
const NAMED: usize = 3;

fn check(case: &Case<'_>, report: &mut Report) {
    let is_up = |net: &&NetFacts| net.link.up;
    let bridges = case.facts.interfaces.iter().filter(is_up);
    for bridge in bridges.filter(|net| net.class == InterfaceClass::Bridge) {
        let ports: Vec<&NetFacts> = case.facts.ports(bridge.name()).filter(is_up).collect();
        let Some((from, mtu)) = source(case, &ports) else {
            continue;
        };
        let small: Vec<&NetFacts> = smaller(&ports, mtu).collect();
        let told = report
            .so_far()
            .iter()
            .any(|it| it.rule == "mtu" && it.subject == from.name());
        if small.is_empty() || told || is_for_others(case, from, &small) {
            continue;
        }
        tell(bridge, (from, mtu), &small, report);
    }
}

/// The port from which the largest frames come, and how large they are: a NIC, bond or VLAN, or the cable to a bridge
/// that has one.
fn source<'a>(case: &Case<'_>, ports: &[&'a NetFacts]) -> Option<(&'a NetFacts, u32)> {
    use InterfaceClass::{Bond, Hardware, Veth, Vlan};
    let of = |classes: &[InterfaceClass]| {
        let from = ports.iter().filter(|net| classes.contains(&net.class));
        let largest = from.filter_map(|net| {
            let other_end = net.link.peer.as_deref().unwrap_or(net.name());
            let way = case.way(other_end);
            let nic = case.interface(way.nics.first()?)?;
            let linked = nic.link.carrier || nic.link.speed_mbps.is_some();
            linked.then_some((*net, net.link.mtu.min(nic.link.mtu)))
        });
        largest.max_by_key(|(_, mtu)| *mtu)
    };
    of(&[Hardware, Bond, Vlan]).or_else(|| of(&[Veth]))
}

/// Ports that do not take such frames.
fn smaller<'a>(ports: &[&'a NetFacts], mtu: u32) -> impl Iterator<Item = &'a NetFacts> {
    let tunnel = |net: &&&NetFacts| TUNNELS.contains(&net.link.kind.as_str());
    let tunnels: Vec<u32> = ports
        .iter()
        .filter(tunnel)
        .map(|net| net.link.mtu)
        .collect();
    ports.iter().copied().filter(move |net| {
        let takes = net.link.mtu == 0 || net.link.mtu + HEADERS >= mtu;
        !takes && !tunnels.contains(&net.link.mtu)
    })
}

/// A VLAN or a tunnel on the same NIC needs the large frames.
fn is_for_others(case: &Case<'_>, from: &NetFacts, small: &[&NetFacts]) -> bool {
    let least = small.iter().map(|net| net.link.mtu).min().unwrap_or(0);
    case.above(from.name()).any(|net| {
        let tunnel = TUNNELS.contains(&net.link.kind.as_str());
        net.link.up && (tunnel || net.link.mtu > least + HEADERS)
    })
}

fn tell(
    bridge: &NetFacts,
    (from, mtu): (&NetFacts, u32),
    small: &[&NetFacts],
    report: &mut Report,
) {
    let least = small.iter().map(|net| net.link.mtu).min().unwrap_or(0);
    let mut names: Vec<&str> = small.iter().map(|net| net.name()).take(NAMED).collect();
    let more = format!("{} more", small.len().saturating_sub(NAMED));
    if small.len() > NAMED {
        names.push(&more);
    }
    let names = names.join(", ");
    let finding = report.find(
        bridge.name(),
        format!(
            "{} takes frames of {mtu} bytes, {names} of {least}",
            from.name()
        ),
        format!(
            "one MTU on all ports: {mtu} on {names} and in the guests, or {least} on {}",
            from.name()
        ),
        &DROPPED,
    );
    finding.advice.extend(
        (small.iter().take(NAMED)).map(|net| format!("ip link set dev {} mtu {mtu}", net.name())),
    );
    finding
        .advice
        .push("nicety drops shows whether such frames come, and whose they are.".to_owned());
}

#[cfg(test)]
mod tests {
    use nicety_model::facts::InterfaceClass;

    use crate::fixture::Host;

    /// A NIC of 9000, a bridge and a guest's tap.
    fn host(mtu: u32) -> Host {
        let host = Host::new(1, 4).nic("eth0", 10_000, 0).bridged();
        port(host.nic_with(|net| net.link.mtu = 9000), "tap0", mtu)
    }

    fn port(host: Host, name: &str, mtu: u32) -> Host {
        host.facts_with(|facts| {
            let mut tap = facts.interfaces[1].clone();
            tap.class = InterfaceClass::Tap;
            tap.link.kind = "tun".to_owned();
            tap.link.name = name.to_owned();
            tap.link.up = true;
            tap.link.lower = None;
            tap.link.mtu = mtu;
            tap.link.master = Some("br0".to_owned());
            facts.interfaces.push(tap);
        })
    }

    fn change(
        mut host: Host,
        at: usize,
        change: impl FnOnce(&mut nicety_model::facts::NetFacts),
    ) -> Host {
        change(&mut host.facts.interfaces[at]);
        host
    }

    #[test]
    fn a_port_that_takes_less_than_the_nic_is_told() {
        let finding = host(1500).one("mtu-on-way");
        assert_eq!(finding.subject, "br0");
        assert_eq!(finding.is, "eth0 takes frames of 9000 bytes, tap0 of 1500");
        let many = (1..6).fold(host(1500), |host, n| port(host, &format!("tap{n}"), 1500));
        assert!(
            many.one("mtu-on-way")
                .is
                .contains("tap0, tap1, tap2, 3 more of 1500")
        );
        // A cable to another bridge, and a second NIC.
        for class in [InterfaceClass::Veth, InterfaceClass::Hardware] {
            change(host(1500), 2, |net| net.class = class).one("mtu-on-way");
        }
    }

    #[test]
    fn what_is_smaller_for_a_reason_is_not() {
        for mtu in [9000, 8950, 65_535, 65_520] {
            host(mtu).none("mtu-on-way");
        }
        // A tunnel, and guests behind it.
        let tunnel = change(host(1450), 2, |net| net.link.kind = "vxlan".to_owned());
        tunnel.none("mtu-on-way");
        port(tunnel, "tap1", 1450).none("mtu-on-way");
        // A port that is down; a NIC without a link; a bridge without one.
        change(host(1500), 2, |net| net.link.up = false).none("mtu-on-way");
        change(host(1500), 0, |net| net.link.speed_mbps = None).none("mtu-on-way");
        change(host(1500), 0, |net| net.link.master = None).none("mtu-on-way");
        // A VLAN of the host needs the large frames.
        let vlan = |mtu| {
            host(1500).facts_with(|facts| {
                let mut vlan = facts.interfaces[1].clone();
                vlan.class = InterfaceClass::Vlan;
                vlan.link.name = "eth0.7".to_owned();
                vlan.link.lower = Some("eth0".to_owned());
                vlan.link.mtu = mtu;
                facts.interfaces.push(vlan);
            })
        };
        vlan(9000).none("mtu-on-way");
        vlan(1500).one("mtu-on-way");
        // A bridge on a VLAN has its frames, whatever its NIC takes.
        let host = Host::new(1, 4).nic("eth0", 10_000, 0).vlan_bridged();
        let host = change(port(host, "tap0", 1500), 1, |net| {
            net.link.mtu = 1500;
            net.link.up = true;
        });
        change(host.clone(), 0, |net| net.link.mtu = 9000).none("mtu-on-way");
        let jumbo = change(host, 1, |net| net.link.mtu = 9000);
        change(jumbo, 0, |net| net.link.mtu = 9000).one("mtu-on-way");
    }
}
