//! Guests that are network namespaces, as of containers, and forward between two interfaces with
//! a kernel bridge.
//!
//! ```text
//!  namespace A      namespace DUT            guest             namespace DUT    namespace B
//!      a ------------ d0 = macvlan g0 - kernel bridge - g1 macvlan = d1 ------------ b
//! ```
//!
//! Where sockets end in one there is no bridge: `g0` gets an address.
//!
//! Several (`vms`) have a pair of macvlans each on `d0` and `d1`, with the addresses of the tester's
//! stations for which they carry frames: guest `n` carries what station `n` sends.
//!
//! With `nic = "sriov"` the interfaces are virtual functions, see the module `sriov`. There is no
//! emulation and no copy: frames are handed on in the softirq or thread that received them.

use nicety_model::Note;
use nicety_model::note::{GuestNote, Shared};
use nicety_model::plan::{VmConfig, VmNic};
use nicety_model::{FrameSize, Remedy};
use nicety_netdev::ethtool::Ethtool;
use nicety_netdev::link::{LinkChange, Mac, Share};
use nicety_netdev::napi;
use nicety_netdev::net_error::NetError;
use nicety_netdev::netns::NetNs;
use nicety_netdev::qdisc;

use crate::counters::{InterfaceCounters, PathCounters, Role};
use crate::endpoint_site::EndpointSite;
use crate::error::PathError;
use crate::function_rig::{self, OnFunctions};
use crate::guest::{self, behind, macs, shared};
use crate::interface::{CARRIER_LIMIT, up};
use crate::neighbours;
use crate::path::{Neighbours, Path, PathFacts};
use crate::rig::{Rig, RigSpec, check_host_queues};
use crate::site::Site;
use crate::sriov::{self, FunctionSet};

/// Interfaces of each guest.
const NICS: [&str; 2] = ["g0", "g1"];
/// What joins them.
const BRIDGE: &str = "br0";

/// A path through namespaces that forward.
#[derive(Debug, Clone)]
pub struct NetnsSpec {
    /// The guest.
    pub ask: VmConfig,
    /// Largest frame it has to carry.
    pub largest_frame: FrameSize,
    /// Stations of the tester at ports A and B, a pair for every guest; needed where there are
    /// several.
    pub stations: Vec<[Mac; 2]>,
    /// CPUs for the receive threads of the tester's side, as of a bridge path.
    pub path_cpus: Vec<u32>,
    /// Whether sockets end in it; it does not forward then.
    pub serves: bool,
    /// Pairs of neighbours that are to share its way to the tester.
    pub neighbours: u32,
}

/// The path; gone when dropped.
#[derive(Debug)]
pub struct NetnsPath {
    rig: Rig,
    guests: Vec<Site>,
}

/// Name of guest `number` of so many.
fn name(number: usize, of: u32) -> String {
    match of {
        1 => "guest".to_owned(),
        _ => format!("guest{number}"),
    }
}

impl NetnsPath {
    /// Refuses what this machine cannot do; makes nothing.
    ///
    /// # Errors
    /// [`PathError::Guest`].
    pub fn check(spec: &NetnsSpec) -> Result<(), PathError> {
        check_host_queues(spec.ask.host_queues)?;
        match (spec.ask.nic, &spec.ask.pf) {
            (VmNic::Sriov, Some(pf)) => FunctionSet::check(pf, spec.ask.vms, false),
            _ => Ok(()),
        }
    }

    /// Builds it and waits until the guests forward.
    ///
    /// # Errors
    /// As [`BridgePath::build`](crate::BridgePath::build); [`PathError::Guest`] for what this
    /// machine has not, or somebody else uses.
    pub fn build(spec: &NetnsSpec) -> Result<Self, PathError> {
        let mut notes = Vec::new();
        let count = spec.ask.vms;
        let guests = (0..count as usize)
            .map(|number| Site::create(&name(number, count), &mut notes))
            .collect::<Result<Vec<Site>, _>>()?;
        let rig = match (spec.ask.nic, &spec.ask.pf) {
            (VmNic::Sriov, Some(pf)) => on_functions(spec, pf, &guests)?,
            _ => on_macvlans(spec, &guests)?,
        };
        for guest in &guests {
            join(guest, !spec.serves)?;
        }
        for (guest, stations) in guests.iter().zip(spec.guest_stations()) {
            match &rig.functions {
                _ if count > 1 => steer(guest, stations, &rig)?,
                Some(functions) if !spec.serves => {
                    functions.trust()?;
                    take_stations(guest, stations)?;
                }
                _ => {}
            }
        }
        if rig.functions.is_none() && spec.serves {
            // Off for test frames, applications have it; what is on it follows.
            let on = napi::SENDER_FEATURES.map(|(feature, _)| (feature, true));
            Ethtool::open(&rig.dut.ns)?.set_features("d0", &on)?;
        }
        let limit = match rig.functions {
            Some(_) => sriov::LINK_LIMIT,
            None => CARRIER_LIMIT,
        };
        let bridge = (!spec.serves).then_some(BRIDGE);
        for guest in &guests {
            for name in NICS.into_iter().chain(bridge) {
                guest.links.wait_carrier(name, limit)?;
            }
        }
        let mut path = Self { rig, guests };
        path.rig.facts.stations = count.max(1);
        path.rig.facts.notes.extend(notes);
        let words = path.words(spec);
        path.rig.facts.notes.extend(words);
        Ok(path)
    }

    fn words(&self, spec: &NetnsSpec) -> Vec<Note> {
        let NetnsSpec { ask, serves, .. } = spec;
        let mut notes = Vec::new();
        if ask.vms > 1 {
            notes.push(shared(
                ask.vms,
                match self.rig.functions {
                    Some(_) => Shared::Port,
                    None => Shared::TesterInterfaces,
                },
            ));
        }
        notes.extend(self.guests.iter().enumerate().map(|(number, guest)| {
            let driver = guest.ethtool.driver(NICS[0]).ok();
            let note = GuestNote::GuestInNamespace {
                guest: name(number, ask.vms),
                nic: ask.nic.to_string(),
                serves: *serves,
                driver: driver.map_or_else(|| "unknown".to_owned(), |driver| driver.driver),
            };
            note.into()
        }));
        notes
    }

    /// Namespace and interface where sockets end.
    pub fn end(&self) -> Option<(&NetNs, &'static str)> {
        Some((&self.guests.first()?.ns, NICS[0]))
    }
}

impl NetnsSpec {
    fn guest_stations(&self) -> Vec<[Mac; 2]> {
        guest::stations(&self.stations, self.ask.vms)
    }
}

/// Sets the guest's interfaces up, joined by a bridge where it forwards.
fn join(guest: &Site, forward: bool) -> Result<(), NetError> {
    let master = if forward {
        guest.links.add_bridge(BRIDGE)?;
        Some(guest.links.get(BRIDGE)?.index)
    } else {
        None
    };
    for name in NICS {
        guest.links.change(name, &up(master))?;
    }
    if forward {
        guest.set_up(BRIDGE)
    } else {
        Ok(())
    }
}

/// Gives the guests' functions to the namespaces.
fn on_functions(spec: &NetnsSpec, pf: &str, guests: &[Site]) -> Result<Rig, PathError> {
    FunctionSet::check(pf, spec.ask.vms, false)?;
    let rig = function_rig::build(&OnFunctions {
        pf,
        macs: macs(0),
        stations: &spec.guest_stations(),
        largest: spec.largest_frame,
        neighbours: spec.neighbours,
    })?;
    if let Some(functions) = &rig.functions {
        for (number, guest) in (0..).zip(guests) {
            for (vf, name) in sriov::of_guest(number).into_iter().zip(NICS) {
                functions.interface(vf, &guest.ns, name)?;
                function_rig::set_up(guest, name, spec.largest_frame)?;
            }
        }
    }
    Ok(rig)
}

/// Functions take frames for their own address only, and a bridge's are for somebody else.
fn take_stations(guest: &Site, stations: [Mac; 2]) -> Result<(), NetError> {
    for (name, station) in NICS.into_iter().zip(behind(stations)) {
        guest.links.add_station(name, station)?;
    }
    Ok(())
}

/// The addresses of the guest's interfaces are those of the tester's stations behind it: what
/// goes there is not for the guest itself.
fn steer(guest: &Site, stations: [Mac; 2], rig: &Rig) -> Result<(), NetError> {
    for (name, station) in NICS.into_iter().zip(stations) {
        guest.links.forward_to(name, station, None)?;
        if rig.functions.is_some() {
            // The NIC would hand them to the next guest, and so on for ever.
            guest.links.no_groups(name)?;
        }
    }
    Ok(())
}

/// Makes macvlans on the ends of the tester's pairs and moves them to the namespaces.
fn on_macvlans(spec: &NetnsSpec, guests: &[Site]) -> Result<Rig, PathError> {
    check_host_queues(spec.ask.host_queues)?;
    let rig = Rig::with_host_queues(
        "vm",
        &RigSpec {
            path_cpus: spec.path_cpus.clone(),
            largest_frame: spec.largest_frame,
            queues: spec.ask.host_queues,
        },
    )?;
    let links = &rig.dut.links;
    let share = match (spec.neighbours, spec.ask.vms) {
        (0, 1) => Share::Passthru,
        (0, _) => Share::Private,
        _ => Share::Bridge,
    };
    for (guest, stations) in guests.iter().zip(spec.guest_stations()) {
        let own = behind(stations);
        for ((below, name), station) in ["d0", "d1"].into_iter().zip(NICS).zip(own) {
            let made = links
                .get(below)
                .and_then(|link| links.add_macvlan(name, link.index, share));
            made.map_err(|error| match error {
                NetError::Unsupported { .. } => PathError::Guest {
                    why: format!("nic = \"macvlan\": {error}"),
                    remedy: Remedy::here(
                        "modprobe macvlan as root, or measure in the lab (nicety lab run)",
                    ),
                },
                other => other.into(),
            })?;
            if spec.ask.vms > 1 {
                let own = LinkChange {
                    mac: Some(station),
                    ..LinkChange::default()
                };
                links.change(name, &own)?;
            }
            links.move_to(name, &guest.ns, name)?;
        }
    }
    Ok(rig)
}

impl Path for NetnsPath {
    fn facts(&self) -> &PathFacts {
        &self.rig.facts
    }

    fn counters(&self) -> Result<PathCounters, NetError> {
        let mut counters = self.rig.counters(&[])?;
        let mut inner = Vec::new();
        for (number, guest) in self.guests.iter().enumerate() {
            let (links, qdiscs) = (guest.links.list()?, qdisc::list(&guest.ns)?);
            let guest = name(number, self.guests.len() as u32);
            inner.extend(NICS.into_iter().filter_map(|name| {
                let link = links.iter().find(|link| link.name == name)?;
                Some(InterfaceCounters {
                    interface: format!("{guest} {name}"),
                    ..InterfaceCounters::of_link(link, Role::Inner, &qdiscs)
                })
            }));
        }
        let middle = counters.interfaces.len() / 2;
        counters.interfaces.splice(middle..middle, inner);
        Ok(counters)
    }

    fn neighbours(&mut self) -> Option<&mut dyn Neighbours> {
        Some(self)
    }
}

impl Neighbours for NetnsPath {
    fn add(&mut self, pairs: u32) -> Result<Vec<[EndpointSite; 2]>, PathError> {
        match &self.rig.functions {
            Some(functions) => neighbours::on_functions(functions, pairs),
            None => neighbours::on_wire(&self.rig, pairs),
        }
    }
}
