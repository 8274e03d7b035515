//! Paths that are made of the kernel alone carry every frame, both ways, as it was sent.

use nicety_model::path::{
    Aggregation, Encapsulation, Lookup, Nat, OnOff, RoutedParams, SubMode, TcFilter, TunnelParams,
};
use nicety_model::sock::Family;
use nicety_model::{Direction, Fps, Shape};
use nicety_netdev::link::Mac;
use nicety_packet::MacAddr;
use nicety_paths::{
    BundleDriver, BundlePath, BundleSpec, NetkitPath, NetkitSpec, Path, PathError, RigSpec,
    RoutedPath, RoutedSpec, SubInterfacePath, SubInterfaceSpec, TcRedirectPath, TunnelPath,
    TunnelSpec, XdpRedirectPath,
};
use nicety_port::af_packet::TrafficSpec;
use nicety_testkit::runner::Skip;
use nicety_trial::Trials;

use crate::calm::tried;
use crate::directions::LATE;
use crate::stage::{Tester, first, path_cpus, run_checked, size, traffic};

const LOAD: Fps = Fps(1_000.0);
const FRAMES: u64 = 400;
const FLOWS: u32 = 16;
/// Tries, of which one has to lose nothing: on a busy machine frames may come too late.
const TRIES: usize = 4;

/// A path by name, and how it is built for an IP version.
pub struct Kind {
    pub name: &'static str,
    build: fn(bool) -> Result<Box<dyn Path>, PathError>,
}

pub const KINDS: [Kind; 29] = [
    kind("routed", |six| routed(RoutedParams::default(), six)),
    kind("rules", |six| routed(ruled(100, Lookup::Linear), six)),
    kind("set", |six| routed(ruled(1_000, Lookup::Set), six)),
    kind("snat", |six| {
        let ask = RoutedParams {
            nat: Some(Nat::Snat),
            ..RoutedParams::default()
        };
        routed(ask, six)
    }),
    kind("flowtable", |six| {
        let ask = RoutedParams {
            flowtable: Some(OnOff::On),
            ..RoutedParams::default()
        };
        routed(ask, six)
    }),
    kind("vxlan", |six| tunnel(Encapsulation::Vxlan, false, six)),
    kind("vxlan_merged", |six| {
        tunnel(Encapsulation::Vxlan, true, six)
    }),
    kind("geneve", |six| tunnel(Encapsulation::Geneve, false, six)),
    kind("gre", |six| tunnel(Encapsulation::Gre, false, six)),
    kind("gre_merged", |six| tunnel(Encapsulation::Gre, true, six)),
    kind("wireguard", |six| {
        tunnel(Encapsulation::Wireguard, false, six)
    }),
    kind("macvlan_bridge", |six| sub(SubMode::Bridge, six)),
    kind("macvlan_private", |six| sub(SubMode::Private, six)),
    kind("macvlan_vepa", |six| sub(SubMode::Vepa, six)),
    kind("macvlan_passthru", |six| sub(SubMode::Passthru, six)),
    kind("ipvlan_l2", |six| sub(SubMode::L2, six)),
    kind("ipvlan_l3", |six| sub(SubMode::L3, six)),
    kind("tc_matchall", |_| redirect(TcFilter::Matchall)),
    kind("tc_flower", |_| redirect(TcFilter::Flower)),
    kind("tc_u32", |_| redirect(TcFilter::U32)),
    kind("xdp_redirect", |_| {
        Ok(Box::new(XdpRedirectPath::build(&rig())?))
    }),
    kind("bond_active_backup", |_| {
        bundle(BundleDriver::Bonding, Aggregation::ActiveBackup)
    }),
    kind("bond_balance_rr", |_| {
        bundle(BundleDriver::Bonding, Aggregation::BalanceRr)
    }),
    kind("bond_balance_xor", |_| {
        bundle(BundleDriver::Bonding, Aggregation::BalanceXor)
    }),
    kind("bond_lacp", |_| {
        bundle(BundleDriver::Bonding, Aggregation::Lacp)
    }),
    kind("team_active_backup", |_| {
        bundle(BundleDriver::Team, Aggregation::ActiveBackup)
    }),
    kind("team_balance_rr", |_| {
        bundle(BundleDriver::Team, Aggregation::BalanceRr)
    }),
    kind("netkit_l2", |six| netkit(SubMode::L2, six)),
    kind("netkit_l3", |six| netkit(SubMode::L3, six)),
];

const fn kind(name: &'static str, build: fn(bool) -> Result<Box<dyn Path>, PathError>) -> Kind {
    Kind { name, build }
}

fn rig() -> RigSpec {
    RigSpec {
        path_cpus: path_cpus(),
        largest_frame: size(1518),
        queues: 1,
    }
}

fn stations() -> [Mac; 2] {
    [1, 2].map(|number| Mac(MacAddr::local(number).0))
}

fn ruled(rules: u32, lookup: Lookup) -> RoutedParams {
    RoutedParams {
        rules: Some(rules),
        lookup: Some(lookup),
        ..RoutedParams::default()
    }
}

fn routed(ask: RoutedParams, ipv6: bool) -> Result<Box<dyn Path>, PathError> {
    Ok(Box::new(RoutedPath::build(&RoutedSpec {
        rig: rig(),
        ask,
        stations: stations(),
        ipv6,
        flows: u64::from(FLOWS),
    })?))
}

fn tunnel(encapsulation: Encapsulation, gro: bool, ipv6: bool) -> Result<Box<dyn Path>, PathError> {
    let gro = if gro { OnOff::On } else { OnOff::Off };
    Ok(Box::new(TunnelPath::build(&TunnelSpec {
        rig: rig(),
        ask: TunnelParams {
            encapsulation: Some(encapsulation),
            gro: Some(gro),
        },
        stations: stations(),
        ipv6,
    })?))
}

fn sub(mode: SubMode, ipv6: bool) -> Result<Box<dyn Path>, PathError> {
    Ok(Box::new(SubInterfacePath::build(&SubInterfaceSpec {
        rig: rig(),
        mode,
        stations: stations(),
        ipv6,
        flows: FLOWS,
    })?))
}

fn redirect(filter: TcFilter) -> Result<Box<dyn Path>, PathError> {
    Ok(Box::new(TcRedirectPath::build(&rig(), filter)?))
}

fn bundle(driver: BundleDriver, aggregation: Aggregation) -> Result<Box<dyn Path>, PathError> {
    Ok(Box::new(BundlePath::build(&BundleSpec {
        rig: rig(),
        driver,
        aggregation,
    })?))
}

fn netkit(mode: SubMode, ipv6: bool) -> Result<Box<dyn Path>, PathError> {
    Ok(Box::new(NetkitPath::build(&NetkitSpec {
        rig: rig(),
        mode,
        stations: stations(),
        ipv6,
    })?))
}

/// A kernel or a user who has not what it takes; anything else is a failure.
fn built(kind: &Kind, ipv6: bool) -> Result<Box<dyn Path>, Skip> {
    match (kind.build)(ipv6) {
        Err(error @ (PathError::NoKernelSupport { .. } | PathError::NotInstalled { .. })) => {
            Err(Skip(error.to_string()))
        }
        Err(PathError::Guest { why, .. }) => Err(Skip(why)),
        Err(PathError::Net(error)) if error.is_not_permitted() => Err(Skip(error.to_string())),
        built => Ok(built.unwrap()),
    }
}

/// Frames of a size both ways: all arrive, none is damaged or taken for somebody else's.
fn carries(tester: Tester, path: &dyn Path, bytes: u16, shape: Shape) -> Result<(), Skip> {
    let spec = TrafficSpec {
        frame_size: size(bytes),
        flows: FLOWS,
        shape,
        ..traffic(Direction::Bi)
    };
    let mut engine = tester.open(path, spec)?;
    let mut trials = Trials::new(engine.as_mut(), path, 0);
    // Frames that were late for one trial are foreign in the next: where a path's workers share a CPU with the tester.
    let mut late = first(&mut trials).frames.lost;
    tried(TRIES, LATE, || {
        let record = run_checked(&mut trials, LOAD, FRAMES);
        let count = &record.frames;
        assert_eq!(count.corrupt, 0, "{record:?}");
        let passed = count.lost == 0 && count.foreign <= late;
        late = count.lost;
        // Of both ways.
        if count.sent < FRAMES {
            return Ok(None);
        }
        if passed {
            return Ok(Some(()));
        }
        Err(format!("{count:?}, {:?}", record.loss_ledger))
    })
}

/// A path carries IPv4 frames of the smallest and the largest size.
pub fn four(kind: &Kind, tester: Tester) -> Result<(), Skip> {
    let path = built(kind, false)?;
    for bytes in [64, 1518] {
        carries(tester, path.as_ref(), bytes, Shape::default())?;
    }
    Ok(())
}

/// A path carries IPv6 frames.
pub fn six(kind: &Kind) -> Result<(), Skip> {
    let path = built(kind, true)?;
    let shape = Shape {
        family: Some(Family::Ipv6),
        ..Shape::default()
    };
    carries(Tester::AfPacket, path.as_ref(), 128, shape)
}
