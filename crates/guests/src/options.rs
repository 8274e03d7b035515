//! What a guest asks of QEMU beyond what every one of them knows, and whether the one at hand knows it.

use std::fmt;

use nicety_model::path::{Virtio, VmConfig, VmMachine, VmNic};

use crate::emulator::Emulator;
use crate::error::QemuError;

/// Something that a QEMU may have been built without, or may be too old for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QemuOption {
    /// A type of machine.
    Machine(&'static str),
    /// A device.
    Device(&'static str),
    /// What frames of a NIC are carried by.
    Netdev(&'static str),
    /// A property of a device.
    Property(&'static str, &'static str),
}

impl fmt::Display for QemuOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Machine(name) => write!(f, "machine {name}"),
            Self::Device(name) => write!(f, "device {name}"),
            Self::Netdev(name) => write!(f, "netdev {name}"),
            Self::Property(device, name) => write!(f, "option {name} of {device}"),
        }
    }
}

/// Device of a virtio NIC on a machine.
pub(crate) fn nic_device(machine: VmMachine) -> &'static str {
    match machine {
        VmMachine::Q35 => "virtio-net-pci",
        VmMachine::Microvm => "virtio-net-device",
    }
}

/// Who decides how kicks reach a device: the one that is on the bus of the machine.
fn transport(machine: VmMachine) -> &'static str {
    match machine {
        VmMachine::Q35 => nic_device(machine),
        VmMachine::Microvm => "virtio-mmio",
    }
}

/// What a guest needs of QEMU that is not as QEMU makes it when it is told nothing.
pub(crate) fn needed(ask: &VmConfig) -> Vec<QemuOption> {
    let usual = Virtio::default();
    let (own, nic) = (&ask.virtio, nic_device(ask.machine));
    let property = |name| QemuOption::Property(nic, name);
    let kicks = QemuOption::Property(transport(ask.machine), "ioeventfd");
    let all = [
        (
            ask.machine == VmMachine::Microvm,
            QemuOption::Machine("microvm"),
        ),
        (ask.nic == VmNic::AfXdp, QemuOption::Netdev("af-xdp")),
        (own.packed != usual.packed, property("packed")),
        (
            own.indirect_desc != usual.indirect_desc,
            property("indirect_desc"),
        ),
        (own.mrg_rxbuf != usual.mrg_rxbuf, property("mrg_rxbuf")),
        (own.ioeventfd != usual.ioeventfd, kicks),
        (own.rss != usual.rss, property("rss")),
        (own.iommu, property("iommu_platform")),
        (own.iommu, QemuOption::Device("intel-iommu")),
    ];
    let wanted = all.into_iter().filter(|(wanted, _)| *wanted);
    wanted.map(|(_, option)| option).collect()
}

impl Emulator {
    /// The first thing that a guest needs and this QEMU does not know.
    ///
    /// # Errors
    /// When QEMU does not start.
    pub fn lacks(&self, ask: &VmConfig) -> Result<Option<QemuOption>, QemuError> {
        for option in needed(ask) {
            if !self.knows(option)? {
                return Ok(Some(option));
            }
        }
        Ok(None)
    }

    fn knows(&self, option: QemuOption) -> Result<bool, QemuError> {
        Ok(match option {
            QemuOption::Netdev(name) => {
                let text = self.output_of(&["-netdev", "help"])?;
                text.lines().any(|line| line.trim() == name)
            }
            QemuOption::Machine(name) => {
                let text = self.output_of(&["-machine", "help"])?;
                text.lines()
                    .any(|line| line.split(' ').next() == Some(name))
            }
            QemuOption::Device(name) => !self.properties(name).is_empty(),
            QemuOption::Property(device, name) => self
                .properties(device)
                .lines()
                .any(|line| line.trim().split('=').next() == Some(name)),
        })
    }

    /// What QEMU says of a device's options; nothing of one that is not built in. A list of all devices would load all
    /// modules, and fail with any of them.
    fn properties(&self, device: &str) -> String {
        let text = self.output_of(&["-device", &format!("{device},help")]);
        text.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use nicety_model::PathSpec;

    use super::*;

    fn ask(words: &[(&str, &str)]) -> VmConfig {
        let words = words.iter().copied().chain([("kind", "vm")]);
        let words = words.map(|(k, v)| (k.to_owned(), v.to_owned())).collect();
        PathSpec::try_from(&words).unwrap().vm().unwrap().config()
    }

    #[test]
    fn what_is_usual_needs_nothing() {
        assert_eq!(needed(&ask(&[])), []);
        let usual = [("packed", "off"), ("ioeventfd", "on"), ("machine", "q35")];
        assert_eq!(needed(&ask(&usual)), []);
        let other = [("machine", "microvm"), ("ioeventfd", "off")];
        assert_eq!(
            needed(&ask(&other)),
            [
                QemuOption::Machine("microvm"),
                QemuOption::Property("virtio-mmio", "ioeventfd")
            ]
        );
    }

    /// A QEMU that was built without some of it, as those of enterprise distributions are.
    #[test]
    fn what_qemu_does_not_know_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let program = dir.path().join("qemu");
        let script = "#!/bin/sh\n\
            case \"$*\" in\n\
            *--version) echo 'QEMU emulator version 10.0.2 (Small 1)';;\n\
            '-machine help') printf 'Supported machines are:\\nq35    Standard PC\\n';;\n\
            '-netdev help') printf 'Available netdev backend types:\\nsocket\\ntap\\n';;\n\
            '-device virtio-net-pci,help') printf '  iommu_platform=<bool>  - on/off\\n  packed=<bool>\\n';;\n\
            *) exit 1;;\n\
            esac\n";
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let small = Emulator::with(vec![program], None).unwrap();
        let lacks = |words: &[(&str, &str)]| {
            let lacks = small.lacks(&ask(words)).unwrap();
            lacks.map(|option| option.to_string())
        };
        assert_eq!(lacks(&[]), None);
        assert_eq!(lacks(&[("packed", "on")]), None);
        let words = |text: &str| Some(text.to_owned());
        assert_eq!(
            lacks(&[("rss", "on"), ("queues", "2")]),
            words("option rss of virtio-net-pci")
        );
        assert_eq!(lacks(&[("nic", "af-xdp")]), words("netdev af-xdp"));
        assert_eq!(lacks(&[("iommu", "on")]), words("device intel-iommu"));
        assert_eq!(lacks(&[("machine", "microvm")]), words("machine microvm"));
    }
}
