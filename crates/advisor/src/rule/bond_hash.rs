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
/// Frames since the links were made from which it is worth a look.
const LEAST_EVER: f64 = 1e6;
/// Modes that choose a link by a hash (`bond_mode_uses_xmit_hash` of include/net/bonding.h).
const HASHING: [&str; 4] = ["802.3ad", "balance-xor", "balance-tlb", "balance-alb"];
/// Policies that look no further than addresses; the first is the default.
const ADDRESSES: [&str; 3] = ["layer2", "layer2+3", "encap2+3"];

fn check(case: &Case<'_>, report: &mut Report) {
    let bonds = || case.facts.interfaces.iter().filter(|net| net.link.up);
    let by_addresses = |net: &'_ NetFacts| net.bond.clone().filter(is_by_addresses);
    let Some(window) = &case.facts.window else {
        let ever = |net: &NetFacts, name: &str| net.counter(name);
        let one = |net: &&NetFacts| {
            by_addresses(net)
                .is_some_and(|bond| one_link(case, (net, &bond), &ever, LEAST_EVER).is_some())
        };
        if bonds().any(|net| one(&net)) {
            case.window(report, "frames that each link of a bond sends");
        }
        return;
    };
    let moved = |net: &NetFacts, name: &str| window.counter(net.name(), name);
    let least = LEAST * window.seconds;
    for net in bonds() {
        let Some(bond) = by_addresses(net) else {
            continue;
        };
        if let Some(found) = one_link(case, (net, &bond), &moved, least) {
            tell((net, &bond), &found, window, report);
        }
    }
}

/// A link that sends nearly all.
struct OneLink<'a> {
    most: &'a NetFacts,
    share: f64,
    /// Frames of all links.
    total: u64,
    links: usize,
}

/// The link of a bond that sends nearly all, by counters of at least so many frames.
fn one_link<'a>(
    case: &Case<'a>,
    (net, bond): (&'a NetFacts, &BondFacts),
    count: &dyn Fn(&NetFacts, &str) -> u64,
    least: f64,
) -> Option<OneLink<'a>> {
    let works = |port: &NetFacts| {
        port.link.carrier || port.link.speed_mbps.is_some() || count(port, "tx_packets") > 0
    };
    let ports = case.facts.ports(net.name());
    let ports: Vec<&NetFacts> = ports.filter(|port| port.link.up && works(port)).collect();
    let share_of = |name: &str| {
        let total: u64 = ports.iter().map(|port| count(port, name)).sum();
        let most = ports.iter().max_by_key(|port| count(port, name))?;
        (total > 0).then(|| (*most, count(most, name) as f64 / total as f64, total))
    };
    let (most, share, total) = share_of("tx_packets")?;
    // Where bytes are counted, these too: small frames alone do not fill a link.
    let bytes = share_of("tx_bytes").map_or(share, |(_, bytes, _)| bytes);
    // LACP has agreed on one link only: no policy spreads over the others.
    let alone = ports.len() < 2 || bond.ad_num_ports.is_some_and(|agreed| agreed < 2);
    let found = !alone && total as f64 >= least && share.min(bytes) >= ALL;
    found.then_some(OneLink {
        most,
        share,
        total,
        links: ports.len(),
    })
}

fn policy(bond: &BondFacts) -> &str {
    bond.xmit_hash_policy.as_deref().unwrap_or(ADDRESSES[0])
}

fn is_by_addresses(bond: &BondFacts) -> bool {
    HASHING.contains(&bond.mode.as_str()) && ADDRESSES.contains(&policy(bond))
}

fn tell(
    (net, bond): (&NetFacts, &BondFacts),
    found: &OneLink<'_>,
    window: &WindowFacts,
    report: &mut Report,
) {
    let name = net.name();
    let finding = report.find(
        name,
        format!(
            "{} sent {} of {} frames {}, {} links work; xmit_hash_policy {}",
            found.most.name(),
            number::share(found.share),
            number::count(found.total),
            in_seconds(window),
            found.links,
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
        // What was long ago is looked at again.
        let mut ever = host("802.3ad", Some("layer2"), all);
        ever.facts.window = None;
        let counted = ever.counter("tx_packets", 9_000_000);
        counted.none("bond-hash");
        assert!(counted.waits("bond-hash").contains("--window 10s"));
    }
}
