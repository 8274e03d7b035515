//! Whether a PCI function may be taken from its driver.

use nicety_model::Remedy;
use nicety_netdev::link::Link;
use nicety_netdev::vf::{Holder, PciFunction, Places, VfHolders};

use crate::driver::VFIO;

/// Drivers whose counterparts in DPDK work through them and take nothing from the kernel
/// (doc/guides/nics/mlx5.rst of DPDK, "bifurcated").
const THROUGH_THE_KERNEL: [&str; 2] = ["mlx4_core", "mlx5_core"];
/// Drivers beside which VFIO gives away the rest of a group: they let no device write to memory on their
/// behalf (Documentation/driver-api/vfio.rst; `driver_managed_dma` in drivers/pci).
const HARMLESS: [&str; 2] = ["pci-stub", "pcieport"];
/// Addresses that a message names.
const NAMED: usize = 8;

/// Why it may not be, and what to do.
type Refusal = (String, Remedy);

/// What is known of the machine.
pub(super) struct Snapshot<'a> {
    pub(super) places: &'a Places,
    pub(super) links: &'a [Link],
    pub(super) holders: &'a VfHolders,
    /// Whether an interface has addresses, or there are routes over it.
    pub(super) carries: &'a dyn Fn(&str) -> bool,
    /// The functions that are asked for.
    pub(super) pair: &'a [String; 2],
    /// The tester's interfaces.
    pub(super) ports: [&'a str; 2],
}

impl Snapshot<'_> {
    /// Why the function at `address` may not be taken.
    pub(super) fn refusal(&self, address: &str) -> Option<Refusal> {
        let Some(function) = self.places.pci_function(address) else {
            return Some((
                format!("there is no PCI device {address}"),
                self.other_nics(),
            ));
        };
        if !self.places.is_ethernet(address) {
            let class = self.places.pci_attribute(address, "class");
            return Some((
                format!(
                    "{address} is not an Ethernet controller (class {})",
                    class.unwrap_or_default()
                ),
                self.other_nics(),
            ));
        }
        self.used(address, &function)
            .or_else(|| self.held(address, &function))
            .or_else(|| self.grouped(address, &function))
    }

    /// By the host's own traffic.
    fn used(&self, address: &str, function: &PciFunction) -> Option<Refusal> {
        let other = Remedy::plan("write the address of a NIC that is used for nothing else");
        if let Some(port) = function
            .interfaces
            .iter()
            .find(|name| self.ports.contains(&name.as_str()))
        {
            return Some((
                format!("{port} is {address} itself, so the tester cannot have it"),
                Remedy::plan(
                    "write the interfaces that are connected with the switch's NICs as a and b",
                ),
            ));
        }
        for name in &function.interfaces {
            let Some(link) = self.links.iter().find(|link| &link.name == name) else {
                continue;
            };
            let above = |other: &&Link| Some(other.index) == link.master;
            let built_on = |other: &&Link| other.lower == Some(link.index);
            if let Some(master) = self.links.iter().find(above) {
                return Some((
                    format!("{address} is {name}, which belongs to {}", master.name),
                    other,
                ));
            }
            if let Some(upper) = self.links.iter().find(built_on) {
                return Some((
                    format!("{address} is {name}, on which {} is built", upper.name),
                    other,
                ));
            }
            if (self.carries)(name) {
                return Some((
                    format!(
                        "{address} is {name}, which carries traffic of this machine, and the kernel would lose it"
                    ),
                    other,
                ));
            }
        }
        None
    }

    /// By somebody else, or by what goes with its driver.
    fn held(&self, address: &str, function: &PciFunction) -> Option<Refusal> {
        let driver = function.driver.as_deref().unwrap_or_default();
        if THROUGH_THE_KERNEL.contains(&driver) {
            return Some((
                format!(
                    "{address} belongs to {driver}, through which DPDK works: such NICs are not taken by this version"
                ),
                Remedy::plan(
                    "write the address of another NIC, or start testpmd yourself and measure with kind = \"ports\"",
                ),
            ));
        }
        let functions = self.places.pci_attribute(address, "sriov_numvfs");
        if let Some(there @ 1..) = functions.and_then(|text| text.parse::<u32>().ok()) {
            return Some((
                format!("{address} has {there} virtual functions, which go with its driver"),
                Remedy::here_or_plan(
                    format!(
                        "when nobody needs them, echo 0 > /sys/bus/pci/devices/{address}/sriov_numvfs"
                    ),
                    "name another NIC",
                ),
            ));
        }
        let who = match self.holders.of(function) {
            Holder::Process { pid, name } => format!("belongs to {name} (process {pid})"),
            Holder::OtherNamespace(None) => {
                format!("belongs to {driver} and has no interface here, maybe in another namespace")
            }
            Holder::OtherNamespace(Some(name)) => format!("is in the namespace {name}"),
            Holder::Interface(_) | Holder::Vfio | Holder::Uio | Holder::Nobody => return None,
        };
        Some((
            format!("{address} {who}"),
            Remedy::plan("write the address of a NIC that nobody uses"),
        ))
    }

    /// With others by the IOMMU, or not kept apart at all.
    fn grouped(&self, address: &str, function: &PciFunction) -> Option<Refusal> {
        let Some(group) = function.group else {
            return Some((
                format!("there is no IOMMU for {address}, so DPDK cannot have it by VFIO"),
                Remedy::here(
                    "boot with intel_iommu=on iommu=pt or switch the IOMMU on in the firmware",
                ),
            ));
        };
        let with_drivers: Vec<String> = self
            .places
            .in_group(group)
            .into_iter()
            .filter(|other| other != address && !self.pair.contains(other))
            .filter_map(|other| {
                let driver = self.places.pci_function(&other)?.driver?;
                let harmless = driver.starts_with("vfio") || HARMLESS.contains(&driver.as_str());
                (!harmless).then(|| format!("{other} ({driver})"))
            })
            .collect();
        if with_drivers.is_empty() {
            return None;
        }
        let them = with_drivers.join(", ");
        Some((
            format!(
                "the IOMMU cannot keep {address} apart from {them}: they are all in its group {group}"
            ),
            Remedy::here_or_plan(
                format!(
                    "unbind these from their drivers when nobody needs them (driverctl set-override ADDRESS {VFIO})"
                ),
                "name another NIC",
            ),
        ))
    }

    /// NICs that the plan could name.
    fn other_nics(&self) -> Remedy {
        let mut there = self.places.ethernet();
        there.truncate(NAMED);
        if there.is_empty() {
            Remedy::elsewhere(
                "measure where there are NICs of their own, or in the lab (nicety lab run)",
            )
        } else {
            Remedy::plan(format!("write addresses of NICs: {}", there.join(", ")))
        }
    }
}

#[cfg(test)]
mod tests;
