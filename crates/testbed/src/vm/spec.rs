//! What the guest looks like to QEMU.

use std::ffi::OsString;
use std::os::fd::{AsRawFd, OwnedFd};

use nicety_host::link::Mac;
use nicety_model::FrameSize;
use nicety_model::plan::{VmAsk, VmNic};

use super::wire::PORT_NAME;
use crate::error::PathError;
use crate::qemu::Accelerator;
use crate::qemu::emulator::QBOOT;

/// Memory of a guest in MiB: the program, rings of jumbo frames, and room to spare.
const MEMORY_MIB: u32 = 512;

/// A path through a guest.
#[derive(Debug, Clone)]
pub struct VmSpec {
    /// The guest.
    pub ask: VmAsk,
    /// Largest frame it has to carry.
    pub largest_frame: FrameSize,
    /// CPUs for the receive threads on the host, as of a bridge path.
    pub path_cpus: Vec<u32>,
    /// CPUs on which the tester polls: what is not pinned keeps away from them.
    pub tester_cpus: Vec<u32>,
    /// Longest wait until the guest forwards.
    pub boot_limit: std::time::Duration,
}

/// Refuses what this machine cannot do, before anything is made. `cpus` are those that this
/// process may use.
pub(super) fn check(spec: &VmSpec, cpus: &[u32]) -> Result<(), PathError> {
    let missing = spec.ask.pin.iter().find(|cpu| !cpus.contains(cpu));
    if let Some(cpu) = missing {
        return Err(PathError::Guest {
            why: format!("pin names CPU {cpu}, this process may use {}", list(cpus)),
            remedy:
                "name CPUs of this machine, or measure on the one that the plan was written for"
                    .to_owned(),
        });
    }
    Ok(())
}

/// CPU numbers in words.
pub(super) fn list(cpus: &[u32]) -> String {
    let words: Vec<String> = cpus.iter().map(u32::to_string).collect();
    let plural = if cpus.len() == 1 { "" } else { "s" };
    format!("CPU{plural} {}", words.join(", "))
}

/// The guest's hardware addresses: locally administered, the same in every run.
pub(crate) const MACS: [Mac; 2] = [
    Mac([0x02, 0x6e, 0x69, 0, 1, 0]),
    Mac([0x02, 0x6e, 0x69, 0, 1, 1]),
];

/// What carries the frames of one NIC.
pub(super) enum Backend {
    /// A tap or macvtap: the queues' file descriptors, and whether the kernel's vhost does it.
    Tap {
        /// The queues.
        queues: Vec<OwnedFd>,
        /// Carried by vhost.
        vhost: bool,
    },
    /// The hardware itself: PCI address of a virtual function.
    Function(String),
}

impl Backend {
    /// File descriptors that QEMU needs.
    pub(super) fn into_queues(self) -> Vec<OwnedFd> {
        match self {
            Self::Tap { queues, .. } => queues,
            Self::Function(_) => Vec::new(),
        }
    }
}

/// The machine without kernel and initramfs. `port` is QEMU's end of the guest's channel.
pub(super) fn arguments(
    ask: &VmAsk,
    accelerator: &Accelerator,
    backends: &[Backend; 2],
    port: &OwnedFd,
) -> Vec<OsString> {
    let mut words: Vec<String> = accelerator.arguments().map(str::to_owned).to_vec();
    let mut add = |more: &[&str]| words.extend(more.iter().map(|word| (*word).to_owned()));
    add(&["-machine", "q35", "-bios", QBOOT]);
    add(&[
        "-m",
        &MEMORY_MIB.to_string(),
        "-smp",
        &ask.vcpus.to_string(),
    ]);
    for (number, (backend, mac)) in backends.iter().zip(MACS).enumerate() {
        match backend {
            Backend::Tap { queues, vhost } => {
                add(&["-netdev", &netdev(number, queues, *vhost)]);
                add(&["-device", &device(ask, number, mac)]);
            }
            Backend::Function(address) => {
                add(&["-device", &format!("vfio-pci,host={address},romfile=")]);
            }
        }
    }
    add(&["-device", "virtio-serial-pci"]);
    add(&[
        "-chardev",
        &format!("socket,id=port,fd={}", port.as_raw_fd()),
    ]);
    add(&[
        "-device",
        &format!("virtserialport,chardev=port,name={PORT_NAME}"),
    ]);
    words.into_iter().map(OsString::from).collect()
}

fn netdev(number: usize, queues: &[OwnedFd], vhost: bool) -> String {
    let fds: Vec<String> = queues.iter().map(|fd| fd.as_raw_fd().to_string()).collect();
    // One queue must not be named as a list (net/tap.c, net_init_tap).
    let fds = match fds.as_slice() {
        [one] => format!("fd={one}"),
        several => format!("fds={}", several.join(":")),
    };
    let vhost = if vhost { "on" } else { "off" };
    format!("tap,id=net{number},{fds},vhost={vhost}")
}

fn device(ask: &VmAsk, number: usize, mac: Mac) -> String {
    let common = format!("netdev=net{number},mac={mac},romfile=");
    if ask.nic == VmNic::E1000 {
        return format!("e1000,{common}");
    }
    let mut device = format!("virtio-net-pci,{common}");
    if ask.queues > 1 {
        // A vector per ring, one for changes of configuration and one for the control queue.
        device += &format!(",mq=on,vectors={}", 2 * ask.queues + 2);
    }
    if let Some(ring) = ask.ring {
        // The transmit ring stays at 256: QEMU allows more for vhost-user only.
        device += &format!(",rx_queue_size={ring}");
    }
    device
}

/// Kernel module of the guest's driver.
pub(super) fn module(nic: VmNic) -> &'static str {
    match nic {
        VmNic::E1000 => "e1000",
        _ => "virtio_net",
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn ask(words: &[(&str, &str)]) -> VmAsk {
        let pairs = words.iter().map(|(k, v)| (k.to_string(), v.to_string()));
        VmAsk::of(&pairs.collect::<BTreeMap<_, _>>())
    }

    #[test]
    fn devices_are_as_asked() {
        let mac = MACS[1];
        for (words, device) in [
            (
                &[("nic", "e1000"), ("ring", "512")][..],
                "e1000,netdev=net1,mac=02:6e:69:00:01:01,romfile=",
            ),
            (
                &[],
                "virtio-net-pci,netdev=net1,mac=02:6e:69:00:01:01,romfile=",
            ),
            (
                &[("nic", "vhost-net"), ("queues", "4"), ("ring", "1024")],
                "virtio-net-pci,netdev=net1,mac=02:6e:69:00:01:01,romfile=,mq=on,vectors=10,rx_queue_size=1024",
            ),
        ] {
            assert_eq!(super::device(&ask(words), 1, mac), device);
        }
    }

    #[test]
    fn cpus_that_are_not_there_are_named() {
        let spec = |pin: &str| VmSpec {
            ask: ask(&[("pin", pin), ("vcpus", "4")]),
            largest_frame: FrameSize::new(64).unwrap(),
            path_cpus: Vec::new(),
            tester_cpus: Vec::new(),
            boot_limit: std::time::Duration::ZERO,
        };
        assert!(check(&spec("0+1+0"), &[0, 1]).is_ok());
        assert_eq!(
            check(&spec("0+7"), &[0, 1]).unwrap_err().to_string(),
            "pin names CPU 7, this process may use CPUs 0, 1"
        );
    }
}
