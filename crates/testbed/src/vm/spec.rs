//! What the guest looks like to QEMU.

use std::ffi::OsString;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use nicety_host::link::Mac;
use nicety_model::plan::{VmConfig, VmNic};
use nicety_model::{FrameSize, Remedy};

use super::wire::PORT_NAME;
use crate::error::PathError;
use crate::qemu::Accelerator;
use crate::qemu::emulator::QBOOT;
use crate::sriov;

/// Memory of a guest in MiB: the program, rings of jumbo frames, and room to spare.
pub const MEMORY_MIB: u32 = 512;

/// A path through a guest.
#[derive(Debug, Clone)]
pub struct VmSpec {
    /// The guest.
    pub ask: VmConfig,
    /// Largest frame it has to carry.
    pub largest_frame: FrameSize,
    /// CPUs for the receive threads on the host, as of a bridge path.
    pub path_cpus: Vec<u32>,
    /// CPUs for the polling threads of switches built on DPDK, the first ones taken.
    pub switch_cpus: Vec<u32>,
    /// Stations of the tester at ports A and B, a pair for every guest; needed where there are
    /// several. On virtual functions the first pair is the address of the ports themselves.
    pub stations: Vec<[Mac; 2]>,
    /// CPUs on which the tester polls: what is not pinned keeps away from them.
    pub tester_cpus: Vec<u32>,
    /// Pairs of neighbours that are to share the guest's way to the tester.
    pub neighbours: u32,
    /// Longest wait until the guest forwards.
    pub boot_limit: std::time::Duration,
}

impl VmSpec {
    /// A pair of stations per guest; which they are does not matter where there is one.
    pub(super) fn guest_stations(&self) -> Vec<[Mac; 2]> {
        let mut stations = self.stations.clone();
        stations.resize(self.ask.vms.max(1) as usize, sriov::STATIONS);
        stations
    }

    /// The pair that is behind one guest.
    pub(super) fn stations_of(&self, guest: usize) -> [Mac; 2] {
        let stations = self.stations.get(guest);
        stations.copied().unwrap_or(sriov::STATIONS)
    }
}

/// CPUs for what is not pinned: where the tester and the switch do not poll, if there are any.
pub(super) fn rest(spec: &VmSpec, allowed: &[u32]) -> Vec<u32> {
    let polling = match spec.ask.switch.on_dpdk() {
        true => spec.switch_cpus.get(..spec.ask.cores as usize),
        false => None,
    };
    let without = |taken: &[u32]| -> Vec<u32> {
        let left = allowed.iter().filter(|cpu| !taken.contains(cpu));
        left.copied().collect()
    };
    let taken = [&spec.tester_cpus, polling.unwrap_or_default()].concat();
    let tries = [taken.as_slice(), &spec.tester_cpus, &[]].map(without);
    let mut tries = tries.into_iter().filter(|cpus| !cpus.is_empty());
    tries.next().unwrap_or_default()
}

/// Refuses what this machine cannot do, before anything is made. `cpus` are those that this
/// process may use.
pub(super) fn check(spec: &VmSpec, cpus: &[u32]) -> Result<(), PathError> {
    if spec.ask.vms > 1 {
        memory(spec.ask.vms, available_mib())?;
    }
    let missing = spec.ask.pin.iter().find(|cpu| !cpus.contains(cpu));
    if let Some(cpu) = missing {
        return Err(PathError::Guest {
            why: format!("pin names CPU {cpu}, this process may use {}", list(cpus)),
            remedy: Remedy::plan(
                "name CPUs of this machine, or measure on the one that the plan was written for",
            ),
        });
    }
    Ok(())
}

/// Whether so many guests fit in the memory that is available, where that is known.
fn memory(guests: u32, available_mib: Option<u64>) -> Result<(), PathError> {
    let needed = u64::from(guests) * u64::from(MEMORY_MIB);
    match available_mib {
        Some(have) if have < needed => Err(PathError::Guest {
            why: format!("{guests} guests need {needed} MiB of memory, {have} MiB are available"),
            remedy: Remedy::plan(format!(
                "write vms = {} or less",
                (have / u64::from(MEMORY_MIB)).max(1)
            )),
        }),
        _ => Ok(()),
    }
}

/// Memory in MiB that programs could get without swapping (proc_meminfo(5)), where that is known.
pub fn available_mib() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|l| l.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kib / 1024)
}

/// CPU numbers in words.
pub(super) fn list(cpus: &[u32]) -> String {
    let words: Vec<String> = cpus.iter().map(u32::to_string).collect();
    let plural = if cpus.len() == 1 { "" } else { "s" };
    format!("CPU{plural} {}", words.join(", "))
}

/// Hardware addresses of guest `number`, below 256.
pub(crate) fn macs(number: usize) -> [Mac; 2] {
    MACS.map(|mac| {
        let mut bytes = mac.0;
        bytes[3] = number as u8;
        Mac(bytes)
    })
}

/// The first guest's hardware addresses: locally administered, the same in every run.
const MACS: [Mac; 2] = [
    Mac([0x02, 0x6e, 0x69, 0, 1, 0]),
    Mac([0x02, 0x6e, 0x69, 0, 1, 1]),
];

/// What carries the frames of one NIC.
#[derive(Debug)]
pub(super) enum Backend {
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
    pub(super) fn into_queues(self) -> Vec<OwnedFd> {
        match self {
            Self::Tap { queues, .. } => queues,
            Self::VhostUser(_) | Self::Function(_) => Vec::new(),
        }
    }
}

/// The machine without kernel and initramfs. `port` is QEMU's end of the guest's channel.
pub(super) fn arguments(
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
pub(super) fn module(nic: VmNic) -> &'static str {
    match nic {
        VmNic::E1000 => "e1000",
        _ => "virtio_net",
    }
}

#[cfg(test)]
mod tests {
    use nicety_model::PathSpec;

    use super::*;

    fn ask(words: &[(&str, &str)]) -> VmConfig {
        let words = words.iter().copied().chain([("kind", "vm")]);
        let words = words.map(|(k, v)| (k.to_owned(), v.to_owned())).collect();
        PathSpec::try_from(&words).unwrap().vm().unwrap().config()
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
            (
                &[("nic", "vhost-user"), ("ring", "512")],
                "virtio-net-pci,netdev=net1,mac=02:6e:69:00:01:01,romfile=,rx_queue_size=512,tx_queue_size=512",
            ),
        ] {
            assert_eq!(super::device(&ask(words), 1, mac), device);
        }
    }

    #[test]
    fn guests_have_addresses_of_their_own() {
        assert_eq!(macs(0), MACS);
        assert_eq!(macs(7)[1].to_string(), "02:6e:69:07:01:01");
    }

    #[test]
    fn guests_must_fit_in_memory() {
        assert!(memory(4, Some(2048)).is_ok() && memory(4, None).is_ok());
        let error = memory(4, Some(1600)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "4 guests need 2048 MiB of memory, 1600 MiB are available"
        );
        assert_eq!(error.remedy(), Some(Remedy::plan("write vms = 3 or less")));
    }

    #[test]
    fn what_is_not_pinned_keeps_off_those_that_poll() {
        let spec = |switch: &str| VmSpec {
            ask: ask(&[("switch", switch)]),
            largest_frame: FrameSize::new(64).unwrap(),
            path_cpus: Vec::new(),
            switch_cpus: vec![1],
            stations: Vec::new(),
            tester_cpus: vec![0],
            neighbours: 0,
            boot_limit: std::time::Duration::ZERO,
        };
        assert_eq!(rest(&spec("bridge"), &[0, 1, 2]), [1, 2]);
        assert_eq!(rest(&spec("ovs-dpdk"), &[0, 1, 2]), [2]);
        assert_eq!(rest(&spec("ovs-dpdk"), &[0, 1]), [1]);
        assert_eq!(rest(&spec("bridge"), &[0]), [0]);
    }

    #[test]
    fn cpus_that_are_not_there_are_named() {
        let spec = |pin: &str| VmSpec {
            ask: ask(&[("pin", pin), ("vcpus", "4")]),
            largest_frame: FrameSize::new(64).unwrap(),
            path_cpus: Vec::new(),
            switch_cpus: Vec::new(),
            stations: Vec::new(),
            tester_cpus: Vec::new(),
            neighbours: 0,
            boot_limit: std::time::Duration::ZERO,
        };
        assert!(check(&spec("0+1+0"), &[0, 1]).is_ok());
        assert_eq!(
            check(&spec("0+7"), &[0, 1]).unwrap_err().to_string(),
            "pin names CPU 7, this process may use CPUs 0, 1"
        );
    }
}
