//! Asks those who know which ports names are.

mod all;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nicety_host::regular;
use nicety_netdev::link::Links;
use nicety_netdev::net_error::NetError;
use nicety_netdev::netns::NetNs;
use nicety_netdev::program::distrust;
use nicety_netdev::vf::Places;
use nicety_police::names::{
    Absent, Attachment, Device, Domain, Found, Host, Interface, Kind, Listed, Name, PciAddress,
    Resolution, Source, Switch,
};

use super::program::{Program, Unanswered};

/// How long a program is waited for.
const PATIENCE: Duration = Duration::from_secs(5);
/// libvirt's, through its socket for readers: it cannot change anything. A program and no client of our own, because
/// it speaks the protocol of whatever libvirt is installed, and can be ended when that hangs.
const VIRSH: Program = Program {
    name: "virsh",
    package: "libvirt-clients",
    hint: "see systemctl status libvirtd",
    limit: PATIENCE,
    most: 4 << 20,
};
const CONNECT: [&str; 3] = ["--readonly", "--connect", "qemu:///system"];
/// That of Open vSwitch.
const VSCTL: Program = Program {
    name: "ovs-vsctl",
    package: "openvswitch-switch",
    hint: "see systemctl status openvswitch-switch",
    limit: PATIENCE,
    most: 32 << 20,
};
/// Where Proxmox has its guests, and CNI its results.
const PVE: &str = "/etc/pve";
const CNI: &str = "/var/lib/cni/results";
/// Largest file of theirs in bytes, and most files of CNI.
const LARGEST: u64 = 1 << 20;
const MOST_FILES: usize = 10_000;

/// Why a source has not answered.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// Its program.
    #[error(transparent)]
    Program(#[from] Unanswered),
    /// What its program says.
    #[error(transparent)]
    Json(#[from] nicety_police::names::BadJson),
    /// The kernel.
    #[error(transparent)]
    Net(#[from] NetError),
    /// A file.
    #[error("cannot read {}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file that others may have written.
    #[error("{} {why}, so it is not believed; correct its owner and mode", path.display())]
    Untrusted {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: &'static str,
    },
}

/// Who is asked, in a network namespace.
#[derive(Debug)]
pub struct Asker {
    ns: NetNs,
    links: Links,
    pve: PathBuf,
    cni: PathBuf,
}

impl Asker {
    /// For the ports of a network namespace.
    ///
    /// # Errors
    /// When that cannot be asked.
    pub fn open(ns: &NetNs) -> Result<Self, NetError> {
        Ok(Self {
            links: Links::open(ns)?,
            ns: ns.clone(),
            pve: PVE.into(),
            cni: CNI.into(),
        })
    }

    /// Which ports some names of one source are.
    ///
    /// # Errors
    /// When the source does not answer: then nothing is known.
    pub fn ask(
        &self,
        source: Source,
        names: &BTreeSet<Name>,
    ) -> Result<BTreeMap<Name, Resolution>, Trouble> {
        let found = match source {
            Source::Libvirt => libvirt(names)?,
            Source::OpenVSwitch => switch(names)?,
            Source::Proxmox => proxmox(&self.pve, names)?,
            Source::Pci => of_pci(names),
            Source::Pods => pods(&self.cni, names)?,
        };
        // After the source has answered: what is there now counts.
        let host = self.host(&found)?;
        let resolved = found.into_iter().map(|(name, found)| {
            let resolution = host.resolve(&name, found);
            (name, resolution)
        });
        Ok(resolved.collect())
    }

    /// Interfaces by name, with their numbers.
    ///
    /// # Errors
    /// When the kernel does not answer.
    pub(super) fn indexes(&self) -> Result<BTreeMap<String, u32>, NetError> {
        let links = self.links.list()?.into_iter();
        Ok(links.map(|link| (link.name, link.index)).collect())
    }

    /// Interfaces, and devices where one was found.
    fn host(&self, found: &BTreeMap<Name, Found>) -> Result<Host, NetError> {
        let links = self.links.list()?;
        let interfaces = links.into_iter().map(|link| {
            let kind = link.kind;
            let index = link.index;
            (link.name, Interface { index, kind })
        });
        let mut host = Host {
            interfaces: interfaces.collect(),
            devices: BTreeMap::new(),
        };
        let wanted = found.values().filter_map(|found| match found {
            Found::Device(address) => Some(*address),
            _ => None,
        });
        let wanted: BTreeSet<PciAddress> = wanted.collect();
        if !wanted.is_empty() {
            host.devices = devices(&Places::of(&self.ns), &wanted);
        }
        Ok(host)
    }
}

/// What some devices are.
fn devices(places: &Places, wanted: &BTreeSet<PciAddress>) -> BTreeMap<PciAddress, Device> {
    let mut functions: BTreeMap<PciAddress, Device> = BTreeMap::new();
    for pf in places.physical_functions().unwrap_or_default() {
        let numbers = places.attribute(&pf, "device/sriov_numvfs");
        let numbers: u32 = numbers.and_then(|text| text.parse().ok()).unwrap_or(0);
        for vf in 0..numbers {
            let address = places.virtual_function(&pf, vf).map(|it| it.address);
            if let Some(address) = address.and_then(|address| address.parse().ok()) {
                let pf = pf.clone();
                functions.insert(address, Device::Function { pf, vf });
            }
        }
    }
    let device = |address: &PciAddress| {
        let function = functions.get(address);
        let device = match (function, places.pci_function(&address.to_string())) {
            (Some(function), _) => function.clone(),
            (None, Some(device)) => match device.interfaces.into_iter().next() {
                Some(interface) => Device::Interface(interface),
                None => Device::Other,
            },
            (None, None) => return None,
        };
        Some((*address, device))
    };
    wanted.iter().filter_map(device).collect()
}

/// Asks for the running domains, and for the description of each that is named.
fn libvirt(names: &BTreeSet<Name>) -> Result<BTreeMap<Name, Found>, Trouble> {
    let running = listed(&[])?;
    let mut others = None;
    let mut known: BTreeMap<&str, Result<Domain, Absent>> = BTreeMap::new();
    for name in names {
        let Name::Libvirt { domain, .. } = name else {
            continue;
        };
        if known.contains_key(domain.as_str()) {
            continue;
        }
        let described = match running.iter().find(|one| one.name == *domain) {
            Some(one) => described(one)?,
            None => {
                let all = match &mut others {
                    Some(all) => all,
                    None => others.insert(listed(&["--inactive"])?),
                };
                let defined = all.iter().any(|one| one.name == *domain);
                Err(if defined {
                    Absent::ShutOff(domain.clone())
                } else {
                    Absent::NoDomain(domain.clone())
                })
            }
        };
        known.insert(domain, described);
    }
    let found = names.iter().filter_map(|name| {
        let Name::Libvirt { domain, port } = name else {
            return None;
        };
        let found = match known.get(domain.as_str())? {
            Ok(described) => described.port(domain, *port),
            Err(why) => Found::Absent(why.clone()),
        };
        Some((name.clone(), found))
    });
    Ok(found.collect())
}

/// Domains: those that run, or those that `words` pick.
fn listed(words: &[&str]) -> Result<Vec<Listed>, Trouble> {
    let words = [&CONNECT[..], &["list", "--uuid", "--name"], words].concat();
    Ok(nicety_police::names::listed(&VIRSH.ask(&words)?))
}

/// A domain by its UUID: its name may be the number of another one.
fn described(one: &Listed) -> Result<Result<Domain, Absent>, Trouble> {
    let domain = format!("--domain={}", one.uuid);
    let words = [&CONNECT[..], &["dumpxml", &domain]].concat();
    let unreadable = |why: String| {
        let domain = one.name.clone();
        Absent::Unreadable { domain, why }
    };
    match VIRSH.ask(&words) {
        Ok(xml) => {
            Ok(nicety_police::names::interfaces(&xml).map_err(|why| unreadable(why.to_string())))
        }
        // It has ended since the list was made.
        Err(Unanswered::Failed { said, .. }) if is_gone(&said) => {
            Ok(Err(Absent::ShutOff(one.name.clone())))
        }
        // One with a huge description keeps no other from its port.
        Err(error @ Unanswered::TooMuch { .. }) => Ok(Err(unreadable(error.to_string()))),
        Err(error) => Err(error.into()),
    }
}

/// What virsh complains of when there is no such domain any more.
fn is_gone(said: &str) -> bool {
    ["Domain not found", "failed to get domain"]
        .iter()
        .any(|words| said.contains(words))
}

fn switch(names: &BTreeSet<Name>) -> Result<BTreeMap<Name, Found>, Trouble> {
    let switch = database()?;
    let found = names.iter().map(|name| (name.clone(), switch.port(name)));
    Ok(found.collect())
}

/// What Open vSwitch has.
fn database() -> Result<Switch, Trouble> {
    let (port, interface) = (
        format!("--columns={}", Switch::PORT),
        format!("--columns={}", Switch::INTERFACE),
    );
    let words = [
        "--timeout=5",
        "--format=json",
        "--",
        &port,
        "list",
        "Port",
        "--",
        &interface,
    ];
    let text = VSCTL.ask(&[&words[..], &["list", "Interface"]].concat())?;
    Ok(Switch::parse(&text)?)
}

fn of_pci(names: &BTreeSet<Name>) -> BTreeMap<Name, Found> {
    let found = names.iter().filter_map(|name| match name {
        Name::Pci(address) => Some((name.clone(), Found::Device(*address))),
        _ => None,
    });
    found.collect()
}

fn proxmox(root: &Path, names: &BTreeSet<Name>) -> Result<BTreeMap<Name, Found>, Trouble> {
    let mut found = BTreeMap::new();
    for name in names {
        let Name::Pve { guest, net } = name else {
            continue;
        };
        let mut file = None;
        for (kind, dir) in [(Kind::Machine, "qemu-server"), (Kind::Container, "lxc")] {
            let path = root.join(dir).join(format!("{guest}.conf"));
            if let (None, Some(text)) = (&file, read(&path)?) {
                file = Some((kind, text));
            }
        }
        let file = file.as_ref().map(|(kind, text)| (*kind, text.as_str()));
        found.insert(name.clone(), nicety_police::names::net(*guest, *net, file));
    }
    Ok(found)
}

fn pods(root: &Path, names: &BTreeSet<Name>) -> Result<BTreeMap<Name, Found>, Trouble> {
    let all = attachments(root)?;
    let found = names.iter().filter_map(|name| match name {
        Name::Pod {
            namespace,
            pod,
            interface,
        } => Some((
            name.clone(),
            nicety_police::names::pod(&all, (namespace, pod), interface),
        )),
        _ => None,
    });
    Ok(found.collect())
}

/// What CNI has kept.
fn attachments(root: &Path) -> Result<Vec<Attachment>, Trouble> {
    let mut all: Vec<Attachment> = Vec::new();
    let unreadable = |source| Trouble::File {
        path: root.to_owned(),
        source,
    };
    match fs::read_dir(root) {
        // No pod has been here yet.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(unreadable(error)),
        Ok(entries) => {
            trusted(root, &root.metadata().map_err(unreadable)?)?;
            for entry in entries.flatten().take(MOST_FILES) {
                let text = read(&entry.path())?;
                all.extend(text.as_deref().and_then(nicety_police::names::attachment));
            }
        }
    }
    Ok(all)
}

/// A file that only root may write; none when it is not there.
fn read(path: &Path) -> Result<Option<String>, Trouble> {
    let unreadable = |source| Trouble::File {
        path: path.to_owned(),
        source,
    };
    let file = match regular::open(path) {
        Ok(file) => file,
        // Not there, or no regular file.
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::InvalidInput
            ) =>
        {
            return Ok(None);
        }
        Err(error) => return Err(unreadable(error)),
    };
    trusted(path, &file.metadata().map_err(unreadable)?)?;
    let bytes = regular::read_at_most(file, LARGEST).map_err(|error| match error.kind() {
        io::ErrorKind::FileTooLarge => unreadable(io::Error::other("it is larger than 1 MiB")),
        _ => unreadable(error),
    })?;
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}

fn trusted(path: &Path, of: &fs::Metadata) -> Result<(), Trouble> {
    let path = || path.to_owned();
    distrust(of).map_or(Ok(()), |why| Err(Trouble::Untrusted { path: path(), why }))
}

#[cfg(test)]
mod tests;
