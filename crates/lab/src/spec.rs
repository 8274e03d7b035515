//! What the box looks like to QEMU.

use std::ffi::OsString;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use nicety_guests::Accelerator;
use nicety_guests::emulator::QBOOT;
use nicety_guests::machine::path_argument;
use nicety_model::Problem;

/// A lab to boot.
#[derive(Debug, Clone)]
pub struct LabSpec {
    /// Virtual CPUs.
    pub cpus: u16,
    /// Memory in MiB; half of it may be written to as files.
    pub memory_mib: u32,
    /// Directories of the host, absolute, in which the lab may write.
    pub shares: Vec<PathBuf>,
    /// Socket of a `nicety police` whose guest the lab is.
    pub guest_channel: Option<PathBuf>,
}

/// Name of the port behind [`LabSpec::guest_channel`], where `nicety guest` looks for it.
pub const GUEST_PORT: &str = "org.nicety.guest";

/// Fewest MiB in which the lab boots and can hold a guest of its own.
pub const LEAST_MEMORY_MIB: u32 = 1024;

/// A size of memory in MiB, written as 4G or 2048M.
///
/// # Errors
/// What is no size, or too little to boot in.
pub fn memory_mib(text: &str) -> Result<u32, Problem> {
    let wrong = || Problem::value(format!("{text:?} is not a size"), "write it as 4G or 2048M");
    let (number, factor) = match text.strip_suffix(['G', 'g']) {
        Some(number) => (number, 1024),
        None => (text.strip_suffix(['M', 'm']).ok_or_else(wrong)?, 1),
    };
    let number = number.parse::<u32>().ok();
    match number
        .and_then(|n| n.checked_mul(factor))
        .ok_or_else(wrong)?
    {
        ..LEAST_MEMORY_MIB => Err(Problem::value(
            format!("{text} is too little to boot in"),
            format!("write at least {LEAST_MEMORY_MIB}M"),
        )),
        mib => Ok(mib),
    }
}

/// What the guest is told in its initramfs.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct GuestConfig {
    /// Kernel release.
    pub release: String,
    /// The directory with its modules, on the host.
    pub modules: OsString,
    /// Modules to load once the host's files are there, in order within each list. The lists
    /// can be loaded at the same time.
    pub load: Vec<Vec<String>>,
    /// Command that runs kmod, see [`nicety_guests::Bundle::loader`].
    pub loader: Vec<OsString>,
    /// kmod itself.
    pub kmod: OsString,
    /// Directories to mount.
    pub shares: Vec<Share>,
}

/// A directory of the host in which the guest may write.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Share {
    /// Name on the virtual bus.
    pub tag: String,
    /// The directory, the same path in the guest.
    pub path: OsString,
}

/// Path of [`GuestConfig`] in the initramfs.
pub const CONFIG: &str = "/nicety/lab.json";
/// Mount tag of the host's root file system.
pub const ROOT_TAG: &str = "hostroot";
/// Names of the ports that commands come through start with this.
pub const PORT_NAME: &str = "org.nicety.lab.";
/// Ports of a lab that is left running: sessions at the same time.
pub const PORTS: usize = 6;

/// What must be loaded before the root file system can be mounted.
pub const FIRST_MODULES: [&str; 3] = ["9pnet_virtio", "9p", "overlay"];
/// What makes the guest a KVM host, in lists that take about equally long. The kernel would ask
/// for crc32c itself, but only when modprobe is there already.
pub const HOST_MODULES: [&[&str]; 3] = [
    &["kvm_amd"],
    &["igb", "tun", "macvtap", "vhost_net"],
    &["crc32c_generic", "openvswitch", "8021q", "bridge"],
];

/// How the guest's kernel is started. `iomem=relaxed` admits reading the registers of the
/// 82576's functions, the only per-VF counters it has. `no_timer_check`: the kernel counts ticks
/// for some ms and gives up when none came, which on a busy host says nothing about the timer.
pub(crate) const COMMAND_LINE: &str = "console=ttyS0 loglevel=4 panic=-1 intel_iommu=on iommu=pt \
                                       iomem=relaxed no_timer_check";

/// The machine's devices, apart from the ports.
pub fn devices(spec: &LabSpec, accelerator: &Accelerator) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = accelerator.arguments().map(Into::into).to_vec();
    // Interrupt remapping needs the split interrupt chip under KVM.
    let machine = match accelerator {
        Accelerator::Kvm => "q35,kernel-irqchip=split",
        Accelerator::Tcg(_) => "q35",
    };
    let cpus = spec.cpus.to_string();
    let memory = spec.memory_mib.to_string();
    // Before everything else on the bus: devices made earlier are not behind it.
    let fixed = [
        "-machine",
        machine,
        "-bios",
        QBOOT,
        "-global",
        "q35-pcihost.pci-hole64-size=0",
        "-device",
        "intel-iommu,intremap=on,caching-mode=on",
        "-smp",
        &cpus,
        "-m",
        &memory,
    ];
    arguments.extend(fixed.map(Into::into));
    // The two ports of the 82576 are joined by a cable: a hub with nobody else on it.
    for port in 0..2 {
        let slot = port + 1;
        arguments.extend([
            "-device".into(),
            format!("pcie-root-port,id=slot{slot},chassis={slot},slot={slot}").into(),
            "-netdev".into(),
            format!("hubport,id=wire{port},hubid=0").into(),
            "-device".into(),
            format!("igb,id=igb{port},netdev=wire{port},bus=slot{slot},mac=52:54:00:82:57:6{port},romfile=").into(),
        ]);
    }
    arguments.extend(share(ROOT_TAG, Path::new("/"), true));
    for (number, path) in spec.shares.iter().enumerate() {
        arguments.extend(share(&share_tag(number), path, false));
    }
    arguments.extend([
        "-device".into(),
        format!("virtio-serial-pci,max_ports={}", PORTS + 2).into(),
    ]);
    if let Some(path) = &spec.guest_channel {
        arguments.extend([
            "-chardev".into(),
            // The daemon may be started anew, or read its policy again.
            path_argument("socket,id=guest,reconnect-ms=1000,path=", path),
            "-device".into(),
            format!(
                "virtserialport,chardev=guest,nr={},name={GUEST_PORT}",
                PORTS + 1
            )
            .into(),
        ]);
    }
    arguments
}

/// Tag of the share of that number.
pub fn share_tag(number: usize) -> String {
    format!("share{number}")
}

fn share(tag: &str, path: &Path, readonly: bool) -> [OsString; 4] {
    // Without mapping, files belong to whoever runs QEMU, also when that is no root.
    let readonly = if readonly { ",readonly=on" } else { "" };
    let option = format!("local,id={tag},security_model=none,multidevs=remap{readonly},path=");
    [
        "-fsdev".into(),
        path_argument(&option, path),
        "-device".into(),
        format!("virtio-9p-pci,fsdev={tag},mount_tag={tag}").into(),
    ]
}

/// A port on a connected socket.
pub fn port_of_fd(number: usize, fd: &OwnedFd) -> [OsString; 4] {
    port(
        number,
        format!("socket,id=port{number},fd={}", fd.as_raw_fd()).into(),
    )
}

/// A port on a socket that waits for callers.
pub fn port_of_path(number: usize, path: &Path) -> [OsString; 4] {
    port(
        number,
        path_argument(
            &format!("socket,id=port{number},server=on,wait=off,path="),
            path,
        ),
    )
}

fn port(number: usize, chardev: OsString) -> [OsString; 4] {
    [
        "-chardev".into(),
        chardev,
        "-device".into(),
        format!(
            "virtserialport,chardev=port{number},nr={},name={PORT_NAME}{number}",
            number + 1
        )
        .into(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_memory() {
        assert_eq!(memory_mib("4G"), Ok(4096));
        assert_eq!(memory_mib("1536m"), Ok(1536));
        for wrong in ["", "4", "G", "-1G", "4GiB", "99999999G", "1.5G"] {
            assert!(
                memory_mib(wrong)
                    .unwrap_err()
                    .to_string()
                    .contains("is not a size"),
                "{wrong}"
            );
        }
        assert!(
            memory_mib("512M")
                .unwrap_err()
                .to_string()
                .contains("at least 1024M")
        );
    }
}
