//! Names that people use for ports: `libvirt:web01/net0` instead of `vnet3`.
//!
//! [`Name`] is what stands in a policy or on a command line. Each source has a module that reads what its programs
//! print or its files say, as bytes of somebody else, and finds a name in it. What asks the programs and opens the
//! files is in `nicety-policed`.

mod container;
mod libvirt;
mod name;
mod ovs;
mod pci;
mod pods;
mod pve;
mod resolution;

pub use container::container;
pub use libvirt::{BadXml, Domain, DomainInterface, Listed, interfaces, listed};
pub use name::{DomainPort, Name, NameError, PciAddress, Source};
pub use ovs::{BadJson, Switch};
pub use pci::Device;
pub use pods::{Attachment, attachment, pod};
pub use pve::{Kind, has_net, named, net};
pub use resolution::{Absent, Found, Host, Interface, Resolution, Target};
