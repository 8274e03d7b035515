//! PCI functions by their addresses, and the groups in which the IOMMU can keep them apart.

use std::fs;
use std::path::PathBuf;

use super::place::{PciFunction, Places};

/// Class and subclass of Ethernet controllers (PCI Code and ID Assignment, 02h, 00h).
const ETHERNET: &str = "0x0200";

impl Places {
    /// The function with this address.
    pub fn pci_function(&self, address: &str) -> Option<PciFunction> {
        self.function(&self.pci_device(address))
    }

    /// A word about a function: `class`, `driver_override`.
    pub fn pci_attribute(&self, address: &str, file: &str) -> Option<String> {
        let text = fs::read_to_string(self.pci_device(address).join(file)).ok()?;
        Some(text.trim().to_owned())
    }

    /// Whether a function is an Ethernet controller.
    pub fn is_ethernet(&self, address: &str) -> bool {
        let class = self.pci_attribute(address, "class");
        class.is_some_and(|class| class.starts_with(ETHERNET))
    }

    /// Addresses of all Ethernet controllers.
    pub fn ethernet(&self) -> Vec<String> {
        let mut all = self.names("bus/pci/devices");
        all.retain(|address| self.is_ethernet(address));
        all
    }

    /// Addresses of the functions in an IOMMU group.
    pub fn in_group(&self, group: u32) -> Vec<String> {
        self.names(&format!("kernel/iommu_groups/{group}/devices"))
    }

    /// Whether the kernel has a driver of PCI functions, loaded.
    pub fn has_driver(&self, driver: &str) -> bool {
        self.root.join("bus/pci/drivers").join(driver).exists()
    }

    /// Where a function is.
    fn pci_device(&self, address: &str) -> PathBuf {
        self.root.join("bus/pci/devices").join(address)
    }

    fn names(&self, dir: &str) -> Vec<String> {
        let entries = fs::read_dir(self.root.join(dir)).into_iter();
        let names = entries.flatten().flatten();
        let mut names: Vec<String> = names
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect();
        names.sort();
        names
    }
}
