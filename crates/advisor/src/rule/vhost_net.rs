//! Frames of a tap moved in the kernel (T26).

use nicety_model::finding::{Certainty, Effect, Risk};

use crate::case::Case;
use crate::draft::{Reason, Report};

const KERNEL: Reason = Reason {
    why: "Without vhost every frame goes through QEMU: two more copies of control and a system call \
          per batch.",
    source: "Linux drivers/vhost/net.c; Internet Week 2011 S9, forwarding of virtual machines: \
             vhost-net above virtio-net in every row",
    cost: "The guest restarts once.",
    risk: Risk::Low,
    certainty: Certainty::Likely,
};

pub(super) fn check(case: &Case<'_>, report: &mut Report) {
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
                "modprobe vhost_net; <driver name='vhost'/> in the interface's XML, or vhost=on"
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
    }
}
