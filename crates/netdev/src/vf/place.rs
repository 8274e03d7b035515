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
            .filter(|entry| entry.path().join("device/sriov_numvfs").exists())
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect();
        names.sort();
        Ok(names)
    }

    /// A number or word of an interface: `speed`, `device/sriov_totalvfs`.
    pub fn attribute(&self, interface: &str, file: &str) -> Option<String> {
        let path = self.root.join("class/net").join(interface).join(file);
        Some(fs::read_to_string(path).ok()?.trim().to_owned())
    }

    /// Speed of the link in Mbit/s; none when it is down or the driver does not know.
    pub fn speed_mbit(&self, interface: &str) -> Option<u64> {
        let speed: i64 = self.attribute(interface, "speed")?.parse().ok()?;
        u64::try_from(speed)
            .ok()
            .filter(|mbit| *mbit > 0 && *mbit < u64::from(u32::MAX))
    }

    /// The NIC itself.
    pub fn pci(&self, interface: &str) -> Option<PciFunction> {
        self.function(&self.root.join("class/net").join(interface).join("device"))
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
        let dir = self.root.join("class/net").join(interface).join("device");
        Registers::open(&dir.join("resource0"), chip)
            .map(Some)
            .map_err(|e| NetError::new("map registers of", interface, e))
    }

    /// A virtual function of a NIC.
    pub fn virtual_function(&self, interface: &str, vf: u32) -> Option<PciFunction> {
        let device = self.root.join("class/net").join(interface).join("device");
        self.function(&device.join(format!("virtfn{vf}")))
    }

    pub(super) fn function(&self, link: &Path) -> Option<PciFunction> {
        let target = fs::read_link(link).ok()?;
        let name = |path: PathBuf| Some(path.file_name()?.to_str()?.to_owned());
        let device = fs::read_to_string(link.join("device")).ok();
        let device = device.and_then(|id| {
            let digits = id.trim().strip_prefix("0x")?.to_owned();
            u16::from_str_radix(&digits, 16).ok()
        });
        let group = fs::read_link(link.join("iommu_group")).ok().and_then(name);
        let group: Option<u32> = group.and_then(|group| group.parse().ok());
        let below = |dir: &str| {
            let entries = fs::read_dir(link.join(dir)).into_iter().flatten().flatten();
            let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
            let mut names: Vec<String> = names.collect();
            names.sort();
            names
        };
        let by_group =
            group.map(|group| ["", "noiommu-"].map(|kind| format!("/dev/vfio/{kind}{group}")));
        let mut files: Vec<String> = by_group.into_iter().flatten().collect();
        files.extend(
            below("vfio-dev")
                .iter()
                .map(|name| format!("/dev/vfio/devices/{name}")),
        );
        files.extend(below("uio").iter().map(|name| format!("/dev/{name}")));
        Some(PciFunction {
            address: name(target)?,
            driver: fs::read_link(link.join("driver")).ok().and_then(name),
            device,
            interfaces: below("net"),
            group,
            files,
        })
    }
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
}
