//! What a name looks like.

use std::fmt;
use std::str::FromStr;

use nicety_model::Problem;
use nicety_model::interface_name::check_interface_name;
use nicety_packet::MacAddr;
use serde::{Deserialize, Serialize};

/// Longest name in bytes.
const LONGEST: usize = 300;
/// Most characters of a wrong name that are said.
const SAID: usize = 60;

/// A name that people use for a port.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Name {
    /// `libvirt:web01/net0`, `libvirt:web01/52:54:00:12:34:56`: an interface of a domain.
    Libvirt {
        /// The domain, by its name.
        domain: String,
        /// Which of its interfaces.
        port: DomainPort,
    },
    /// `ovs:vnet3`: a port of Open vSwitch.
    Ovs(String),
    /// `neutron:4ac5…`: the port whose `external_ids:iface-id` in Open vSwitch is this.
    Neutron(String),
    /// `pve:101/net1`: a network device of a guest of Proxmox VE, a machine or a container.
    Pve {
        /// Number of the guest.
        guest: u32,
        /// Number of its device.
        net: u32,
    },
    /// `pci:0000:3b:02.1`: a device or virtual function by its address.
    Pci(PciAddress),
    /// `pod:shop/web-7d4b9/eth0`: an interface of a Kubernetes pod.
    Pod {
        /// Its namespace.
        namespace: String,
        /// Its name.
        pod: String,
        /// The interface as the pod sees it.
        interface: String,
    },
}

/// An interface of a domain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DomainPort {
    /// `net0`: libvirt's alias, which numbers the interfaces from 0.
    Net(u32),
    /// By its address.
    Mac(MacAddr),
}

/// `0000:3b:02.1`: domain, bus, device and function (`pci_name` of the kernel).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PciAddress {
    /// Domain.
    pub domain: u32,
    /// Bus.
    pub bus: u8,
    /// Device, below 32.
    pub device: u8,
    /// Function, below 8.
    pub function: u8,
}

/// Who knows a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// libvirt, of its domains.
    Libvirt,
    /// The database of Open vSwitch.
    OpenVSwitch,
    /// Files of Proxmox VE.
    Proxmox,
    /// The kernel, of PCI.
    Pci,
    /// Results that CNI has cached.
    Pods,
}

/// Text that is no name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameError {
    text: String,
    why: &'static str,
    remedy: &'static str,
}

impl NameError {
    /// What is wrong with the text, and what to write.
    pub fn problem(&self) -> Problem {
        let Self { text, why, remedy } = self;
        Problem::value(format!("{text:?} names no port: {why}"), *remedy)
    }
}

nicety_model::display_problem!(NameError);

/// What names begin with, and how to write one.
const FORMS: [(&str, &str); 6] = [
    (
        "libvirt:",
        "write a domain and an interface of it, as in libvirt:web01/net0 or libvirt:web01/52:54:00:12:34:56",
    ),
    ("ovs:", "write a port of Open vSwitch, as in ovs:vnet3"),
    (
        "neutron:",
        "write the port's UUID, as openstack port list shows it",
    ),
    ("pve:", "write a guest and a device, as in pve:101/net0"),
    (
        "pci:",
        "write the whole address, as in pci:0000:3b:02.1; see lspci -D",
    ),
    (
        "pod:",
        "write namespace, pod and interface, as in pod:shop/web-0/eth0",
    ),
];

impl Name {
    /// Whether a text begins as a name does: interfaces have no colon.
    pub fn is_meant(text: &str) -> bool {
        FORMS.iter().any(|(begin, _)| text.starts_with(begin))
    }

    /// Who knows it.
    pub fn source(&self) -> Source {
        match self {
            Self::Libvirt { .. } => Source::Libvirt,
            Self::Ovs(_) | Self::Neutron(_) => Source::OpenVSwitch,
            Self::Pve { .. } => Source::Proxmox,
            Self::Pci(_) => Source::Pci,
            Self::Pod { .. } => Source::Pods,
        }
    }
}

impl FromStr for Name {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let form = FORMS.iter().find(|(begin, _)| text.starts_with(begin));
        let (begin, remedy) = form.copied().unwrap_or((
            "",
            "begin with libvirt:, ovs:, neutron:, pve:, pci: or pod:",
        ));
        let error = |why| NameError {
            text: text.chars().take(SAID).collect(),
            why,
            remedy,
        };
        if text.len() > LONGEST {
            return Err(error("it is too long"));
        }
        if text.chars().any(nicety_model::visible::is_hidden) {
            return Err(error("it contains a line end or another control character"));
        }
        let rest = text.get(begin.len()..).unwrap_or_default();
        let name = match begin {
            "libvirt:" => libvirt(rest),
            "ovs:" => switch_port(rest).map(Self::Ovs),
            "neutron:" => uuid(rest).map(Self::Neutron),
            "pve:" => pve(rest),
            "pci:" => rest.parse().ok().map(Self::Pci),
            "pod:" => pod(rest),
            _ => None,
        };
        name.ok_or_else(|| error("it is incomplete or has a part that cannot be"))
    }
}

/// The domain may have a slash in its name, which QEMU's may not: the last one parts.
fn libvirt(text: &str) -> Option<Name> {
    let (domain, port) = text.rsplit_once('/')?;
    let port = match port.strip_prefix("net") {
        Some(number) => DomainPort::Net(decimal(number)?),
        None => DomainPort::Mac(port.parse().ok()?),
    };
    let domain = (!domain.trim().is_empty()).then(|| domain.to_owned())?;
    Some(Name::Libvirt { domain, port })
}

fn switch_port(text: &str) -> Option<String> {
    let fits = !text.is_empty() && !text.contains(['/', '"', '\\']) && !text.starts_with('-');
    fits.then(|| text.to_owned())
}

/// 8-4-4-4-12 digits (RFC 9562), in small letters.
fn uuid(text: &str) -> Option<String> {
    let parts: Vec<usize> = text.split('-').map(str::len).collect();
    let digits = text.bytes().all(|b| b == b'-' || b.is_ascii_hexdigit());
    (digits && parts == [8, 4, 4, 4, 12]).then(|| text.to_ascii_lowercase())
}

fn pve(text: &str) -> Option<Name> {
    let (guest, net) = text.split_once("/net")?;
    let (guest, net) = (decimal(guest)?, decimal(net)?);
    // As Proxmox numbers them.
    ((100..1_000_000_000).contains(&guest) && net < 32).then_some(Name::Pve { guest, net })
}

fn pod(text: &str) -> Option<Name> {
    let mut parts = text.split('/');
    let (namespace, pod, interface) = (parts.next()?, parts.next()?, parts.next()?);
    // Names of Kubernetes are those of DNS (RFC 1123).
    let label = |text: &str, most: usize| {
        let letter = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'.';
        !text.is_empty()
            && text.len() <= most
            && text.bytes().all(letter)
            && !text.starts_with(['-', '.'])
    };
    let fits = parts.next().is_none()
        && label(namespace, 63)
        && label(pod, 253)
        && check_interface_name(interface).is_ok();
    fits.then(|| Name::Pod {
        namespace: namespace.to_owned(),
        pod: pod.to_owned(),
        interface: interface.to_owned(),
    })
}

/// A number in the one way to write it.
fn decimal(text: &str) -> Option<u32> {
    let number: u32 = text.parse().ok()?;
    (number.to_string() == text).then_some(number)
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::Libvirt { domain, port } => format!("libvirt:{domain}/{port}"),
            Self::Ovs(port) => format!("ovs:{port}"),
            Self::Neutron(port) => format!("neutron:{port}"),
            Self::Pve { guest, net } => format!("pve:{guest}/net{net}"),
            Self::Pci(address) => format!("pci:{address}"),
            Self::Pod {
                namespace,
                pod,
                interface,
            } => format!("pod:{namespace}/{pod}/{interface}"),
        };
        f.pad(&text)
    }
}

impl fmt::Display for DomainPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Net(number) => write!(f, "net{number}"),
            Self::Mac(address) => write!(f, "{address}"),
        }
    }
}

impl FromStr for PciAddress {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let parse = || {
            let (rest, function) = text.rsplit_once('.')?;
            let mut parts = rest.split(':');
            let (domain, bus, device) = (parts.next()?, parts.next()?, parts.next()?);
            let hex = |text: &str, digits: std::ops::RangeInclusive<usize>| {
                let is_hex = text.bytes().all(|b| b.is_ascii_hexdigit());
                (is_hex && digits.contains(&text.len())).then_some(())?;
                u32::from_str_radix(text, 16).ok()
            };
            // Domains beyond 16 bits are those of virtual host bridges; they have no leading zero.
            let whole = (domain.len() == 4 || !domain.starts_with('0')) && parts.next().is_none();
            whole.then_some(())?;
            Some(Self {
                domain: hex(domain, 4..=8)?,
                bus: u8::try_from(hex(bus, 2..=2)?).ok()?,
                device: u8::try_from(hex(device, 2..=2)?).ok().filter(|n| *n < 32)?,
                function: u8::try_from(hex(function, 1..=1)?)
                    .ok()
                    .filter(|n| *n < 8)?,
            })
        };
        parse().ok_or(())
    }
}

impl fmt::Display for PciAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            domain,
            bus,
            device,
            function,
        } = self;
        write!(f, "{domain:04x}:{bus:02x}:{device:02x}.{function:x}")
    }
}

impl Source {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Libvirt,
        Self::OpenVSwitch,
        Self::Proxmox,
        Self::Pci,
        Self::Pods,
    ];
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Libvirt => "libvirt",
            Self::OpenVSwitch => "Open vSwitch",
            Self::Proxmox => "Proxmox",
            Self::Pci => "PCI",
            Self::Pods => "CNI",
        })
    }
}

impl TryFrom<String> for Name {
    type Error = NameError;
    fn try_from(text: String) -> Result<Self, NameError> {
        text.parse()
    }
}

impl From<Name> for String {
    fn from(name: Name) -> Self {
        name.to_string()
    }
}

#[cfg(test)]
mod tests;
