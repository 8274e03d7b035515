//! `[[path]]`: the kinds, their parameters, and which of them go together.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use toml::Spanned;

use crate::keywords::keywords;
use crate::path::{
    Acl, Aggregation, Cpus, Datapath, Encapsulation, GuestKind, HostSwitch, Lookup, Nat, OnOff,
    PciPair, SubMode, Tagging, TcFilter, Vdev, VmAccel, VmMachine, VmNic,
};
use crate::plan::build::check_interface;
use crate::plan::{PathPlan, SwitchKind};
use crate::problem::Problem;
use crate::source::{Diagnostic, List, Source, Wrong, only_list, written_as_list};
use crate::{integers, kind};

keywords! {
    /// What is measured.
    PathKind {
        /// Two namespaces joined by a kernel bridge.
        Bridge = "bridge",
        /// Two interfaces that exist already.
        Ports = "ports",
        /// Two namespaces joined by a kernel bridge, frames tagged on the wire.
        VlanBridge = "vlan-bridge",
        /// Two namespaces joined by Open vSwitch.
        Ovs = "ovs",
        /// Two namespaces joined by a logical switch of OVN.
        Ovn = "ovn",
        /// Two namespaces joined by Open vSwitch with DPDK's polling threads.
        OvsDpdk = "ovs-dpdk",
        /// Two interfaces joined by DPDK's testpmd.
        Testpmd = "testpmd",
        /// Two namespaces joined by a router.
        Routed = "routed",
        /// Two namespaces joined by a tunnel.
        Tunnel = "tunnel",
        /// A namespace whose interface is a macvlan.
        Macvlan = "macvlan",
        /// A namespace whose interface is an ipvlan.
        Ipvlan = "ipvlan",
        /// Two namespaces between which tc redirects every frame.
        TcRedirect = "tc-redirect",
        /// Two namespaces between which an XDP program redirects every frame.
        XdpRedirect = "xdp-redirect",
        /// Two namespaces joined by links that the driver bonding bundles.
        Bond = "bond",
        /// Two namespaces joined by links that the driver team bundles.
        Team = "team",
        /// A namespace whose interface is an end of a netkit pair.
        Netkit = "netkit",
        /// A guest that forwards between two NICs.
        Vm = "vm",
    }
}

impl PathKind {
    /// Keys of its `[[path]]`.
    fn keys(self) -> Vec<&'static str> {
        let keys = match self {
            Self::Bridge | Self::XdpRedirect => "kind",
            Self::Ports => "kind a b",
            Self::VlanBridge => "kind tagging",
            Self::Ovs => "kind datapath tagging",
            Self::Ovn => "kind datapath acl",
            Self::OvsDpdk => "kind vdev cores queues",
            Self::Testpmd => "kind vdev pci a b cores queues",
            Self::Routed => "kind rules lookup nat flowtable",
            Self::Tunnel => "kind encapsulation gro",
            Self::Macvlan | Self::Ipvlan | Self::Netkit => "kind mode",
            Self::TcRedirect => "kind filter",
            Self::Bond | Self::Team => "kind aggregation",
            Self::Vm => {
                "kind guest nic pf switch tagging vdev cores host_queues vcpus pin queues ring sndbuf vms accel \
                 machine packed indirect_desc mrg_rxbuf ioeventfd rss iommu"
            }
        };
        keys.split(' ').collect()
    }
}

integers! {
    HostQueues 1 to 1024, "receive queues of the host's interfaces, as in host_queues = [1, 4]";
    Vcpus 1 to 1024, "virtual CPUs of a guest, as in vcpus = [1, 2]";
    Queues 1 to 1024, "queues of an interface, as in queues = [1, 4]";
    Ring 1 to 65_536, "descriptors in a ring, as in ring = [256]";
    Sndbuf 4_608 to 1_073_741_824, "bytes that may be under way behind a tap, as in sndbuf = [65536]";
    Vms 1 to 1024, "guests at the same time, as in vms = [1]";
    Cores 1 to 1024, "polling threads, as in cores = [1, 2]";
    Rules 0 to 100_000, "rules of a firewall, as in rules = [0, 100]";
    Cpu 0 to 8191, "CPU numbers, as in {key} = [[0], [4, 6]]";
}

/// A path with its parameters. Each list multiplies the matrix; an empty one was not given.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PathParams {
    // None in a plan, which has a type for each.
    /// What is measured.
    #[schemars(with = "PathKind")]
    pub(super) kind: Option<Spanned<PathKind>>,
    /// The tester's interface A: of `kind = "ports"`, and beside `pci`.
    #[schemars(with = "Option<String>")]
    pub(super) a: Option<Spanned<Interface>>,
    /// The tester's interface B: of `kind = "ports"`, and beside `pci`.
    #[schemars(with = "Option<String>")]
    pub(super) b: Option<Spanned<Interface>>,
    /// PCI addresses of the NICs that `testpmd` drives itself, of its ports 0 and 1; `a` and `b` are connected with
    /// them from outside.
    #[serde(default, skip_serializing_if = "List::is_empty")]
    #[serde(serialize_with = "written_as_list")]
    #[schemars(with = "Vec<PciPair>")]
    pub pci: List<PciPair>,
    /// What the guest is; `vm` when absent.
    #[serde(default, skip_serializing_if = "List::is_empty")]
    pub guest: List<GuestKind>,
    /// How the guest is connected; a namespace by `macvlan` or `sriov`.
    #[serde(default, skip_serializing_if = "List::is_empty")]
    pub nic: List<VmNic>,
    /// The host's port whose virtual functions `sriov` and `sriov-macvtap` use; it has none yet and carries nothing
    /// else.
    #[serde(default, skip_serializing_if = "List::is_empty")]
    pub pf: List<Interface>,
    /// What joins the interfaces on the host.
    #[serde(default, skip_serializing_if = "List::is_empty")]
    pub switch: List<HostSwitch>,
    /// Receive queues of the host's interfaces between which the guest is, over which frames are spread by flow. One
    /// when absent.
    #[serde(default, skip_serializing_if = "List::is_empty")]
    pub host_queues: List<HostQueues>,
    /// Virtual CPUs of a guest.
    #[serde(default, skip_serializing_if = "List::is_empty")]
    pub vcpus: List<Vcpus>,
    /// Host CPUs the virtual CPUs run on; each entry is one placement.
    #[serde(default, skip_serializing_if = "List::is_empty")]
    #[serde(serialize_with = "written_as_list")]
    #[schemars(with = "Vec<Cpus>")]
    pub pin: List<Cpus>,
    /// Queues of an interface.
    #[serde(default, skip_serializing_if = "List::is_empty")]
    pub queues: List<Queues>,
    /// Descriptors in a ring.
    #[serde(default, skip_serializing_if = "List::is_empty")]
    pub ring: List<Ring>,
    /// Bytes of frames from the guest that may be under way on the host, for each queue of a tap. No limit when absent.
    #[serde(default, skip_serializing_if = "List::is_empty")]
    pub sndbuf: List<Sndbuf>,
    /// Guests at the same time, through which the frames take turns; they share the switch or the port.
    #[serde(default, skip_serializing_if = "List::is_empty")]
    pub vms: List<Vms>,
    /// How a switch deals with tags. When absent, `vlan-bridge` takes `sub-interface`, which only it has, and `ovs`
    /// carries untagged frames.
    #[serde(default, skip_serializing_if = "List::is_empty")]
    pub tagging: List<Tagging>,
    /// Rules on the logical switch of `ovn`; `none` when absent.
    #[serde(default, skip_serializing_if = "List::is_empty")]
    pub acl: List<Acl>,
    /// Datapath of `ovs` and `ovn`; when absent the kernel's where it has one.
    #[serde(default, skip_serializing_if = "List::is_empty")]
    pub datapath: List<Datapath>,
    /// How DPDK gets at the interfaces; `af_packet` when absent.
    #[serde(default, skip_serializing_if = "List::is_empty")]
    pub vdev: List<Vdev>,
    /// Polling threads of a DPDK switch, each on a CPU of its own; one when absent.
    #[serde(default, skip_serializing_if = "List::is_empty")]
    pub cores: List<Cores>,
    /// How a guest's instructions run; `auto` when absent.
    #[serde(default, skip_serializing_if = "List::is_empty")]
    pub accel: List<VmAccel>,
    /// Rules of nftables that every packet of a `routed` path is compared with; none when absent.
    #[serde(default, skip_serializing_if = "List::is_empty")]
    pub rules: List<Rules>,
    /// How `rules` are looked through; `linear` when absent.
    #[serde(default, skip_serializing_if = "List::is_empty")]
    pub lookup: List<Lookup>,
    /// What a router does to addresses; `none` when absent.
    #[serde(default, skip_serializing_if = "List::is_empty")]
    pub nat: List<Nat>,
    /// Whether packets of known connections take the short cut of a flowtable; `off` when absent.
    #[serde(default, skip_serializing_if = "List::is_empty")]
    pub flowtable: List<OnOff>,
    /// What a tunnel packs frames in; `vxlan` when absent.
    #[serde(default, skip_serializing_if = "List::is_empty")]
    pub encapsulation: List<Encapsulation>,
    /// Whether the receiving ends of a tunnel merge packets of a flow; `off` when absent.
    #[serde(default, skip_serializing_if = "List::is_empty")]
    pub gro: List<OnOff>,
    /// Mode of a macvlan (`bridge` when absent), of an ipvlan or a netkit (`l3` when absent).
    #[serde(default, skip_serializing_if = "List::is_empty")]
    pub mode: List<SubMode>,
    /// What finds the frames that tc redirects; `matchall` when absent.
    #[serde(default, skip_serializing_if = "List::is_empty")]
    pub filter: List<TcFilter>,
    /// How frames are spread over the two links of a bond, or by `active-backup` and `balance-rr` of a team;
    /// `active-backup` when absent.
    #[serde(default, skip_serializing_if = "List::is_empty")]
    pub aggregation: List<Aggregation>,
    /// What a virtual machine is to QEMU; `q35` when absent.
    #[serde(default, skip_serializing_if = "List::is_empty")]
    pub machine: List<VmMachine>,
    /// Whether the rings of virtio NICs are packed ones; `off` when absent.
    #[serde(default, skip_serializing_if = "List::is_empty")]
    pub packed: List<OnOff>,
    /// Whether a descriptor of virtio may stand for a table of them; `on` when absent.
    #[serde(default, skip_serializing_if = "List::is_empty")]
    pub indirect_desc: List<OnOff>,
    /// Whether a frame may fill several receive buffers of virtio; `on` when absent.
    #[serde(default, skip_serializing_if = "List::is_empty")]
    pub mrg_rxbuf: List<OnOff>,
    /// Whether kicks of a virtio driver reach a thread of QEMU by a descriptor; if not, the virtual CPU does the work.
    /// `on` when absent.
    #[serde(default, skip_serializing_if = "List::is_empty")]
    pub ioeventfd: List<OnOff>,
    /// Whether a virtio NIC spreads received frames over its queues by a hash; `off` when absent.
    #[serde(default, skip_serializing_if = "List::is_empty")]
    pub rss: List<OnOff>,
    /// Whether an IOMMU is between virtio devices and the guest's memory; `off` when absent.
    #[serde(default, skip_serializing_if = "List::is_empty")]
    pub iommu: List<OnOff>,
}

/// Name of an interface.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, JsonSchema)]
pub struct Interface(pub(super) String);

kind!(
    Interface,
    "an interface name in quotes, as in \"eth1\"",
    |raw| {
        let name = raw.text()?;
        let checked = check_interface(name).map(|()| Self(name.to_owned()));
        checked.map_err(|why| Wrong::value(why.to_string(), "write the name `ip link` shows"))
    }
);

/// One placement: a list of CPU numbers.
impl<'de> Deserialize<'de> for Cpus {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let wanted = Problem::value(
            "{key} holds {value}, not a list of CPUs",
            "write a list per placement, as in {key} = [[0], [4, 6]]",
        );
        let cpus: Vec<Cpu> = only_list(deserializer, &wanted)?;
        Ok(Self(cpus.into_iter().map(u32::from).collect()))
    }
}

/// Keys that are none, or do not go with the kind of their path.
pub(super) fn strange_keys(source: &Source<'_>) -> Vec<Diagnostic> {
    let paths = source.document().get("path");
    let paths = paths.and_then(|paths| paths.get_ref().as_array());
    let tables = paths.into_iter().flat_map(|paths| paths.iter());
    let mut strange = Vec::new();
    for table in tables.filter_map(|path| path.get_ref().as_table()) {
        let kind = table.get("kind").and_then(|kind| kind.get_ref().as_str());
        let Some(known) = kind.and_then(PathKind::of).map(PathKind::keys) else {
            continue;
        };
        for key in table.keys() {
            let word = key.get_ref().as_ref();
            if known.contains(&word) {
                continue;
            }
            let mut diagnostic = source.unknown_key(word, key.span(), "[[path]]", &known);
            if known.len() == 1 {
                let remedy = "remove it, a path of this kind has no parameters";
                diagnostic.problem.remedy = Some(remedy.to_owned());
            }
            strange.push(diagnostic);
        }
    }
    strange
}

impl PathParams {
    /// The tester's interfaces that are there already, where they are named.
    pub(super) fn ends(&self) -> Option<[&str; 2]> {
        let [a, b] = [self.a.as_ref()?, self.b.as_ref()?];
        Some([&a.get_ref().0, &b.get_ref().0])
    }

    /// What does not go together in the table that begins here.
    pub(super) fn problems(&self, at: usize) -> Vec<Diagnostic> {
        match self.kind.as_ref().map(Spanned::get_ref) {
            None => vec![Diagnostic::new(
                at,
                "a [[path]] without kind",
                "add kind = \"bridge\" or another kind",
            )],
            Some(PathKind::Ports) => self.ends_missing(at, "kind = \"ports\""),
            Some(PathKind::Testpmd) => self.at_nics(at),
            Some(PathKind::Routed) => self.rules_missing(),
            Some(kind @ (PathKind::Macvlan | PathKind::Ipvlan | PathKind::Netkit)) => {
                self.strange_modes(*kind != PathKind::Macvlan)
            }
            Some(PathKind::Team) => self.strange_aggregations(),
            Some(PathKind::Ovs) => {
                let strange = self.tagging.placed();
                let strange = strange.filter(|(tagging, _)| **tagging != Tagging::Filtering);
                let diagnostics = strange.map(|(tagging, at)| {
                    let what = format!("unknown tagging \"{tagging}\"");
                    // Its ports know their VLANs.
                    Diagnostic::new(at, what, "write one of filtering")
                });
                diagnostics.collect()
            }
            Some(_) => Vec::new(),
        }
    }

    /// Of a router that is told how to look through rules that it has not.
    fn rules_missing(&self) -> Vec<Diagnostic> {
        let none = self.rules.iter().all(|rules| rules.0 == 0);
        let needless = (none && !self.lookup.is_empty()).then(|| {
            Diagnostic::new(
                self.lookup.at(),
                "lookup without rules: nothing is looked through",
                "add rules, as in rules = 100, or leave lookup out",
            )
        });
        needless.into_iter().collect()
    }

    /// Modes of the other of macvlan and ipvlan.
    fn strange_modes(&self, ipvlan: bool) -> Vec<Diagnostic> {
        let strange = self.mode.placed();
        let strange = strange.filter(|(mode, _)| mode.is_ipvlan() != ipvlan);
        let known = SubMode::ALL
            .into_iter()
            .filter(|mode| mode.is_ipvlan() == ipvlan);
        let known: Vec<&str> = known.map(SubMode::word).collect();
        let diagnostics = strange.map(|(mode, at)| {
            let what = format!("unknown mode \"{mode}\"");
            Diagnostic::new(at, what, format!("write one of {}", known.join(", ")))
        });
        diagnostics.collect()
    }

    /// Ways of bundling that the driver team has not by itself.
    fn strange_aggregations(&self) -> Vec<Diagnostic> {
        let strange = self.aggregation.placed();
        let strange = strange.filter(|(way, _)| !way.is_of_team());
        let known = Aggregation::ALL.into_iter().filter(|way| way.is_of_team());
        let known: Vec<&str> = known.map(Aggregation::word).collect();
        let diagnostics = strange.map(|(way, at)| {
            let what = format!("unknown aggregation \"{way}\"");
            Diagnostic::new(at, what, format!("write one of {}", known.join(", ")))
        });
        diagnostics.collect()
    }

    /// Of a path through NICs that the switch drives itself.
    fn at_nics(&self, at: usize) -> Vec<Diagnostic> {
        if self.pci.is_empty() {
            let stray = [("a", &self.a), ("b", &self.b)].into_iter();
            let stray = stray.filter_map(|(key, end)| Some((key, end.as_ref()?)));
            let diagnostics = stray.map(|(key, end)| {
                Diagnostic::new(
                    end.span().start,
                    format!("{key} without pci: this path has interfaces of its own"),
                    "leave it out, or name the switch's NICs with pci",
                )
            });
            return diagnostics.collect();
        }
        let mut diagnostics = self.ends_missing(at, "pci");
        if !self.vdev.is_empty() {
            diagnostics.push(Diagnostic::new(
                self.vdev.at(),
                "vdev beside pci: through it DPDK gets at interfaces that the kernel drives",
                "leave one of them out, or write a [[path]] for each",
            ));
        }
        diagnostics
    }

    /// Of a path with `what`, which needs two interfaces.
    fn ends_missing(&self, at: usize, what: &str) -> Vec<Diagnostic> {
        match (&self.a, &self.b) {
            (Some(a), Some(b)) if a == b => vec![Diagnostic::new(
                b.span().start,
                format!("a and b are both \"{}\"", b.get_ref().0),
                "name two different interfaces",
            )],
            (Some(_), Some(_)) => Vec::new(),
            (a, _) => {
                let key = if a.is_none() { "a" } else { "b" };
                let remedy = "name both interfaces, as in a = \"eth1\" and b = \"eth2\"";
                vec![Diagnostic::new(at, format!("{what} without {key}"), remedy)]
            }
        }
    }

    /// The path of a table without problems.
    pub(super) fn path(&self) -> PathPlan {
        let params = Self {
            kind: None,
            ..self.clone()
        };
        let kind = self.kind.as_ref().map(|kind| *kind.get_ref());
        let kind = kind.unwrap_or(PathKind::Bridge);
        match (kind, SwitchKind::of(kind.word()), self.ends()) {
            (PathKind::Vm, ..) => PathPlan::Vm { params },
            (_, Some(kind), _) => PathPlan::Switch { kind, params },
            (PathKind::Ports, _, Some([a, b])) => PathPlan::Ports {
                a: a.to_owned(),
                b: b.to_owned(),
            },
            _ => PathPlan::Bridge,
        }
    }
}
