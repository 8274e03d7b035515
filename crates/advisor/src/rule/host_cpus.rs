//! CPUs for the host itself (T01): Xen's first domain on one socket; under KVM, cores left over.

use nicety_model::cpu_list::format_cpu_list;
use nicety_model::finding::{Certainty, Effect, Gain, Risk};

use crate::case::Case;
use crate::draft::{Reason, Report};
use crate::rule::Rule;

pub(super) const RULE: Rule = Rule {
    id: "T01",
    name: "host-cpus",
    checks: "The host has CPUs of its own",
    fires: "Fires when Xen's first domain spans sockets. Under KVM, when pinned vCPUs leave too \
            few CPUs to the host.",
    writes: None,
    gain: Gain::Large,
    reasons: &[XEN, KVM],
    check,
};

const XEN: Reason = Reason {
    why: "The first domain moves every frame of every guest. Spread over sockets, it fetches its \
          data from remote memory.",
    source: "Oracle VM 3 10GbE network performance tuning (2013), number of dom0 CPUs; Xen wiki, \
             Network Throughput and Performance Guide",
    cost: "It needs a reboot. Disks and management get fewer CPUs too.",
    risk: Risk::High,
    certainty: Certainty::Likely,
};

const KVM: Reason = Reason {
    why: "Interrupts, vhost threads and host programs need CPUs. Without free ones they interrupt \
          a guest at work.",
    source: "Red Hat Virtualization Tuning and Optimization Guide, CPU pinning",
    cost: "One or more guests move.",
    risk: Risk::Medium,
    certainty: Certainty::Likely,
};

fn check(case: &Case<'_>, report: &mut Report) {
    if case.facts.xen.is_some() {
        xen(case, report);
    } else {
        kvm(case, report);
    }
}

fn xen(case: &Case<'_>, report: &mut Report) {
    let Some(xen) = &case.facts.xen else { return };
    let (Some(cpus), Some(nodes), Some(threads)) = (xen.cpus, xen.nodes, xen.threads_per_socket())
    else {
        report.undecided(
            "Run it as root where xl info works: the rule needs the sockets and nodes of the machine.",
            None,
        );
        return;
    };
    let vcpus = xen.dom0_vcpus.len() as u32;
    let pinned = xen.dom0_vcpus.iter().all(|vcpu| vcpu.cpus.len() == 1);
    if nodes < 2 || (vcpus <= threads && pinned) || vcpus == 0 {
        return;
    }
    let wanted = vcpus.min(threads);
    let (cores, per_core) = (
        xen.cores_per_socket.unwrap_or(0),
        xen.threads_per_core.unwrap_or(0),
    );
    let finding = report.find(
        "Domain-0",
        format!(
            "{vcpus} vCPUs on {cpus} CPUs of {nodes} nodes, {}",
            if pinned { "pinned" } else { "not pinned" }
        ),
        format!("{wanted} vCPUs, each pinned to its own CPU of the first socket"),
        &XEN,
    );
    finding.formula = Some(format!(
        "cores per socket {cores} × threads per core {per_core} = {threads}"
    ));
    finding.effect = Effect::Reboot;
    finding.advice.push(format!(
        "Add to Xen's command line: dom0_max_vcpus={wanted} dom0_vcpus_pin"
    ));
}

fn kvm(case: &Case<'_>, report: &mut Report) {
    let pinned = case.pinned_cpus();
    if pinned.is_empty() {
        return;
    }
    let housekeeping = &case.facts.cpu.housekeeping;
    let left: Vec<u32> = housekeeping
        .iter()
        .copied()
        .filter(|c| !pinned.contains(c))
        .collect();
    let queues: usize = case
        .nics()
        .map(|net| case.queue_irqs(net).len())
        .max()
        .unwrap_or(0);
    let vhost: usize = case.facts.vms.iter().map(|vm| vm.vhost.len()).sum();
    let online = case.facts.cpu.cpus.len();
    // More than half the machine for the host would be no advice.
    let wanted = (queues + vhost + 1).min(online / 2).max(1);
    if left.len() >= wanted {
        return;
    }
    let finding = report.find(
        "host",
        format!(
            "{} {} without a pinned vCPU: {}",
            left.len(),
            if left.len() == 1 { "CPU" } else { "CPUs" },
            format_cpu_list(&left)
        ),
        format!("at least {wanted}"),
        &KVM,
    );
    finding.formula = Some(format!(
        "queues {queues} + vhost threads {vhost} + 1, at most half of {online} CPUs = {wanted}"
    ));
    finding
        .advice
        .push("Give the guests fewer CPUs, or set AllowedCPUs= of machine.slice.".to_owned());
}

#[cfg(test)]
mod tests {
    use nicety_model::facts::XenFacts;

    use crate::fixture::{Host, thread};

    fn dom0(vcpus: u32, nodes: u32, pinned: bool) -> Host {
        let mut host = Host::new(1, 4);
        host.facts.xen = Some(XenFacts {
            cpus: Some(160),
            nodes: Some(nodes),
            cores_per_socket: Some(10),
            threads_per_core: Some(2),
            dom0_vcpus: (0..vcpus)
                .map(|n| thread(n, "vCPU", &if pinned { vec![n] } else { Vec::new() }))
                .collect(),
            ..XenFacts::default()
        });
        host
    }

    #[test]
    fn a_first_domain_on_all_sockets_shrinks_to_one() {
        let finding = dom0(160, 8, false).one("host-cpus");
        assert!(finding.advice[0].ends_with("dom0_max_vcpus=20 dom0_vcpus_pin"));
        assert!(
            finding
                .formula
                .unwrap()
                .contains("10 × threads per core 2 = 20")
        );
        dom0(20, 8, true).none("host-cpus");
        dom0(16, 1, false).none("host-cpus");
        assert_eq!(dom0(20, 8, false).find("host-cpus").len(), 1, "not pinned");
    }

    #[test]
    fn vcpus_on_every_cpu_leave_none_for_the_host() {
        let host = Host::new(1, 4)
            .nic("eth0", 10_000, 0)
            .vm("a", &[&[0], &[1], &[2], &[3]]);
        assert!(host.one("host-cpus").is.starts_with("0 CPUs"));
        let host = Host::new(1, 8)
            .nic("eth0", 10_000, 0)
            .vm("a", &[&[4], &[5]]);
        host.none("host-cpus");
    }
}
