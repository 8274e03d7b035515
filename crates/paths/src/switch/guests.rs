//! Switches that are programs, between the tester's interfaces and guests'.
//!
//! ```text
//!  ovs, ovs-dpdk:  d0 - br0 - t0 ==== guest 0 ==== t1 - br1 - d1
//!                         - t2 ==== guest 1 ==== t3 -
//!  ovs-bridge:     d0 - br0 - qvo0 = qvb0 - qbr0 - t0 ==== guest 0 ==== t1 - qbr1 - qvb1 = qvo1 - br1 - d1
//!  testpmd:        d0 ------- t0 ==== guest 0 ==== t1 ------- d1
//! ```
//!
//! On `ovs-bridge` each interface of a guest is on a bridge of the kernel's, and a veth pair leads from
//! there to Open vSwitch: where rules of the kernel's firewall filter what guests send.
//! On `ovs` the guests' interfaces `t0`, `t1`, … are taps. On the switches built on DPDK they are
//! sockets over which QEMU hands out the guest's memory (vhost-user): QEMU listens, the switch
//! connects.

use std::path::{Path, PathBuf};

use nicety_model::note::{OvsSwitch, PathNote};
use nicety_model::plan::VmSwitch;
use nicety_netdev::link::{LinkCounters, Mac};
use nicety_netdev::net_error::NetError;
use nicety_netdev::netns::NetNs;
use nicety_netdev::openvswitch;

use super::instance::{self, Instance, Member, Setup, SwitchPort};
use super::testpmd::{self, Ports, Running};
use super::{Datapath, DpdkSpec, OvsDpdkPath, TestpmdPath, dpdk, ovs, ovs_dpdk};
use crate::counters::{InterfaceCounters, PathCounters, Polling};
use crate::error::PathError;
use crate::neighbours::Joining;
use crate::path::PathThread;
use crate::vlan::{ENDS as FARS, VLAN};

const BRIDGES: [&str; 2] = ["br0", "br1"];

/// What shall be between tester and guests.
pub(crate) struct GuestSwitchSpec<'a> {
    /// Namespace of the interfaces, which are there.
    pub(crate) ns: &'a NetNs,
    /// CPUs of its threads, but for those that poll.
    pub(crate) cpus: &'a [u32],
    /// Where threads poll, and how they get at the tester's interfaces.
    pub(crate) dpdk: &'a DpdkSpec,
    /// Sockets of every guest's NICs, for switches that want them.
    pub(crate) sockets: &'a [[PathBuf; 2]],
    /// Stations at the tester's ports, a pair per guest.
    pub(crate) stations: &'a [[Mac; 2]],
    /// Whether frames go through the guests.
    pub(crate) forward: bool,
}

/// A running switch; gone when dropped.
#[derive(Debug)]
pub(crate) struct GuestSwitch {
    program: Program,
    guests: usize,
    ports: GuestPorts,
    note: PathNote,
}

#[derive(Debug)]
enum Program {
    Ovs(Instance, Datapath),
    OvsDpdk(Instance),
    Testpmd(Running),
}

/// Name of a guest's interface on one of the two sides.
pub(crate) fn port(guest: usize, side: usize) -> String {
    format!("t{}", 2 * guest + side)
}

/// What connects a guest's own bridge with Open vSwitch: the bridge, its end of the pair, and the
/// switch's, named as OpenStack's hybrid plug names them.
pub(crate) fn plug(guest: usize, side: usize) -> [String; 3] {
    ["qbr", "qvb", "qvo"].map(|what| format!("{what}{}", 2 * guest + side))
}

/// How guests' interfaces get to the switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Attachment {
    /// They are ports of it.
    Direct,
    /// Over a bridge of the kernel's for each and a veth pair.
    Hybrid,
}

impl Attachment {
    /// Name of the switch's port for a guest on one of the two sides.
    fn port(self, guest: usize, side: usize) -> String {
        match self {
            Self::Direct => port(guest, side),
            Self::Hybrid => {
                let [_, _, end] = plug(guest, side);
                end
            }
        }
    }
}

/// What the ports of a switch have to do with the path's VLAN, and how guests get to them.
#[derive(Debug, Clone, Copy)]
struct GuestPorts {
    /// Towards the tester.
    far: Member,
    /// Towards guests and neighbours.
    near: Member,
    attachment: Attachment,
}

impl GuestPorts {
    /// Of a switch of this kind.
    fn of(kind: VmSwitch) -> Self {
        let [far, near] = if kind.tags() {
            [Member::Trunk, Member::Access]
        } else {
            [Member::Plain; 2]
        };
        let attachment = match kind {
            VmSwitch::Ovs { bridged: true, .. } => Attachment::Hybrid,
            _ => Attachment::Direct,
        };
        Self {
            far,
            near,
            attachment,
        }
    }
}

impl GuestSwitch {
    /// Whether it is installed, and fits this machine.
    pub(crate) fn check(kind: VmSwitch, dpdk: &DpdkSpec, guests: u32) -> Result<(), PathError> {
        match kind {
            VmSwitch::Ovs { .. } => instance::all_there(&ovs::DAEMON),
            VmSwitch::OvsDpdk => OvsDpdkPath::check_with_guests(dpdk, guests),
            VmSwitch::Testpmd => TestpmdPath::check(dpdk),
            VmSwitch::Bridge | VmSwitch::VlanBridge { .. } => Ok(()),
        }
    }

    /// Starts it; nothing for switches that are no programs. It ends with this process.
    pub(crate) fn start(
        kind: VmSwitch,
        spec: &GuestSwitchSpec<'_>,
    ) -> Result<Option<Self>, PathError> {
        let ports = GuestPorts::of(kind);
        let (program, note) = match kind {
            VmSwitch::Bridge | VmSwitch::VlanBridge { .. } => return Ok(None),
            VmSwitch::Ovs { .. } => open_vswitch(spec, ports)?,
            VmSwitch::OvsDpdk => open_vswitch_on_dpdk(spec, ports)?,
            VmSwitch::Testpmd => pairs(spec)?,
        };
        Ok(Some(Self {
            program,
            guests: spec.stations.len(),
            ports,
            note,
        }))
    }

    /// Waits until guests that have booted are sent frames. A switch that shares their memory hears
    /// of their drivers on its own time, and drops until then.
    pub(crate) fn wait_for_guests(&mut self) -> Result<(), PathError> {
        let guests = self.guests;
        match &mut self.program {
            Program::Ovs(..) => Ok(()),
            Program::OvsDpdk(instance) => (0..guests)
                .flat_map(|guest| [0, 1].map(|side| port(guest, side)))
                .try_for_each(|port| instance.wait_for_guest(&port)),
            Program::Testpmd(running) => running.wait_for_guests(1..3),
        }
    }

    /// What it is, for the run's notes.
    pub(crate) fn note(&self) -> &PathNote {
        &self.note
    }

    /// Whether one of the kind carries frames in a program, with the interfaces of `ns` as they are:
    /// it knows nothing of checksums left to an interface.
    pub(crate) fn carries_itself(kind: VmSwitch, ns: &NetNs) -> Result<bool, NetError> {
        Ok(match kind {
            VmSwitch::Ovs { .. } => !openvswitch::has_kernel_datapath(ns)?,
            VmSwitch::Bridge | VmSwitch::VlanBridge { .. } => false,
            VmSwitch::OvsDpdk | VmSwitch::Testpmd => true,
        })
    }

    /// Takes a neighbour in on the near side.
    pub(crate) fn join(&mut self, joining: &Joining<'_>) -> Result<String, PathError> {
        match &mut self.program {
            Program::Ovs(instance, datapath) => {
                instance.join(BRIDGES[0], joining, *datapath, self.ports.near)
            }
            Program::OvsDpdk(_) | Program::Testpmd(_) => {
                Err(PathError::NoNeighbours { kind: "the guest" })
            }
        }
    }

    /// Its threads that work for the path.
    pub(crate) fn threads(&self) -> Result<Vec<PathThread>, NetError> {
        match &self.program {
            Program::Ovs(instance, _) | Program::OvsDpdk(instance) => instance.threads(),
            Program::Testpmd(running) => Ok(running.threads.clone()),
        }
    }

    /// Its threads that poll, and what they have counted.
    pub(crate) fn polling(&self) -> Vec<Polling> {
        match &self.program {
            Program::Ovs(..) => Vec::new(),
            Program::OvsDpdk(instance) => instance.polling(),
            Program::Testpmd(running) => running.polling(),
        }
    }

    /// Names of its places between `d0` and the guests, and between these and `d1`.
    pub(crate) fn ends(&self) -> [Vec<String>; 2] {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        match self.program {
            Program::Ovs(..) => [names(&["ovs"]), Vec::new()],
            Program::OvsDpdk(_) => [names(&["ovs p0", "ovs"]), names(&["ovs p1"])],
            Program::Testpmd(_) => [names(&["testpmd port 0"]), names(&["testpmd port 3"])],
        }
    }

    /// Name of its place on one side of a guest, where it is none of the kernel's.
    pub(crate) fn beside(&self, guest: usize, side: usize) -> Option<String> {
        match self.program {
            Program::Ovs(..) => None,
            Program::OvsDpdk(_) => Some(format!("ovs {}", port(guest, side))),
            Program::Testpmd(_) => Some(format!("testpmd port {}", 1 + side)),
        }
    }

    /// What it counts, at the places named above; `others` are the kernel's counters.
    pub(crate) fn places(&self, others: &PathCounters) -> Result<Vec<InterfaceCounters>, NetError> {
        let arrived = |name: &str| others.of(name).map(|counters| counters.rx_packets);
        match &self.program {
            Program::Ovs(instance, datapath) => {
                let attachment = self.ports.attachment;
                let guests = (0..self.guests)
                    .flat_map(|guest| [0, 1].map(|side| attachment.port(guest, side)));
                let names = FARS.map(str::to_owned).into_iter().chain(guests);
                // Every frame is looked up once on either side of the guest.
                let all = names.filter_map(|name| arrived(&name)).sum();
                Ok(vec![ovs::lookup_counters(instance, *datapath, all)?])
            }
            Program::OvsDpdk(instance) => {
                let seen = instance.counters()?;
                let at = |name: &str, arrived: Option<u64>| -> InterfaceCounters {
                    let counters: LinkCounters = ovs_dpdk::port_counters(&seen, name, arrived);
                    InterfaceCounters::inner(format!("ovs {name}"), counters)
                };
                let lookups = InterfaceCounters::inner("ovs", ovs_dpdk::lookups(&seen));
                let mut places = vec![at("p0", arrived("d0")), at("p1", arrived("d1")), lookups];
                for guest in 0..self.guests {
                    places.extend([0, 1].map(|side| at(&port(guest, side), None)));
                }
                Ok(places)
            }
            Program::Testpmd(running) => {
                let mut places = running.pair(0, [arrived("d0"), None])?.to_vec();
                places.extend(running.pair(2, [None, arrived("d1")])?);
                Ok(places)
            }
        }
    }
}

/// Ports of two bridges: `fars` and the guests' interfaces. Where several guests are between the
/// bridges, frames must not come back through another of them.
fn ports(
    spec: &GuestSwitchSpec<'_>,
    fars: [(&str, Vec<String>); 2],
    kind: GuestPorts,
    guest: impl Fn(usize, usize) -> Vec<String>,
) -> Vec<SwitchPort> {
    let guests = spec.stations.len();
    let mut ports = Vec::new();
    for (side, ((name, columns), bridge)) in fars.into_iter().zip(BRIDGES).enumerate() {
        ports.push(SwitchPort {
            bridge,
            name: name.to_owned(),
            columns,
            protected: false,
            member: kind.far,
        });
        ports.extend((0..guests).map(|number| SwitchPort {
            bridge,
            name: kind.attachment.port(number, side),
            columns: guest(number, side),
            protected: spec.forward && guests > 1,
            member: kind.near,
        }));
    }
    ports
}

/// Says beforehand through which guest the frames of every pair of stations go.
fn steer(
    instance: &Instance,
    spec: &GuestSwitchSpec<'_>,
    fars: [&str; 2],
    kind: GuestPorts,
) -> Result<(), PathError> {
    if !spec.forward || spec.stations.len() < 2 {
        return Ok(());
    }
    for (guest, stations) in spec.stations.iter().enumerate() {
        for side in [0, 1] {
            let bridge = BRIDGES[side];
            instance.forward_to(bridge, fars[side], stations[side], kind.far)?;
            let behind = stations[1 - side];
            let port = kind.attachment.port(guest, side);
            instance.forward_to(bridge, &port, behind, kind.near)?;
        }
    }
    Ok(())
}

fn open_vswitch(
    spec: &GuestSwitchSpec<'_>,
    guests: GuestPorts,
) -> Result<(Program, PathNote), PathError> {
    let datapath = if openvswitch::has_kernel_datapath(spec.ns)? {
        Datapath::Kernel
    } else {
        Datapath::Userspace
    };
    let instance = Instance::start(&Setup {
        ns: spec.ns,
        daemon: &ovs::DAEMON,
        cpus: spec.cpus,
        config: Vec::new(),
        datapath,
        ports: ports(spec, FARS.map(|name| (name, Vec::new())), guests, |_, _| {
            Vec::new()
        }),
        dpdk: false,
    })?;
    steer(&instance, spec, FARS, guests)?;
    let note = PathNote::GuestOnOvs {
        switch: OvsSwitch {
            version: instance.version().to_owned(),
            userspace: datapath == Datapath::Userspace,
        },
        bridged: guests.attachment == Attachment::Hybrid,
        vlan: (guests.near == Member::Access).then_some(VLAN),
    };
    Ok((Program::Ovs(instance, datapath), note))
}

fn open_vswitch_on_dpdk(
    spec: &GuestSwitchSpec<'_>,
    guests: GuestPorts,
) -> Result<(Program, PathNote), PathError> {
    let polling = spec.dpdk.polling()?;
    let fars = ["p0", "p1"];
    let queues = spec.dpdk.rig.queues.max(1);
    let mut numbers = 0..2;
    let interfaces = fars.map(|name| {
        let number = numbers.next().unwrap_or_default();
        (name, ovs_dpdk::port(spec.dpdk.vdev, number, queues))
    });
    let own = ovs_dpdk::own_ports(spec.stations.len() as u32);
    let instance = Instance::start(&Setup {
        ns: spec.ns,
        daemon: &ovs_dpdk::DAEMON,
        cpus: spec.dpdk.beside(),
        config: ovs_dpdk::configuration(spec.dpdk, polling, own),
        datapath: Datapath::Userspace,
        ports: ports(spec, interfaces, guests, |guest, side| {
            let socket = spec.sockets.get(guest).map(|sockets| &sockets[side]);
            vec![
                "type=dpdkvhostuserclient".to_owned(),
                format!("options:vhost-server-path=\"{}\"", text(socket)),
            ]
        }),
        dpdk: true,
    })?;
    steer(&instance, spec, fars, guests)?;
    let note = PathNote::GuestOnOvsDpdk {
        version: instance.version().to_owned(),
        switch: ovs_dpdk::words(&instance, spec.dpdk, polling),
    };
    Ok((Program::OvsDpdk(instance), note))
}

/// testpmd joins its first port with its second, its third with its fourth.
fn pairs(spec: &GuestSwitchSpec<'_>) -> Result<(Program, PathNote), PathError> {
    let queues = spec.dpdk.rig.queues.max(1);
    let vhost = |side: usize| {
        let socket = spec.sockets.first().map(|sockets| &sockets[side]);
        format!(
            "net_vhost{side},iface={},client=1,queues={queues}",
            text(socket)
        )
    };
    let interface = |number| dpdk::device(spec.dpdk.vdev, number, queues);
    let vdevs = [interface(0), vhost(0), vhost(1), interface(1)];
    let running = Running::start(spec.dpdk, spec.ns, Ports::Vdevs(&vdevs))?;
    let interfaces = dpdk::interfaces(spec.dpdk.vdev);
    let switch = testpmd::words(&running, spec.dpdk.polling()?, interfaces);
    let note = PathNote::GuestOnTestpmd { switch };
    Ok((Program::Testpmd(running), note))
}

fn text(socket: Option<&PathBuf>) -> String {
    socket.map_or_else(String::new, |path| Path::display(path).to_string())
}
