//! A bond that sends all over one link (T48).

use nicety_model::facts::{BondFacts, NetFacts, WindowFacts};
use nicety_model::finding::{Certainty, Gain, Risk};
use nicety_model::number;

use crate::case::{Case, in_seconds};
use crate::draft::{Reason, Report};
use crate::rule::Rule;

pub(super) const RULE: Rule = Rule {
    id: "T48",
    name: "bond-hash",
    checks: "A bond that shares by a hash uses all of its links",
    fires: "Fires when one link of a bond sent 95 % or more in the window, and its hash policy looks at \
            addresses only.",
    writes: None,
    gain: Gain::Large,
    reasons: &[HASH],
    check,
};

const HASH: Reason = Reason {
    why: "The policy layer2 looks at MAC addresses only. To one gateway every frame gets the same link, \
          and the others idle.",
    source: "Linux Documentation/networking/bonding.rst, xmit_hash_policy",
    cost: "With layer3+4 fragments of one datagram may take other links than the rest, which 802.3ad does \
           not allow.",
    risk: Risk::Low,
    certainty: Certainty::Likely,
};

/// Share of one link from which the others idle.
const ALL: f64 = 0.95;
/// Frames a second below which one connection explains it.
const LEAST: f64 = 1000.0;
/// Modes that choose a link by a hash (`bond_mode_uses_xmit_hash` of include/net/bonding.h).
const HASHING: [&str; 4] = ["802.3ad", "balance-xor", "balance-tlb", "balance-alb"];
/// Policies that look no further than addresses; the first is the default.
const ADDRESSES: [&str; 3] = ["layer2", "layer2+3", "encap2+3"];

fn check(case: &Case<'_>, report: &mut Report) {
    let Some(window) = &case.facts.window else {
        return;
    };
    for net in case.facts.interfaces.iter().filter(|net| net.link.up) {
        let Some(bond) = net.bond.as_ref().filter(|bond| is_by_addresses(bond)) else {
            continue;
        };
        let ports: Vec<&NetFacts> = links(case, window, net).collect();
        // LACP has agreed on one link only: no policy spreads over the others.
        if ports.len() < 2 || bond.ad_num_ports.is_some_and(|agreed| agreed < 2) {
            continue;
        }
        if let Some((most, share, total)) = busiest(window, &ports) {
            tell(
                (net, bond),
                (most, share),
                (total, ports.len(), window),
                report,
            );
        }
    }
}

fn policy(bond: &BondFacts) -> &str {
    bond.xmit_hash_policy.as_deref().unwrap_or(ADDRESSES[0])
}

fn is_by_addresses(bond: &BondFacts) -> bool {
    HASHING.contains(&bond.mode.as_str()) && ADDRESSES.contains(&policy(bond))
}

/// Links that can carry frames.
fn links<'a>(
    case: &Case<'a>,
    window: &WindowFacts,
    bond: &NetFacts,
) -> impl Iterator<Item = &'a NetFacts> {
    case.facts.interfaces.iter().filter(move |net| {
        let works = net.link.carrier || net.link.speed_mbps.is_some() || sent(window, net) > 0;
        net.link.master.as_deref() == Some(bond.name()) && net.link.up && works
    })
}

fn sent(window: &WindowFacts, net: &NetFacts) -> u64 {
    window.counter(net.name(), "tx_packets")
}

/// The link that sends nearly all, its share, and how many frames there were.
fn busiest<'a>(window: &WindowFacts, ports: &[&'a NetFacts]) -> Option<(&'a NetFacts, f64, u64)> {
    let share_of = |name: &str| {
        let of = |net: &NetFacts| window.counter(net.name(), name);
        let total: u64 = ports.iter().map(|net| of(net)).sum();
        let most = ports.iter().max_by_key(|net| of(net))?;
        (total > 0).then(|| (*most, of(most) as f64 / total as f64, total))
    };
    let (most, frames, total) = share_of("tx_packets")?;
    // Where bytes are counted, these too: small frames alone do not fill a link.
    let bytes = share_of("tx_bytes").map_or(frames, |(_, share, _)| share);
    let enough = total as f64 >= LEAST * window.seconds;
    (enough && frames.min(bytes) >= ALL).then_some((most, frames, total))
}

fn tell(
    (net, bond): (&NetFacts, &BondFacts),
    (most, share): (&NetFacts, f64),
    (total, links, window): (u64, usize, &WindowFacts),
    report: &mut Report,
) {
    let name = net.name();
    let finding = report.find(
        name,
        format!(
            "{} sent {} of {} frames {}, {links} links work; xmit_hash_policy {}",
            most.name(),
            number::share(share),
            number::count(total),
            in_seconds(window),
            policy(bond)
        ),
        "a share for every link: layer3+4, or vlan+srcmac for guests in one VLAN",
        &HASH,
    );
    finding.formula = Some(format!("busiest link / all links < {}", number::share(ALL)));
    finding.advice.push(format!(
        "ip link set dev {name} type bond xmit_hash_policy layer3+4"
    ));
    finding.advice.push(
        "Keep it where the bond is configured. What comes in is spread by the switch.".to_owned(),
    );
}

#[cfg(test)]
mod tests {
    use nicety_model::facts::{BondFacts, InterfaceClass};

    use crate::fixture::Host;

    fn host(mode: &str, policy: Option<&str>, sent: [u64; 2]) -> Host {
        let mut host = Host::new(1, 4)
            .nic("eth0", 10_000, 0)
            .nic("eth1", 10_000, 0)
            .nic("bond0", 0, 0);
        for port in 0..2 {
            host.facts.interfaces[port].link.master = Some("bond0".to_owned());
        }
        host.facts.interfaces[2].class = InterfaceClass::Bond;
        host.facts.interfaces[2].bond = Some(BondFacts {
            mode: mode.to_owned(),
            xmit_hash_policy: policy.map(str::to_owned),
            ad_num_ports: Some(2),
        });
        host.window(10.0, |window| {
            for (port, frames) in ["eth0", "eth1"].into_iter().zip(sent) {
                let counters = [("tx_packets", frames), ("tx_bytes", 1000 * frames)];
                let counters = counters.map(|(name, value)| (name.to_owned(), value));
                window.counters.insert(port.to_owned(), counters.into());
            }
        })
    }

    #[test]
    fn a_bond_that_uses_one_link_is_told() {
        let finding = host("802.3ad", Some("layer2"), [990_000, 10_000]).one("bond-hash");
        assert!(finding.is.starts_with("eth0 sent 99"), "{}", finding.is);
        assert!(
            finding
                .is
                .ends_with("2 links work; xmit_hash_policy layer2"),
            "{}",
            finding.is
        );
        host("balance-xor", Some("layer2+3"), [0, 1_000_000]).one("bond-hash");
        host("802.3ad", None, [1_000_000, 0]).one("bond-hash");
    }

    #[test]
    fn what_no_policy_would_change_is_not() {
        let all = [1_000_000, 0];
        host("active-backup", None, all).none("bond-hash");
        host("balance-rr", None, all).none("bond-hash");
        // One connection is one link.
        host("802.3ad", Some("layer3+4"), all).none("bond-hash");
        host("802.3ad", Some("vlan+srcmac"), all).none("bond-hash");
        host("802.3ad", Some("layer2"), [600_000, 400_000]).none("bond-hash");
        host("802.3ad", Some("layer2"), [900, 0]).none("bond-hash");
        let alone = |change: fn(&mut Host)| {
            let mut host = host("802.3ad", Some("layer2"), all);
            change(&mut host);
            host.none("bond-hash");
        };
        alone(|host| host.facts.interfaces[1].link.up = false);
        alone(|host| host.facts.interfaces[1].link.speed_mbps = None);
        alone(|host| {
            if let Some(bond) = &mut host.facts.interfaces[2].bond {
                bond.ad_num_ports = Some(1);
            }
        });
        alone(|host| host.facts.window = None);
    }
}
