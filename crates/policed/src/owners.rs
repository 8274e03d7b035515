//! Whose interfaces are whose: guests by their processes and by the names that people use, virtual functions,
//! containers and namespaces.

mod processes;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use nicety_account::drops::Owners;
use nicety_host::roots::ProcRoot;
use nicety_model::drops::{DropOwner, DropOwnerKind};
use nicety_model::facts::InterfaceClass;
use nicety_model::facts::way::{Hop, Hops};
use nicety_netdev::link::{Link, Links};
use nicety_netdev::netns::NetNs;
use nicety_netdev::peers::Peers;
use nicety_police::names::Name;
use rustix::thread::CapabilitySet;

use crate::Error;
use crate::names::of_interfaces;
use crate::vf::inventory::Inventory;
use processes::Processes;

/// Where ip-netns(8) keeps names.
const NAMED: &str = "/run/netns";
/// Namespaces that CNI names by a number of its own, which says nothing.
const NAMELESS: &str = "cni-";

/// Owners at a moment.
#[derive(Debug, Clone, Default)]
pub struct Found {
    /// Of interfaces and namespaces.
    pub owners: Owners,
    /// Interfaces of this namespace with an XDP program.
    pub xdp: Vec<String>,
    /// This user may look into the processes of all others.
    pub whole: bool,
}

/// Looks for the owners of the interfaces in the calling process's network namespace and of all other namespaces.
///
/// # Errors
/// When the kernel does not list its interfaces.
pub fn find() -> Result<Found, Error> {
    let ns = NetNs::current()?;
    let links = Links::open(&ns)?.list()?;
    let processes = Processes::below(&ProcRoot::live(), ns.inode());
    let mut owners = Owners {
        here: ns.inode(),
        names: links
            .iter()
            .map(|link| (link.index, link.name.clone()))
            .collect(),
        namespaces: namespaces(&processes),
        ..Owners::default()
    };
    let here = |name: &str| (ns.inode(), name.to_owned());
    // Later ones know better.
    for link in links.iter().filter(|link| is_port(link)) {
        owners.interfaces.insert(here(&link.name), port(&link.name));
    }
    for (interface, owner) in by_peer(&ns, &links, &processes, &owners) {
        owners.interfaces.insert(here(&interface), owner);
    }
    for (interface, owner) in functions() {
        owners.interfaces.insert(here(&interface), owner);
    }
    let hops: Hops<'_> = hops(&links).collect();
    for process in processes.all() {
        for tap in process.taps(&links) {
            if process.netns == ns.inode() {
                for name in hops.alone(&tap) {
                    let owner = process.owner(Some(name.to_owned()));
                    owners.interfaces.insert(here(name), owner);
                }
            }
            let place = (process.netns, tap.clone());
            owners.interfaces.insert(place, process.owner(Some(tap)));
        }
    }
    for (interface, name) in of_interfaces(&ns) {
        owners
            .interfaces
            .insert(here(&interface), named(&interface, &name));
    }
    let xdp = links.iter().filter(|link| link.xdp);
    Ok(Found {
        xdp: xdp.map(|link| link.name.clone()).collect(),
        whole: processes.whole() || looks_anywhere(),
        owners,
    })
}

/// Interfaces as far as the way of a guest's frames goes.
fn hops(links: &[Link]) -> impl Iterator<Item = Hop<'_>> {
    let names: BTreeMap<u32, &str> = links.iter().map(|l| (l.index, l.name.as_str())).collect();
    links.iter().map(move |link| {
        let name = |index: Option<u32>| names.get(&index?).copied();
        let next = name(link.lower.filter(|_| !link.lower_elsewhere));
        let veth = link.kind == "veth";
        Hop {
            name: &link.name,
            class: InterfaceClass::of(&link.kind, link.kind.is_empty() && !link.loopback, true),
            kind: &link.kind,
            up: link.up,
            carrier: link.carrier,
            master: name(link.master),
            lower: next.filter(|_| !veth),
            peer: next.filter(|_| veth),
        }
    })
}

/// Who has which tap, veth or macvtap of the calling process's network namespace, by interface, as far as that is
/// known.
///
/// # Errors
/// When the kernel does not list its interfaces.
pub fn of_ports() -> Result<BTreeMap<String, String>, Error> {
    let owners = find()?.owners;
    let found = owners.interfaces.into_iter();
    let known = found
        .filter(|((netns, _), owner)| *netns == owners.here && owner.kind != DropOwnerKind::Port);
    Ok(known
        .map(|((_, interface), owner)| (interface, owner.name))
        .collect())
}

/// Whether this user may look into any process; what is hidden all the same is hidden from all.
fn looks_anywhere() -> bool {
    let now = rustix::thread::capabilities(None);
    now.is_ok_and(|now| now.effective.contains(CapabilitySet::SYS_PTRACE))
}

/// Whoever is behind it is somebody else than the host.
fn is_port(link: &Link) -> bool {
    matches!(link.kind.as_str(), "tun" | "macvtap") || link.kind == "veth" && link.master.is_some()
}

fn port(interface: &str) -> DropOwner {
    DropOwner {
        kind: DropOwnerKind::Port,
        name: interface.to_owned(),
        interface: Some(interface.to_owned()),
    }
}

fn named(interface: &str, name: &Name) -> DropOwner {
    let container = matches!(name, Name::Pod { .. })
        || matches!(name, Name::Pve { .. } if interface.starts_with("veth"));
    DropOwner {
        kind: if container {
            DropOwnerKind::Container
        } else {
            DropOwnerKind::Guest
        },
        name: name.to_string(),
        interface: Some(interface.to_owned()),
    }
}

/// Owners of whole namespaces: containers by their runtime's name, namespaces by their own, others by a process.
fn namespaces(processes: &Processes) -> BTreeMap<u64, DropOwner> {
    let mut found: BTreeMap<u64, DropOwner> = BTreeMap::new();
    for process in processes.of_namespaces() {
        found.insert(process.netns, process.owner(None));
    }
    let entries = fs::read_dir(NAMED).into_iter().flatten().flatten();
    for entry in entries {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Ok(inode) = fs::metadata(entry.path()).map(|of| of.ino()) else {
            continue;
        };
        let contained = processes.contains(inode);
        if !contained && (!name.starts_with(NAMELESS) || !found.contains_key(&inode)) {
            let kind = DropOwnerKind::Namespace;
            let owner = DropOwner {
                kind,
                name,
                interface: None,
            };
            found.insert(inode, owner);
        }
    }
    found
}

/// Owners of veths, by the namespace of the other end.
fn by_peer(
    ns: &NetNs,
    links: &[Link],
    processes: &Processes,
    owners: &Owners,
) -> Vec<(String, DropOwner)> {
    let Ok(peers) = Peers::open(ns) else {
        return Vec::new();
    };
    let elsewhere = peers.elsewhere().unwrap_or_default();
    if elsewhere.is_empty() {
        return Vec::new();
    }
    let mut by_number = BTreeMap::new();
    for process in processes.of_namespaces() {
        if let Some(number) = peers.of_process(process.pid) {
            by_number.insert(number, process.netns);
        }
    }
    for (inode, number) in peers.of_named(Path::new(NAMED)) {
        by_number.insert(number, inode);
    }
    let owner = |link: &Link| {
        let inode = by_number.get(elsewhere.get(&link.index)?)?;
        let owner = owners.namespaces.get(inode)?.clone();
        let interface = Some(link.name.clone());
        Some((link.name.clone(), DropOwner { interface, ..owner }))
    };
    links.iter().filter_map(owner).collect()
}

/// Virtual functions whose interface or representor is here.
fn functions() -> Vec<(String, DropOwner)> {
    let report = Inventory::open().and_then(|inventory| inventory.report(None));
    let nics = report.map(|report| report.nics).unwrap_or_default();
    let mut found = Vec::new();
    for nic in &nics {
        for function in &nic.functions {
            let name = format!("{}/vf{}", nic.interface, function.vf);
            let interfaces = [Some(&function.holder), function.representor.as_ref()];
            for interface in interfaces.into_iter().flatten() {
                let owner = DropOwner {
                    kind: DropOwnerKind::Function,
                    name: name.clone(),
                    interface: Some(interface.clone()),
                };
                found.push((interface.clone(), owner));
            }
        }
    }
    found
}
