//! Two namespaces joined by two links that one driver bundles at either end: bonding, or team.
//!
//! ```text
//!  namespace A                       namespace DUT                        namespace B
//!      a ---- d0 - br0 - bond0 = u0 ------ v0 = bond1 - br1 - d1 ------------ b
//!                              = u1 ------ v1 =
//! ```
//!
//! The links' ends receive in NAPI threads as `d0` and `d1` do. Both bonds are of the same mode, so the far one expects
//! frames where the near one sends them.

use std::time::{Duration, Instant};

use nicety_model::Remedy;
use nicety_model::path::Aggregation;
use nicety_netdev::link::{Bonding, LinkChange, Mac};
use nicety_netdev::napi;
use nicety_netdev::net_error::NetError;
use nicety_netdev::netns::NetNs;
use nicety_netdev::team::{TeamMode, Teams};

use crate::counters::{PathCounters, Role};
use crate::error::PathError;
use crate::interface::{CARRIER_LIMIT, enslaved, up};
use crate::module;
use crate::path::{Coupling, Path, PathFacts};
use crate::receive_threads;
use crate::rig::{Rig, RigSpec};
use crate::tool::MODPROBE;
use crate::veth::{self, End};

/// LACP sends every second, and answers are waited for three times as long (IEEE 802.1AX, 6.4.4).
const LACP_LIMIT: Duration = Duration::from_secs(10);
/// A link as its ends are called, near and far.
const LINKS: [[&str; 2]; 2] = [["u0", "v0"], ["u1", "v1"]];

/// The driver that bundles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BundleDriver {
    /// bonding.
    Bonding,
    /// team.
    Team,
}

/// Bundled links between the tester's ports.
#[derive(Debug, Clone)]
pub struct BundleSpec {
    /// The two ways to them.
    pub rig: RigSpec,
    /// Who bundles them.
    pub driver: BundleDriver,
    /// How frames are spread over them.
    pub aggregation: Aggregation,
}

/// The path; gone when dropped.
#[derive(Debug)]
pub struct BundlePath {
    rig: Rig,
    driver: BundleDriver,
}

impl BundlePath {
    /// Builds the path and waits until it has carrier everywhere, and LACP has agreed where it is asked for.
    ///
    /// # Errors
    /// Those of [`BridgePath::build`](crate::BridgePath::build); [`PathError::NoKernelSupport`] for a kernel without
    /// the driver.
    pub fn build(spec: &BundleSpec) -> Result<Self, PathError> {
        let driver = spec.driver;
        if driver == BundleDriver::Bonding {
            load_bonding()?;
        }
        let mut rig = Rig::build(driver.kind(), &spec.rig)?;
        let mtu = rig.facts.ports[0].mtu;
        for (number, [near, far]) in LINKS.into_iter().enumerate() {
            wire(&rig, number, [near, far], mtu, spec.rig.queues.max(1))?;
        }
        for side in [0, 1] {
            let ends = LINKS.map(|link| link[side]);
            driver
                .make(&rig, spec.aggregation, driver.names()[side], ends, mtu)
                .map_err(|error| driver.lacking(error))?;
        }
        receive(&mut rig, &spec.rig)?;
        let links = &rig.dut.links;
        let [near, far] = driver.names();
        for (bridge, members) in [("br0", ["d0", near]), ("br1", [far, "d1"])] {
            links.add_bridge(bridge)?;
            rig.enslave(members, links.get(bridge)?.index)?;
            rig.dut.set_up(bridge)?;
        }
        for name in [near, far, "br0", "br1"] {
            links.wait_carrier(name, CARRIER_LIMIT)?;
        }
        if spec.aggregation == Aggregation::Lacp {
            agreed(&rig)?;
        }
        rig.joined(false);
        Ok(Self { rig, driver })
    }
}

/// A link, whose ends are set up when they join.
fn wire(
    rig: &Rig,
    number: usize,
    [near, far]: [&str; 2],
    mtu: u32,
    queues: u32,
) -> Result<(), NetError> {
    let end = |name, first: u8| End {
        site: &rig.dut,
        name,
        mac: Mac([0x02, 0x6e, 0x69, 0, 0, first + number as u8]),
    };
    veth::connect(end(near, 0xe0), end(far, 0xf0), mtu, queues)?;
    // The pair is the far side of itself: the other direction needs the switches too.
    rig.dut.ethtool.set_features(far, &napi::SENDER_FEATURES)?;
    let receiving = &napi::RECEIVER_FEATURES;
    rig.dut.ethtool.set_features(near, receiving).map(drop)
}

/// Lets the links' ends receive in threads. What comes from A is received by `d0` on the first CPU, so the far ends are
/// for the second.
fn receive(rig: &mut Rig, spec: &RigSpec) -> Result<(), NetError> {
    let first = spec.path_cpus.first().copied();
    let second = spec.path_cpus.get(1).copied().or(first);
    let mut threads = Vec::new();
    for [near, far] in LINKS {
        for (name, cpu) in [(near, first), (far, second)] {
            rig.dut.links.wait_carrier(name, CARRIER_LIMIT)?;
            let notes = &mut rig.facts.notes;
            threads.extend(receive_threads::start(&rig.dut, name, &|_| cpu, notes)?);
        }
    }
    receive_threads::note_unpinned(&threads, &mut rig.facts.notes);
    let decoupled = LINKS
        .iter()
        .all(|link| Coupling::of(&threads, *link) == Coupling::Decoupled);
    if !decoupled {
        rig.facts.coupling = Coupling::SenderContext;
    }
    rig.facts.threads.extend(threads);
    Ok(())
}

/// Waits until LACP lets all links carry frames.
fn agreed(rig: &Rig) -> Result<(), NetError> {
    let begin = Instant::now();
    for port in LINKS.into_iter().flatten() {
        while !rig.dut.links.lacp_carries(port)? {
            if begin.elapsed() >= LACP_LIMIT {
                return Err(NetError::TimedOut {
                    operation: "wait for LACP at",
                    object: port.to_owned(),
                    after: LACP_LIMIT,
                });
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    Ok(())
}

impl BundleDriver {
    fn kind(self) -> &'static str {
        match self {
            Self::Bonding => "bond",
            Self::Team => "team",
        }
    }

    /// Names of the two bundles.
    fn names(self) -> [&'static str; 2] {
        match self {
            Self::Bonding => ["bond0", "bond1"],
            Self::Team => ["team0", "team1"],
        }
    }

    /// Makes one end and gives it its links.
    fn make(
        self,
        rig: &Rig,
        aggregation: Aggregation,
        name: &str,
        ends: [&str; 2],
        mtu: u32,
    ) -> Result<(), NetError> {
        let links = &rig.dut.links;
        match self {
            Self::Bonding => links.add_bond(name, bonding(aggregation))?,
            Self::Team => links.add_team(name)?,
        }
        let index = links.get(name)?.index;
        let teams = match self {
            Self::Bonding => None,
            Self::Team => Some(Teams::open(&rig.dut.ns)?),
        };
        if let Some(teams) = &teams {
            teams.set_mode(index, team_mode(aggregation))?;
        }
        // Links take the MTU of what they join, and its address.
        let first = links.get(ends[0])?;
        let like_first = LinkChange {
            mtu: Some(mtu),
            mac: first.mac,
            ..LinkChange::default()
        };
        links.change(name, &like_first)?;
        for end in ends {
            links.change(end, &enslaved(index))?;
        }
        if let (Some(teams), Aggregation::ActiveBackup) = (&teams, aggregation) {
            teams.set_active(index, first.index)?;
        }
        links.change(name, &up(None))
    }

    fn lacking(self, error: NetError) -> PathError {
        let absent = error.is_unsupported() || matches!(error, NetError::NotFound { .. });
        if !absent {
            return error.into();
        }
        match self {
            Self::Bonding => {
                PathError::no_module("bonding (CONFIG_BONDING)", "bonding max_bonds=0")
            }
            Self::Team => PathError::no_module("team (CONFIG_NET_TEAM and its modes)", "team"),
        }
    }
}

/// The module makes a bond of its own in the host's namespace unless it is told not to (`max_bonds` in
/// drivers/net/bonding/bond_main.c); the kernel, which would load it when it is asked for a bond, does not tell it.
fn load_bonding() -> Result<(), PathError> {
    if !module::is_unloaded("bonding") {
        return Ok(());
    }
    let loaded = MODPROBE.run(&NetNs::current()?, &["bonding", "max_bonds=0"], "");
    loaded.map_err(|error| PathError::Guest {
        why: format!(
            "the module bonding is not loaded, and would add bond0 to this host if the kernel loaded it: {error}"
        ),
        remedy: Remedy::here("modprobe bonding max_bonds=0 as root"),
    })
}

fn bonding(aggregation: Aggregation) -> Bonding {
    match aggregation {
        Aggregation::ActiveBackup => Bonding::ActiveBackup,
        Aggregation::BalanceRr => Bonding::BalanceRr,
        Aggregation::BalanceXor => Bonding::BalanceXor,
        Aggregation::Lacp => Bonding::Lacp,
    }
}

/// Plans ask a team for nothing else than these.
fn team_mode(aggregation: Aggregation) -> TeamMode {
    match aggregation {
        Aggregation::BalanceRr => TeamMode::RoundRobin,
        _ => TeamMode::ActiveBackup,
    }
}

impl Path for BundlePath {
    fn facts(&self) -> &PathFacts {
        &self.rig.facts
    }

    fn counters(&self) -> Result<PathCounters, NetError> {
        let [near, far] = self.driver.names();
        let whole = match self.driver {
            // A bond's counters are the sums of its links' (`bond_get_stats` in drivers/net/bonding/bond_main.c).
            BundleDriver::Bonding => Role::Bridge,
            BundleDriver::Team => Role::Inner,
        };
        self.rig.counters(&[
            ("br0", Role::Bridge),
            (near, whole),
            ("u0", Role::Inner),
            ("u1", Role::Inner),
            ("v0", Role::Inner),
            ("v1", Role::Inner),
            (far, whole),
            ("br1", Role::Bridge),
        ])
    }
}
