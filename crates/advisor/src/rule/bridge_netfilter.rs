//! Bridged frames past the firewall's tables (T21).

use nicety_model::HostFacts;
use nicety_model::facts::{FirewallChain, InterfaceClass};
use nicety_model::finding::{Certainty, Gain, Risk};
use nicety_model::knob::Knob;

use crate::case::Case;
use crate::draft::{Reason, Report, change};
use crate::rule::Rule;

pub(super) const RULE: Rule = Rule {
    id: "T21",
    name: "bridge-netfilter",
    checks: "Bridged frames skip the host firewall",
    fires: "Fires when a bridge has ports and a net.bridge.bridge-nf-call-* setting is on.",
    writes: Some("net.bridge.bridge-nf-call-iptables, -ip6tables and -arptables: 0"),
    gain: Gain::Large,
    reasons: &[OFF],
    check,
};

const OFF: Reason = Reason {
    why: "Every bridged frame goes through the host firewall. That costs CPU time, and rules \
          meant for the host drop guest traffic.",
    source: "Linux net/bridge/br_netfilter_hooks.c: 1 whenever the module loads; Oracle VM 3 \
             10GbE network performance tuning (2013), bridge netfilter",
    cost: "Rules that filter guests on the host stop working: libvirt nwfilter, physdev matches, \
           security groups. Check the rules first.",
    risk: Risk::High,
    certainty: Certainty::Certain,
};

const NAMES: [&str; 3] = [
    "net.bridge.bridge-nf-call-iptables",
    "net.bridge.bridge-nf-call-ip6tables",
    "net.bridge.bridge-nf-call-arptables",
];

/// Chains that are named.
const MOST_CHAINS: usize = 3;

fn check(case: &Case<'_>, report: &mut Report) {
    let facts = case.facts;
    let bridges: Vec<&str> = facts
        .interfaces
        .iter()
        .filter(|net| {
            net.class == InterfaceClass::Bridge && facts.ports(net.name()).next().is_some()
        })
        .map(|net| net.name())
        .collect();
    let on: Vec<&str> = NAMES
        .into_iter()
        .filter(|name| facts.sysctl_number(name).is_some_and(|value| value != 0))
        .collect();
    if bridges.is_empty() || on.is_empty() {
        return;
    }
    let finding = report.find(
        &bridges.join(" "),
        format!("{} on: {}", on.join(", "), rules_seen(facts, &on)),
        "off",
        &OFF,
    );
    if let Some(own) = physdev(facts) {
        finding.advice.push(format!(
            "{own} firewall rules match the bridge port (physdev) and need this setting. Move them to \
             nftables' bridge family first, or leave it on."
        ));
        return;
    }
    let services = &facts.services;
    let users = [("docker", services.docker), ("a kubelet", services.kubelet)];
    let users: Vec<&str> = users
        .into_iter()
        .filter_map(|(name, runs)| runs.then_some(name))
        .collect();
    if !users.is_empty() {
        finding.advice.push(format!(
            "{} runs here and needs this setting. Move the guests to another host, or their bridge \
             to another network namespace.",
            users.join(" and ")
        ));
        return;
    }
    finding.changes = on
        .iter()
        .map(|name| {
            let now = facts.sysctl.get(*name).cloned().unwrap_or_default();
            change(Knob::sysctl(name), now, 0)
        })
        .collect();
    finding.advice.push(
        "Keep it with nicety tune persist: it writes a udev rule that runs when br_netfilter loads. \
         sysctl.d alone runs too early."
            .to_owned(),
    );
}

/// Chains whose hooks the settings that are on call for bridged frames.
fn called<'a>(facts: &'a HostFacts, on: &[&str]) -> impl Iterator<Item = &'a FirewallChain> {
    let calls = |tables: &str| on.iter().any(|name| name.ends_with(tables));
    let (ip, ip6, arp) = (
        calls("-call-iptables"),
        calls("-call-ip6tables"),
        calls("-call-arptables"),
    );
    let chains = facts.firewall.iter().flatten();
    chains.filter(move |chain| {
        chain.sees_bridged()
            && match chain.family.as_str() {
                "ip" => ip,
                "ip6" => ip6,
                "arp" => arp,
                _ => ip || ip6,
            }
    })
}

/// What every bridged frame is shown to, largest first.
fn rules_seen(facts: &HostFacts, on: &[&str]) -> String {
    if facts.firewall.is_none() {
        return "the firewall rules are unknown (reading them needs root and nft)".to_owned();
    }
    let mut chains: Vec<&FirewallChain> = called(facts, on).collect();
    chains.sort_by_key(|chain| std::cmp::Reverse(chain.rules));
    let rules: u32 = chains.iter().map(|chain| chain.rules).sum();
    let most: Vec<String> = chains
        .iter()
        .take(MOST_CHAINS)
        .map(|c| format!("{} in {} {} {}", c.rules, c.family, c.table, c.chain))
        .collect();
    match most.as_slice() {
        [] => "no rules, but every frame still passes hooks and connection tracking".to_owned(),
        _ => format!(
            "bridged frames pass {rules} firewall rules ({})",
            most.join(", ")
        ),
    }
}

/// Number of rules that need bridge netfilter, if any.
fn physdev(facts: &HostFacts) -> Option<u32> {
    let own: u32 = facts.firewall.iter().flatten().map(|c| c.physdev).sum();
    (own > 0).then_some(own)
}

#[cfg(test)]
mod tests {
    use nicety_model::facts::FirewallChain;

    use crate::fixture::Host;

    fn chain(family: &str, hook: &str, rules: u32, physdev: u32) -> FirewallChain {
        FirewallChain {
            family: family.to_owned(),
            table: "filter".to_owned(),
            chain: hook.to_uppercase(),
            hook: hook.to_owned(),
            rules,
            physdev,
        }
    }

    fn host(chains: Vec<FirewallChain>) -> Host {
        Host::new(1, 4)
            .nic("eth0", 10_000, 0)
            .bridged()
            .sysctl("net.bridge.bridge-nf-call-iptables", "1")
            .sysctl("net.bridge.bridge-nf-call-ip6tables", "0")
            .facts_with(|f| f.firewall = Some(chains))
    }

    #[test]
    fn the_rules_that_frames_walk_through_are_counted() {
        let finding = host(vec![
            chain("ip", "forward", 400, 0),
            chain("inet", "prerouting", 3, 0),
            // Not called: another family, another hook, the bridge's own family.
            chain("ip6", "forward", 50, 0),
            chain("ip", "output", 7, 0),
            chain("bridge", "forward", 9, 0),
        ])
        .one("bridge-netfilter");
        assert!(
            finding.is.ends_with(
                "pass 403 firewall rules (400 in ip filter FORWARD, 3 in inet filter PREROUTING)"
            ),
            "{}",
            finding.is
        );
        assert_eq!(finding.changes.len(), 1);
        let none = host(Vec::new()).one("bridge-netfilter");
        assert!(none.is.contains("no rules, but"), "{}", none.is);
        let unknown = host(Vec::new()).facts_with(|f| f.firewall = None);
        assert!(unknown.one("bridge-netfilter").is.contains("are unknown"));
    }

    #[test]
    fn rules_that_need_it_are_a_reason_to_leave_it() {
        let finding = host(vec![chain("ip", "forward", 400, 2)]).one("bridge-netfilter");
        assert!(
            finding.changes.is_empty() && finding.advice[0].starts_with("2 firewall rules match")
        );
    }

    #[test]
    fn bridged_frames_pass_the_tables_by() {
        let host = Host::new(1, 4)
            .nic("eth0", 10_000, 0)
            .sysctl("net.bridge.bridge-nf-call-iptables", "1");
        host.none("bridge-netfilter");
        let bridged = host.bridged();
        assert_eq!(bridged.one("bridge-netfilter").changes.len(), 1);
        let docker = bridged
            .clone()
            .facts_with(|f| f.services.docker = true)
            .one("bridge-netfilter");
        assert!(docker.changes.is_empty() && docker.advice[0].contains("docker"));
        bridged
            .sysctl("net.bridge.bridge-nf-call-iptables", "0")
            .none("bridge-netfilter");
    }
}
