//! Changes in words that outlive the boot.

use nicety_model::HostFacts;
use nicety_model::kept::{KeptSetting, Target};
use nicety_model::knob::{Change, Knob};

/// The settings that changes lead to, and what cannot be kept, with the reason.
pub fn portable<'a>(
    facts: &HostFacts,
    changes: impl IntoIterator<Item = &'a Change>,
) -> (Vec<KeptSetting>, Vec<String>) {
    let mut kept = Vec::new();
    let mut left = Vec::new();
    for change in changes {
        match target(facts, change) {
            Ok(target) => kept.push(KeptSetting {
                target,
                value: change.to.clone(),
            }),
            Err(why) => left.push(format!("{}: {why}", change.knob)),
        }
    }
    (kept, left)
}

fn target(facts: &HostFacts, change: &Change) -> Result<Target, &'static str> {
    let words = [change.to.as_str(), &change.knob.to_string()].concat();
    // Each of these files gives line breaks and quotes a meaning of its own.
    if words
        .chars()
        .any(|c| c.is_control() || c == '"' || c == '\'')
    {
        return Err("a line break or a quote cannot be kept");
    }
    match &change.knob {
        Knob::IrqAffinity { irq } => {
            let interrupt = facts.irqs.iter().find(|facts| facts.irq == *irq);
            let interrupt = interrupt.filter(|facts| !facts.name.is_empty());
            let interrupt = interrupt.ok_or("the interrupt has no name")?;
            Ok(Target::Interrupt {
                interface: interrupt.interface.clone(),
                name: interrupt.name.clone(),
            })
        }
        Knob::ThreadCpus { tid, .. } => thread(facts, *tid),
        Knob::PortRate { .. } | Knob::ReceiveRate { .. } => {
            Err("the port goes with its guest; limit it with nicety police")
        }
        Knob::File { .. } => Err("is a file already"),
        knob => Ok(Target::Setting { knob: knob.clone() }),
    }
}

fn thread(facts: &HostFacts, tid: u32) -> Result<Target, &'static str> {
    for vm in &facts.vms {
        let number = |index: usize| u32::try_from(index).unwrap_or(u32::MAX);
        if let Some(index) = vm.vcpus.iter().position(|thread| thread.tid == tid) {
            return Ok(Target::VirtualCpu {
                vm: vm.name.clone(),
                index: number(index),
            });
        }
        if let Some(index) = vm.vhost.iter().position(|thread| thread.tid == tid) {
            return Ok(Target::VhostThread {
                vm: vm.name.clone(),
                index: number(index),
            });
        }
    }
    Err("the thread of the virtual machine is gone")
}
