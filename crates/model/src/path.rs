//! A path with one value for each of its parameters: what a cell is measured on.
//!
//! Only `read` parses the words of plans, names and JSON, and only this module writes them.

mod kernel;
mod layer;
mod read;
mod virtio;
mod vm;
mod word;

use std::collections::BTreeMap;
use std::fmt;

use serde::{Serialize, Serializer};

pub use kernel::{
    AGGREGATION, IPVLAN_MODE, MACVLAN_MODE, NETKIT_MODE, RoutedParams, TC_FILTER, TunnelParams,
};
pub use layer::Layer;
pub use read::{NoPath, Words};
pub use virtio::Virtio;
pub use vm::{VmConfig, VmParams, VmSwitch};
pub use word::{
    Acl, Aggregation, Cpus, Datapath, Encapsulation, GuestKind, HostSwitch, Lookup, Nat, OnOff,
    PciPair, SubMode, Tagging, TcFilter, Vdev, VmAccel, VmMachine, VmNic,
};

pub use crate::keywords::UnknownKeyword;

/// A path. Parameters that are absent were not given; methods have the values they stand for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PathSpec {
    /// Two namespaces joined by a kernel bridge.
    Bridge,
    /// Two interfaces that exist already.
    Ports {
        /// Interface A.
        a: String,
        /// Interface B.
        b: String,
    },
    /// Two namespaces joined by a kernel bridge, frames tagged on the wire.
    VlanBridge {
        /// What takes the tags off; VLAN sub-interfaces when absent.
        tagging: Option<Tagging>,
    },
    /// Two namespaces joined by Open vSwitch.
    Ovs {
        /// The datapath; when absent the kernel's where it has one.
        datapath: Option<Datapath>,
        /// Frames are tagged on the wire, and the switch's ports know their VLANs.
        tagged: bool,
    },
    /// Two namespaces joined by a logical switch of OVN, on Open vSwitch.
    Ovn {
        /// The datapath; when absent the kernel's where it has one.
        datapath: Option<Datapath>,
        /// Rules of the logical switch; none when absent.
        acl: Option<Acl>,
    },
    /// Two namespaces joined by Open vSwitch with DPDK's polling threads.
    OvsDpdk(DpdkParams),
    /// Two interfaces joined by DPDK's testpmd.
    Testpmd {
        /// Its parameters.
        dpdk: DpdkParams,
        /// NICs that it drives itself; when absent it is between two namespaces.
        nics: Option<Nics>,
    },
    /// Two namespaces joined by a router: the kernel's own, with rules of nftables.
    Routed(RoutedParams),
    /// Two namespaces joined by a tunnel.
    Tunnel(TunnelParams),
    /// The tester's port B is a macvlan on the interface that is connected with port A.
    Macvlan {
        /// Which frames it gets; as a bridge when absent.
        mode: Option<SubMode>,
    },
    /// The tester's port B is an ipvlan on the interface that is connected with port A.
    Ipvlan {
        /// On which layer it works; `l3` when absent.
        mode: Option<SubMode>,
    },
    /// Two interfaces between which tc redirects every frame.
    TcRedirect {
        /// What finds the frames; `matchall` when absent.
        filter: Option<TcFilter>,
    },
    /// Two interfaces between which an XDP program redirects every frame.
    XdpRedirect,
    /// Two namespaces joined by two links that the driver bonding bundles.
    Bond {
        /// How frames are spread over them; `active-backup` when absent.
        aggregation: Option<Aggregation>,
    },
    /// Two namespaces joined by two links that the driver team bundles.
    Team {
        /// How frames are spread over them; `active-backup` when absent.
        aggregation: Option<Aggregation>,
    },
    /// The tester's port B is one end of a netkit pair, whose other is on the host.
    Netkit {
        /// On which layer it works; `l3` when absent.
        mode: Option<SubMode>,
    },
    /// A guest that forwards between two NICs.
    Vm(VmParams),
    /// What this version knows nothing of, out of a run of another one: it is shown and compared,
    /// and never built.
    Foreign(Words),
}

/// Parameters that may be left out, read and written in words by their names.
macro_rules! params {
    ($(#[$about:meta])* $name:ident { $($(#[$of:meta])* $field:ident: $type:ty,)+ }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name {
            $($(#[$of])* pub $field: Option<$type>,)+
        }

        impl $name {
            pub(super) fn read(
                reader: &$crate::path::read::Reader<'_>,
            ) -> Result<Self, $crate::path::NoPath> {
                Ok(Self { $($field: reader.take(stringify!($field))?,)+ })
            }

            pub(super) fn add_words(&self, add: &mut dyn FnMut(&'static str, Option<String>)) {
                $(add(stringify!($field), $crate::path::text(&self.$field));)+
            }
        }
    };
}

use params;

params! {
    /// Parameters of a switch built on DPDK.
    DpdkParams {
        /// How it gets at the interfaces that the kernel drives.
        vdev: Vdev,
        /// Polling threads.
        cores: u32,
        /// Queues of an interface.
        queues: u32,
    }
}

/// NICs that testpmd drives itself, and what is connected with them from outside.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nics {
    /// Addresses of its ports 0 and 1.
    pub pci: PciPair,
    /// The tester's interface A.
    pub a: String,
    /// The tester's interface B.
    pub b: String,
}

impl DpdkParams {
    /// How it gets at the interfaces that the kernel drives: by packet sockets when absent.
    pub fn vdev(&self) -> Vdev {
        self.vdev.unwrap_or(Vdev::AfPacket)
    }

    /// Polling threads: one when absent.
    pub fn cores(&self) -> u32 {
        self.cores.unwrap_or(1)
    }

    /// Queues of an interface: one when absent.
    pub fn queues(&self) -> u32 {
        self.queues.unwrap_or(1)
    }
}

impl PathSpec {
    /// Kind of the path: `bridge`, `ports`, `vm`, …
    pub fn kind(&self) -> &str {
        match self {
            Self::Bridge => "bridge",
            Self::Ports { .. } => "ports",
            Self::VlanBridge { .. } => "vlan-bridge",
            Self::Ovs { .. } => "ovs",
            Self::Ovn { .. } => "ovn",
            Self::OvsDpdk(_) => "ovs-dpdk",
            Self::Testpmd { .. } => "testpmd",
            Self::Routed(_) => "routed",
            Self::Tunnel(_) => "tunnel",
            Self::Macvlan { .. } => "macvlan",
            Self::Ipvlan { .. } => "ipvlan",
            Self::TcRedirect { .. } => "tc-redirect",
            Self::XdpRedirect => "xdp-redirect",
            Self::Bond { .. } => "bond",
            Self::Team { .. } => "team",
            Self::Netkit { .. } => "netkit",
            Self::Vm(_) => "vm",
            Self::Foreign(words) => words.get(KIND).map_or("?", String::as_str),
        }
    }

    /// The parameters that were given, in words and in order of their names, `kind` among them.
    pub fn words(&self) -> BTreeMap<&str, String> {
        if let Self::Foreign(words) = self {
            let words = words.iter();
            return words.map(|(key, word)| (&**key, word.clone())).collect();
        }
        let mut words = BTreeMap::from([(KIND, self.kind().to_owned())]);
        let mut add = |key, value: Option<String>| {
            words.extend(value.map(|value| (key, value)));
        };
        match self {
            Self::OvsDpdk(dpdk) | Self::Testpmd { dpdk, .. } => dpdk.add_words(&mut add),
            _ => {}
        }
        match self {
            Self::Ports { a, b } => {
                add("a", Some(a.clone()));
                add("b", Some(b.clone()));
            }
            Self::VlanBridge { tagging } => add("tagging", text(tagging)),
            Self::Ovs { datapath, tagged } => {
                add("datapath", text(datapath));
                add("tagging", text(&tagged.then_some(Tagging::Filtering)));
            }
            Self::Ovn { datapath, acl } => {
                add("datapath", text(datapath));
                add("acl", text(acl));
            }
            Self::Testpmd {
                nics: Some(Nics { pci, a, b }),
                ..
            } => {
                add("pci", Some(pci.to_string()));
                add("a", Some(a.clone()));
                add("b", Some(b.clone()));
            }
            Self::Routed(params) => params.add_words(&mut add),
            Self::Tunnel(params) => params.add_words(&mut add),
            Self::Macvlan { mode } | Self::Ipvlan { mode } | Self::Netkit { mode } => {
                add("mode", text(mode));
            }
            Self::Bond { aggregation } | Self::Team { aggregation } => {
                add("aggregation", text(aggregation));
            }
            Self::TcRedirect { filter } => add("filter", text(filter)),
            Self::Vm(vm) => vm.add_words(&mut add),
            _ => {}
        }
        words
    }

    /// A parameter in words, where it was given.
    pub fn word(&self, key: &str) -> Option<String> {
        self.words().remove(key)
    }

    /// The guest's parameters, where there is one.
    pub fn vm(&self) -> Option<&VmParams> {
        match self {
            Self::Vm(vm) => Some(vm),
            _ => None,
        }
    }

    /// The tester's interfaces that are there already and connected with the path from outside,
    /// where it is such a path.
    pub fn interfaces(&self) -> Option<[&str; 2]> {
        match self {
            Self::Ports { a, b }
            | Self::Testpmd {
                nics: Some(Nics { a, b, .. }),
                ..
            } => Some([a, b]),
            _ => None,
        }
    }

    /// Whether the tester's ports are in IP networks of their own, with a router between them.
    pub fn is_routed(&self) -> bool {
        match self {
            Self::Routed(_) => true,
            Self::Tunnel(tunnel) => tunnel.encapsulation().is_routed(),
            Self::Ipvlan { mode } => mode.unwrap_or(IPVLAN_MODE) == SubMode::L3,
            Self::Netkit { mode } => mode.unwrap_or(NETKIT_MODE) == SubMode::L3,
            _ => false,
        }
    }

    /// Whether other endpoints could join what lies between the ports.
    pub fn takes_neighbours(&self) -> bool {
        match self {
            Self::Bridge
            | Self::VlanBridge { .. }
            | Self::Ovs { .. }
            | Self::OvsDpdk(_)
            | Self::Vm(_) => true,
            Self::Ports { .. }
            | Self::Ovn { .. }
            | Self::Testpmd { .. }
            | Self::Routed(_)
            | Self::Tunnel(_)
            | Self::Macvlan { .. }
            | Self::Ipvlan { .. }
            | Self::TcRedirect { .. }
            | Self::XdpRedirect
            | Self::Bond { .. }
            | Self::Team { .. }
            | Self::Netkit { .. }
            | Self::Foreign(_) => false,
        }
    }

    /// Receive queues of the host's interfaces, where they were given: cells of a list of them are
    /// compared with each other, that with one queue too.
    pub fn named_host_queues(&self) -> Option<u32> {
        self.vm()?.host_queues
    }

    /// The same path without what says where virtual CPUs run.
    pub fn without_placement(mut self) -> Self {
        match &mut self {
            Self::Vm(vm) => (vm.vcpus, vm.pin) = (None, None),
            Self::Foreign(words) => words.retain(|key, _| key != "vcpus" && key != "pin"),
            _ => {}
        }
        self
    }
}

/// Key of the kind.
const KIND: &str = "kind";

fn text(value: &Option<impl ToString>) -> Option<String> {
    value.as_ref().map(ToString::to_string)
}

/// The path's name: `bridge`, `vm,nic=e1000,vcpus=2`.
impl fmt::Display for PathSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind())?;
        for (key, value) in self.words() {
            if key != KIND {
                write!(f, ",{key}={value}")?;
            }
        }
        Ok(())
    }
}

/// An object of words.
impl Serialize for PathSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.words())
    }
}

#[cfg(test)]
mod tests;
