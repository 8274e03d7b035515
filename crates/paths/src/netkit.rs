//! A namespace whose interface is one end of a netkit pair: the tester's port B, as containers have it.
//!
//! ```text
//!  namespace A            namespace DUT                namespace B
//!      a ------------ d0 - br0, or routes - nk0 ----------- b
//! ```
//!
//! On layer 2 a bridge joins `d0` and `nk0`, on layer 3 routes do. There `nk0` has no address, so what the tester sends to
//! its other station would be for somebody else: tc says that it is for this host. A netkit has no ring: what is sent at one end is put
//! into the backlog of the CPU that sends, for the other end.

use nicety_model::path::SubMode;
use nicety_netdev::link::{LinkChange, Mac};
use nicety_netdev::net_error::NetError;
use nicety_netdev::qdisc;
use nicety_netdev::route::{self, Routes, Table};
use nicety_netdev::sysctl;

use crate::counters::{InterfaceCounters, PathCounters, Role};
use crate::error::PathError;
use crate::interface::{CARRIER_LIMIT, enslaved};
use crate::networks::sides;
use crate::path::{Coupling, Path, PathFacts};
use crate::receive_threads;
use crate::rig::{MAC_A, RigSpec};
use crate::site::Site;
use crate::tool::TC;
use crate::veth::{self, End};

/// A netkit pair.
#[derive(Debug, Clone)]
pub struct NetkitSpec {
    /// The way to it; only the first CPU receives.
    pub rig: RigSpec,
    /// On which layer it works: `l2` or `l3`.
    pub mode: SubMode,
    /// The tester's stations at ports A and B.
    pub stations: [Mac; 2],
    /// Whether frames are of IPv6.
    pub ipv6: bool,
}

/// The path; gone when dropped.
#[derive(Debug)]
pub struct NetkitPath {
    sites: [Site; 3],
    facts: PathFacts,
    bridged: bool,
}

impl NetkitPath {
    /// Builds the path and waits until it has carrier everywhere.
    ///
    /// # Errors
    /// Those of [`BridgePath::build`](crate::BridgePath::build); [`PathError::NoKernelSupport`] for a kernel without
    /// netkit; [`PathError::NotInstalled`] and [`PathError::Program`] of tc on layer 3.
    pub fn build(spec: &NetkitSpec) -> Result<Self, PathError> {
        const MAC_D0: Mac = Mac([0x02, 0x6e, 0x69, 0, 0, 0xd0]);
        let routed = spec.mode == SubMode::L3;
        let mut notes = Vec::new();
        let a = Site::create("A", &mut notes)?;
        let dut = Site::create("DUT", &mut notes)?;
        let b = Site::create("B", &mut notes)?;
        let mtu = spec.rig.largest_frame.mtu_needed().max(1500);
        let queues = spec.rig.queues.max(1);
        let [_, station_b] = spec.stations;
        let end = |site, name, mac| End { site, name, mac };
        // A router has the address that the tester sends to.
        let mac = if routed { station_b } else { MAC_D0 };
        veth::connect(end(&a, "a", MAC_A), end(&dut, "d0", mac), mtu, queues)?;
        dut.set_up("d0")?;
        a.set_up("a")?;
        let cpu = spec.rig.path_cpus.first().copied();
        let threads = receive_threads::start(&dut, "d0", &|_| cpu, &mut notes)?;
        receive_threads::note_unpinned(&threads, &mut notes);
        dut.links
            .add_netkit("nk0", (&b.ns, "b"), routed)
            .map_err(lacking)?;
        let ready = LinkChange {
            up: Some(true),
            mtu: Some(mtu),
            ..LinkChange::default()
        };
        dut.links.change("nk0", &ready)?;
        let own = LinkChange {
            mac: (!routed).then_some(station_b),
            ..ready
        };
        b.links.change("b", &own)?;
        if routed {
            routes(&dut, spec)?;
        } else {
            bridge(&dut)?;
        }
        let ports = [a.port("a")?, b.port("b")?];
        // The way back is in the sender's context, whatever receives the way there.
        let coupling = if threads.is_empty() {
            Coupling::SenderContext
        } else {
            Coupling::Decoupled
        };
        Ok(Self {
            sites: [a, dut, b],
            bridged: !routed,
            facts: PathFacts {
                threads,
                notes,
                queues: ["a", "d0"].map(|name| (name.to_owned(), queues)).into(),
                ..PathFacts::new("netkit", ports, coupling)
            },
        })
    }
}

fn bridge(dut: &Site) -> Result<(), NetError> {
    dut.links.add_bridge("br0")?;
    let index = dut.links.get("br0")?.index;
    for name in ["d0", "nk0"] {
        dut.links.change(name, &enslaved(index))?;
    }
    dut.set_up("br0")?;
    dut.links.wait_carrier("br0", CARRIER_LIMIT).map(drop)
}

/// Routes to the tester's networks. Behind `nk0` nobody is asked for hardware addresses: it has none.
fn routes(dut: &Site, spec: &NetkitSpec) -> Result<(), PathError> {
    if spec.ipv6 {
        sysctl::enable_quiet_ipv6(&dut.ns)?;
    }
    route::forward(&dut.ns)?;
    let routes = Routes::open(&dut.ns)?;
    let [near, far] = sides(spec.ipv6);
    let (own, bits) = near.own;
    dut.links.add_address("d0", own, bits)?;
    let d0 = dut.links.get("d0")?.index;
    routes.add_neighbour(d0, near.gateway, spec.stations[0])?;
    routes.add(near.network, d0, Some(near.gateway), Table::Main)?;
    let nk0 = dut.links.get("nk0")?.index;
    let (own, bits) = far.own;
    dut.links.add_address("nk0", own, bits)?;
    routes.add(far.network, nk0, None, Table::Main)?;
    for words in [
        "qdisc add dev nk0 clsact",
        "filter add dev nk0 ingress matchall action skbedit ptype host",
    ] {
        let words: Vec<&str> = words.split(' ').collect();
        TC.run(&dut.ns, &words, "")?;
    }
    Ok(())
}

fn lacking(error: NetError) -> PathError {
    if !error.is_unsupported() {
        return error.into();
    }
    PathError::NoKernelSupport {
        what: "netkit (CONFIG_NETKIT, Linux 6.7)",
        remedy: nicety_model::Remedy::here(
            "measure on a kernel with CONFIG_NETKIT=y, or in the lab (nicety lab run)",
        ),
    }
}

impl Path for NetkitPath {
    fn facts(&self) -> &PathFacts {
        &self.facts
    }

    fn counters(&self) -> Result<PathCounters, NetError> {
        let [a, dut, b] = &self.sites;
        let inner = dut.links.list()?;
        let qdiscs = qdisc::list(&dut.ns)?;
        let mut places = vec![InterfaceCounters::port("a", a.links.get("a")?.counters)];
        let bridge = self.bridged.then_some(("br0", Role::Bridge));
        let between = [("d0", Role::Inner)].into_iter().chain(bridge);
        for (name, role) in between.chain([("nk0", Role::Inner)]) {
            let link = inner.iter().find(|link| link.name == name);
            places.extend(link.map(|link| InterfaceCounters::of_link(link, role, &qdiscs)));
        }
        places.push(InterfaceCounters::port("b", b.links.get("b")?.counters));
        Ok(PathCounters::from(places))
    }
}
