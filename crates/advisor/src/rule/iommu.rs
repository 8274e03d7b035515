//! The IOMMU out of the host's own way (T29).

use nicety_model::finding::{Certainty, Effect, Risk};

use crate::case::Case;
use crate::draft::{Reason, Report};

const IDENTITY: Reason = Reason {
    why: "With translation for the host's own devices every buffer is mapped and unmapped; only \
          devices given to guests need it.",
    source: "Linux Documentation/admin-guide/kernel-parameters.txt, iommu=pt",
    cost: "The host's own devices may reach all memory: less protection against a bad device.",
    risk: Risk::High,
    certainty: Certainty::Likely,
};

pub(super) fn check(case: &Case<'_>, report: &mut Report) {
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
        "identity for what the host uses itself",
        &IDENTITY,
    );
    finding.effect = Effect::Reboot;
    finding
        .advice
        .push("boot with iommu=pt (Intel: intel_iommu=on iommu=pt)".to_owned());
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
