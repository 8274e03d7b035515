//! Open vSwitch between `d0` and `d1`, learning addresses like a bridge (action NORMAL): with the
//! kernel's datapath, or with the one in its own process.
//!
//! The kernel's datapath works in the threads that receive on `d0` and `d1`; ovs-vswitchd only
//! decides about the first frame of a flow. Without it the main thread of ovs-vswitchd does all:
//! it reads frames from a packet socket per interface.

use nicety_model::Remedy;
use nicety_model::note::{OvsSwitch, PathNote};
use nicety_model::path::Datapath;
use nicety_netdev::link::LinkCounters;
use nicety_netdev::net_error::NetError;
use nicety_netdev::netns::NetNs;
use nicety_netdev::openvswitch;

use super::instance::{Instance, Member, Setup, SwitchPort, all_there};
use super::program::Packaged;
use crate::counters::{InterfaceCounters, PathCounters};
use crate::endpoint_site::EndpointSite;
use crate::error::PathError;
use crate::neighbours;
use crate::path::{Neighbours, Path, PathFacts};
use crate::resettable::Resettable;
use crate::rig::{Rig, RigSpec};
use crate::tun::taps_there;
use crate::vlan::{self, VLAN};

/// Debian has the daemon twice, and may have made the one with DPDK the ordinary one.
pub(super) const DAEMON: Packaged = Packaged {
    name: "ovs-vswitchd",
    places: &[
        "/usr/lib/openvswitch-switch/ovs-vswitchd",
        "/usr/sbin/ovs-vswitchd",
        "/usr/local/sbin/ovs-vswitchd",
    ],
    package: "openvswitch-switch",
};

/// What the path shall be like.
#[derive(Debug, Clone)]
pub struct OvsSpec {
    /// The two ways to it.
    pub rig: RigSpec,
    /// The datapath; when absent the kernel's where the kernel has it.
    pub datapath: Option<Datapath>,
    /// Whether frames carry the tag of a VLAN at both ports.
    pub tagged: bool,
    /// CPUs of ovs-vswitchd; any when empty.
    pub cpus: Vec<u32>,
}

/// Two namespaces joined by Open vSwitch; gone when dropped.
#[derive(Debug)]
pub struct OvsPath {
    // Dropped in this order: the program before what it uses.
    instance: Instance,
    rig: Rig,
    datapath: Datapath,
    tagged: bool,
}

/// The datapath that is wanted on a kernel that has one or not, and whether the userspace one is taken
/// only because the kernel has none.
pub(super) fn choose(
    wanted: Option<Datapath>,
    kernel: bool,
) -> Result<(Datapath, bool), PathError> {
    match (wanted, kernel) {
        (Some(Datapath::Kernel), false) => Err(PathError::NoKernelSupport {
            what: "openvswitch datapath",
            remedy: Remedy::here_or_plan("modprobe openvswitch", "write datapath = \"userspace\""),
        }),
        (Some(datapath), _) => Ok((datapath, false)),
        (None, true) => Ok((Datapath::Kernel, false)),
        (None, false) => Ok((Datapath::Userspace, true)),
    }
}

impl OvsPath {
    /// Refuses what this machine cannot do; makes nothing.
    ///
    /// # Errors
    /// As [`OvsPath::build`], as far as it can be known beforehand.
    pub fn check(spec: &OvsSpec) -> Result<(), PathError> {
        all_there(&DAEMON)?;
        let kernel = openvswitch::has_kernel_datapath(&NetNs::current()?)?;
        match choose(spec.datapath, kernel)? {
            (Datapath::Userspace, _) => taps_there(),
            (Datapath::Kernel, _) => Ok(()),
        }
    }

    /// Builds the path and waits until both interfaces are switched. Its programs are killed
    /// when this process ends.
    ///
    /// # Errors
    /// [`PathError::NotInstalled`], [`PathError::NoKernelSupport`] for a kernel datapath that
    /// was asked for and is not there, [`PathError::Program`] with what the switch said, and
    /// those of [`BridgePath::build`](crate::BridgePath::build).
    pub fn build(spec: &OvsSpec) -> Result<Self, PathError> {
        DAEMON.find()?;
        let mut rig = Rig::build("ovs", &spec.rig)?;
        if spec.tagged {
            vlan::keep_tags(&rig)?;
        }
        let member = if spec.tagged {
            Member::Trunk
        } else {
            Member::Plain
        };
        let kernel = openvswitch::has_kernel_datapath(&rig.dut.ns)?;
        let (datapath, by_itself) = choose(spec.datapath, kernel)?;
        let instance = Instance::start(&Setup {
            ns: &rig.dut.ns,
            daemon: &DAEMON,
            cpus: &spec.cpus,
            config: Vec::new(),
            datapath,
            ports: ["d0", "d1"]
                .map(|name| SwitchPort {
                    member,
                    ..SwitchPort::plain(name, Vec::new())
                })
                .into(),
            dpdk: false,
        })?;
        let facts = &mut rig.facts;
        facts.threads.extend(instance.threads()?);
        facts.vlan = spec.tagged.then_some(VLAN);
        rig.joined(datapath == Datapath::Userspace);
        let switch = OvsSwitch {
            version: instance.version().to_owned(),
            userspace: datapath == Datapath::Userspace,
        };
        let note = PathNote::Ovs { switch, by_itself };
        rig.facts.notes.push(note.into());
        if spec.tagged {
            let note = PathNote::OvsTrunks { vlan: VLAN };
            rig.facts.notes.push(note.into());
        }
        Ok(Self {
            instance,
            rig,
            datapath,
            tagged: spec.tagged,
        })
    }

    /// The datapath that carries the frames.
    pub fn datapath(&self) -> Datapath {
        self.datapath
    }
}

impl Path for OvsPath {
    fn facts(&self) -> &PathFacts {
        &self.rig.facts
    }

    fn counters(&self) -> Result<PathCounters, NetError> {
        let mut counters = self.rig.counters(&[])?;
        let arrived = arrived(&counters);
        let switch = lookup_counters(&self.instance, self.datapath, arrived)?;
        // After `a` and `d0`.
        counters.interfaces.insert(2, switch);
        Ok(counters)
    }

    fn resettable(&self) -> Option<&dyn Resettable> {
        Some(self.instance.daemon())
    }

    fn neighbours(&mut self) -> Option<&mut dyn Neighbours> {
        Some(self)
    }
}

impl Neighbours for OvsPath {
    fn add(&mut self, pairs: u32) -> Result<Vec<[EndpointSite; 2]>, PathError> {
        let (instance, datapath) = (&mut self.instance, self.datapath);
        let member = if self.tagged {
            Member::Access
        } else {
            Member::Plain
        };
        neighbours::on_switch(&self.rig.dut.ns, pairs, &mut |joining| {
            instance.join("br0", joining, datapath, member)
        })
    }
}

/// Frames that the switch's interfaces received.
pub(super) fn arrived(counters: &PathCounters) -> u64 {
    let received = |name| Some(counters.of(name)?.rx_packets);
    ["d0", "d1"].into_iter().filter_map(received).sum()
}

/// What a switch counted whose interfaces received `arrived` frames: each is looked up once.
pub(super) fn lookup_counters(
    instance: &Instance,
    datapath: Datapath,
    arrived: u64,
) -> Result<InterfaceCounters, NetError> {
    let seen = instance.counters()?;
    let looked_up = seen.hit + seen.missed + seen.lost;
    let switch = LinkCounters {
        rx_packets: looked_up,
        // Waiting for a decision there was no room for.
        rx_dropped: seen.lost,
        // What the interfaces received and the daemon never read: its sockets were full.
        rx_missed_errors: match datapath {
            Datapath::Kernel => 0,
            Datapath::Userspace => arrived.saturating_sub(looked_up),
        },
        ..LinkCounters::default()
    };
    Ok(InterfaceCounters::inner("ovs", switch))
}
