//! Paths, from a cell's parameters to what is built; guests are [`Guests`](crate::guests::Guests)' work.

use nicety_host::placement::Placement;
use nicety_model::path::{
    AGGREGATION, Acl, Aggregation, DpdkParams, IPVLAN_MODE, MACVLAN_MODE, NETKIT_MODE, SubMode,
    TC_FILTER, TcFilter,
};
use nicety_model::plan::{PathPlan, SwitchKind};
use nicety_model::sock::Family;
use nicety_model::{CellKey, Direction, FrameSize, PathSpec};
use nicety_netdev::link::Mac;
use nicety_paths::{
    BridgePath, BridgeSpec, BundleDriver, BundlePath, BundleSpec, DirectPath, DirectSpec, DpdkSpec,
    END_MACS, ExternalPath, NetkitPath, NetkitSpec, NicsSpec, OvnPath, OvnSpec, OvsDpdkPath,
    OvsPath, OvsSpec, Path, RigSpec, RoutedPath, RoutedSpec, SubInterfacePath, SubInterfaceSpec,
    Tagging, TcRedirectPath, TestpmdNicsPath, TestpmdPath, TunnelPath, TunnelSpec, VlanBridgePath,
    XdpRedirectPath,
};

use crate::setup;
use crate::setup_error::SetupError;

/// Receive and transmit queues of the veth ends of paths made here.
pub const QUEUES: u32 = 1;

/// CPUs of the threads that receive on the switch's two interfaces.
const RECEIVING: usize = 2;

/// CPUs that the plan's paths have work for where they can have `most`. Cells with more polling
/// threads than that are skipped and have no work.
pub fn cpus_wanted(paths: &[PathPlan], most: usize) -> usize {
    // A thread per queue of either interface.
    let receiving = |path: &PathPlan| match path {
        PathPlan::Vm { params } => {
            RECEIVING * params.host_queues.iter().max().map_or(1, |n| n.0 as usize)
        }
        // NICs have interrupts of their own, or none.
        path if path.interfaces().is_some() => 0,
        _ => RECEIVING,
    };
    let threads = |path: &PathPlan| -> Vec<u32> {
        let params = match path {
            PathPlan::Switch {
                kind: SwitchKind::OvsDpdk | SwitchKind::Testpmd,
                params,
            } => params,
            PathPlan::Vm { params } if params.switch.iter().any(|switch| switch.on_dpdk()) => {
                params
            }
            PathPlan::Switch {
                kind: SwitchKind::Ovs | SwitchKind::Ovn,
                ..
            } => return vec![1],
            _ => return vec![0],
        };
        if params.cores.is_empty() {
            vec![1]
        } else {
            params.cores.iter().map(|cores| cores.0).collect()
        }
    };
    let wanted = paths.iter().flat_map(|path| {
        let receiving = receiving(path);
        let threads = threads(path).into_iter();
        threads.map(move |threads| match threads as usize {
            threads if threads > most => most,
            threads => receiving + threads,
        })
    });
    wanted.max().unwrap_or(0)
}

/// What is to be built for a cell.
enum Wanted<'a> {
    Bridge(BridgeSpec),
    Ports([&'a str; 2], FrameSize),
    Vlan(RigSpec, Tagging),
    Ovs(OvsSpec),
    Ovn(OvnSpec),
    OvsDpdk(DpdkSpec),
    Testpmd(DpdkSpec),
    Nics(NicsSpec),
    Routed(RoutedSpec),
    Tunnel(TunnelSpec),
    SubInterface(SubInterfaceSpec),
    TcRedirect(RigSpec, TcFilter),
    XdpRedirect(RigSpec),
    Bundle(BundleSpec),
    Netkit(NetkitSpec),
}

impl<'a> Wanted<'a> {
    /// What a cell needs between the stations at ports A and B.
    fn of(key: &'a CellKey, placement: &Placement, stations: [Mac; 2]) -> Result<Self, SetupError> {
        let rig = |queues| RigSpec {
            path_cpus: path_cpus(placement),
            largest_frame: key.frame_size_bytes,
            queues,
        };
        let cpus = program_cpus(&placement.path);
        let dpdk_on = |params: &DpdkParams, cpus: &[u32]| DpdkSpec {
            rig: rig(params.queues()),
            vdev: params.vdev(),
            cores: params.cores(),
            cpus: cpus.to_vec(),
        };
        let ipv6 = key.shape.family == Some(Family::Ipv6);
        let sub_interface = |mode: SubMode| {
            Self::SubInterface(SubInterfaceSpec {
                rig: rig(QUEUES),
                mode,
                stations,
                ipv6,
                flows: key.flows,
            })
        };
        let bundle = |driver, aggregation: Option<Aggregation>| {
            Self::Bundle(BundleSpec {
                rig: rig(QUEUES),
                driver,
                aggregation: aggregation.unwrap_or(AGGREGATION),
            })
        };
        Ok(match &key.path {
            PathSpec::Bond { aggregation } => bundle(BundleDriver::Bonding, *aggregation),
            PathSpec::Team { aggregation } => bundle(BundleDriver::Team, *aggregation),
            PathSpec::XdpRedirect => Self::XdpRedirect(rig(QUEUES)),
            PathSpec::Netkit { mode } => Self::Netkit(NetkitSpec {
                rig: rig(QUEUES),
                mode: mode.unwrap_or(NETKIT_MODE),
                stations,
                ipv6,
            }),
            PathSpec::Routed(ask) => Self::Routed(RoutedSpec {
                rig: rig(QUEUES),
                ask: ask.clone(),
                stations,
                ipv6,
                flows: connections(key),
            }),
            PathSpec::Tunnel(ask) => Self::Tunnel(TunnelSpec {
                rig: rig(QUEUES),
                ask: ask.clone(),
                stations,
                ipv6,
            }),
            PathSpec::Macvlan { mode } => sub_interface(mode.unwrap_or(MACVLAN_MODE)),
            PathSpec::Ipvlan { mode } => sub_interface(mode.unwrap_or(IPVLAN_MODE)),
            PathSpec::TcRedirect { filter } => {
                Self::TcRedirect(rig(QUEUES), filter.unwrap_or(TC_FILTER))
            }
            PathSpec::Bridge => Self::Bridge(BridgeSpec {
                path_cpus: path_cpus(placement),
                largest_frame: key.frame_size_bytes,
                queues: QUEUES,
            }),
            PathSpec::Ports { a, b } => Self::Ports([a, b], key.frame_size_bytes),
            PathSpec::VlanBridge { tagging } => {
                Self::Vlan(rig(QUEUES), tagging.unwrap_or(Tagging::SubInterface))
            }
            PathSpec::Ovs { datapath, tagged } => Self::Ovs(OvsSpec {
                rig: rig(QUEUES),
                datapath: *datapath,
                tagged: *tagged,
                cpus,
            }),
            PathSpec::Ovn { datapath, acl } => Self::Ovn(OvnSpec {
                rig: rig(QUEUES),
                datapath: *datapath,
                acl: acl.unwrap_or(Acl::None),
                stations,
                cpus,
            }),
            PathSpec::OvsDpdk(params) => Self::OvsDpdk(dpdk_on(params, &cpus)),
            PathSpec::Testpmd { dpdk, nics: None } => Self::Testpmd(dpdk_on(dpdk, &cpus)),
            PathSpec::Testpmd {
                dpdk,
                nics: Some(nics),
            } => Self::Nics(NicsSpec {
                // No thread of the kernel receives for it.
                dpdk: dpdk_on(dpdk, &placement.path),
                devices: nics.pci.0.clone(),
                ports: [nics.a.clone(), nics.b.clone()],
            }),
            PathSpec::Vm(_) | PathSpec::Foreign(_) => {
                return Err(SetupError::NoSuchPath(key.name()));
            }
        })
    }
}

/// Connections that a router sees of a cell's flows: the other direction's are the answers, unless the source
/// addresses of the first are translated.
fn connections(key: &CellKey) -> u64 {
    let snat = matches!(&key.path, PathSpec::Routed(ask) if ask.snat());
    let both = snat && key.direction == Direction::Bi;
    u64::from(key.flows) * if both { 2 } else { 1 }
}

/// Builds the path of a cell. Its programs end with the calling thread.
pub fn path(key: &CellKey, placement: &Placement) -> Result<Box<dyn Path>, SetupError> {
    built(Wanted::of(key, placement, setup::own_stations())?)
}

/// The same for sockets, whose packets are for the ports' own addresses.
pub fn path_of_sockets(key: &CellKey, placement: &Placement) -> Result<Box<dyn Path>, SetupError> {
    built(Wanted::of(key, placement, END_MACS)?)
}

fn built(wanted: Wanted<'_>) -> Result<Box<dyn Path>, SetupError> {
    Ok(match wanted {
        Wanted::Bridge(spec) => Box::new(BridgePath::build(&spec)?),
        Wanted::Ports([a, b], size) => Box::new(ExternalPath::open(a, b, size)?),
        Wanted::Vlan(rig, tagging) => Box::new(VlanBridgePath::build(&rig, tagging)?),
        Wanted::Ovs(spec) => Box::new(OvsPath::build(&spec)?),
        Wanted::Ovn(spec) => Box::new(OvnPath::build(&spec)?),
        Wanted::OvsDpdk(spec) => Box::new(OvsDpdkPath::build(&spec)?),
        Wanted::Testpmd(spec) => Box::new(TestpmdPath::build(&spec)?),
        Wanted::Nics(spec) => Box::new(TestpmdNicsPath::build(&spec)?),
        Wanted::Routed(spec) => Box::new(RoutedPath::build(&spec)?),
        Wanted::Tunnel(spec) => Box::new(TunnelPath::build(&spec)?),
        Wanted::SubInterface(spec) => Box::new(SubInterfacePath::build(&spec)?),
        Wanted::TcRedirect(rig, filter) => Box::new(TcRedirectPath::build(&rig, filter)?),
        Wanted::XdpRedirect(rig) => Box::new(XdpRedirectPath::build(&rig)?),
        Wanted::Bundle(spec) => Box::new(BundlePath::build(&spec)?),
        Wanted::Netkit(spec) => Box::new(NetkitPath::build(&spec)?),
    })
}

/// Refuses what this machine cannot do, in no time: programs are looked for and not started.
pub fn check(key: &CellKey, placement: &Placement) -> Result<(), SetupError> {
    match Wanted::of(key, placement, setup::own_stations())? {
        Wanted::Bridge(_) => (),
        Wanted::Ports([a, b], size) => drop(ExternalPath::open(a, b, size)?),
        // The kernel says what it has only when it is asked to make it.
        Wanted::Vlan(rig, tagging) => VlanBridgePath::build(&rig, tagging).map(drop)?,
        Wanted::Ovs(spec) => OvsPath::check(&spec)?,
        Wanted::Ovn(spec) => OvnPath::check(&spec)?,
        Wanted::OvsDpdk(spec) => OvsDpdkPath::check(&spec)?,
        Wanted::Testpmd(spec) => TestpmdPath::check(&spec)?,
        Wanted::Nics(spec) => TestpmdNicsPath::check(&spec)?,
        Wanted::Routed(spec) => RoutedPath::check(&spec)
            .and_then(|()| RoutedPath::build(&spec))
            .map(drop)?,
        Wanted::Tunnel(spec) => TunnelPath::build(&spec).map(drop)?,
        Wanted::SubInterface(spec) => SubInterfacePath::build(&spec).map(drop)?,
        Wanted::TcRedirect(rig, filter) => TcRedirectPath::check()
            .and_then(|()| TcRedirectPath::build(&rig, filter))
            .map(drop)?,
        Wanted::XdpRedirect(rig) => XdpRedirectPath::build(&rig).map(drop)?,
        Wanted::Bundle(spec) => BundlePath::build(&spec).map(drop)?,
        Wanted::Netkit(spec) => NetkitPath::build(&spec).map(drop)?,
    }
    Ok(())
}

/// The tester without a path.
pub fn direct(size: FrameSize, placement: &Placement) -> Result<DirectPath, SetupError> {
    Ok(DirectPath::build(&DirectSpec {
        path_cpus: path_cpus(placement),
        largest_frame: size,
        queues: QUEUES,
    })?)
}

/// CPUs to pin the path's threads to: none where the tester polls on the same CPU, because a
/// pinned thread runs before every program and would never let the tester in.
pub fn path_cpus(placement: &Placement) -> Vec<u32> {
    if placement.shared {
        Vec::new()
    } else {
        placement.path.clone()
    }
}

/// The path's CPUs for programs, those first on which no thread of the kernel receives.
pub fn program_cpus(path: &[u32]) -> Vec<u32> {
    let mut cpus = path.to_vec();
    cpus.rotate_left(RECEIVING.min(path.len()));
    cpus
}

#[cfg(test)]
mod tests {
    use nicety_model::Plan;

    use super::*;

    #[test]
    fn only_cells_that_can_be_built_want_cpus() {
        let wanted = |cores: &str, most| {
            let head = "[traffic]\nframe_sizes = [64]\n";
            let text = format!("{head}[[path]]\nkind = \"testpmd\"\n{cores}\n");
            cpus_wanted(&Plan::parse("plan.toml", &text).unwrap().paths, most)
        };
        assert_eq!(wanted("", 1), 3);
        assert_eq!(wanted("cores = [1, 50]", 1), 3);
        assert_eq!(wanted("cores = [1, 50]", 60), 52);
        // Named as many as there are, so that the remedy is right.
        assert_eq!(wanted("cores = 50", 6), 6);
        assert_eq!(cpus_wanted(&Plan::default_bridge().paths, 6), 2);
        let guest = "[[path]]\nkind = \"vm\"\nhost_queues = [1, 4]\n";
        let plan = Plan::parse("plan.toml", guest).unwrap();
        assert_eq!(cpus_wanted(&plan.paths, 60), 8);
    }

    #[test]
    fn nics_by_address_are_asked_for_with_the_testers_ports() {
        let text = "[traffic]\nframe_sizes = [64]\n[[path]]\nkind = \"testpmd\"\na = \"eth2\"\nb = \"eth3\"\n\
                    pci = [[\"03:00.0\", \"03:00.1\"]]\ncores = 2\nqueues = 2\n";
        let plan = Plan::parse("plan.toml", text).unwrap();
        assert_eq!(cpus_wanted(&plan.paths, 6), 2);
        let key = plan.cells().next().unwrap();
        let placement = Placement {
            path: vec![2, 3, 4],
            ..Placement::default()
        };
        let Ok(Wanted::Nics(spec)) = Wanted::of(&key, &placement, END_MACS) else {
            panic!("a path through interfaces of the kernel");
        };
        assert_eq!(spec.devices, ["0000:03:00.0", "0000:03:00.1"]);
        assert_eq!(spec.ports, ["eth2", "eth3"]);
        assert_eq!((spec.dpdk.cores, spec.dpdk.rig.queues), (2, 2));
        assert_eq!(spec.dpdk.cpus, [2, 3, 4]);
    }

    #[test]
    fn programs_keep_off_the_cpus_that_receive() {
        assert!(program_cpus(&[]).is_empty());
        assert_eq!(program_cpus(&[1]), [1]);
        assert_eq!(program_cpus(&[2, 3]), [2, 3]);
        assert_eq!(program_cpus(&[2, 3, 4, 5]), [4, 5, 2, 3]);
    }
}
