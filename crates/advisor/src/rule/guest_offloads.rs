//! Offloads between guest and host (T49).

use nicety_model::facts::{NetFacts, VmFacts, VmNic};
use nicety_model::finding::{Certainty, Effect, Gain, Goal, Risk};

use crate::case::Case;
use crate::draft::{Reason, Report};
use crate::rule::Rule;

pub(super) const RULE: Rule = Rule {
    id: "T49",
    name: "guest-offloads",
    checks: "Guests and host leave checksums and segmentation to each other",
    fires: "Fires for throughput when QEMU switches off a guest's checksum or segmentation offload, or its \
            tap has no vnet_hdr.",
    writes: None,
    gain: Gain::Large,
    reasons: &[OFF],
    check,
};

const OFF: Reason = Reason {
    why: "With offloads a guest hands over 64 KiB at once, without a checksum. Without them every frame \
          costs a copy and an exit. A bridge with one such port segments for all of its ports.",
    source: "Linux drivers/net/virtio_net.c and drivers/net/tun.c, set_offload; net/core/dev.c, \
             netdev_increment_features; QEMU hw/net/virtio-net.c",
    cost: "The guest restarts. Old guests without the features, and some routers in guests, want them off.",
    risk: Risk::Medium,
    certainty: Certainty::Likely,
};

/// Properties of QEMU's virtio-net that matter; UFO is gone since Linux 4.14, and nobody misses it.
const MATTERS: [&str; 9] = [
    "csum",
    "gso",
    "guest_csum",
    "host_tso4",
    "host_tso6",
    "guest_tso4",
    "guest_tso6",
    "mrg_rxbuf",
    "vnet_hdr",
];

fn check(case: &Case<'_>, report: &mut Report) {
    // Small packets gain nothing, and a router in a guest may want it so.
    if case.goal != Goal::Throughput {
        return;
    }
    for (vm, nic) in case.guest_nics() {
        // A NIC that QEMU emulates has none of them, whatever is written: its model is the cause.
        let emulated = nic.is_virtio() == Some(false);
        if emulated || nic.backend == "vfio" {
            continue;
        }
        let tap = nic
            .interface
            .as_deref()
            .and_then(|name| case.interface(name));
        let bare = tap.is_some_and(|tap| tap.vnet_hdr == Some(false));
        let off: Vec<&str> = nic
            .offloads_off
            .iter()
            .filter_map(|word| switched(word))
            .collect();
        if bare || !off.is_empty() {
            tell((vm, nic), tap.filter(|_| bare), &off, report);
        }
    }
}

/// The property that is off, where it matters.
fn switched(word: &str) -> Option<&str> {
    let name = word.split('=').next().unwrap_or(word);
    MATTERS.contains(&name).then_some(name)
}

fn tell((vm, nic): (&VmFacts, &VmNic), bare: Option<&NetFacts>, off: &[&str], report: &mut Report) {
    let words: Vec<String> = off.iter().map(|name| format!("{name}=off")).collect();
    let is = match (bare, words.is_empty()) {
        (Some(tap), true) => format!("{} has no vnet_hdr", tap.name()),
        (Some(tap), false) => format!("{}; {} has no vnet_hdr", words.join(", "), tap.name()),
        (None, _) => words.join(", "),
    };
    let subject = nic.interface.as_deref().unwrap_or(&vm.name);
    let finding = report.find(subject, is, "checksum and segmentation offload on", &OFF);
    finding.effect = Effect::VmRestart;
    if !words.is_empty() {
        finding.advice.push(format!(
            "Remove {} from the virtio-net device of {}; in libvirt the attributes of <host> and <guest> in <driver>.",
            words.join(", "),
            vm.name
        ));
    }
    if bare.is_some() {
        finding.advice.push(format!(
            "Let the tap of {} be opened with IFF_VNET_HDR: no vnet_hdr=off in -netdev.",
            vm.name
        ));
    }
}

#[cfg(test)]
mod tests {
    use nicety_model::facts::{InterfaceClass, VmNic};
    use nicety_model::finding::Goal;

    use crate::fixture::Host;

    fn host(model: &str, vnet_hdr: Option<bool>, off: &[&str]) -> Host {
        let host = Host::new(1, 4).nic("tap0", 10, 0).vm("web", &[&[1]]);
        host.facts_with(|facts| {
            facts.interfaces[0].class = InterfaceClass::Tap;
            facts.interfaces[0].vnet_hdr = vnet_hdr;
            facts.vms[0].nics.push(VmNic {
                backend: "tap".to_owned(),
                interface: Some("tap0".to_owned()),
                model: Some(model.to_owned()),
                offloads_off: off.iter().map(|word| (*word).to_owned()).collect(),
                ..VmNic::default()
            });
        })
    }

    #[test]
    fn offloads_that_are_off_are_told_with_the_words() {
        let off = host(
            "virtio-net-pci",
            Some(true),
            &["csum=off", "host_tso4", "host_ufo"],
        );
        let finding = off.one("guest-offloads");
        assert_eq!(
            (finding.subject.as_str(), finding.is.as_str()),
            ("tap0", "csum=off, host_tso4=off")
        );
        let bare = host("virtio-net-pci", Some(false), &[]).one("guest-offloads");
        assert_eq!(bare.is, "tap0 has no vnet_hdr");
        off.goal(Goal::Latency).none("guest-offloads");
    }

    #[test]
    fn what_nobody_misses_is_not() {
        host("virtio-net-pci", Some(true), &[]).none("guest-offloads");
        host("virtio-net-pci", None, &["host_ufo", "guest_ecn"]).none("guest-offloads");
        // An emulated NIC has no offloads to switch off.
        host("e1000", Some(false), &["csum"]).none("guest-offloads");
        // A tap of a tunnel is no guest's.
        let mut tunnel = host("virtio-net-pci", Some(false), &[]);
        tunnel.facts.vms[0].nics[0].interface = Some("tap9".to_owned());
        tunnel.none("guest-offloads");
    }
}
