//! What is kept, as settings of this boot.

use nicety_model::HostFacts;
use nicety_model::kept::{Kept, Target};
use nicety_model::knob::Knob;

/// Settings in the order in which they are made, and what is not there (yet). Threads of virtual
/// machines are left to libvirt.
pub fn resolve(facts: &HostFacts, kept: &Kept) -> (Vec<(Knob, String)>, Vec<String>) {
    let mut settings = Vec::new();
    let mut missing = Vec::new();
    for setting in &kept.settings {
        match &setting.target {
            Target::Setting { knob } => settings.push((knob.clone(), setting.value.clone())),
            Target::Interrupt { interface, name } => {
                let same = |irq: &&nicety_model::facts::IrqFacts| {
                    irq.interface == *interface && irq.name == *name
                };
                match facts.irqs.iter().find(same) {
                    Some(interrupt) => {
                        let knob = Knob::IrqAffinity { irq: interrupt.irq };
                        settings.push((knob, setting.value.clone()));
                    }
                    None => missing.push(format!("interrupt {name} of {interface} is not there")),
                }
            }
            Target::VirtualCpu { .. } | Target::VhostThread { .. } => {}
        }
    }
    settings.sort_by_key(|(knob, _)| knob.rank());
    (settings, missing)
}

#[cfg(test)]
mod tests {
    use nicety_model::facts::IrqFacts;
    use nicety_model::kept::KeptSetting;

    use super::*;

    #[test]
    fn interrupts_are_found_by_name() {
        let target = |name: &str| Target::Interrupt {
            interface: "eth0".to_owned(),
            name: name.to_owned(),
        };
        let sysctl = Target::Setting {
            knob: Knob::sysctl("net.core.rmem_max"),
        };
        let setting = |target| KeptSetting {
            target,
            value: "1".to_owned(),
        };
        let kept = Kept {
            schema: 1,
            settings: [sysctl, target("eth0-0"), target("eth0-1")]
                .map(setting)
                .into(),
            modules: Vec::new(),
        };
        let irq = |irq, name: &str| IrqFacts {
            irq,
            name: name.to_owned(),
            interface: "eth0".to_owned(),
            ..IrqFacts::default()
        };
        let facts = HostFacts {
            irqs: vec![irq(30, "eth0"), irq(31, "eth0-1")],
            ..HostFacts::default()
        };
        let (settings, missing) = resolve(&facts, &kept);
        let knobs: Vec<String> = settings.iter().map(|(knob, _)| knob.to_string()).collect();
        assert_eq!(knobs, ["IRQ 31 CPUs", "net.core.rmem_max"]);
        assert_eq!(missing, ["interrupt eth0-0 of eth0 is not there"]);
    }
}
