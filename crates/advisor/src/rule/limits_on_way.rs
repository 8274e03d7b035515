//! Limits on a guest's way that bite, or that somebody has left (T47).

use std::collections::BTreeMap;

use nicety_model::facts::{InterfaceClass, NetFacts, QdiscFacts};
use nicety_model::finding::{Certainty, Gain, Risk};
use nicety_model::number;
use nicety_model::traffic_control::{Handle, OURS};

use crate::case::Case;
use crate::draft::{Reason, Report};
use crate::rule::Rule;

pub(super) const RULE: Rule = Rule {
    id: "T47",
    name: "limits-on-way",
    checks: "No limit on the way of guests drops frames that nobody wants dropped",
    fires: "Fires when a discipline or policer that limits has dropped frames on a guest's way, and for \
            netem anywhere.",
    writes: None,
    gain: Gain::Large,
    reasons: &[BITES, DISTURBS],
    check,
};

const BITES: Reason = Reason {
    why: "libvirt, Proxmox, Open vSwitch, CNI and tc scripts limit guests here, and some leave limits \
          behind. What is above is dropped.",
    source: "tc-tbf(8), tc-htb(8), tc-police(8); github.com/openvswitch/ovs-issues issue 210",
    cost: "Removing it drops a limit that somebody may want. Ask its owner first.",
    risk: Risk::Medium,
    certainty: Certainty::Guess,
};

const DISTURBS: Reason = Reason {
    why: "netem delays, loses or reorders frames on purpose, for tests. Nobody needs it on a host that works.",
    source: "tc-netem(8)",
    cost: "A test that needs it no longer has it.",
    risk: Risk::Low,
    certainty: Certainty::Likely,
};

/// Fewer drops are a moment, no limit that bites.
const LEAST: u64 = 100;
/// A queue for fewer frames, or bytes, drops every burst.
const FEW_FRAMES: u32 = 100;
const FEW_BYTES: u32 = 100 * 1514;
/// Names in a sentence, at most.
const NAMED: usize = 3;

/// Limits of one kind in one place, which several ports have.
#[derive(Debug, Default)]
struct Limits<'a> {
    ports: Vec<&'a str>,
    drops: u64,
    rates: Vec<u64>,
}

fn check(case: &Case<'_>, report: &mut Report) {
    let has_guests = case.facts.interfaces.iter().any(is_guests);
    let mut limits: BTreeMap<(&str, &str, bool), Limits<'_>> = BTreeMap::new();
    for net in &case.facts.interfaces {
        let limiting = net.link.qdiscs.iter().filter(|qdisc| bites(qdisc));
        for qdisc in limiting {
            if qdisc.kind != NETEM && !is_on_way(case, net, has_guests) {
                continue;
            }
            let ours = is_ours(net, qdisc);
            let all = limits
                .entry((qdisc.kind.as_str(), place(qdisc), ours))
                .or_default();
            all.ports.push(net.name());
            all.drops += qdisc.drops.unwrap_or(0);
            all.rates.extend(qdisc.rate_bps);
        }
    }
    for ((kind, place, ours), all) in limits {
        tell((kind, place, ours), &all, report);
    }
}

const NETEM: &str = "netem";

/// Whether a discipline drops because of a limit, or disturbs.
fn bites(qdisc: &QdiscFacts) -> bool {
    let drops = qdisc.drops.unwrap_or(0) >= LEAST;
    match qdisc.kind.as_str() {
        NETEM => true,
        "tbf" | "htb" | "hfsc" | "cake" => drops,
        "fq" => drops && qdisc.rate_bps.is_some(),
        "pfifo" => drops && qdisc.limit.map_or(qdisc.root, |limit| limit < FEW_FRAMES),
        "bfifo" => drops && qdisc.limit.map_or(qdisc.root, |limit| limit < FEW_BYTES),
        // A filter that drops may be a firewall's: of a record that does not say, only what is usual counts.
        "ingress" => drops && qdisc.police != Some(false),
        "clsact" => drops && qdisc.police == Some(true),
        _ => false,
    }
}

/// One end of a cable to a guest or container.
fn is_guests(net: &NetFacts) -> bool {
    use InterfaceClass::{Macvtap, Tap, Veth};
    net.link.up
        && (matches!(net.class, Tap | Macvtap | Veth) || net.link.driver.as_deref() == Some("vif"))
}

/// Whether frames of guests pass an interface.
fn is_on_way(case: &Case<'_>, net: &NetFacts, has_guests: bool) -> bool {
    is_guests(net)
        || net.link.kind == "ifb" && has_guests
        || case.stack_of(net.name()).into_iter().any(is_guests)
}

/// nicety's have a number of their own, or are on interfaces that it names.
fn is_ours(net: &NetFacts, qdisc: &QdiscFacts) -> bool {
    let number = net.name().strip_prefix("nicety");
    let handle = Handle::new(OURS, 0).to_string();
    qdisc.handle.as_deref() == Some(&handle)
        || number.is_some_and(|number| number.parse::<u32>().is_ok())
}

fn place(qdisc: &QdiscFacts) -> &'static str {
    match qdisc.kind.as_str() {
        "ingress" | "clsact" => "policer of what comes in",
        _ if qdisc.root => "root",
        _ => "class",
    }
}

fn tell((kind, place, ours): (&str, &str, bool), all: &Limits<'_>, report: &mut Report) {
    let named: Vec<String> = all.ports.iter().map(|port| (*port).to_owned()).collect();
    let first = all.ports.first().copied().unwrap_or_default();
    let dropped = match all.drops {
        0 => String::new(),
        drops => format!(" dropped {} frames", number::count(drops)),
    };
    let rate = match (all.rates.iter().min(), all.rates.iter().max()) {
        (Some(low), Some(high)) if low == high => format!(" of {}", number::bit_rate(*low as f64)),
        (Some(low), Some(high)) => {
            format!(
                " of {} to {}",
                number::bit_rate(*low as f64),
                number::bit_rate(*high as f64)
            )
        }
        _ => String::new(),
    };
    let on = number::first_few(&named, NAMED, ", ");
    let whose = match (ours, kind) {
        (true, _) => "; nicety set it",
        (false, NETEM) => "",
        (false, _) => "; who set it is not known",
    };
    let what = if place.starts_with("policer") {
        format!("the {place} ({kind}){rate}")
    } else {
        format!("{kind} at the {place}{rate}")
    };
    let (should, reason) = match (kind, ours) {
        (NETEM, _) => ("no netem", &DISTURBS),
        (_, true) => ("a higher limit, if its guest is to have more", &BITES),
        (_, false) => ("ask its owner whether the limit is wanted", &BITES),
    };
    let finding = report.find(
        first,
        format!("{what} on {on}{dropped}{whose}"),
        should,
        reason,
    );
    finding.advice.push(match (kind, ours) {
        (NETEM, _) => format!("tc qdisc del dev {first} root, once nobody needs it."),
        (_, true) => "nicety port list -v and nicety police status show nicety's limits.".to_owned(),
        ("ingress" | "clsact", false) => {
            format!("Look at it with tc -s filter show dev {first} ingress; nicety police import names its rate.")
        }
        _ => format!("Look at it with tc -s qdisc show dev {first}; nicety police import names its rate."),
    });
}

#[cfg(test)]
mod tests {
    use nicety_model::facts::{InterfaceClass, QdiscFacts};

    use crate::fixture::Host;

    fn qdisc(kind: &str, root: bool, drops: u64) -> QdiscFacts {
        QdiscFacts {
            kind: kind.to_owned(),
            root,
            drops: Some(drops),
            ..QdiscFacts::default()
        }
    }

    fn at(class: InterfaceClass, qdisc: QdiscFacts) -> Host {
        Host::new(1, 2).nic("tap0", 10, 0).nic_with(|net| {
            net.class = class;
            net.link.qdiscs = vec![qdisc];
        })
    }

    fn tap(kind: &str, root: bool, drops: u64) -> Host {
        at(InterfaceClass::Tap, qdisc(kind, root, drops))
    }

    #[test]
    fn a_limit_that_drops_is_told_wherever_it_is() {
        let tbf = tap("tbf", true, 912_345).one("limits-on-way");
        assert_eq!(
            tbf.is,
            "tbf at the root on tap0 dropped 912,345 frames; who set it is not known"
        );
        let policer = tap("ingress", false, 99_999).one("limits-on-way");
        assert!(
            policer
                .is
                .starts_with("the policer of what comes in (ingress) on tap0 dropped 99,999")
        );
        for kind in ["htb", "hfsc", "cake", "bfifo"] {
            tap(kind, true, 5000).one("limits-on-way");
        }
        tap("tbf", false, 5000).one("limits-on-way");
        at(InterfaceClass::Macvtap, qdisc("tbf", true, 5000)).one("limits-on-way");
        at(InterfaceClass::Veth, qdisc("tbf", true, 5000)).one("limits-on-way");
        let with = |kind: &str, change: fn(&mut QdiscFacts)| {
            let mut qdisc = qdisc(kind, true, 5000);
            change(&mut qdisc);
            at(InterfaceClass::Tap, qdisc)
        };
        let rate = with("fq", |qdisc| qdisc.rate_bps = Some(1_000_000)).one("limits-on-way");
        assert!(rate.is.starts_with("fq at the root of 1"), "{}", rate.is);
        with("clsact", |qdisc| qdisc.police = Some(true)).one("limits-on-way");
        with("pfifo", |qdisc| qdisc.limit = Some(10)).one("limits-on-way");
        let ours =
            with("tbf", |qdisc| qdisc.handle = Some("6e63:".to_owned())).one("limits-on-way");
        assert!(ours.is.ends_with("; nicety set it"), "{}", ours.is);
        // On an interface that frames are sent to, and on the NIC below.
        let guest = tap("noqueue", true, 0);
        let other = |kind: &str, class: InterfaceClass| {
            guest.clone().facts_with(|facts| {
                let mut net = facts.interfaces[0].clone();
                net.class = class;
                net.link.kind = kind.to_owned();
                net.link.name = "other".to_owned();
                net.link.qdiscs = vec![qdisc("tbf", true, 5000)];
                net.link.master = Some("br0".to_owned());
                facts.interfaces[0].link.master = Some("br0".to_owned());
                let mut bridge = net.clone();
                bridge.class = InterfaceClass::Bridge;
                bridge.link.name = "br0".to_owned();
                bridge.link.qdiscs.clear();
                bridge.link.master = None;
                facts.interfaces.extend([net, bridge]);
            })
        };
        other("ifb", InterfaceClass::Virtual).one("limits-on-way");
        other("", InterfaceClass::Hardware).one("limits-on-way");
    }

    #[test]
    fn limits_of_one_kind_are_one_finding_and_netem_is_always_told() {
        let many = tap("tbf", true, 5000).facts_with(|facts| {
            for number in 1..6 {
                let mut net = facts.interfaces[0].clone();
                net.link.name = format!("tap{number}");
                facts.interfaces.push(net);
            }
        });
        let finding = many.one("limits-on-way");
        assert!(
            finding.is.contains("dropped 30,000 frames"),
            "{}",
            finding.is
        );
        at(InterfaceClass::Hardware, qdisc("netem", true, 0)).one("limits-on-way");
    }

    #[test]
    fn queues_that_drop_now_and_then_and_firewalls_are_no_limits() {
        for kind in [
            "fq_codel",
            "fq",
            "mq",
            "noqueue",
            "pfifo_fast",
            "sfq",
            "clsact",
        ] {
            tap(kind, true, 5000).none("limits-on-way");
        }
        for kind in ["tbf", "htb", "ingress"] {
            tap(kind, true, 0).none("limits-on-way");
        }
        let with = |kind: &str, change: fn(&mut QdiscFacts)| {
            let mut qdisc = qdisc(kind, true, 5000);
            change(&mut qdisc);
            at(InterfaceClass::Tap, qdisc)
        };
        with("ingress", |qdisc| qdisc.police = Some(false)).none("limits-on-way");
        with("pfifo", |qdisc| qdisc.limit = Some(1000)).none("limits-on-way");
        // A shaper of a router without guests.
        at(InterfaceClass::Hardware, qdisc("cake", true, 5000)).none("limits-on-way");
    }
}
