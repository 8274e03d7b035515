//! What became of a name.

use std::collections::BTreeMap;

use crate::names::name::{DomainPort, Name, PciAddress, Source};
use crate::names::pci::Device;

/// What became of a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolution {
    /// It is this port of the host.
    Resolved(Target),
    /// It is none now: why.
    Absent(Absent),
    /// It is several: their names.
    Ambiguous(Vec<String>),
}

/// A port of the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// An interface.
    Interface {
        /// Its name.
        name: String,
        /// Its number: another one may have its name a moment later.
        index: u32,
    },
    /// A virtual function.
    Function {
        /// Interface of the physical one.
        pf: String,
        /// Number.
        vf: u32,
    },
}

/// What a source says a name is: an interface by its name, or a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// An interface.
    Interface(String),
    /// A device that the host has given away, or one of its own.
    Device(PciAddress),
    /// Any of these, of which one should be there.
    OneOf(Vec<String>),
    /// Several at once.
    Several(Vec<String>),
    /// Nothing now.
    Absent(Absent),
}

/// Why a name is no port now. Displayed, it says what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Absent {
    /// Nobody has been asked yet.
    #[error("nobody has told yet which port it is")]
    NotAsked,
    /// The source has never answered: why.
    #[error("{0}")]
    NoAnswer(String),
    /// The domain does not run.
    #[error("the domain {0:?} is shut off; its limit comes when it starts")]
    ShutOff(String),
    /// There is no such domain.
    #[error("libvirt has no domain {0:?}; correct the name, see virsh list --all")]
    NoDomain(String),
    /// The domain has no such interface.
    #[error("the domain {domain:?} has no interface {port}; see virsh domiflist")]
    NoPort {
        /// The domain.
        domain: String,
        /// Which interface.
        port: DomainPort,
    },
    /// The domain's description cannot be read: why.
    #[error("what libvirt says of the domain {domain:?} cannot be read: {why}")]
    Unreadable {
        /// The domain.
        domain: String,
        /// Why.
        why: String,
    },
    /// Something without an interface on the host.
    #[error(
        "it is of type {0:?}, which has no interface on this host; such a port cannot be shared"
    )]
    Kind(String),
    /// The interface has no name yet.
    #[error("it has no interface yet")]
    NotYet,
    /// The interface is not there.
    #[error("its interface {0} is not there")]
    NoInterface(String),
    /// None of the interfaces is there.
    #[error("none of its interfaces is there: {0}")]
    NoneOf(String),
    /// Open vSwitch has no such port.
    #[error("Open vSwitch has no port {0:?}; see ovs-vsctl show")]
    NoSwitchPort(String),
    /// No port has this identity.
    #[error("no port of Open vSwitch has iface-id {0}; it is on another host, or not plugged yet")]
    NoIfaceId(String),
    /// Proxmox has no such guest here.
    #[error("Proxmox has no guest {0} on this host; see qm list and pct list")]
    NoGuest(u32),
    /// The guest has no such device.
    #[error("the guest {guest} has no net{net}; see its Hardware or Network page")]
    NoNet {
        /// Number of the guest.
        guest: u32,
        /// Number of the device.
        net: u32,
    },
    /// The guest does not run.
    #[error("the guest {guest} has no interface {interface} now; its limit comes when it starts")]
    GuestOff {
        /// Number of the guest.
        guest: u32,
        /// Of it.
        interface: String,
    },
    /// There is no such device.
    #[error("there is no PCI device {0}; see lspci -D")]
    NoDevice(PciAddress),
    /// The device has no interface here.
    #[error(
        "the PCI device {0} has no interface in this network namespace, and is not a function of one that has"
    )]
    NoNetDevice(PciAddress),
    /// No such pod has been attached.
    #[error("CNI has attached no such pod on this host; correct the name, or wait for the pod")]
    NoPod,
    /// The plugin does not say which interface of the host it is.
    #[error(
        "the CNI plugin has not told the pod's interface on this host; name that interface instead"
    )]
    NotTold,
}

/// An interface of the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    /// Its number.
    pub index: u32,
    /// Kind of link, as `veth` or `bridge`.
    pub kind: String,
}

/// Interfaces and PCI devices of the host at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Host {
    /// Interfaces of this network namespace, by name.
    pub interfaces: BTreeMap<String, Interface>,
    /// Devices that are an interface of it or a function of one, by address.
    pub devices: BTreeMap<PciAddress, Device>,
}

impl Host {
    /// The port that a name is, by what its source says.
    pub fn resolve(&self, name: &Name, found: Found) -> Resolution {
        match found {
            Found::Absent(why) => Resolution::Absent(why),
            Found::Several(names) => Resolution::Ambiguous(names),
            Found::Interface(interface) => match self.target(&interface) {
                Some(target) => Resolution::Resolved(target),
                None => Resolution::Absent(gone(name, interface)),
            },
            Found::OneOf(names) => {
                let there = |name: &String| {
                    let found = self.interfaces.get(name);
                    found.is_some_and(|found| {
                        !matches!(found.kind.as_str(), "bridge" | "openvswitch")
                    })
                };
                let mut fits: Vec<String> =
                    names.iter().filter(|name| there(name)).cloned().collect();
                match (fits.pop(), fits.is_empty()) {
                    (None, _) => Resolution::Absent(Absent::NoneOf(names.join(", "))),
                    (Some(only), true) => match self.target(&only) {
                        Some(target) => Resolution::Resolved(target),
                        None => Resolution::Absent(Absent::NoInterface(only)),
                    },
                    (Some(last), false) => {
                        fits.push(last);
                        Resolution::Ambiguous(fits)
                    }
                }
            }
            Found::Device(address) => match self.devices.get(&address) {
                None => Resolution::Absent(match name.source() {
                    Source::Pci => Absent::NoDevice(address),
                    _ => Absent::NoNetDevice(address),
                }),
                Some(Device::Function { pf, vf }) if self.interfaces.contains_key(pf) => {
                    Resolution::Resolved(Target::Function {
                        pf: pf.clone(),
                        vf: *vf,
                    })
                }
                Some(Device::Interface(interface)) => match self.target(interface) {
                    Some(target) => Resolution::Resolved(target),
                    None => Resolution::Absent(Absent::NoNetDevice(address)),
                },
                Some(Device::Function { .. } | Device::Other) => {
                    Resolution::Absent(Absent::NoNetDevice(address))
                }
            },
        }
    }

    fn target(&self, name: &str) -> Option<Target> {
        let interface = self.interfaces.get(name)?;
        Some(Target::Interface {
            name: name.to_owned(),
            index: interface.index,
        })
    }
}

fn gone(name: &Name, interface: String) -> Absent {
    match name {
        Name::Pve { guest, .. } => Absent::GuestOff {
            guest: *guest,
            interface,
        },
        _ => Absent::NoInterface(interface),
    }
}

impl Resolution {
    /// Why it is no port now; none where it is one.
    pub fn why(&self) -> Option<String> {
        match self {
            Self::Resolved(_) => None,
            Self::Absent(why) => Some(why.to_string()),
            Self::Ambiguous(names) => Some(format!(
                "it is several interfaces: {}; name one of them",
                names.join(", ")
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host() -> Host {
        let interface = |index, kind: &str| Interface {
            index,
            kind: kind.to_owned(),
        };
        let address = |text: &str| text.parse().unwrap();
        Host {
            interfaces: [
                ("eth0", interface(2, "")),
                ("vnet3", interface(7, "tun")),
                ("veth1", interface(8, "veth")),
                ("veth2", interface(9, "veth")),
                ("cni0", interface(5, "bridge")),
            ]
            .map(|(name, interface)| (name.to_owned(), interface))
            .into(),
            devices: [
                (
                    address("0000:3b:00.0"),
                    Device::Interface("eth0".to_owned()),
                ),
                (
                    address("0000:3b:02.1"),
                    Device::Function {
                        pf: "eth0".to_owned(),
                        vf: 1,
                    },
                ),
                (
                    address("0000:3c:02.1"),
                    Device::Function {
                        pf: "elsewhere".to_owned(),
                        vf: 1,
                    },
                ),
                (address("0000:00:1f.0"), Device::Other),
            ]
            .into(),
        }
    }

    #[test]
    fn what_a_source_says_is_a_port_of_the_host_or_says_why_not() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let device = |text: &str| Found::Device(text.parse().unwrap());
        #[rustfmt::skip]
        let table = [
            ("ovs:vnet3", Found::Interface("vnet3".to_owned()), "vnet3 7"),
            ("ovs:vnet9", Found::Interface("vnet9".to_owned()), "its interface vnet9 is not there"),
            ("pve:101/net0", Found::Interface("tap101i0".to_owned()),
                "the guest 101 has no interface tap101i0 now; its limit comes when it starts"),
            ("pod:a/b/eth0", Found::OneOf(names(&["cni0", "veth1"])), "veth1 8"),
            ("pod:a/b/eth0", Found::OneOf(names(&["cni0", "veth9"])),
                "none of its interfaces is there: cni0, veth9"),
            ("pod:a/b/eth0", Found::OneOf(names(&["veth1", "veth2"])),
                "it is several interfaces: veth1, veth2; name one of them"),
            ("ovs:bond0", Found::Several(names(&["eth0", "eth1"])),
                "it is several interfaces: eth0, eth1; name one of them"),
            ("pci:0000:3b:00.0", device("0000:3b:00.0"), "eth0 2"),
            ("pci:0000:3b:02.1", device("0000:3b:02.1"), "eth0/vf1"),
            ("pci:0000:3c:02.1", device("0000:3c:02.1"),
                "the PCI device 0000:3c:02.1 has no interface in this network namespace, and is not a function of one that has"),
            ("pci:0000:00:1f.0", device("0000:00:1f.0"),
                "the PCI device 0000:00:1f.0 has no interface in this network namespace, and is not a function of one that has"),
            ("pci:0000:99:00.0", device("0000:99:00.0"), "there is no PCI device 0000:99:00.0; see lspci -D"),
        ];
        for (name, found, wanted) in table {
            let resolution = host().resolve(&name.parse().unwrap(), found);
            let said = match &resolution {
                Resolution::Resolved(Target::Interface { name, index }) => {
                    format!("{name} {index}")
                }
                Resolution::Resolved(Target::Function { pf, vf }) => format!("{pf}/vf{vf}"),
                other => other.why().unwrap(),
            };
            assert_eq!(said, wanted);
        }
    }
}
