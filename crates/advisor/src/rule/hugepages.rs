//! Huge pages for guests whose frames a program moves (T25).

use nicety_model::finding::{Certainty, Effect, Gain, Goal, Risk};
use nicety_model::knob::Knob;
use nicety_model::total;

use crate::case::Case;
use crate::draft::{Reason, Report, change};
use crate::rule::Rule;

pub(super) const RULE: Rule = Rule {
    id: "T25",
    name: "hugepages",
    checks: "Guests of a user-space switch use huge pages",
    fires: "Fires when a vhost-user guest has small pages. For latency, when transparent huge \
            pages are always on.",
    writes: Some("transparent_hugepage/enabled: madvise (latency only)"),
    gain: Gain::Medium,
    reasons: &[HUGE, MADVISE],
    check,
};

const HUGE: Reason = Reason {
    why: "A user-space switch reads guest memory itself. Small pages cost it a TLB miss for each \
          frame, and vhost-user needs shared memory.",
    source: "DPDK, Getting Started Guide for Linux, hugepages; libvirt domain XML, <hugepages>",
    cost: "Nothing else can use that memory.",
    risk: Risk::Medium,
    certainty: Certainty::Likely,
};

const MADVISE: Reason = Reason {
    why: "The kernel compacts memory to build huge pages. A program waits for its page meanwhile.",
    source: "Linux Documentation/admin-guide/mm/transhuge.rst",
    cost: "Programs that do not ask for huge pages get none.",
    risk: Risk::Low,
    certainty: Certainty::Guess,
};

fn check(case: &Case<'_>, report: &mut Report) {
    for vm in &case.facts.vms {
        let user = vm
            .nics
            .iter()
            .any(|nic| nic.backend.starts_with("vhost-user"));
        if !user || vm.huge_mib > 0 {
            continue;
        }
        let memory = total(vm.memory_mib.values());
        let node = case.home_of(vm).ok().and_then(|home| home.node);
        let place = node.map_or_else(String::new, |node| format!(" on node {node}"));
        let pages = memory.div_ceil(1024);
        let finding = report.find(
            &vm.name,
            format!("vhost-user, {memory} MiB in small pages"),
            format!("huge pages{place}"),
            &HUGE,
        );
        finding.formula = Some(format!("{memory} MiB / 1 GiB = {pages} pages"));
        finding.effect = Effect::VmRestart;
        finding.advice.push(format!(
            "Boot with default_hugepagesz=1G hugepagesz=1G hugepages={pages}, then add <hugepages> to \
             the domain's XML."
        ));
    }
    let always = case.facts.memory.transparent.as_deref() == Some("always");
    if case.goal == Goal::Latency && always && !case.facts.vms.is_empty() {
        let finding = report.find("host", "transparent huge pages always", "madvise", &MADVISE);
        let knob = Knob::sys_file("kernel/mm/transparent_hugepage/enabled");
        finding.changes.push(change(knob, "always", "madvise"));
    }
}

#[cfg(test)]
mod tests {
    use nicety_model::facts::VmNic;
    use nicety_model::finding::Goal;

    use crate::fixture::Host;

    #[test]
    fn a_vhost_user_guest_needs_huge_pages() {
        let host = Host::new(1, 4).vm("a", &[&[1]]).facts_with(|f| {
            f.vms[0].nics = vec![VmNic {
                backend: "vhost-user".to_owned(),
                ..VmNic::default()
            }];
            f.vms[0].memory_mib = [(0, 4096)].into();
        });
        let finding = host.one("hugepages");
        assert!(finding.advice[0].contains("hugepages=4"));
        assert_eq!(finding.should, "huge pages");
        let near = host.clone().nic("eth0", 10_000, 0);
        assert_eq!(near.one("hugepages").should, "huge pages on node 0");
        host.facts_with(|f| f.vms[0].huge_mib = 4096)
            .none("hugepages");
        Host::new(1, 4).vm("a", &[&[1]]).none("hugepages");
    }

    #[test]
    fn latency_wants_huge_pages_only_on_request() {
        let host = Host::new(1, 4)
            .vm("a", &[&[1]])
            .facts_with(|f| f.memory.transparent = Some("always".to_owned()));
        host.none("hugepages");
        assert_eq!(
            host.goal(Goal::Latency).one("hugepages").changes[0].to,
            "madvise"
        );
    }
}
