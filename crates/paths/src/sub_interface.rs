//! A namespace whose interface is a macvlan or an ipvlan, as containers have them: the tester's port B.
//!
//! ```text
//!  namespace A          namespace DUT       namespace B
//!      a ------------------- d0 - - - - - - - - b
//! ```
//!
//! `b` is on `d0` and has no frames of its own to receive: those for it are taken from `d0` in the thread that
//! receives there. What the tester sends at `b` leaves by `d0` in the sender's context.

use nicety_model::note::PathNote;
use nicety_model::path::SubMode;
use nicety_model::{FrameSize, Remedy};
use nicety_netdev::link::{IpvlanMode, LinkChange, Mac, Share};
use nicety_netdev::net_error::NetError;
use nicety_netdev::qdisc;
use nicety_netdev::route::{self, Routes, Table};
use nicety_netdev::sysctl;

use crate::counters::{InterfaceCounters, PathCounters, Role};
use crate::error::PathError;
use crate::networks::sides;
use crate::path::{Coupling, Path, PathFacts};
use crate::receive_threads;
use crate::rig::{MAC_A, RigSpec};
use crate::site::Site;
use crate::veth::{self, End};

/// Most flows over an ipvlan, which takes frames for addresses that it has: one for each flow.
const IPVLAN_FLOWS: u32 = 128;

/// A macvlan or an ipvlan.
#[derive(Debug, Clone)]
pub struct SubInterfaceSpec {
    /// The way to it; only the first CPU receives.
    pub rig: RigSpec,
    /// Which.
    pub mode: SubMode,
    /// The tester's stations at ports A and B.
    pub stations: [Mac; 2],
    /// Whether frames are of IPv6.
    pub ipv6: bool,
    /// Flows of a direction.
    pub flows: u32,
}

/// The path; gone when dropped.
#[derive(Debug)]
pub struct SubInterfacePath {
    sites: [Site; 3],
    facts: PathFacts,
}

impl SubInterfacePath {
    /// Builds the path and waits until it has carrier everywhere.
    ///
    /// # Errors
    /// Those of [`BridgePath::build`](crate::BridgePath::build); [`PathError::NoKernelSupport`] for a kernel without
    /// such interfaces; [`PathError::Guest`] for more flows than an ipvlan is given addresses for.
    pub fn build(spec: &SubInterfaceSpec) -> Result<Self, PathError> {
        let ipvlan = spec.mode.is_ipvlan();
        if ipvlan && spec.flows > IPVLAN_FLOWS {
            return Err(PathError::Guest {
                why: format!(
                    "an ipvlan needs an address for every flow and is given {IPVLAN_FLOWS}, not {}",
                    spec.flows
                ),
                remedy: Remedy::plan(format!("write flows of at most {IPVLAN_FLOWS}")),
            });
        }
        let mut notes = Vec::new();
        let a = Site::create("A", &mut notes)?;
        let dut = Site::create("DUT", &mut notes)?;
        let b = Site::create("B", &mut notes)?;
        let mtu = mtu(spec.rig.largest_frame);
        let [station_a, station_b] = spec.stations;
        veth::connect(
            End {
                site: &a,
                name: "a",
                mac: MAC_A,
            },
            End {
                site: &dut,
                name: "d0",
                mac: below(spec.mode, station_b),
            },
            mtu,
            spec.rig.queues.max(1),
        )?;
        dut.set_up("d0")?;
        a.set_up("a")?;
        let cpu = spec.rig.path_cpus.first().copied();
        let threads = receive_threads::start(&dut, "d0", &|_| cpu, &mut notes)?;
        receive_threads::note_unpinned(&threads, &mut notes);
        make(&dut, spec.mode).map_err(|error| lacking(error, ipvlan))?;
        dut.links.move_to("b", &b.ns, "b")?;
        let own = LinkChange {
            up: Some(true),
            mac: (!ipvlan).then_some(station_b),
            ..LinkChange::default()
        };
        b.links.change("b", &own)?;
        if ipvlan {
            addresses(&b, spec)?;
            routes(&dut, station_a, spec.ipv6)?;
        }
        let ports = [a.port("a")?, b.port("b")?];
        // The way back is in the sender's context, whatever receives the way there.
        let coupling = if threads.is_empty() {
            Coupling::SenderContext
        } else {
            Coupling::Decoupled
        };
        if matches!(spec.mode, SubMode::Private | SubMode::Vepa) {
            let mode = spec.mode;
            notes.push(PathNote::OneMacvlan { mode }.into());
        }
        let kind = if ipvlan { "ipvlan" } else { "macvlan" };
        Ok(Self {
            sites: [a, dut, b],
            facts: PathFacts {
                threads,
                notes,
                queues: ["a", "d0"]
                    .map(|name| (name.to_owned(), spec.rig.queues.max(1)))
                    .into(),
                ..PathFacts::new(kind, ports, coupling)
            },
        })
    }
}

fn mtu(largest: FrameSize) -> u32 {
    largest.mtu_needed().max(1500)
}

/// Address of the interface below: an ipvlan has the same, a macvlan in passthru mode lends it its own.
fn below(mode: SubMode, station_b: Mac) -> Mac {
    const MAC_D0: Mac = Mac([0x02, 0x6e, 0x69, 0, 0, 0xd0]);
    if mode.is_ipvlan() { station_b } else { MAC_D0 }
}

fn make(dut: &Site, mode: SubMode) -> Result<(), NetError> {
    let on = dut.links.get("d0")?.index;
    let macvlan = |share| dut.links.add_macvlan("b", on, share);
    let ipvlan = |mode| dut.links.add_ipvlan("b", on, mode);
    match mode {
        SubMode::Bridge => macvlan(Share::Bridge),
        SubMode::Private => macvlan(Share::Private),
        SubMode::Vepa => macvlan(Share::Vepa),
        SubMode::Passthru => macvlan(Share::Passthru),
        SubMode::L2 => ipvlan(IpvlanMode::L2),
        SubMode::L3 => ipvlan(IpvlanMode::L3),
    }
}

/// Gives the ipvlan the addresses to which the tester sends at port A: host bytes from 1 on, as its flows count.
fn addresses(b: &Site, spec: &SubInterfaceSpec) -> Result<(), NetError> {
    if spec.ipv6 {
        sysctl::enable_quiet_ipv6(&b.ns)?;
    }
    let bits = if spec.ipv6 { 128 } else { 32 };
    // At most as many as there are flows over an ipvlan.
    for host in 1..=spec.flows as u16 {
        let address = sides(spec.ipv6)[1].host(host);
        b.links.add_address("b", address, bits)?;
    }
    Ok(())
}

/// Where the interface below sends what an ipvlan on layer 3 gives it.
fn routes(dut: &Site, station_a: Mac, ipv6: bool) -> Result<(), NetError> {
    if ipv6 {
        sysctl::enable_quiet_ipv6(&dut.ns)?;
    }
    route::forward(&dut.ns)?;
    let side = &sides(ipv6)[0];
    let (own, bits) = side.own;
    dut.links.add_address("d0", own, bits)?;
    let index = dut.links.get("d0")?.index;
    let routes = Routes::open(&dut.ns)?;
    routes.add_neighbour(index, side.gateway, station_a)?;
    routes.add(side.network, index, Some(side.gateway), Table::Main)
}

fn lacking(error: NetError, ipvlan: bool) -> PathError {
    if !error.is_unsupported() {
        return error.into();
    }
    let (what, module) = if ipvlan {
        ("ipvlan (CONFIG_IPVLAN)", "ipvlan")
    } else {
        ("macvlan (CONFIG_MACVLAN)", "macvlan")
    };
    PathError::no_module(what, module)
}

impl Path for SubInterfacePath {
    fn facts(&self) -> &PathFacts {
        &self.facts
    }

    fn counters(&self) -> Result<PathCounters, NetError> {
        let [a, dut, b] = &self.sites;
        let inner = dut.links.get("d0")?;
        let qdiscs = qdisc::list(&dut.ns)?;
        let d0 = InterfaceCounters::of_link(&inner, Role::Inner, &qdiscs);
        let ports = [(a, "a"), (b, "b")].map(|(site, name)| {
            let counters = site.links.get(name)?.counters;
            Ok(InterfaceCounters::port(name, counters))
        });
        let [a, b] = ports;
        Ok(PathCounters::from(vec![a?, d0, b?]))
    }
}
