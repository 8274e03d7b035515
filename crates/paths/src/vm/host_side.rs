//! What is between the tester's interfaces and those of guests, on the host.

use std::path::PathBuf;

use nicety_guests::devices::Backend;
use nicety_model::Remedy;
use nicety_model::plan::{VmConfig, VmNic, VmSwitch};
use nicety_netdev::link::{LinkChange, Mac, Share, VethEnd};
use nicety_netdev::net_error::NetError;
use nicety_netdev::tap;

use super::spec::VmSpec;
use crate::counters::Role;
use crate::error::PathError;
use crate::function_rig::{self, OnFunctions};
use crate::guest::{behind, macs};
use crate::interface::up;
use crate::rig::{Rig, RigSpec};
use crate::run_dir::RunDir;
use crate::sriov;
use crate::switch::{DpdkSpec, guest_port, plug};
use crate::tun::taps_there;
use crate::vlan::{self, ENDS as FARS, SUB_INTERFACES, VLAN};
use crate::xdp_redirect;

/// Smallest MTU of everything on the path.
const MTU: u32 = 1500;
const BRIDGES: [&str; 2] = ["br0", "br1"];

/// MTU of everything on the path.
pub(super) fn mtu(spec: &VmSpec) -> u32 {
    spec.largest_frame.mtu_needed().max(MTU)
}

/// The host's part without the switches that are programs; gone when dropped.
#[derive(Debug)]
pub(super) struct HostSide {
    pub(super) rig: Rig,
    /// What NIC 0 and NIC 1 of every guest hang on.
    pub(super) backends: Vec<[Backend; 2]>,
    /// The kernel's interfaces that all guests share, on either side in the order in which frames
    /// from A meet them.
    pub(super) ends: [Vec<(String, Role)>; 2],
    /// Those of every guest alone, on either side in that order.
    pub(super) beside: Vec<[Vec<String>; 2]>,
    /// Sockets of switches built on DPDK.
    pub(super) sockets: Vec<[PathBuf; 2]>,
    /// The sockets' directory.
    pub(super) dir: Option<RunDir>,
}

impl HostSide {
    /// Without a switch that is a program.
    fn of(
        rig: Rig,
        backends: Vec<[Backend; 2]>,
        ends: [Vec<(String, Role)>; 2],
        beside: Vec<[Vec<String>; 2]>,
    ) -> Self {
        Self {
            rig,
            backends,
            ends,
            beside,
            sockets: Vec::new(),
            dir: None,
        }
    }
}

/// A switch built on DPDK as the guest's plan wants it.
pub(super) fn dpdk(spec: &VmSpec) -> DpdkSpec {
    let ask = &spec.ask;
    DpdkSpec {
        rig: RigSpec {
            path_cpus: receiving_cpus(spec),
            largest_frame: spec.largest_frame,
            // testpmd has as many on every port.
            queues: if ask.switch == VmSwitch::Testpmd {
                ask.queues
            } else {
                ask.host_queues
            },
        },
        vdev: ask.vdev,
        cores: ask.cores,
        cpus: spec.switch_cpus.clone(),
    }
}

/// CPUs for the receive threads: of several queues they keep off those where a switch polls, if that
/// leaves any.
fn receiving_cpus(spec: &VmSpec) -> Vec<u32> {
    let all = &spec.path_cpus;
    if spec.ask.host_queues == 1 || !spec.ask.switch.on_dpdk() {
        return all.clone();
    }
    let polling = spec.switch_cpus.get(..spec.ask.cores as usize);
    let free = |cpu: &&u32| !polling.unwrap_or_default().contains(cpu);
    let free: Vec<u32> = all.iter().filter(free).copied().collect();
    if free.is_empty() { all.clone() } else { free }
}

/// Builds them; `forward` says whether frames go through the guests.
pub(super) fn build(spec: &VmSpec, forward: bool) -> Result<HostSide, PathError> {
    let ask = &spec.ask;
    if let Some(pf) = ask.pf.as_deref().filter(|_| ask.nic.on_function()) {
        return on_functions(spec, pf);
    }
    let rig = match ask.switch {
        VmSwitch::Testpmd => Rig::build("vm", &dpdk(spec).rig)?,
        _ => Rig::with_host_queues("vm", &dpdk(spec).rig)?,
    };
    if ask.switch.tags() {
        vlan::keep_tags(&rig)?;
    }
    if ask.switch.on_dpdk() {
        let dir = RunDir::create()?;
        let socket = |guest, side| dir.file(&format!("{}.sock", guest_port(guest, side)));
        let guests = 0..ask.vms as usize;
        let sockets: Vec<_> = guests
            .map(|guest| [socket(guest, 0), socket(guest, 1)])
            .collect();
        let backends = sockets.iter().cloned();
        return Ok(HostSide {
            backends: backends
                .map(|sockets| sockets.map(Backend::VhostUser))
                .collect(),
            rig,
            ends: Default::default(),
            beside: Vec::new(),
            sockets,
            dir: Some(dir),
        });
    }
    if matches!(ask.nic, VmNic::Macvtap) {
        return macvtaps(rig, spec);
    }
    if ask.nic == VmNic::AfXdp {
        let backends = vec![FARS.map(|far| Backend::AfXdp(far.to_owned()))];
        let beside = vec![Default::default()];
        return Ok(HostSide::of(rig, backends, Default::default(), beside));
    }
    let mut ends = [Vec::new(), Vec::new()];
    for (side, end) in ends.iter_mut().enumerate() {
        *end = bridge(&rig, ask.switch, side)?;
    }
    ends[1].reverse();
    let (mut backends, mut beside) = (Vec::new(), Vec::new());
    for guest in 0..ask.vms as usize {
        backends.push([tap(&rig, spec, guest, 0)?, tap(&rig, spec, guest, 1)?]);
        let bridged = matches!(ask.switch, VmSwitch::Ovs { bridged: true, .. });
        let mut own = [0, 1].map(|side| {
            let mut all = vec![guest_port(guest, side)];
            all.extend(bridged.then(|| plug(guest, side)).into_iter().flatten());
            all
        });
        own[0].reverse();
        beside.push(own);
    }
    if forward && ask.vms > 1 && !matches!(ask.switch, VmSwitch::Ovs { .. }) {
        steer(&rig, spec)?;
    }
    Ok(HostSide::of(rig, backends, ends, beside))
}

/// A kernel bridge on one side, where the plan wants one; the interfaces from the tester's to it.
fn bridge(rig: &Rig, switch: VmSwitch, side: usize) -> Result<Vec<(String, Role)>, PathError> {
    let (links, name) = (&rig.dut.links, BRIDGES[side]);
    let mut places = Vec::new();
    let far = match switch {
        VmSwitch::Bridge => {
            links.add_bridge(name)?;
            FARS[side]
        }
        VmSwitch::VlanBridge { filtering: true } => {
            vlan::filtering_bridge(rig, name)?;
            FARS[side]
        }
        VmSwitch::VlanBridge { filtering: false } => {
            links.add_bridge(name)?;
            vlan::sub_interface(rig, side)?;
            // What it drops the interface below it has counted already.
            places.push((SUB_INTERFACES[side].to_owned(), Role::Bridge));
            SUB_INTERFACES[side]
        }
        VmSwitch::Ovs { .. } | VmSwitch::OvsDpdk | VmSwitch::Testpmd => return Ok(places),
    };
    places.push((name.to_owned(), Role::Bridge));
    let master = Some(links.get(name)?.index);
    links.change(far, &up(master))?;
    if switch == (VmSwitch::VlanBridge { filtering: true }) {
        links.allow_vlan(links.get(far)?.index, VLAN)?;
    }
    rig.dut.set_up(name)?;
    Ok(places)
}

/// A guest's own bridge, with one end of a veth pair in it; the other is for Open vSwitch. The
/// number of the bridge.
fn plugged(rig: &Rig, mtu: u32, [bridge, near, far]: [String; 3]) -> Result<u32, PathError> {
    let (links, ns) = (&rig.dut.links, &rig.dut.ns);
    links.add_bridge(&bridge)?;
    let end = |name| VethEnd {
        mtu,
        ..VethEnd::plain(ns, name)
    };
    links.add_veth(end(near.as_str()), end(far.as_str()))?;
    let index = links.get(&bridge)?.index;
    links.change(&near, &up(Some(index)))?;
    links.change(&far, &up(None))?;
    links.change(&bridge, &up(None))?;
    Ok(index)
}

/// What an interface beside a guest counts as. Of a pair's two ends one is enough: what one could not
/// send the other has counted as not received.
pub(super) fn role(place: &str) -> Role {
    match place.get(..3) {
        Some("qbr" | "qvb") => Role::Bridge,
        _ => Role::Inner,
    }
}

/// The tap of NIC `side` of a guest, on the bridge where there is one.
fn tap(rig: &Rig, spec: &VmSpec, guest: usize, side: usize) -> Result<Backend, PathError> {
    let (ask, dut, name) = (&spec.ask, &rig.dut, guest_port(guest, side));
    taps_there()?;
    let queues = tap::create(&dut.ns, &name, ask.queues)?;
    let master = match ask.switch {
        VmSwitch::Ovs { bridged: true, .. } => Some(plugged(rig, mtu(spec), plug(guest, side))?),
        VmSwitch::Ovs { .. } => None,
        _ => Some(dut.links.get(BRIDGES[side])?.index),
    };
    let mtu = Some(mtu(spec));
    dut.links.change(&name, &LinkChange { mtu, ..up(master) })?;
    if ask.switch == (VmSwitch::VlanBridge { filtering: true }) {
        dut.links
            .allow_untagged(dut.links.get(&name)?.index, VLAN)?;
    }
    Ok(Backend::Tap {
        queues,
        vhost: ask.nic == VmNic::VhostNet,
    })
}

/// Says beforehand through which guest the frames of every pair of stations go: several guests
/// between two bridges are loops, and frames that nobody knows would go round in them.
fn steer(rig: &Rig, spec: &VmSpec) -> Result<(), PathError> {
    let links = &rig.dut.links;
    let vlan = match spec.ask.switch {
        VmSwitch::VlanBridge { filtering: true } => Some(VLAN),
        _ => None,
    };
    for (side, far) in FARS.into_iter().enumerate() {
        let far = match spec.ask.switch {
            VmSwitch::VlanBridge { filtering: false } => SUB_INTERFACES[side],
            _ => far,
        };
        links.do_not_learn(far)?;
        for (guest, stations) in spec.guest_stations().iter().enumerate() {
            let port = guest_port(guest, side);
            links.isolate(&port)?;
            links.forward_to(far, stations[side], vlan)?;
            links.forward_to(&port, stations[1 - side], vlan)?;
        }
    }
    Ok(())
}

/// Interface of a guest's macvtap on one side.
fn macvtap_name(guest: usize, side: usize) -> String {
    format!("m{}", 2 * guest + side)
}

/// Whether a place of the path is a macvtap.
pub(super) fn is_macvtap(place: &str) -> bool {
    let number = place.strip_prefix('m');
    number.is_some_and(|n| n.parse::<usize>().is_ok())
}

/// The function's interface below a guest's macvtap.
fn function_name(guest: usize, side: usize) -> String {
    format!("d{}", 2 * guest + side)
}

/// Which of the frames on the tester's interfaces a guest's macvtaps get.
fn share(spec: &VmSpec, guest: usize) -> (Share, Option<[Mac; 2]>) {
    match (spec.neighbours, spec.ask.vms) {
        (0, 1) => (Share::Passthru, None),
        // Each has what goes to the station behind it, from either side.
        (0, _) => {
            let stations = spec.stations_of(guest);
            (Share::Private, Some(behind(stations)))
        }
        // Beside neighbours it gets no frames but its own.
        _ => (Share::Bridge, Some(macs(guest))),
    }
}

/// Macvtaps on the tester's side itself, which several guests share.
fn macvtaps(rig: Rig, spec: &VmSpec) -> Result<HostSide, PathError> {
    let (mut backends, mut beside) = (Vec::new(), Vec::new());
    for guest in 0..spec.ask.vms as usize {
        let (share, macs) = share(spec, guest);
        let one = |side: usize| {
            let mac = macs.map(|macs| macs[side]);
            macvtap(&rig, &macvtap_name(guest, side), FARS[side], (share, mac))
        };
        backends.push([one(0)?, one(1)?]);
        beside.push([0, 1].map(|side| vec![macvtap_name(guest, side)]));
    }
    Ok(HostSide::of(rig, backends, Default::default(), beside))
}

fn macvtap(
    rig: &Rig,
    name: &str,
    below: &str,
    (share, mac): (Share, Option<Mac>),
) -> Result<Backend, PathError> {
    let dut = &rig.dut;
    let below = dut.links.get(below)?.index;
    let queue = tap::create_macvtap(&dut.ns, name, below, share).map_err(no_macvtap)?;
    if mac.is_some() {
        let own = LinkChange {
            mac,
            ..LinkChange::default()
        };
        dut.links.change(name, &own)?;
        // The host does not know which groups the guest is in.
        dut.links.take_groups(name)?;
    }
    dut.links.change(name, &up(None))?;
    Ok(Backend::Tap {
        queues: vec![queue],
        vhost: open_vhost().is_ok(),
    })
}

fn on_functions(spec: &VmSpec, pf: &str) -> Result<HostSide, PathError> {
    let ask: &VmConfig = &spec.ask;
    let guests = 0..ask.vms as usize;
    let rig = function_rig::build(&OnFunctions {
        pf,
        macs: macs(0),
        stations: &spec.guest_stations(),
        largest: spec.largest_frame,
        neighbours: spec.neighbours,
    })?;
    let functions = rig.functions.as_ref().ok_or(PathError::Stopped)?;
    let (mut backends, mut beside) = (Vec::new(), Vec::new());
    if ask.nic == VmNic::Sriov {
        for guest in 0..ask.vms {
            let [near, far] = sriov::of_guest(guest);
            let backend = [functions.pass_through(near)?, functions.pass_through(far)?];
            backends.push(backend.map(Backend::Function));
        }
        if ask.vms == 1 {
            functions.trust()?;
        }
    } else {
        for guest in guests.clone() {
            for (side, vf) in sriov::of_guest(guest as u32).into_iter().enumerate() {
                let name = function_name(guest, side);
                functions.interface(vf, &rig.dut.ns, &name)?;
                function_rig::set_up(&rig.dut, &name, spec.largest_frame)?;
            }
        }
        if ask.vms == 1 {
            functions.trust()?;
        }
        for guest in guests {
            let stations = behind(spec.stations_of(guest));
            let one = |side: usize| -> Result<Backend, PathError> {
                let below = function_name(guest, side);
                if ask.vms == 1 {
                    rig.dut.links.add_station(&below, stations[side])?;
                }
                let name = macvtap_name(guest, side);
                macvtap(&rig, &name, &below, (Share::Passthru, None))
            };
            backends.push([one(0)?, one(1)?]);
            let [near, far] = [0, 1].map(|side| macvtap_name(guest, side));
            beside.push(match guest {
                // Those of the first guest are named as the ends of the way on every path.
                0 => [vec![near], vec![far]],
                _ => [
                    vec![function_name(guest, 0), near],
                    vec![far, function_name(guest, 1)],
                ],
            });
        }
    }
    Ok(HostSide::of(rig, backends, Default::default(), beside))
}

const VHOST: &str = "/dev/vhost-net";

/// Whether the host has what the NIC needs.
pub(super) fn vhost_there(spec: &VmSpec) -> Result<(), PathError> {
    if spec.ask.nic != VmNic::VhostNet {
        return Ok(());
    }
    open_vhost().map_err(|e| PathError::Guest {
        why: format!("nic = \"vhost-net\" needs {VHOST}: {e}"),
        remedy: Remedy::here("modprobe vhost_net as root, or measure in the lab (nicety lab run)"),
    })
}

/// Whether QEMU's AF_XDP sockets can take the frames.
pub(super) fn xdp_sockets(spec: &VmSpec) -> Result<(), PathError> {
    if spec.ask.nic != VmNic::AfXdp {
        return Ok(());
    }
    xdp_redirect::loadable(spec.largest_frame)
}

fn open_vhost() -> std::io::Result<()> {
    let opened = std::fs::File::options().read(true).write(true).open(VHOST);
    opened.map(drop)
}

fn no_macvtap(error: NetError) -> PathError {
    let remedy = match &error {
        NetError::Unsupported { .. } => {
            "modprobe macvtap as root, or measure in the lab (nicety lab run)"
        }
        NetError::NotPermitted { .. } => "measure as root: the devices of macvtaps are root's",
        NetError::NotFound { .. } => {
            "measure on the host: /dev does not show new devices here, as in a container"
        }
        _ => return error.into(),
    };
    PathError::Guest {
        why: format!("nic = \"macvtap\": {error}"),
        remedy: Remedy::here(remedy),
    }
}
