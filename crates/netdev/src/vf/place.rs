//! Where functions are: PCI addresses, drivers, interfaces (Documentation/ABI/testing/sysfs-bus-pci).

use std::fs;
use std::path::{Path, PathBuf};

use super::registers::{Chip, Registers};
use crate::net_error::NetError;
use crate::netns::NetNs;
use crate::ns_sysfs::NsSysfs;

/// A sysfs, live or recorded.
#[derive(Debug)]
pub struct Places {
    pub(super) root: PathBuf,
    /// Keeps a mount of its own alive.
    _mount: Option<NsSysfs>,
}

/// A PCI function.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PciFunction {
    /// Address: `0000:01:10.0`.
    pub address: String,
    /// Driver it is bound to.
    pub driver: Option<String>,
    /// Device id.
    pub device: Option<u16>,
    /// Its interfaces in this namespace.
    pub interfaces: Vec<String>,
    /// IOMMU group.
    pub group: Option<u32>,
    /// Device files by which a process has it: of its VFIO group or itself, or of UIO
    /// (Documentation/driver-api/vfio.rst, uio-howto.rst).
    pub files: Vec<String>,
}

impl Places {
    /// The sysfs that shows the interfaces of `ns`; the host's own where it cannot be mounted.
    pub fn of(ns: &NetNs) -> Self {
        match NsSysfs::mount(ns) {
            Ok(mount) => Self {
                root: mount.path(),
                _mount: Some(mount),
            },
            Err(_) => Self::at(Path::new("/sys")),
        }
    }

    /// A sysfs below a directory.
    pub fn at(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            _mount: None,
        }
    }

    /// Interfaces of NICs that can have virtual functions, by name.
    ///
    /// # Errors
    /// When there is no `/sys/class/net`.
    pub fn physical_functions(&self) -> Result<Vec<String>, NetError> {
        let dir = self.root.join("class/net");
        let entries =
            fs::read_dir(&dir).map_err(|e| NetError::new("list", dir.display().to_string(), e))?;
        let mut names: Vec<String> = entries
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter(|name| self.device(name).join("sriov_numvfs").exists())
            .collect();
        names.sort();
        Ok(names)
    }

    /// A number or word of an interface, or of its function: `speed`, `device/sriov_totalvfs`.
    pub fn attribute(&self, interface: &str, file: &str) -> Option<String> {
        let path = match file.strip_prefix("device/") {
            Some(file) => self.device(interface).join(file),
            None => self.interface(interface).join(file),
        };
        Some(fs::read_to_string(path).ok()?.trim().to_owned())
    }

    /// Speed of the link in Mbit/s; none when it is down or the driver does not know.
    pub fn speed_mbit(&self, interface: &str) -> Option<u64> {
        let speed: i64 = self.attribute(interface, "speed")?.parse().ok()?;
        u64::try_from(speed)
            .ok()
            .filter(|mbit| *mbit > 0 && *mbit < u64::from(u32::MAX))
    }

    fn interface(&self, name: &str) -> PathBuf {
        self.root.join("class/net").join(name)
    }

    /// The PCI function of an interface: its device, or what carries that. A virtio device is on a
    /// bus of its own, and its functions are those of the PCI function above it
    /// (drivers/virtio/virtio_pci_common.c, `virtio_pci_sriov_configure`).
    pub(super) fn device(&self, interface: &str) -> PathBuf {
        let device = self.interface(interface).join("device");
        let above = device.join("..");
        let has = |folder: &Path| folder.join("sriov_numvfs").exists();
        if !has(&device) && has(&above) {
            above
        } else {
            device
        }
    }

    /// The NIC itself.
    pub fn pci(&self, interface: &str) -> Option<PciFunction> {
        let function = self.function(&self.device(interface))?;
        let own = fs::read_link(self.interface(interface).join("device/driver"));
        let driver = own.ok().and_then(name).or(function.driver);
        Some(PciFunction { driver, ..function })
    }

    /// The registers of a NIC whose chip is known.
    ///
    /// # Errors
    /// None where the chip is not known; else why the kernel does not give them.
    pub fn registers(&self, interface: &str) -> Result<Option<Registers>, NetError> {
        let chip = self
            .pci(interface)
            .and_then(|pci| Chip::find(&pci.driver?, pci.device?));
        let Some(chip) = chip else {
            return Ok(None);
        };
        Registers::open(&self.device(interface).join("resource0"), chip)
            .map(Some)
            .map_err(|e| NetError::new("map registers of", interface, e))
    }

    /// A virtual function of a NIC.
    pub fn virtual_function(&self, interface: &str, vf: u32) -> Option<PciFunction> {
        self.function(&self.device(interface).join(format!("virtfn{vf}")))
    }

    pub(super) fn function(&self, link: &Path) -> Option<PciFunction> {
        let linked = fs::read_link(link).ok().and_then(name);
        let device = fs::read_to_string(link.join("device")).ok();
        let device = device.and_then(|id| {
            let digits = id.trim().strip_prefix("0x")?.to_owned();
            u16::from_str_radix(&digits, 16).ok()
        });
        let group = fs::read_link(link.join("iommu_group")).ok().and_then(name);
        let group: Option<u32> = group.and_then(|group| group.parse().ok());
        let below = |folder: &str| names(&link.join(folder));
        let by_group =
            group.map(|group| ["", "noiommu-"].map(|kind| format!("/dev/vfio/{kind}{group}")));
        let mut files: Vec<String> = by_group.into_iter().flatten().collect();
        files.extend(
            below("vfio-dev")
                .iter()
                .map(|name| format!("/dev/vfio/devices/{name}")),
        );
        files.extend(below("uio").iter().map(|name| format!("/dev/{name}")));
        let folders = net_folders(link).into_iter();
        let interfaces = folders.flat_map(|folder| names(&folder));
        Some(PciFunction {
            address: linked.or_else(|| slot(link))?,
            driver: fs::read_link(link.join("driver")).ok().and_then(name),
            device,
            interfaces: interfaces.collect(),
            group,
            files,
        })
    }
}

fn name(path: PathBuf) -> Option<String> {
    Some(path.file_name()?.to_str()?.to_owned())
}

/// Names in a folder, in their order.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

/// Where the interfaces of a function are: below it, or below its virtio device.
pub(super) fn net_folders(function: &Path) -> Vec<PathBuf> {
    let devices = names(function).into_iter();
    let devices = devices.filter(|name| name.starts_with("virtio"));
    let devices = devices.map(|device| function.join(device).join("net"));
    [function.join("net")].into_iter().chain(devices).collect()
}

/// The address that a function has itself (drivers/pci/pci-driver.c, `pci_uevent`).
fn slot(function: &Path) -> Option<String> {
    let uevent = fs::read_to_string(function.join("uevent")).ok()?;
    let line = uevent
        .lines()
        .find_map(|line| line.strip_prefix("PCI_SLOT_NAME="));
    line.map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn functions_are_found_where_the_kernel_links_them() {
        let dir = tempfile::tempdir().unwrap();
        let sys = dir.path();
        let pf = sys.join("devices/pci0/0000:01:00.0");
        let vf = sys.join("devices/pci0/0000:01:10.2");
        fs::create_dir_all(pf.join("net/eth0")).unwrap();
        fs::create_dir_all(vf.join("net/eth5")).unwrap();
        fs::create_dir_all(sys.join("class/net")).unwrap();
        fs::create_dir_all(sys.join("drivers/igbvf")).unwrap();
        fs::create_dir_all(sys.join("groups/17")).unwrap();
        symlink(pf.join("net/eth0"), sys.join("class/net/eth0")).unwrap();
        symlink("../..", pf.join("net/eth0/device")).unwrap();
        symlink("../0000:01:10.2", pf.join("virtfn1")).unwrap();
        symlink(sys.join("drivers/igbvf"), vf.join("driver")).unwrap();
        symlink(sys.join("groups/17"), vf.join("iommu_group")).unwrap();
        fs::create_dir_all(vf.join("vfio-dev/vfio3")).unwrap();
        fs::create_dir_all(vf.join("uio/uio2")).unwrap();
        fs::write(pf.join("sriov_numvfs"), "2\n").unwrap();
        fs::write(vf.join("device"), "0x10ca\n").unwrap();
        fs::write(pf.join("net/eth0/speed"), "-1\n").unwrap();
        let places = Places::at(sys);
        assert_eq!(places.physical_functions().unwrap(), ["eth0"]);
        assert_eq!(places.speed_mbit("eth0"), None);
        let found = places.virtual_function("eth0", 1).unwrap();
        assert_eq!(
            found,
            PciFunction {
                address: "0000:01:10.2".to_owned(),
                driver: Some("igbvf".to_owned()),
                device: Some(0x10ca),
                interfaces: vec!["eth5".to_owned()],
                group: Some(17),
                files: [
                    "/dev/vfio/17",
                    "/dev/vfio/noiommu-17",
                    "/dev/vfio/devices/vfio3",
                    "/dev/uio2",
                ]
                .map(str::to_owned)
                .to_vec(),
            }
        );
        assert_eq!(places.virtual_function("eth0", 0), None);
        fs::write(pf.join("net/eth0/speed"), "1000\n").unwrap();
        assert_eq!(places.speed_mbit("eth0"), Some(1000));
    }
    #[test]
    fn functions_of_virtio_stand_above_its_device() {
        let dir = tempfile::tempdir().unwrap();
        let sys = dir.path();
        let pf = sys.join("devices/pci0/0000:00:03.0");
        let vf = sys.join("devices/pci0/0000:00:03.1");
        fs::create_dir_all(pf.join("virtio0/net/eth0")).unwrap();
        fs::create_dir_all(vf.join("virtio1/net/eth1")).unwrap();
        for driver in ["virtio-pci", "virtio_net"] {
            fs::create_dir_all(sys.join("drivers").join(driver)).unwrap();
        }
        fs::create_dir_all(sys.join("class/net")).unwrap();
        symlink(pf.join("virtio0/net/eth0"), sys.join("class/net/eth0")).unwrap();
        symlink("../../../virtio0", pf.join("virtio0/net/eth0/device")).unwrap();
        symlink(sys.join("drivers/virtio-pci"), pf.join("driver")).unwrap();
        symlink(sys.join("drivers/virtio_net"), pf.join("virtio0/driver")).unwrap();
        symlink("../0000:00:03.1", pf.join("virtfn0")).unwrap();
        for (file, text) in [
            ("sriov_numvfs", "1\n"),
            ("sriov_totalvfs", "4\n"),
            ("uevent", "DRIVER=virtio-pci\nPCI_SLOT_NAME=0000:00:03.0\n"),
        ] {
            fs::write(pf.join(file), text).unwrap();
        }
        let places = Places::at(sys);
        assert_eq!(places.physical_functions().unwrap(), ["eth0"]);
        let most = places.attribute("eth0", "device/sriov_totalvfs");
        assert_eq!(most.as_deref(), Some("4"));
        assert_eq!(places.count("eth0").map(|count| count.now), Some(1));
        let nic = places.pci("eth0").unwrap();
        assert_eq!(nic.address, "0000:00:03.0");
        assert_eq!(nic.driver.as_deref(), Some("virtio_net"));
        let found = places.virtual_function("eth0", 0).unwrap();
        assert_eq!(found.address, "0000:00:03.1");
        assert_eq!(found.interfaces, ["eth1"]);
    }
}
