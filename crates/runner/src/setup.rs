//! What a run needs before its first trial: rights, CPUs, a path, an engine.

use nicety_host::placement::{Placement, Wants, place};
use nicety_host::roots::{FactError, Roots};
use nicety_host::topology::Topology;
use nicety_model::note::MachineNote;
use nicety_model::plan::PathPlan;
use nicety_model::{CellKey, Direction, EngineChoice, EngineName, FrameSize, Note, Plan};
use nicety_netdev::link::{Links, Mac};
use nicety_netdev::privilege::{self, Privilege, PrivilegeError};
use nicety_packet::{MacAddr, VlanTag};
use nicety_paths::{ExternalPath, Path};
use nicety_port::af_packet::{AfPacket, PortSockets, PortSpec, Refusal, TrafficSpec};
use nicety_port::af_xdp::AfXdpSenders;
use nicety_port::pktgen::PktgenSenders;
use nicety_port::xdp::XdpSenders;
use nicety_port::xdp_receive::{Opening, Senders, XdpReceiveEngine};
use nicety_port::{Engine, Stop};

use crate::error::RunError;
use crate::event::Observer;
use crate::setup_error::SetupError;
use crate::{builder, links};

/// Whether what the user asked for needs rights that this process lacks. Looks at nothing else, so that
/// it is said before any work is done.
pub fn rights(plan: &Plan, choice: EngineChoice) -> Result<(), RunError> {
    if plan.buildable_cells().next().is_none() {
        return Ok(());
    }
    if let EngineChoice::Only(engine) = choice
        && engine != EngineName::AfPacket
        && !plan.traffic.is_plain()
    {
        return Err(RunError::EngineNotSends(engine));
    }
    let (privilege, rights) = (privilege::privilege()?, privilege::rights()?);
    let ports = plan.paths.iter().flat_map(PathPlan::interfaces).flatten();
    let ports: Vec<&str> = ports.collect();
    let builds = builds(&plan.paths);
    if !rights.packet_sockets && !builds {
        return Err(RunError::PortsNeedRoot(ports.join(" and ")));
    }
    // A user namespace of its own, where paths are built, takes the host's rights away.
    let programs = rights.programs && !(builds && privilege != Privilege::Privileged);
    match choice {
        EngineChoice::Only(engine) if engine != EngineName::AfPacket && !programs => {
            Err(RunError::EngineNeedsRoot(engine))
        }
        _ => Ok(()),
    }
}

/// Makes sure that paths may be built, as root or in a user namespace. Must be called before
/// any thread is started. Returns what an ordinary user gives up, to be said once.
pub fn acquire(paths: &[PathPlan]) -> Result<(bool, Option<Note>), PrivilegeError> {
    match privilege::privilege()? {
        Privilege::Privileged => Ok((true, None)),
        Privilege::UserNamespace => Ok((false, None)),
        Privilege::Ordinary if builds(paths) => {
            privilege::enter_user_namespace()?;
            Ok((false, Some(MachineNote::UserNamespace.into())))
        }
        Privilege::Ordinary => Ok((false, None)),
    }
}

/// Whether a path is built here.
fn builds(paths: &[PathPlan]) -> bool {
    let built = |path: &PathPlan| {
        matches!(
            path,
            PathPlan::Bridge | PathPlan::Switch { .. } | PathPlan::Vm { .. }
        )
    };
    paths.iter().any(built)
}

/// Workers of the tester.
const TESTERS: usize = 2;

/// CPUs for the tester and the paths of a plan.
pub fn placement(paths: &[PathPlan]) -> Result<Placement, FactError> {
    let roots = Roots::live();
    let topology = Topology::read(&roots.proc, &roots.sys)?;
    // As many as the tester leaves: see `place`.
    let most = match topology.allowed.len() {
        few @ 0..=3 => few.saturating_sub(1).max(1),
        cpus => cpus - TESTERS,
    };
    // Two directions need two workers on either side where there are CPUs for them.
    Ok(place(
        &topology,
        Wants {
            tester: TESTERS,
            path: builder::cpus_wanted(paths, most).max(2),
            nic_node: None,
        },
    ))
}

/// Whether existing ports can be used for frames of `size`: they are there, up, and may be
/// opened. Sends nothing.
pub fn check(
    plan: &PathPlan,
    size: FrameSize,
    stop: &Stop,
    observer: &dyn Observer,
) -> Result<(), SetupError> {
    let PathPlan::Ports { a, b } = plan else {
        return Ok(());
    };
    links::wait_here(a, b, stop, observer)?;
    let path = ExternalPath::open(a, b, size)?;
    let traffic = TrafficSpec::plain(size, Direction::Bi);
    af_packet(&path, traffic, &Placement::default()).map(drop)
}

/// A plan that measures nothing but existing ports is refused before anything is written when
/// they cannot be used. Beside other paths such ports only make their own cells skipped.
pub fn check_ports(plan: &Plan, stop: &Stop, observer: &dyn Observer) -> Result<(), RunError> {
    let ports = |path: &PathPlan| matches!(path, PathPlan::Ports { .. });
    let Some(largest) = plan.traffic.largest() else {
        return Ok(());
    };
    if !plan.paths.iter().all(ports) {
        return Ok(());
    }
    for path in &plan.paths {
        match check(path, largest, stop, observer) {
            Err(_) if stop.is_set() => return Err(RunError::Interrupted),
            checked => checked?,
        }
    }
    Ok(())
}

/// What is sent in a cell over its path.
pub fn traffic(key: &CellKey, path: &dyn Path) -> TrafficSpec {
    TrafficSpec {
        frame_size: key.frame_size_bytes,
        direction: key.direction,
        flows: key.flows,
        stations: path.facts().stations,
        // Paths have identifiers that a tag can hold.
        vlan: path.facts().vlan.and_then(|id| VlanTag::new(id, 0).ok()),
        shape: key.shape,
        mark: nicety_packet::RunMark::NONE,
    }
}

/// Opens an engine on both ports of `path`.
pub fn engine(
    name: EngineName,
    path: &dyn Path,
    traffic: TrafficSpec,
    placement: &Placement,
) -> Result<Box<dyn Engine>, SetupError> {
    Ok(match name {
        EngineName::Xdp => Box::new(receiving::<XdpSenders>(path, traffic, placement)?),
        EngineName::AfXdp => Box::new(receiving::<AfXdpSenders>(path, traffic, placement)?),
        EngineName::Pktgen => Box::new(receiving::<PktgenSenders>(path, traffic, placement)?),
        EngineName::AfPacket => Box::new(af_packet(path, traffic, placement)?),
    })
}

fn af_packet(
    path: &dyn Path,
    traffic: TrafficSpec,
    placement: &Placement,
) -> Result<AfPacket, SetupError> {
    let [a, b] = specs(path)?;
    let open = |spec: &PortSpec, side: usize| -> Result<PortSockets, SetupError> {
        let ns = &path.ports()[side].ns;
        Ok(ns.run(|| PortSockets::open(spec, traffic.frame_size))??)
    };
    Ok(AfPacket::new(
        open(&a, 0)?,
        open(&b, 1)?,
        traffic,
        cpus(placement),
    )?)
}

/// An engine that counts with the receive program. Both ports are opened, each inside its namespace:
/// B first, it receives in any case.
fn receiving<S: Senders + Send>(
    path: &dyn Path,
    traffic: TrafficSpec,
    placement: &Placement,
) -> Result<XdpReceiveEngine<S>, SetupError> {
    let mut opening = Opening::new(specs(path)?, traffic, cpus(placement))?;
    for side in [1, 0] {
        path.ports()[side].ns.run(|| opening.open(side))??;
    }
    Ok(opening.finish())
}

/// Whether both ports are ends of veth pairs.
pub fn on_veths(path: &dyn Path) -> Result<bool, SetupError> {
    let specs = specs(path)?;
    Ok(specs.iter().all(|spec| spec.refusal == Refusal::LostInPath))
}

/// The tester's CPUs, as engines want them.
pub fn cpus(placement: &Placement) -> Vec<Option<u32>> {
    let workers = placement.tester.iter();
    workers.map(|tester| Some(tester.cpu)).collect()
}

/// Both ports of `path`, as engines want them.
pub fn specs(path: &dyn Path) -> Result<[PortSpec; 2], SetupError> {
    let own = path.facts().own_stations;
    let spec = |port: &nicety_paths::PathPort, number| -> Result<PortSpec, SetupError> {
        let veth = Links::open(&port.ns)?.get(&port.name)?.kind == "veth";
        Ok(PortSpec {
            interface: port.name.clone(),
            // On paths made here the tester's stations have addresses of their own, so that
            // the namespace's IP stack drops their frames at once instead of routing them.
            mac: if own {
                MacAddr(port.mac.0)
            } else {
                MacAddr::local(number)
            },
            mtu: port.mtu,
            refusal: if veth {
                Refusal::LostInPath
            } else {
                Refusal::NotSent
            },
            promiscuous: path.facts().existing_ports,
        })
    };
    let [a, b] = path.ports();
    Ok([spec(a, STATION_A)?, spec(b, STATION_B)?])
}

/// Numbers of the tester's stations in [`MacAddr::local`].
const STATION_A: u32 = 1;
const STATION_B: u32 = 2;

/// The tester's stations at ports A and B on a path made here.
pub fn own_stations() -> [Mac; 2] {
    [STATION_A, STATION_B].map(|number| Mac(MacAddr::local(number).0))
}

/// The tester's stations at ports A and B on a path with so many guests that share it.
pub fn stations(pairs: u32) -> Vec<[Mac; 2]> {
    let pair = |n| [STATION_A, STATION_B].map(|port| Mac(MacAddr::local(port).station(n).0));
    // A path has at most 256 guests.
    (0..=u8::MAX).take(pairs as usize).map(pair).collect()
}
