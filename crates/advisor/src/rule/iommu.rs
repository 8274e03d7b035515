//! The IOMMU out of the host's own way (T29).

use nicety_model::finding::{Certainty, Effect, Gain, Risk};

use crate::case::Case;
use crate::draft::{Reason, Report};
use crate::rule::Rule;

pub(super) const RULE: Rule = Rule {
    id: "T29",
    name: "iommu",
    checks: "The IOMMU does not slow the host's own devices",
    fires: "Fires when the host uses virtual functions or passthrough and the IOMMU translates \
            for host devices.",
    writes: None,
    gain: Gain::Medium,
    reasons: &[IDENTITY],
    check,
};

const IDENTITY: Reason = Reason {
    why: "The IOMMU maps and unmaps every buffer of the host's own devices. Only devices given to \
          guests need that.",
    source: "Linux Documentation/admin-guide/kernel-parameters.txt, iommu=pt",
    cost: "The host's devices can reach all memory: less protection against a faulty device.",
    risk: Risk::High,
    certainty: Certainty::Likely,
};

fn check(case: &Case<'_>, report: &mut Report) {
    let passthrough = case
        .facts
        .vms
        .iter()
        .any(|vm| vm.nics.iter().any(|nic| nic.backend == "vfio"));
    let vfs = case
        .facts
        .interfaces
        .iter()
        .any(|net| net.vfs.as_ref().is_some_and(|v| v.count > 0));
    let groups = &case.facts.iommu_groups;
    let translated: u32 = groups
        .iter()
        .filter(|(kind, _)| kind.starts_with("DMA"))
        .map(|(_, n)| n)
        .sum();
    if !(passthrough || vfs) || translated == 0 {
        return;
    }
    let finding = report.find(
        "host",
        format!("{translated} IOMMU groups translate (DMA)"),
        "identity mapping for the host's own devices",
        &IDENTITY,
    );
    finding.effect = Effect::Reboot;
    finding
        .advice
        .push("Boot with iommu=pt (Intel: intel_iommu=on iommu=pt).".to_owned());
}

#[cfg(test)]
mod tests {
    use nicety_model::facts::VfFacts;

    use crate::fixture::Host;

    #[test]
    fn translation_is_found_on_hosts_with_virtual_functions() {
        let host = |kind: &str, vfs| {
            let kind = kind.to_owned();
            let host = Host::new(1, 4)
                .nic("eth0", 10_000, 0)
                .facts_with(|f| f.iommu_groups = [(kind, 12)].into());
            host.nic_with(|n| {
                n.vfs = Some(VfFacts {
                    count: vfs,
                    max: 63,
                })
            })
        };
        host("DMA-FQ", 4).one("iommu");
        host("identity", 4).none("iommu");
        host("DMA", 0).none("iommu");
    }
}
