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
/// Interfaces on the longest way that is followed; real ones pass ten.
const DEEPEST: usize = 64;
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
    /// Frames may leave by this port, whose NIC is not told: routes choose that of a tunnel.
    Tunnel(String),
    /// The way leads to several NICs that are no bond.
    Several(Vec<String>),
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotHere(name) => write!(f, "{name} is no interface of the host's namespace"),
            Self::NoWay(name) => write!(f, "{name} is not known to lead to a NIC"),
            Self::Tunnel(name) => write!(f, "frames may leave by {name}, whose NIC is not told"),
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
        if before.len() > DEEPEST {
            return;
        }
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
        if !self.known.insert(at) {
            return;
        }
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
mod tests;
