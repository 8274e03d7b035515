//! Frames of a tap moved in the kernel (T26).

use nicety_model::finding::{Certainty, Effect, Gain, Risk};

use crate::case::Case;
use crate::draft::{Reason, Report};
use crate::rule::Rule;

pub(super) const RULE: Rule = Rule {
    id: "T26",
    name: "vhost-net",
    checks: "The kernel moves the frames of a tap (vhost)",
    fires: "Fires when a guest NIC on a tap has no vhost.",
    writes: None,
    gain: Gain::Large,
    reasons: &[KERNEL],
    check,
};

const KERNEL: Reason = Reason {
    why: "Without vhost every frame goes through QEMU. That adds copies and a system call per \
          batch.",
    source: "Linux drivers/vhost/net.c; Internet Week 2011 S9, forwarding of virtual machines: \
             vhost-net above virtio-net in every row",
    cost: "The guest restarts once.",
    risk: Risk::Low,
    certainty: Certainty::Likely,
};

fn check(case: &Case<'_>, report: &mut Report) {
    for vm in &case.facts.vms {
        for nic in vm
            .nics
            .iter()
            .filter(|nic| nic.backend == "tap" && nic.vhost == Some(false))
        {
            let model = nic.model.as_deref().unwrap_or("unknown device");
            let virtio = model.starts_with("virtio-net");
            let finding = report.find(
                &vm.name,
                format!("{model} over a tap, moved by QEMU"),
                if virtio {
                    "vhost=on"
                } else {
                    "virtio-net with vhost=on"
                },
                &KERNEL,
            );
            finding.effect = Effect::VmRestart;
            finding.advice.push(
                "Run modprobe vhost_net, then set <driver name='vhost'/> in the interface's XML, or vhost=on."
                    .to_owned(),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use nicety_model::facts::VmNic;

    use crate::fixture::Host;

    #[test]
    fn taps_without_vhost_are_found() {
        let host = |vhost| {
            let nic = VmNic {
                backend: "tap".to_owned(),
                vhost: Some(vhost),
                model: Some("e1000".to_owned()),
                ..VmNic::default()
            };
            Host::new(1, 4)
                .vm("a", &[&[1]])
                .facts_with(|f| f.vms[0].nics = vec![nic])
        };
        assert!(
            host(false)
                .one("vhost-net")
                .should
                .contains("virtio-net with")
        );
        host(true).none("vhost-net");
        let modules = |vhost| crate::persist::modules(&host(vhost).advice());
        assert_eq!(modules(false), ["vhost_net"]);
        assert_eq!(modules(true), [""; 0]);
    }
}
