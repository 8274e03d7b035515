//! PCI functions of NICs: where their files are, and which port a virtual one belongs to.

use nicety_model::facts::{InterfaceClass, LinkFacts, NetFacts, VmFacts, VmNic};

use crate::roots::SysRoot;

/// Class of network controllers, the first byte of a function's class (PCI Code and ID
/// Assignment, 02h).
pub(super) const NETWORK: &str = "0x02";

/// Folders that may be the PCI function of an interface: its device; one above for virtio, whose
/// device is on a bus of its own; and the function that ethtool names.
fn folders(name: &str, bus: Option<&str>) -> impl Iterator<Item = String> {
    let device = format!("class/net/{name}/device");
    let above = format!("{device}/..");
    let named = bus.map(|bus| format!("bus/pci/devices/{bus}"));
    [device].into_iter().chain(named).chain([above])
}

/// A file of an interface's function.
pub(super) fn text(sys: &SysRoot, link: &LinkFacts, file: &str) -> Option<String> {
    let mut folders = folders(&link.name, link.bus.as_deref());
    folders.find_map(|folder| sys.text(format!("{folder}/{file}")))
}

/// The name that a link of an interface's function points to.
pub(super) fn link(sys: &SysRoot, link: &LinkFacts, file: &str) -> Option<String> {
    let mut folders = folders(&link.name, link.bus.as_deref());
    folders.find_map(|folder| sys.link_name(format!("{folder}/{file}")))
}

/// Adds to a passed-through NIC its node and its physical function; false for a function of
/// something else.
pub(super) fn locate(sys: &SysRoot, nic: &mut VmNic) -> bool {
    let Some(address) = nic.interface.as_deref().filter(|_| nic.backend == "vfio") else {
        return true;
    };
    let folder = format!("bus/pci/devices/{address}");
    let class = sys.text(format!("{folder}/class"));
    if class.is_some_and(|class| !class.starts_with(NETWORK)) {
        return false;
    }
    let node = sys.text(format!("{folder}/numa_node"));
    nic.numa_node = node.and_then(|text| text.parse().ok());
    nic.physfn = sys.link_name(format!("{folder}/physfn"));
    true
}

/// Adds the physical functions that the functions themselves do not name: ports link to theirs.
pub(super) fn own(sys: &SysRoot, interfaces: &[NetFacts], vms: &mut [VmFacts]) {
    let nics = vms.iter_mut().flat_map(|vm| &mut vm.nics);
    for nic in nics.filter(|nic| nic.backend == "vfio" && nic.physfn.is_none()) {
        let Some(address) = nic.interface.as_deref() else {
            continue;
        };
        let mut ports = interfaces
            .iter()
            .filter(|net| net.class == InterfaceClass::Hardware);
        let port = ports.find(|net| has(sys, &net.link, address));
        nic.physfn = port.and_then(|net| net.link.bus.clone());
    }
}

/// Whether a port has a virtual function (`virtfn*`).
fn has(sys: &SysRoot, link: &LinkFacts, address: &str) -> bool {
    folders(&link.name, link.bus.as_deref()).any(|folder| {
        let links = sys.entries_where(&folder, |name| name.starts_with("virtfn"));
        let target = |link: &String| sys.link_name(format!("{folder}/{link}"));
        links.iter().filter_map(target).any(|name| name == address)
    })
}
