//! Frames of a tap moved in the kernel (T26).

use nicety_model::facts::{VmFacts, VmNic};
use nicety_model::finding::{Certainty, Effect, Gain, Risk};

use crate::case::Case;
use crate::draft::{Reason, Report};
use crate::rule::Rule;

pub(super) const RULE: Rule = Rule {
    id: "T26",
    name: "vhost-net",
    checks: "The kernel moves the frames of a tap (vhost)",
    fires: "Fires when a guest NIC on a tap has no vhost, or is an emulated device.",
    writes: None,
    gain: Gain::Large,
    reasons: &[KERNEL, EMULATED],
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

const EMULATED: Reason = Reason {
    why: "QEMU emulates every register access of such a device, and moves every frame itself. \
          vhost serves virtio only.",
    source: "QEMU hw/net/virtio-net.c and hw/net/vhost_net.c; Linux drivers/vhost/net.c",
    cost: "The guest restarts once, and needs a virtio driver.",
    risk: Risk::Medium,
    certainty: Certainty::Likely,
};

fn check(case: &Case<'_>, report: &mut Report) {
    for vm in &case.facts.vms {
        let on_tap = |nic: &&VmNic| matches!(nic.backend.as_str(), "tap" | "bridge");
        for nic in vm.nics.iter().filter(on_tap) {
            let model = nic.model.as_deref().unwrap_or("unknown device");
            match (nic.is_virtio(), nic.vhost) {
                // vhost serves virtio only (hw/net/virtio-net.c).
                (Some(false), vhost) => emulated(vm, model, vhost == Some(true), report),
                (virtio, Some(false)) => {
                    let device = if virtio.is_some() {
                        ""
                    } else {
                        "virtio-net with "
                    };
                    without(vm, model, &format!("{device}vhost=on"), report);
                }
                _ => {}
            }
        }
    }
}

fn without(vm: &VmFacts, model: &str, should: &str, report: &mut Report) {
    let is = format!("{model} over a tap, moved by QEMU");
    let finding = report.find(&vm.name, is, should, &KERNEL);
    finding.effect = Effect::VmRestart;
    finding.advice.push(
        "Run modprobe vhost_net, then set <driver name='vhost'/> in the interface's XML, or \
         -netdev tap,vhost=on."
            .to_owned(),
    );
}

fn emulated(vm: &VmFacts, model: &str, vhost: bool, report: &mut Report) {
    let idle = if vhost {
        "; its vhost=on does nothing"
    } else {
        ""
    };
    let is = format!("{model} over a tap, moved by QEMU, which emulates the device{idle}");
    let finding = report.find(&vm.name, is, "virtio-net with vhost=on", &EMULATED);
    finding.effect = Effect::VmRestart;
    finding.advice.push(
        "Set <model type='virtio'/> and <driver name='vhost'/> in the interface's XML, or \
         -device virtio-net-pci and -netdev tap,vhost=on."
            .to_owned(),
    );
}

#[cfg(test)]
mod tests {
    use nicety_model::facts::VmNic;

    use crate::fixture::Host;

    fn host(model: Option<&str>, vhost: bool) -> Host {
        let nic = VmNic {
            backend: "tap".to_owned(),
            vhost: Some(vhost),
            model: model.map(str::to_owned),
            ..VmNic::default()
        };
        Host::new(1, 4)
            .vm("a", &[&[1]])
            .facts_with(|f| f.vms[0].nics = vec![nic])
    }

    #[test]
    fn taps_without_vhost_are_found() {
        let virtio = Some("virtio-net-pci");
        assert_eq!(host(virtio, false).one("vhost-net").should, "vhost=on");
        host(virtio, true).none("vhost-net");
        let unknown = host(None, false).one("vhost-net");
        assert_eq!(unknown.should, "virtio-net with vhost=on");
        host(None, true).none("vhost-net");
        let modules = |vhost| crate::persist::modules(&host(virtio, vhost).advice());
        assert_eq!(modules(false), ["vhost_net"]);
        assert_eq!(modules(true), [""; 0]);
    }

    #[test]
    fn emulated_devices_are_found_with_and_without_vhost() {
        for (vhost, end) in [
            (false, "emulates the device"),
            (true, "vhost=on does nothing"),
        ] {
            let finding = host(Some("e1000"), vhost).one("vhost-net");
            assert!(finding.is.ends_with(end), "{}", finding.is);
            assert!(finding.should.contains("virtio-net with"));
        }
        let by_user =
            |f: &mut nicety_model::HostFacts| f.vms[0].nics[0].backend = "user".to_owned();
        host(Some("e1000"), false)
            .facts_with(by_user)
            .none("vhost-net");
    }
}
