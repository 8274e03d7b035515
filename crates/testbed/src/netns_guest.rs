//! A guest that is a network namespace, as of a container, and forwards between two interfaces
//! with a kernel bridge.
//!
//! ```text
//!  namespace A      namespace DUT            guest             namespace DUT    namespace B
//!      a ------------ d0 = macvlan g0 - kernel bridge - g1 macvlan = d1 ------------ b
//! ```
//!
//! Where sockets end in it there is no bridge: `g0` gets an address.
//!
//! With `nic = "sriov"` the interfaces are virtual functions, see the module `sriov`. There is no
//! emulation and no copy: frames are handed on in the softirq or thread that received them.

use nicety_host::ethtool::Ethtool;
use nicety_host::link::{LinkChange, Mac, Share};
use nicety_host::napi;
use nicety_host::net_error::NetError;
use nicety_host::netns::NetNs;
use nicety_model::FrameSize;
use nicety_model::plan::{VmAsk, VmNic};

use crate::counters::{InterfaceCounters, PathCounters, Role};
use crate::endpoints::EndpointSite;
use crate::error::PathError;
use crate::neighbours;
use crate::path::{Coupling, Path, PathThread, Port};
use crate::rig::{Rig, RigSpec};
use crate::sriov::{self, FunctionSet};
use crate::veth::{self, CARRIER_LIMIT, Site};
use crate::vm::spec::MACS;

/// The guest's interfaces.
const NICS: [&str; 2] = ["g0", "g1"];

/// A path through a namespace that forwards.
#[derive(Debug, Clone)]
pub struct NetnsSpec {
    /// The guest.
    pub ask: VmAsk,
    /// Largest frame it has to carry.
    pub largest_frame: FrameSize,
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
    guest: Site,
}

impl NetnsPath {
    /// Builds it and waits until the guest forwards.
    ///
    /// # Errors
    /// As [`BridgePath::build`](crate::BridgePath::build); [`PathError::Guest`] for what this
    /// machine has not, or somebody else uses.
    pub fn build(spec: &NetnsSpec) -> Result<Self, PathError> {
        let mut notes = Vec::new();
        let guest = Site::create("guest", &mut notes)?;
        let rig = match (spec.ask.nic, &spec.ask.pf) {
            (VmNic::Sriov, Some(pf)) => on_functions(spec, pf, &guest)?,
            _ => on_macvlans(spec, &guest)?,
        };
        let bridge = (!spec.serves).then_some("br0");
        let master = match bridge {
            Some(bridge) => {
                guest.links.add_bridge(bridge)?;
                Some(guest.links.get(bridge)?.index)
            }
            None => None,
        };
        for name in NICS {
            let join = LinkChange {
                up: Some(true),
                master,
                ..LinkChange::default()
            };
            guest.links.change(name, &join)?;
        }
        if let Some(bridge) = bridge {
            veth::set_up(&guest, bridge)?;
        }
        match &rig.functions {
            Some(functions) if !spec.serves => {
                functions.trust()?;
                take_stations(&guest)?;
            }
            // Off for test frames, applications have it; what is on it follows.
            None if spec.serves => {
                let on = napi::SENDER_FEATURES.map(|(feature, _)| (feature, true));
                Ethtool::open(&rig.dut.ns)?.set_features("d0", &on)?;
            }
            _ => {}
        }
        let limit = match rig.functions {
            Some(_) => sriov::LINK_LIMIT,
            None => CARRIER_LIMIT,
        };
        for name in NICS.into_iter().chain(bridge) {
            guest.links.wait_carrier(name, limit)?;
        }
        let mut path = Self { rig, guest };
        path.rig.notes.extend(notes);
        path.rig.notes.push(path.words(spec));
        Ok(path)
    }

    fn words(&self, spec: &NetnsSpec) -> String {
        let driver = self.guest.ethtool.driver(NICS[0]).ok();
        let driver = driver.map_or_else(|| "unknown".to_owned(), |driver| driver.driver);
        let what = match spec.serves {
            true => "sockets end at an interface of driver",
            false => "kernel bridge between two interfaces of driver",
        };
        let nic = spec.ask.nic;
        format!("guest in a namespace with {nic}: {what} {driver}")
    }

    /// Namespace and interface where sockets end.
    pub fn end(&self) -> (&NetNs, &'static str) {
        (&self.guest.ns, NICS[0])
    }
}

/// Gives the guest's functions to the namespace.
fn on_functions(spec: &NetnsSpec, pf: &str, guest: &Site) -> Result<Rig, PathError> {
    FunctionSet::check(pf, false)?;
    let rig = sriov::rig(pf, MACS, spec.largest_frame, spec.neighbours)?;
    if let Some(functions) = &rig.functions {
        for (vf, name) in sriov::GUESTS.into_iter().zip(NICS) {
            functions.interface(vf, &guest.ns, name)?;
            sriov::set_up(guest, name, spec.largest_frame)?;
        }
    }
    Ok(rig)
}

/// Functions take frames for their own address only, and a bridge's are for somebody else.
fn take_stations(guest: &Site) -> Result<(), NetError> {
    let stations: [Mac; 2] = sriov::STATIONS;
    for (name, station) in NICS.into_iter().zip(stations) {
        guest.links.add_station(name, station)?;
    }
    Ok(())
}

/// Makes macvlans on the ends of the tester's pairs and moves them to the namespace.
fn on_macvlans(spec: &NetnsSpec, guest: &Site) -> Result<Rig, PathError> {
    let rig = Rig::build(&RigSpec {
        path_cpus: spec.path_cpus.clone(),
        largest_frame: spec.largest_frame,
        queues: 1,
    })?;
    let links = &rig.dut.links;
    let share = match spec.neighbours {
        0 => Share::Passthru,
        _ => Share::Bridge,
    };
    for (below, name) in ["d0", "d1"].into_iter().zip(NICS) {
        let made = links
            .get(below)
            .and_then(|link| links.add_macvlan(name, link.index, share));
        made.map_err(|error| match error {
            NetError::Unsupported { .. } => PathError::Guest {
                why: format!("nic = \"macvlan\": {error}"),
                remedy: "modprobe macvlan as root, or measure in the lab (nicety lab run)"
                    .to_owned(),
            },
            other => other.into(),
        })?;
        links.move_to(name, &guest.ns, name)?;
    }
    Ok(rig)
}

impl Path for NetnsPath {
    fn kind(&self) -> &'static str {
        "vm"
    }

    fn ports(&self) -> &[Port; 2] {
        &self.rig.ports
    }

    fn counters(&self) -> Result<PathCounters, NetError> {
        let mut counters = self.rig.counters(&[])?;
        let links = self.guest.links.list()?;
        let inner = NICS.into_iter().filter_map(|name| {
            let link = links.iter().find(|link| link.name == name)?;
            Some(InterfaceCounters {
                interface: format!("guest {name}"),
                role: Role::Inner,
                counters: link.counters,
                qdiscs: Vec::new(),
            })
        });
        let middle = counters.0.len() / 2;
        counters.0.splice(middle..middle, inner);
        Ok(counters)
    }

    fn neighbours(&mut self, pairs: u32) -> Result<Vec<[EndpointSite; 2]>, PathError> {
        match &self.rig.functions {
            Some(functions) => neighbours::on_functions(functions, pairs),
            None => neighbours::on_wire(&self.rig, pairs),
        }
    }

    fn notes(&self) -> &[String] {
        &self.rig.notes
    }

    fn threads(&self) -> &[PathThread] {
        &self.rig.threads
    }

    fn own_stations(&self) -> bool {
        self.rig.functions.is_some()
    }

    fn coupling(&self) -> Coupling {
        self.rig.coupling()
    }
}
