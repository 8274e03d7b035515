//! What the guest looks like to QEMU.

use std::ffi::OsString;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use nicety_model::path::VmMachine;
use nicety_model::plan::{VmConfig, VmNic};
use nicety_netdev::link::Mac;

use crate::accel::Accelerator;
use crate::emulator::QBOOT;
use crate::options::nic_device;
use crate::tsc;
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
    /// An interface of the namespace that QEMU runs in, of which it takes all frames by AF_XDP sockets.
    AfXdp(String),
}

impl Backend {
    /// File descriptors that QEMU needs.
    pub fn into_queues(self) -> Vec<OwnedFd> {
        match self {
            Self::Tap { queues, .. } => queues,
            Self::VhostUser(_) | Self::Function(_) | Self::AfXdp(_) => Vec::new(),
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
    let mut machine = ask.machine.to_string();
    if ask.nic == VmNic::VhostUser {
        // The switch reads and writes the guest's memory.
        let memory = format!("memory-backend-memfd,id=memory,size={MEMORY_MIB}M,share=on");
        add(&["-object", &memory]);
        machine += ",memory-backend=memory";
    }
    add(&["-machine", &machine]);
    match ask.machine {
        VmMachine::Q35 => add(&["-bios", QBOOT]),
        // It has firmware of its own. Without this its devices are those of before VIRTIO 1.
        VmMachine::Microvm => add(&["-global", "virtio-mmio.force-legacy=false"]),
    }
    if ask.machine == VmMachine::Microvm && !ask.virtio.ioeventfd {
        add(&["-global", "virtio-mmio.ioeventfd=off"]);
    }
    if ask.virtio.iommu {
        // Before the devices behind it. Its own cache of translations stays off: these devices have none of theirs.
        add(&["-device", "intel-iommu"]);
    }
    add(&[
        "-m",
        &MEMORY_MIB.to_string(),
        "-smp",
        &ask.vcpus.to_string(),
    ]);
    for (number, (backend, mac)) in backends.iter().zip(macs).enumerate() {
        match backend {
            Backend::Tap { queues, vhost } => {
                add(&["-netdev", &netdev(ask, number, queues, *vhost)]);
                add(&["-device", &device(ask, number, mac)]);
            }
            Backend::VhostUser(socket) => {
                add(&["-chardev", &vhost_user_socket(number, socket)]);
                add(&["-netdev", &vhost_user(number, ask.queues)]);
                add(&["-device", &device(ask, number, mac)]);
            }
            Backend::AfXdp(interface) => {
                let netdev = format!("af-xdp,id=net{number},ifname={interface},queues=1");
                add(&["-netdev", &netdev]);
                add(&["-device", &device(ask, number, mac)]);
            }
            Backend::Function(address) => {
                add(&["-device", &format!("vfio-pci,host={address},romfile=")]);
            }
        }
    }
    add(&["-device", serial_device(ask.machine)]);
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

fn netdev(ask: &VmConfig, number: usize, queues: &[OwnedFd], vhost: bool) -> String {
    let fds: Vec<String> = queues.iter().map(|fd| fd.as_raw_fd().to_string()).collect();
    // One queue must not be named as a list (net/tap.c, net_init_tap).
    let fds = match fds.as_slice() {
        [one] => format!("fd={one}"),
        several => format!("fds={}", several.join(":")),
    };
    let vhost = if vhost { "on" } else { "off" };
    let sndbuf = ask.sndbuf.map(|bytes| format!(",sndbuf={bytes}"));
    let sndbuf = sndbuf.unwrap_or_default();
    format!("tap,id=net{number},{fds},vhost={vhost}{sndbuf}")
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
    let pci = ask.machine == VmMachine::Q35;
    let mut common = format!("netdev=net{number},mac={mac}");
    if pci {
        common += ",romfile=";
    }
    if ask.nic == VmNic::E1000 {
        return format!("e1000,{common}");
    }
    let mut device = format!("{},{common}", nic_device(ask.machine));
    if ask.queues > 1 {
        device += ",mq=on";
    }
    if ask.queues > 1 && pci {
        // A vector per ring, one for changes of configuration and one for the control queue.
        device += &format!(",vectors={}", 2 * ask.queues + 2);
    }
    for (word, so) in [
        (",packed=on", ask.virtio.packed),
        (",indirect_desc=off", !ask.virtio.indirect_desc),
        (",mrg_rxbuf=off", !ask.virtio.mrg_rxbuf),
        (",ioeventfd=off", !ask.virtio.ioeventfd && pci),
        (",rss=on", ask.virtio.rss),
        (",iommu_platform=on,disable-legacy=on", ask.virtio.iommu),
    ] {
        if so {
            device += word;
        }
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

fn serial_device(machine: VmMachine) -> &'static str {
    match machine {
        VmMachine::Q35 => "virtio-serial-pci",
        VmMachine::Microvm => "virtio-serial-device",
    }
}

/// Kernel module of the guest's driver.
pub fn module(nic: VmNic) -> &'static str {
    match nic {
        VmNic::E1000 => "e1000",
        _ => "virtio_net",
    }
}

/// Kernel module of the bus that the machine's devices are on, where it is not in every kernel.
pub fn bus_module(machine: VmMachine) -> Option<&'static str> {
    (machine == VmMachine::Microvm).then_some("virtio_mmio")
}

/// Words for the command line of the guest's kernel.
pub fn kernel_words(ask: &VmConfig, accelerator: &Accelerator) -> String {
    let mut words = String::new();
    if ask.virtio.iommu {
        // Debian's leaves it off.
        words += " intel_iommu=on";
    }
    let emulated = matches!(accelerator, Accelerator::Tcg(_));
    if ask.machine == VmMachine::Microvm
        && emulated
        && let Some(khz) = tsc::khz()
    {
        // Without a clock beside it the kernel waits for one for ever, and has nothing to check this one by.
        words += &format!(" tsc_early_khz={khz} tsc=reliable");
    }
    words
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
        #[rustfmt::skip]
        let table = [
            (&[("nic", "e1000"), ("ring", "512")][..], "e1000,netdev=net1,mac=02:6e:69:00:01:01,romfile="),
            (&[], "virtio-net-pci,netdev=net1,mac=02:6e:69:00:01:01,romfile="),
            (&[("nic", "vhost-net"), ("queues", "4"), ("ring", "1024")],
                "virtio-net-pci,netdev=net1,mac=02:6e:69:00:01:01,romfile=,mq=on,vectors=10,rx_queue_size=1024"),
            (&[("packed", "on"), ("mrg_rxbuf", "off"), ("indirect_desc", "off"), ("ioeventfd", "off")],
                "virtio-net-pci,netdev=net1,mac=02:6e:69:00:01:01,romfile=,packed=on,indirect_desc=off,mrg_rxbuf=off,ioeventfd=off"),
            (&[("iommu", "on"), ("queues", "2"), ("rss", "on")],
                "virtio-net-pci,netdev=net1,mac=02:6e:69:00:01:01,romfile=,mq=on,vectors=6,rss=on,iommu_platform=on,disable-legacy=on"),
            (&[("machine", "microvm"), ("queues", "2"), ("ioeventfd", "off")],
                "virtio-net-device,netdev=net1,mac=02:6e:69:00:01:01,mq=on"),
            (&[("nic", "vhost-user"), ("ring", "512")],
                "virtio-net-pci,netdev=net1,mac=02:6e:69:00:01:01,romfile=,rx_queue_size=512,tx_queue_size=512"),
        ];
        for (words, device) in table {
            assert_eq!(super::device(&request(words), 1, mac), device);
        }
    }
}
