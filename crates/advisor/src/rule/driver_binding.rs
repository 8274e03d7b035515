//! A driver that is gone after the next boot (T32).

use nicety_model::facts::{OwnerKind, UserFunction};
use nicety_model::finding::{Certainty, Effect, Gain, Risk};

use crate::case::Case;
use crate::draft::{Reason, Report};
use crate::rule::Rule;

pub(super) const RULE: Rule = Rule {
    id: "T32",
    name: "driver-binding",
    checks: "User-space drivers are bound again at boot",
    fires: "Fires when a function is bound to a user-space driver and no configuration repeats \
            that at boot.",
    writes: None,
    gain: Gain::Medium,
    reasons: &[FORGOTTEN],
    check,
};

const FORGOTTEN: Reason = Reason {
    why: "Nothing binds this driver at boot. After a reboot the kernel driver takes the function, \
          and the program that needs it fails to start.",
    source: "DPDK Linux drivers guide: dpdk-devbind binds until the next boot; driverctl(8): \
             set-override holds over boots",
    cost: "While a function is bound to user space, the kernel has no interface for it.",
    risk: Risk::Medium,
    certainty: Certainty::Certain,
};

fn check(case: &Case<'_>, report: &mut Report) {
    for function in &case.facts.user_functions {
        if of_guest(case, function) || is_kept(case, function) {
            continue;
        }
        let UserFunction {
            address, driver, ..
        } = function;
        let finding = report.find(
            address,
            format!("bound to {driver} until the next boot"),
            format!("bound to {driver} at every boot"),
            &FORGOTTEN,
        );
        finding.effect = Effect::Reboot;
        finding
            .advice
            .push(format!("driverctl set-override {address} {driver}"));
    }
}

/// Whether a virtual machine has it: whoever starts that binds the function again.
fn of_guest(case: &Case<'_>, function: &UserFunction) -> bool {
    // QEMU takes an address without its domain.
    let same = |host: &str| host == function.address || format!("0000:{host}") == function.address;
    let nics = case.facts.vms.iter().flat_map(|vm| &vm.nics);
    nics.filter(|nic| nic.backend == "vfio")
        .any(|nic| nic.interface.as_deref().is_some_and(same))
}

/// Whether driverctl, an option of the module or the kernel's command line binds it again.
fn is_kept(case: &Case<'_>, function: &UserFunction) -> bool {
    if function.kept_driver.as_ref() == Some(&function.driver) {
        return true;
    }
    let Some(device) = &function.device else {
        return false;
    };
    // vfio-pci's parameter: vendor:device and more, separated by commas. Module names are written
    // with either sign.
    let key = format!("{}.ids", function.driver.replace('-', "_"));
    let is_key = |name: &str| name.replace('-', "_") == key;
    let names = |ids: &str| ids.split(',').any(|id| id.starts_with(device.as_str()));
    let owners = case.facts.owners.iter();
    let in_file = owners
        .filter(|owner| owner.kind == OwnerKind::Modprobe)
        .any(|owner| is_key(&owner.key) && names(&owner.value));
    let mut words = case.facts.host.cmdline.split_whitespace();
    in_file
        || words.any(|word| {
            word.split_once('=')
                .is_some_and(|(name, ids)| is_key(name) && names(ids))
        })
}

#[cfg(test)]
mod tests {
    use nicety_model::facts::{Owner, OwnerKind, UserFunction, VmNic};

    use crate::fixture::Host;

    fn bound() -> Host {
        Host::new(1, 4).facts_with(|facts| {
            facts.user_functions.push(UserFunction {
                address: "0000:01:00.0".to_owned(),
                driver: "vfio-pci".to_owned(),
                device: Some("8086:10c9".to_owned()),
                kept_driver: None,
            });
        })
    }

    fn modprobe(ids: &str) -> Host {
        let owner = Owner {
            kind: OwnerKind::Modprobe,
            file: "/etc/modprobe.d/vfio.conf".to_owned(),
            key: "vfio-pci.ids".to_owned(),
            value: ids.to_owned(),
        };
        bound().facts_with(|facts| facts.owners.push(owner))
    }

    #[test]
    fn a_binding_until_the_next_boot_is_found() {
        let finding = bound().one("driver-binding");
        assert_eq!(
            finding.advice,
            ["driverctl set-override 0000:01:00.0 vfio-pci"]
        );
        assert!(finding.changes.is_empty());
        modprobe("8086:1520").one("driver-binding");
        let other = |f: &mut nicety_model::HostFacts| {
            f.user_functions[0].kept_driver = Some("igb_uio".to_owned());
        };
        bound().facts_with(other).one("driver-binding");
    }

    #[test]
    fn what_is_bound_again_is_none() {
        Host::new(1, 4).none("driver-binding");
        let kept = |f: &mut nicety_model::HostFacts| {
            f.user_functions[0].kept_driver = Some("vfio-pci".to_owned());
        };
        bound().facts_with(kept).none("driver-binding");
        modprobe("8086:1520,8086:10c9").none("driver-binding");
        let booted = |f: &mut nicety_model::HostFacts| {
            f.host.cmdline = "ro vfio-pci.ids=8086:10c9".to_owned();
        };
        bound().facts_with(booted).none("driver-binding");
        for host in ["0000:01:00.0", "01:00.0"] {
            let guest = bound().vm("a", &[&[1]]).facts_with(|f| {
                f.vms[0].nics.push(VmNic {
                    backend: "vfio".to_owned(),
                    interface: Some(host.to_owned()),
                    ..VmNic::default()
                });
            });
            guest.none("driver-binding");
        }
    }
}
