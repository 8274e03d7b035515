//! Bridged frames past the firewall's tables (T21).

use nicety_model::facts::InterfaceClass;
use nicety_model::finding::{Certainty, Risk};
use nicety_model::knob::Knob;

use crate::case::Case;
use crate::draft::{Reason, Report, change};

const OFF: Reason = Reason {
    why: "Every frame from guest to guest walks the host's iptables, and is dropped by rules that \
          were written for the host.",
    source: "Linux net/bridge/br_netfilter_hooks.c: 1 whenever the module loads; Oracle VM 3 10GbE \
             network performance tuning (2013), bridge netfilter",
    cost: "Rules that filter guests through the host's tables (libvirt nwfilter, physdev matches, \
           security groups) stop working: look at the rule list first.",
    risk: Risk::High,
    certainty: Certainty::Certain,
};

const NAMES: [&str; 3] = [
    "net.bridge.bridge-nf-call-iptables",
    "net.bridge.bridge-nf-call-ip6tables",
    "net.bridge.bridge-nf-call-arptables",
];

pub(super) fn check(case: &Case<'_>, report: &mut Report) {
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
        format!("{} on", on.join(", ")),
        "off",
        &OFF,
    );
    let services = &facts.services;
    let users = [("docker", services.docker), ("a kubelet", services.kubelet)];
    let users: Vec<&str> = users
        .into_iter()
        .filter_map(|(name, runs)| runs.then_some(name))
        .collect();
    if !users.is_empty() {
        finding.advice.push(format!(
            "{} runs here and needs it on: move the guests to another host, or their bridge to \
             another network namespace",
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
        "to keep it: a udev rule on ACTION==\"add\", SUBSYSTEM==\"module\", \
         KERNEL==\"br_netfilter\"; sysctl.d alone comes too early"
            .to_owned(),
    );
}

#[cfg(test)]
mod tests {
    use crate::fixture::Host;

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
