//! What the guest looks like to QEMU.

use std::ffi::OsString;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use nicety_model::plan::{VmConfig, VmNic};
use nicety_netdev::link::Mac;

use crate::accel::Accelerator;
use crate::emulator::QBOOT;
use crate::wire::PORT_NAME;

/// Memory of a guest in MiB: the program, rings of jumbo frames, and room to spare.
pub const MEMORY_MIB: u32 = 512;

/// What carries the frames of one NIC.
#[derive(Debug)]
pub enum Backend {
    /// A tap or macvtap: the queues' file descriptors, and whether the kernel's vhost does it.
    Tap {
        /// The queues.
        queues: Vec<OwnedFd>,
        /// Carried by vhost.
        vhost: bool,
    },
    /// A socket at which QEMU lets a switch in.
    VhostUser(PathBuf),
    /// The hardware itself: PCI address of a virtual function.
    Function(String),
}

impl Backend {
    /// File descriptors that QEMU needs.
    pub fn into_queues(self) -> Vec<OwnedFd> {
        match self {
            Self::Tap { queues, .. } => queues,
            Self::VhostUser(_) | Self::Function(_) => Vec::new(),
        }
    }
}

/// The machine without kernel and initramfs. `port` is QEMU's end of the guest's channel.
pub fn arguments(
    ask: &VmConfig,
    accelerator: &Accelerator,
    backends: &[Backend; 2],
    macs: [Mac; 2],
    port: &OwnedFd,
) -> Vec<OsString> {
    let mut words: Vec<String> = accelerator.arguments().map(str::to_owned).to_vec();
    let mut add = |more: &[&str]| words.extend(more.iter().map(|word| (*word).to_owned()));
    if ask.nic == VmNic::VhostUser {
        // The switch reads and writes the guest's memory.
        let memory = format!("memory-backend-memfd,id=memory,size={MEMORY_MIB}M,share=on");
        add(&["-object", &memory, "-machine", "q35,memory-backend=memory"]);
    } else {
        add(&["-machine", "q35"]);
    }
    add(&["-bios", QBOOT]);
    add(&[
        "-m",
        &MEMORY_MIB.to_string(),
        "-smp",
        &ask.vcpus.to_string(),
    ]);
    for (number, (backend, mac)) in backends.iter().zip(macs).enumerate() {
        match backend {
            Backend::Tap { queues, vhost } => {
                add(&["-netdev", &netdev(number, queues, *vhost)]);
                add(&["-device", &device(ask, number, mac)]);
            }
            Backend::VhostUser(socket) => {
                add(&["-chardev", &vhost_user_socket(number, socket)]);
                add(&["-netdev", &vhost_user(number, ask.queues)]);
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

/// QEMU wants commas doubled.
fn vhost_user_socket(number: usize, socket: &Path) -> String {
    let path = socket.display().to_string().replace(',', ",,");
    format!("socket,id=switch{number},path={path},server=on,wait=off")
}

fn vhost_user(number: usize, queues: u32) -> String {
    format!("vhost-user,id=net{number},chardev=switch{number},queues={queues}")
}

fn device(ask: &VmConfig, number: usize, mac: Mac) -> String {
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
        device += &format!(",rx_queue_size={ring}");
        // With all others the transmit ring stays at 256 (virtio_net_max_tx_queue_size).
        if ask.nic == VmNic::VhostUser {
            device += &format!(",tx_queue_size={ring}");
        }
    }
    device
}

/// Kernel module of the guest's driver.
pub fn module(nic: VmNic) -> &'static str {
    match nic {
        VmNic::E1000 => "e1000",
        _ => "virtio_net",
    }
}

#[cfg(test)]
mod tests {
    use nicety_model::PathSpec;

    use super::*;

    fn request(words: &[(&str, &str)]) -> VmConfig {
        let words = words.iter().copied().chain([("kind", "vm")]);
        let words = words.map(|(k, v)| (k.to_owned(), v.to_owned())).collect();
        PathSpec::try_from(&words).unwrap().vm().unwrap().config()
    }

    #[test]
    fn devices_are_as_asked() {
        let mac = Mac([0x02, 0x6e, 0x69, 0, 1, 1]);
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
            (
                &[("nic", "vhost-user"), ("ring", "512")],
                "virtio-net-pci,netdev=net1,mac=02:6e:69:00:01:01,romfile=,rx_queue_size=512,tx_queue_size=512",
            ),
        ] {
            assert_eq!(super::device(&request(words), 1, mac), device);
        }
    }
}
