//! A guest that forwards between two NICs.
//!
//! ```text
//!  namespace A        namespace DUT            guest             namespace DUT       namespace B
//!      a ---- d0 - br0 - t0 ==== NIC 0 - kernel bridge - NIC 1 ==== t1 - br1 - d1 ---- b
//! ```
//!
//! `a`, `d0`, `d1` and `b` are as on the bridge path, with the same switches and threads. `t0` and
//! `t1` are taps whose other ends QEMU holds. With `nic = "macvtap"` there are no bridges: macvtaps
//! `m0` and `m1` on `d0` and `d1` take their places. With `nic = "sriov"` the guest's NICs are
//! virtual functions, and with `nic = "sriov-macvtap"` it has macvtaps on them; the tester's ports
//! are functions of the same port then. The namespaces are held by file descriptors of this
//! process and QEMU is killed by the kernel when the thread that started it ends, so that nothing
//! is left however the process ends.

mod channel;
mod guest;
pub mod init;
mod place;
pub mod spec;
pub mod wire;

use std::sync::{Mutex, PoisonError};

use nicety_host::cpu_load::StatSample;
use nicety_host::link::{LinkChange, LinkCounters};
use nicety_host::net_error::NetError;
use nicety_host::tap;
use nicety_model::plan::{VmAsk, VmNic};

use crate::counters::{InterfaceCounters, PathCounters, Role};
use crate::error::PathError;
use crate::path::{Coupling, Path, PathThread, Port};
use crate::qemu::{Accelerator, Bundle};
use crate::rig::{Rig, RigSpec};
use crate::sriov::{self, FunctionSet};
use crate::switch::GuestSwitch;
use crate::veth::{self, CARRIER_LIMIT};
use guest::{Boot, Guest};
use place::Plan;
use spec::Backend;
pub use spec::VmSpec;

/// Smallest MTU of everything on the path.
const MTU: u32 = 1500;

/// A path through one guest; gone when dropped.
#[derive(Debug)]
pub struct VmPath {
    // Dropped in this order: QEMU lets go of functions before they are removed.
    guest: Guest,
    switch: Option<GuestSwitch>,
    rig: Rig,
    /// Interfaces between `d0` and `d1`.
    between: &'static [(&'static str, Role)],
    /// The guest's CPUs at its last report.
    cpus: Mutex<StatSample>,
    threads: Vec<PathThread>,
    notes: Vec<String>,
}

impl VmPath {
    /// Refuses what this machine cannot do; makes nothing.
    ///
    /// # Errors
    /// [`PathError::Guest`].
    pub fn check(spec: &VmSpec) -> Result<(), PathError> {
        spec::check(spec, &place::allowed()?)?;
        vhost_there(spec)?;
        if spec.ask.switch == "ovs" {
            GuestSwitch::check()?;
        }
        match &spec.ask.pf {
            Some(pf) if spec.ask.nic.on_function() => {
                FunctionSet::check(pf, spec.ask.nic == VmNic::Sriov)
            }
            _ => Ok(()),
        }
    }

    /// Builds the host's side, boots the guest, and waits until it forwards. `stopped` says when
    /// nobody wants it any more.
    ///
    /// Call it on a thread that lives as long as the path: QEMU ends with it.
    ///
    /// # Errors
    /// As [`BridgePath::build`](crate::BridgePath::build); [`PathError::Guest`] for what this
    /// machine cannot do, [`PathError::Qemu`] when the guest does not come up.
    pub fn build(
        spec: &VmSpec,
        bundle: &Bundle,
        accelerator: &Accelerator,
        stopped: &dyn Fn() -> bool,
    ) -> Result<Self, PathError> {
        Self::make(spec, None, bundle, accelerator, stopped)
    }

    /// As [`VmPath::build`], for a guest in which sockets end: its NIC 0 gets addresses and it
    /// serves there; NIC 1 stays idle.
    ///
    /// # Errors
    /// As those of [`VmPath::build`].
    pub fn serving(
        spec: &VmSpec,
        serve: &wire::Serve,
        bundle: &Bundle,
        accelerator: &Accelerator,
        stopped: &dyn Fn() -> bool,
    ) -> Result<Self, PathError> {
        Self::make(spec, Some(serve), bundle, accelerator, stopped)
    }

    fn make(
        spec: &VmSpec,
        serve: Option<&wire::Serve>,
        bundle: &Bundle,
        accelerator: &Accelerator,
        stopped: &dyn Fn() -> bool,
    ) -> Result<Self, PathError> {
        Self::check(spec)?;
        let allowed = place::allowed()?;
        let mtu = spec.largest_frame.mtu_needed().max(MTU);
        let (rig, backends) = ways(spec, mtu)?;
        let passed = rig.functions.as_ref();
        let passed = passed.filter(|_| spec.ask.nic == VmNic::Sriov);
        let function_driver = passed.map(FunctionSet::guest_module).transpose()?;
        let rest: Vec<u32> = allowed
            .iter()
            .copied()
            .filter(|cpu| !spec.tester_cpus.contains(cpu))
            .collect();
        let rest = if rest.is_empty() { &allowed } else { &rest };
        let switch = match spec.ask.switch == "ovs" {
            true => Some(GuestSwitch::start(&rig.dut.ns, rest)?),
            false => None,
        };
        let boot = Boot {
            bundle,
            accelerator,
            place: Plan {
                pin: &spec.ask.pin,
                rest,
            },
            function_driver,
            mtu,
            serve,
            stopped,
        };
        let guest = Guest::boot(spec, &boot, backends)?;
        let between = between(&spec.ask);
        let limit = match rig.functions {
            Some(_) => sriov::LINK_LIMIT,
            None => CARRIER_LIMIT,
        };
        for (name, _) in between {
            rig.dut.links.wait_carrier(name, limit)?;
        }
        let mut notes = rig.notes.clone();
        notes.extend(words(spec, bundle, accelerator, &guest));
        let mut threads = rig.threads.clone();
        if let Some(switch) = &switch {
            notes.push(switch.note());
            threads.extend(switch.threads()?);
        }
        threads.extend(guest.threads.iter().cloned());
        Ok(Self {
            switch,
            rig,
            between,
            guest,
            cpus: Mutex::default(),
            threads,
            notes,
        })
    }

    /// Process number of the guest's QEMU.
    pub fn qemu(&self) -> u32 {
        self.guest.id
    }

    /// What the guest said when it began to forward.
    pub fn hello(&self) -> &wire::Hello {
        &self.guest.hello
    }
}

const MACVTAPS: [&str; 2] = ["m0", "m1"];

/// The host's part between `d0` and `d1`, in the order in which frames meet it.
fn between(ask: &VmAsk) -> &'static [(&'static str, Role)] {
    match ask.nic {
        VmNic::Sriov => &[],
        VmNic::Macvtap | VmNic::SriovMacvtap => {
            &[(MACVTAPS[0], Role::Inner), (MACVTAPS[1], Role::Inner)]
        }
        _ if ask.switch == "ovs" => &[("t0", Role::Inner), ("t1", Role::Inner)],
        _ => &[
            ("br0", Role::Bridge),
            ("t0", Role::Inner),
            ("t1", Role::Inner),
            ("br1", Role::Bridge),
        ],
    }
}

const VHOST: &str = "/dev/vhost-net";

/// Whether the host has what the NIC needs.
fn vhost_there(spec: &VmSpec) -> Result<(), PathError> {
    if spec.ask.nic != VmNic::VhostNet {
        return Ok(());
    }
    open_vhost().map_err(|e| PathError::Guest {
        why: format!("nic = \"vhost-net\" needs {VHOST}: {e}"),
        remedy: "modprobe vhost_net as root, or measure in the lab (nicety lab run)".to_owned(),
    })
}

fn open_vhost() -> std::io::Result<()> {
    let opened = std::fs::File::options().read(true).write(true).open(VHOST);
    opened.map(drop)
}

/// Ends of the ways to the tester.
const FARS: [&str; 2] = ["d0", "d1"];

/// The ways between the tester and the guest.
fn ways(spec: &VmSpec, mtu: u32) -> Result<(Rig, [Backend; 2]), PathError> {
    let ask = &spec.ask;
    let Some(pf) = ask.pf.as_deref().filter(|_| ask.nic.on_function()) else {
        let rig = Rig::build(&RigSpec {
            path_cpus: spec.path_cpus.clone(),
            largest_frame: spec.largest_frame,
            queues: 1,
        })?;
        let backends = [backend(&rig, ask, 0, mtu)?, backend(&rig, ask, 1, mtu)?];
        return Ok((rig, backends));
    };
    let rig = sriov::rig(pf, spec::MACS, spec.largest_frame)?;
    let functions = rig.functions.as_ref().ok_or(PathError::Stopped)?;
    let [near, far] = sriov::GUESTS;
    if ask.nic == VmNic::Sriov {
        let backends = [functions.pass_through(near)?, functions.pass_through(far)?];
        functions.trust()?;
        return Ok((rig, backends.map(Backend::Function)));
    }
    for (vf, name) in sriov::GUESTS.into_iter().zip(FARS) {
        functions.interface(vf, &rig.dut.ns, name)?;
        sriov::set_up(&rig.dut, name, spec.largest_frame)?;
    }
    functions.trust()?;
    for (name, station) in FARS.into_iter().zip(sriov::STATIONS) {
        rig.dut.links.add_station(name, station)?;
    }
    let backends = [backend(&rig, ask, 0, mtu)?, backend(&rig, ask, 1, mtu)?];
    Ok((rig, backends))
}

/// What NIC `side` of the guest hangs on: a tap on a bridge with the tester's side, or a macvtap on
/// the tester's side itself.
fn backend(rig: &Rig, ask: &VmAsk, side: usize, mtu: u32) -> Result<Backend, PathError> {
    let (dut, nic) = (&rig.dut, ask.nic);
    let change = |master, mtu| LinkChange {
        up: Some(true),
        master,
        mtu,
        mac: None,
    };
    if matches!(nic, VmNic::Macvtap | VmNic::SriovMacvtap) {
        let name = MACVTAPS[side];
        let below = dut.links.get(FARS[side])?.index;
        let queue = tap::create_macvtap(&dut.ns, name, below).map_err(no_macvtap)?;
        dut.links.change(name, &change(None, None))?;
        return Ok(Backend::Tap {
            queues: vec![queue],
            vhost: open_vhost().is_ok(),
        });
    }
    let (bridge, name) = ([("br0", "t0"), ("br1", "t1")])[side];
    let queues = tap::create(&dut.ns, name, ask.queues)?;
    if ask.switch == "ovs" {
        dut.links.change(name, &change(None, Some(mtu)))?;
    } else {
        dut.links.add_bridge(bridge)?;
        let master = Some(dut.links.get(bridge)?.index);
        dut.links.change(FARS[side], &change(master, None))?;
        dut.links.change(name, &change(master, Some(mtu)))?;
        veth::set_up(dut, bridge)?;
    }
    Ok(Backend::Tap {
        queues,
        vhost: nic == VmNic::VhostNet,
    })
}

fn no_macvtap(error: NetError) -> PathError {
    let remedy = match &error {
        NetError::Unsupported { .. } => {
            "modprobe macvtap as root, or measure in the lab (nicety lab run)"
        }
        NetError::NotPermitted { .. } => "measure as root: the devices of macvtaps are root's",
        _ => return error.into(),
    };
    PathError::Guest {
        why: format!("nic = \"macvtap\": {error}"),
        remedy: remedy.to_owned(),
    }
}

/// What was built, for the run's notes.
fn words(spec: &VmSpec, bundle: &Bundle, accelerator: &Accelerator, guest: &Guest) -> Vec<String> {
    let ask = &spec.ask;
    let hello = &guest.hello;
    let nics: Vec<String> = hello
        .nics
        .iter()
        .map(|nic| {
            let rings = nic.rings.map_or_else(String::new, |(rx, tx)| {
                format!(", rings of {rx} (receive) and {tx} (transmit)")
            });
            format!("{} {} x{}{rings}", nic.name, nic.driver, nic.queues)
        })
        .collect();
    let mut notes = vec![format!(
        "guest with {}: Linux {}, QEMU {}, {accelerator}; {}",
        ask.nic,
        hello.release,
        bundle.emulator.version,
        nics.join("; ")
    )];
    let places: Vec<String> = guest
        .threads
        .iter()
        .map(|thread| {
            let name = thread.thread.name.trim_start_matches("guest/");
            let how = if thread.unpinned.is_none() {
                "pinned to"
            } else {
                "free on"
            };
            format!("{name} {how} {}", spec::list(&thread.cpus))
        })
        .collect();
    notes.push(format!("guest's threads, read back: {}", places.join("; ")));
    for thread in &guest.threads {
        if thread.unpinned.is_none() && thread.cpus.iter().any(|cpu| spec.tester_cpus.contains(cpu))
        {
            notes.push(format!(
                "{} shares {} with the tester, which polls there: results are lower than the guest's own",
                thread.thread.name,
                spec::list(&thread.cpus)
            ));
        }
    }
    notes.extend(hello.notes.iter().cloned());
    notes
}

impl Path for VmPath {
    fn kind(&self) -> &'static str {
        "vm"
    }

    fn ports(&self) -> &[Port; 2] {
        &self.rig.ports
    }

    fn counters(&self) -> Result<PathCounters, NetError> {
        let report = self.guest.report()?;
        *self.cpus.lock().unwrap_or_else(PoisonError::into_inner) = StatSample::parse(&report.stat);
        let mut counters = self.rig.counters(self.between)?;
        let places = &mut counters.0;
        // A macvtap counts what its queue refused twice (drivers/net/macvlan.c,
        // macvlan_dev_get_stats64).
        for place in places
            .iter_mut()
            .filter(|place| MACVTAPS.contains(&place.interface.as_str()))
        {
            place.counters.rx_errors = 0;
        }
        // In the order in which frames meet them.
        let at = places.len() / 2;
        let nics = self.guest.hello.nics.iter().filter_map(|nic| {
            let counters = report.nics.get(&nic.name)?;
            Some(InterfaceCounters {
                interface: format!("guest {}", nic.name),
                role: Role::Inner,
                counters: LinkCounters::from_named(|name| counters.get(name).copied()),
                qdiscs: Vec::new(),
            })
        });
        places.splice(at..at, nics);
        if let Some(switch) = &self.switch {
            let place = switch.place(&counters)?;
            // After `a` and `d0`.
            counters.0.insert(2, place);
        }
        Ok(counters)
    }

    fn notes(&self) -> &[String] {
        &self.notes
    }

    fn threads(&self) -> &[PathThread] {
        &self.threads
    }

    fn own_stations(&self) -> bool {
        self.rig.functions.is_some()
    }

    fn coupling(&self) -> Coupling {
        self.rig.coupling()
    }

    fn guests(&self) -> Vec<(String, StatSample)> {
        let cpus = self.cpus.lock().unwrap_or_else(PoisonError::into_inner);
        vec![("guest".to_owned(), cpus.clone())]
    }
}
