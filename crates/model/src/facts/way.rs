//! Which NIC carries a guest, and the way there: from the guest's interface through veth pairs,
//! bridges, switches, VLANs and bonds.
//!
//! What the facts do not tell is a doubt, never a choice.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::{InterfaceClass, NetFacts};

/// The datapath of Open vSwitch's kernel module: the master of the ports of all its bridges
/// (net/openvswitch/vport-netdev.c, `ovs_netdev_link`).
const OVS: &str = "ovs-system";
/// Kinds that send nothing anywhere.
const IDLE: [&str; 4] = ["dummy", "ifb", "nlmon", "vcan"];

/// An interface, as far as the way goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hop<'a> {
    /// Name.
    pub name: &'a str,
    /// Class.
    pub class: InterfaceClass,
    /// Kind as the kernel names it.
    pub kind: &'a str,
    /// Set up by the administrator.
    pub up: bool,
    /// Has carrier.
    pub carrier: bool,
    /// Bridge, bond or switch it belongs to.
    pub master: Option<&'a str>,
    /// Interface it is stacked on.
    pub lower: Option<&'a str>,
    /// Other end of a veth, where that is here.
    pub peer: Option<&'a str>,
}

impl<'a> From<&'a NetFacts> for Hop<'a> {
    fn from(net: &'a NetFacts) -> Self {
        Self {
            name: &net.link.name,
            class: net.class,
            kind: &net.link.kind,
            up: net.link.up,
            carrier: net.link.carrier,
            master: net.link.master.as_deref(),
            lower: net.link.lower.as_deref(),
            peer: net.link.peer.as_deref(),
        }
    }
}

impl Hop<'_> {
    /// A program or a guest is behind it, when it is a port of a bridge.
    fn ends(&self) -> bool {
        matches!(
            self.class,
            InterfaceClass::Tap | InterfaceClass::Tun | InterfaceClass::Macvtap
        )
    }
}

/// Where frames of an interface leave the host.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Way {
    /// Interfaces passed, the guest's first, without NICs.
    pub through: Vec<String>,
    /// NICs that carry its frames: several of a bond. With [`Doubt::Several`] one of them does.
    pub nics: Vec<String>,
    /// Why the NICs are not known.
    pub doubt: Option<Doubt>,
}

/// Why no NIC is known to carry a guest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Doubt {
    /// There is no such interface here.
    NotHere(String),
    /// No port of this bridge, or nothing below this interface, is known to lead to a NIC.
    NoWay(String),
    /// Routes choose the NIC of this tunnel.
    Tunnel(String),
    /// The way leads to several NICs that are no bond.
    Several(Vec<String>),
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotHere(name) => write!(f, "{name} is no interface of the host's namespace"),
            Self::NoWay(name) => write!(f, "{name} is not known to lead to a NIC"),
            Self::Tunnel(name) => write!(f, "{name} leads to a NIC that routes choose"),
            Self::Several(names) => write!(f, "it may be any of {}", names.join(", ")),
        }
    }
}

/// All interfaces of a namespace, looked up once.
#[derive(Debug, Clone, Default)]
pub struct Hops<'a> {
    all: Vec<Hop<'a>>,
    by_name: BTreeMap<&'a str, usize>,
    ports: BTreeMap<&'a str, Vec<usize>>,
}

impl<'a, T: Into<Hop<'a>>> FromIterator<T> for Hops<'a> {
    fn from_iter<I: IntoIterator<Item = T>>(hops: I) -> Self {
        let all: Vec<Hop<'a>> = hops.into_iter().map(Into::into).collect();
        let mut ports: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (at, hop) in all.iter().enumerate() {
            if let Some(master) = hop.master {
                ports.entry(master).or_default().push(at);
            }
        }
        let by_name = all.iter().enumerate().map(|(at, hop)| (hop.name, at));
        Self {
            by_name: by_name.collect(),
            ports,
            all,
        }
    }
}

impl<'a> Hops<'a> {
    /// The way from a guest's interface, or from the bridge it is in, to its NIC.
    pub fn way(&self, from: &str) -> Way {
        let Some(&start) = self.by_name.get(from) else {
            return Way {
                doubt: Some(Doubt::NotHere(from.to_owned())),
                ..Way::default()
            };
        };
        let mut walk = Walk {
            hops: self,
            known: BTreeSet::new(),
            exits: Vec::new(),
            tunnel: None,
            last: vec![start],
        };
        match self.all[start].class {
            InterfaceClass::Veth => walk.attached(start, &[]),
            _ => walk.enter(start, &[]),
        }
        walk.way()
    }

    /// Interfaces on the way that carry nothing but frames of another one: its firewall bridge, and
    /// the veth pair behind that.
    pub fn alone(&self, from: &str) -> Vec<&'a str> {
        let way = self.way(from);
        // Without a NIC at its end the way may be another guest's.
        let known = way.doubt.is_none();
        let way: Vec<String> = if known { way.through } else { Vec::new() };
        let on_way = |port: usize| way.iter().any(|name| name == self.all[port].name);
        let hops = way.iter().filter_map(|name| self.find(Some(name)));
        let own = hops.take_while(|&at| match self.all[at].class {
            InterfaceClass::Bridge => self.ports(at).all(on_way),
            InterfaceClass::Veth | InterfaceClass::Tap | InterfaceClass::Macvtap => true,
            _ => false,
        });
        let own = own.filter(|&at| self.all[at].name != from);
        own.map(|at| self.all[at].name).collect()
    }

    fn find(&self, name: Option<&str>) -> Option<usize> {
        self.by_name.get(name?).copied()
    }

    fn ports(&self, master: usize) -> impl Iterator<Item = usize> + use<'_, 'a> {
        let ports = self.ports.get(self.all[master].name);
        ports.into_iter().flatten().copied()
    }
}

/// A NIC, or the NICs of a bond, and the way there.
struct Exit {
    through: Vec<usize>,
    nics: Vec<usize>,
}

struct Walk<'w, 'a> {
    hops: &'w Hops<'a>,
    known: BTreeSet<usize>,
    exits: Vec<Exit>,
    tunnel: Option<usize>,
    /// The way to the last bridge or interface that frames pass.
    last: Vec<usize>,
}

impl Walk<'_, '_> {
    /// Frames go into an interface from above, from its port, or from the guest.
    fn enter(&mut self, at: usize, before: &[usize]) {
        let hop = self.hops.all[at];
        match hop.class {
            InterfaceClass::Hardware => self.exit(before, vec![at]),
            InterfaceClass::Bond => self.bond(at, &joined(before, at)),
            InterfaceClass::Bridge => self.spread(at, before),
            // An internal port is not said to belong to the datapath.
            InterfaceClass::OpenVswitch if hop.name != OVS => {
                self.known.insert(at);
                match self.hops.find(Some(OVS)) {
                    Some(switch) => self.spread(switch, &joined(before, at)),
                    None => self.last = joined(before, at),
                }
            }
            InterfaceClass::OpenVswitch => self.spread(at, before),
            _ => self.attached(at, before),
        }
    }

    fn bond(&mut self, at: usize, through: &[usize]) {
        let hardware = |at: &usize| self.hops.all[*at].class == InterfaceClass::Hardware;
        let (nics, soft): (Vec<usize>, Vec<usize>) = self.hops.ports(at).partition(hardware);
        self.exit(through, nics);
        for port in soft {
            self.enter(port, through);
        }
    }

    /// Frames go out of an interface to what it is stacked on, or to its master.
    fn attached(&mut self, at: usize, before: &[usize]) {
        if !self.known.insert(at) {
            return;
        }
        let hop = self.hops.all[at];
        let through = joined(before, at);
        self.last.clone_from(&through);
        let lower = hop.lower.filter(|_| hop.class != InterfaceClass::Veth);
        if let Some(next) = self.hops.find(lower.or(hop.master)) {
            self.enter(next, &through);
        }
    }

    /// Frames go into a bridge, and may leave by any port that does not end at another guest.
    fn spread(&mut self, at: usize, before: &[usize]) {
        if !self.known.insert(at) {
            return;
        }
        let through = joined(before, at);
        self.last.clone_from(&through);
        let ports = self.hops.ports(at);
        let ports: Vec<usize> = ports.filter(|port| !self.known.contains(port)).collect();
        for port in &ports {
            self.leave(*port, &through);
        }
        let on = ports.iter().filter(|&&port| !self.hops.all[port].ends());
        if self.exits.is_empty() && on.count() > 1 {
            // The ways beyond are those of other guests.
            self.last = through;
        }
    }

    fn leave(&mut self, port: usize, before: &[usize]) {
        let hop = self.hops.all[port];
        match hop.class {
            _ if hop.ends() => {}
            InterfaceClass::Veth => {
                self.known.insert(port);
                if let Some(peer) = self.hops.find(hop.peer) {
                    self.attached(peer, &joined(before, port));
                }
            }
            InterfaceClass::Virtual if hop.lower.is_none() => {
                let silent = IDLE.contains(&hop.kind);
                self.tunnel = self.tunnel.or((!silent).then_some(port));
            }
            _ => self.enter(port, before),
        }
    }

    /// Ports of a bond that are down carry nothing.
    fn exit(&mut self, through: &[usize], nics: Vec<usize>) {
        let up = |at: &usize| self.hops.all[*at].up;
        let nics: Vec<usize> = nics.into_iter().filter(up).collect();
        let same = |exit: &Exit| exit.nics == nics;
        if !nics.is_empty() && !self.exits.iter().any(same) {
            let through = through.to_vec();
            self.exits.push(Exit { through, nics });
        }
    }

    /// Where some NICs have carrier, those without it carry nothing.
    fn drop_idle(&mut self) {
        let carrier = |at: &usize| self.hops.all[*at].carrier;
        if self.exits.iter().flat_map(|exit| &exit.nics).any(carrier) {
            for exit in &mut self.exits {
                exit.nics.retain(carrier);
            }
            self.exits.retain(|exit| !exit.nics.is_empty());
        }
    }

    fn way(mut self) -> Way {
        self.drop_idle();
        let name = |at: &usize| self.hops.all[*at].name.to_owned();
        let names = |all: &[usize]| all.iter().map(name).collect::<Vec<_>>();
        let last = |doubt| Way {
            through: names(&self.last),
            nics: Vec::new(),
            doubt: Some(doubt),
        };
        match (&self.tunnel, self.exits.as_slice()) {
            (Some(tunnel), _) => last(Doubt::Tunnel(name(tunnel))),
            (None, []) => {
                let end = self.last.last().map(name).unwrap_or_default();
                last(Doubt::NoWay(end))
            }
            (None, [exit]) => Way {
                through: names(&exit.through),
                nics: names(&exit.nics),
                doubt: None,
            },
            (None, several) => {
                let nics: Vec<String> = several.iter().flat_map(|exit| names(&exit.nics)).collect();
                Way {
                    through: names(&shared(several)),
                    doubt: Some(Doubt::Several(nics.clone())),
                    nics,
                }
            }
        }
    }
}

fn joined(before: &[usize], at: usize) -> Vec<usize> {
    before.iter().copied().chain([at]).collect()
}

/// What all ways begin with.
fn shared(exits: &[Exit]) -> Vec<usize> {
    let mut exits = exits.iter().map(|exit| exit.through.clone());
    let first = exits.next().unwrap_or_default();
    exits.fold(first, |begin, other| {
        let same = begin.iter().zip(&other).take_while(|(a, b)| a == b);
        same.map(|(at, _)| *at).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Name, kind, and where it hangs: `^master`, `_lower`, `=peer`, `!` for down, `~` for no carrier.
    fn hop(text: &'static str) -> Hop<'static> {
        let mut words = text.split(' ');
        let (name, kind) = (words.next().unwrap(), words.next().unwrap());
        let mut hop = Hop {
            name,
            class: InterfaceClass::of(kind, kind == "nic", true),
            kind,
            up: true,
            carrier: true,
            master: None,
            lower: None,
            peer: None,
        };
        for word in words {
            match word.split_at(1) {
                ("^", name) => hop.master = Some(name),
                ("_", name) => hop.lower = Some(name),
                ("=", name) => hop.peer = Some(name),
                ("!", _) => hop.up = false,
                _ => hop.carrier = false,
            }
        }
        hop
    }

    fn way(from: &str, hops: &[&'static str]) -> String {
        let hops: Hops<'_> = hops.iter().map(|text| hop(text)).collect();
        let way = hops.way(from);
        match way.doubt {
            Some(doubt) => format!("{}: {doubt}", way.through.join(" ")),
            None => format!("{} > {}", way.through.join(" "), way.nics.join("+")),
        }
    }

    #[test]
    fn bridges_vlans_bonds_and_macvtaps_lead_to_their_nic() {
        let plain = ["tap0 tun ^br0", "br0 bridge", "eth0 nic ^br0", "eth1 nic"];
        assert_eq!(way("tap0", &plain), "tap0 br0 > eth0");
        assert_eq!(way("br0", &plain), "br0 > eth0");
        assert_eq!(way("eth1", &plain), " > eth1");
        let tagged = [
            "tap0 tun ^br7",
            "br7 bridge",
            "bond0.7 vlan _bond0 ^br7",
            "bond0 bond",
            "eth0 nic ^bond0",
            "eth1 nic ^bond0",
            "eth2 nic ^bond0 !",
        ];
        assert_eq!(way("tap0", &tagged), "tap0 br7 bond0.7 bond0 > eth0+eth1");
        let direct = ["macvtap0 macvtap _eth0", "eth0 nic"];
        assert_eq!(way("macvtap0", &direct), "macvtap0 > eth0");
    }

    #[test]
    fn veth_pairs_lead_through_firewall_bridges() {
        let proxmox = [
            "eno1 nic ^vmbr0",
            "ens2 nic",
            "vmbr0 bridge",
            "fwbr101i0 bridge",
            "fwln101i0 veth ^fwbr101i0 =fwpr101p0",
            "fwpr101p0 veth ^vmbr0 =fwln101i0",
            "tap101i0 tun ^fwbr101i0",
            "fwbr102i0 bridge",
            "fwln102i0 veth ^fwbr102i0 =fwpr102p0",
            "fwpr102p0 veth ^vmbr0 =fwln102i0",
            "tap102i0 tun ^fwbr102i0",
        ];
        let through = "fwbr101i0 fwln101i0 fwpr101p0 vmbr0 > eno1";
        assert_eq!(way("tap101i0", &proxmox), format!("tap101i0 {through}"));
        let hops: Hops<'_> = proxmox.iter().map(|text| hop(text)).collect();
        let own = ["fwbr101i0", "fwln101i0", "fwpr101p0"];
        assert_eq!(hops.alone("tap101i0"), own);
        let mut old = proxmox;
        old[4] = "fwln101i0 veth ^fwbr101i0";
        let unknown = "tap101i0 fwbr101i0: fwbr101i0 is not known to lead to a NIC";
        assert_eq!(way("tap101i0", &old), unknown);
        let mut alone = proxmox.to_vec();
        alone[0] = "eno1 nic";
        let third = [
            "fwpr103p0 veth ^vmbr0 =fwln103i0",
            "fwln103i0 veth =fwpr103p0",
        ];
        alone.extend(third);
        let unknown =
            "tap101i0 fwbr101i0 fwln101i0 fwpr101p0 vmbr0: vmbr0 is not known to lead to a NIC";
        assert_eq!(way("tap101i0", &alone), unknown);
    }

    #[test]
    fn ports_of_open_vswitch_share_a_datapath() {
        let hybrid = [
            "tapx tun ^qbrx",
            "qbrx bridge",
            "qvbx veth ^qbrx =qvox",
            "qvox veth ^ovs-system =qvbx",
            "ovs-system openvswitch",
            "br-int openvswitch ^ovs-system",
            "eth1 nic ^ovs-system",
            "eth0 nic",
        ];
        let through = "tapx qbrx qvbx qvox ovs-system";
        assert_eq!(way("tapx", &hybrid), format!("{through} > eth1"));
        assert_eq!(way("br-int", &hybrid), "br-int ovs-system > eth1");
        // Tenants' frames may leave in a tunnel, by any NIC.
        let mut tunnelled = hybrid.to_vec();
        tunnelled.push("vxlan_sys_4789 vxlan ^ovs-system");
        let doubt = "vxlan_sys_4789 leads to a NIC that routes choose";
        assert!(way("tapx", &tunnelled).ends_with(doubt));
        tunnelled.pop();
        tunnelled.push("vxlan7 vxlan ^ovs-system _eth1");
        assert_eq!(way("tapx", &tunnelled), format!("{through} > eth1"));
    }

    #[test]
    fn what_is_not_told_is_a_doubt() {
        let two = [
            "tap0 tun ^br0",
            "br0 bridge",
            "eth0 nic ^br0",
            "eth1 nic ^br0",
        ];
        assert_eq!(way("tap0", &two), "tap0 br0: it may be any of eth0, eth1");
        let one = [
            "tap0 tun ^br0",
            "br0 bridge",
            "eth0 nic ^br0",
            "eth1 nic ^br0 ~",
        ];
        assert_eq!(way("tap0", &one), "tap0 br0 > eth0");
        let routed = [
            "tap0 tun ^virbr0",
            "virbr0 bridge",
            "veth9 veth ^virbr0",
            "dummy0 dummy ^virbr0",
            "tap1 tun ^virbr0",
            "eth0 nic",
        ];
        let nowhere = "virbr0 is not known to lead to a NIC";
        assert_eq!(way("tap0", &routed), format!("tap0 virbr0: {nowhere}"));
        assert_eq!(
            way("tap7", &routed),
            ": tap7 is no interface of the host's namespace"
        );
        let loose = ["tap0 tun", "eth0 nic"];
        assert_eq!(
            way("tap0", &loose),
            "tap0: tap0 is not known to lead to a NIC"
        );
        // A ring of veths ends.
        let ring = [
            "a veth ^x =b",
            "b veth ^y =a",
            "c veth ^y =d",
            "d veth ^x =c",
            "x bridge",
            "y bridge",
            "t tun ^x",
        ];
        assert!(way("t", &ring).ends_with("is not known to lead to a NIC"));
    }
}
