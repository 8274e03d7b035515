//! Processes that matter: services that set things by themselves, and virtual machines.

use std::collections::BTreeMap;

use nicety_model::facts::Services;

use crate::roots::{EtcRoot, ProcRoot};

/// Names of services as the kernel cuts them (15 characters).
const SERVICES: [&str; 9] = [
    "irqbalance",
    "tuned",
    "NetworkManager",
    "systemd-network",
    "dockerd",
    "kubelet",
    "libvirtd",
    "virtqemud",
    "ovs-vswitchd",
];

/// Processes by number that are a service, a QEMU, or a vhost kernel thread. No other process
/// is looked at beyond its name, nor recorded.
#[derive(Debug, Default)]
pub(super) struct Processes {
    names: BTreeMap<u32, String>,
}

impl Processes {
    pub(super) fn read(proc: &ProcRoot) -> Self {
        let names = proc.processes().into_iter().filter_map(|pid| {
            let name = proc.text_if(format!("{pid}/comm"), |name| {
                let wanted = SERVICES.contains(&name) || is_qemu(name) || is_vhost(name);
                wanted.then(|| name.to_owned())
            })?;
            Some((pid, name))
        });
        Self {
            names: names.collect(),
        }
    }

    /// QEMU processes.
    pub(super) fn qemus(&self) -> impl Iterator<Item = u32> {
        let qemus = self.names.iter().filter(|(_, name)| is_qemu(name));
        qemus.map(|(&pid, _)| pid)
    }

    /// Kernel threads of vhost for a QEMU, as they were before Linux 6.4.
    pub(super) fn vhost_of(&self, qemu: u32) -> impl Iterator<Item = u32> {
        let wanted = format!("vhost-{qemu}");
        let threads = self.names.iter().filter(move |(_, name)| **name == wanted);
        threads.map(|(&pid, _)| pid)
    }

    /// Which services run, and how they are set up.
    pub(super) fn services(&self, etc: &EtcRoot) -> Services {
        let runs = |name: &str| self.names.values().any(|running| running == name);
        let setting = |key: &str| {
            let text = etc.text("tuned/tuned-main.conf")?;
            let line = text.lines().find_map(|line| {
                let (name, value) = line.split_once('=')?;
                (name.trim() == key).then(|| value.trim().to_owned())
            })?;
            Some(matches!(line.as_str(), "1" | "True" | "true" | "yes"))
        };
        Services {
            irqbalance: runs("irqbalance"),
            tuned: runs("tuned"),
            tuned_profile: etc.text("tuned/active_profile"),
            tuned_dynamic: setting("dynamic_tuning"),
            tuned_reapplies_sysctl: setting("reapply_sysctl"),
            network_manager: runs("NetworkManager"),
            networkd: runs("systemd-network"),
            docker: runs("dockerd"),
            kubelet: runs("kubelet"),
            libvirt: runs("libvirtd") || runs("virtqemud"),
            open_vswitch: runs("ovs-vswitchd"),
            irqbalance_options: ["default/irqbalance", "sysconfig/irqbalance"]
                .iter()
                .find_map(|file| etc.text_if(file, irqbalance_options)),
        }
    }
}

/// The lines that set something.
fn irqbalance_options(text: &str) -> Option<String> {
    let lines = text.lines().map(str::trim);
    let set: Vec<&str> = lines
        .filter(|line| !line.starts_with('#') && line.contains('='))
        .collect();
    (!set.is_empty()).then(|| set.join("; "))
}

fn is_qemu(name: &str) -> bool {
    name.starts_with("qemu-system") || name == "qemu-kvm" || name == "kvm"
}

fn is_vhost(name: &str) -> bool {
    name.strip_prefix("vhost-")
        .is_some_and(|pid| pid.bytes().all(|byte| byte.is_ascii_digit()))
}
