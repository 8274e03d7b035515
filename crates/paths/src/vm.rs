//! Guests that forward between two NICs each.
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
//! are functions of the same port then. Switches that are programs take the places of the bridges,
//! see `switch/guests.rs`. The namespaces are held by file descriptors of this process and QEMU is
//! killed by the kernel when this process ends, so that nothing is left however the
//! process ends.
//!
//! Several guests (`vms`) share the bridges: guest `n` has the taps `t(2n)` and `t(2n+1)`, and
//! carries what station `n` of either port of the tester sends to the station with the same number
//! at the other. Without bridges it has the macvtaps `m(2n)` and `m(2n+1)` with the addresses of
//! those stations, or a pair of functions of its own that take frames for them.

mod guest;
mod host_side;
mod place;
mod spec;

use std::time::Duration;

use nicety_guests::accel::BOOTS;
use nicety_guests::virtio;
use nicety_guests::wire::{Hello, Serve};
use nicety_guests::{Accelerator, Bundle, QemuError};
use nicety_host::stat::StatSample;
use nicety_model::note::{GuestNic, GuestNote, Shared, ThreadPlace};
use nicety_model::plan::{VmConfig, VmNic, VmSwitch};
use nicety_model::{Note, ResetKind};
use nicety_netdev::link::LinkCounters;
use nicety_netdev::net_error::NetError;
use serde_json::Value;

use crate::counters::{InterfaceCounters, PathCounters, Role};
use crate::endpoint_site::EndpointSite;
use crate::error::PathError;
use crate::guest::shared;
use crate::interface::{CARRIER_LIMIT, enslaved};
use crate::neighbours;
use crate::path::{Kernels, Neighbours, Path, PathFacts, Pausable};
use crate::resettable::Resettable;
use crate::rig::{Rig, check_host_queues};
use crate::run_dir::RunDir;
use crate::sriov::{self, FunctionSet};
use crate::switch::{GuestSwitch, GuestSwitchSpec};
use crate::vlan::{ENDS as FARS, VLAN};
use guest::{Boot, Guest};
use host_side::HostSide;
use place::Plan;
pub use spec::VmSpec;

/// A path through guests; gone when dropped.
#[derive(Debug)]
pub struct VmPath {
    // Dropped in this order: QEMU lets go of functions before they are removed.
    guests: Vec<Guest>,
    switch: Option<GuestSwitch>,
    rig: Rig,
    _dir: Option<RunDir>,
    /// The kernel's interfaces between `d0` and `d1`.
    between: Vec<(String, Role)>,
    /// All places in the order in which frames meet them.
    order: Vec<String>,
    /// Longest time that a guest may take to boot.
    reset_limit: Duration,
    /// Whether nothing but the guests has to stop for it to be quiet.
    can_wait: bool,
    /// What the guests are connected by.
    by: (VmNic, VmSwitch),
}

impl VmPath {
    /// Refuses what this machine cannot do; makes nothing.
    ///
    /// # Errors
    /// [`PathError::Guest`], and those of the switch.
    pub fn check(spec: &VmSpec) -> Result<(), PathError> {
        spec::check(spec, &place::allowed()?)?;
        check_host_queues(spec.ask.host_queues)?;
        host_side::vhost_there(spec)?;
        host_side::xdp_sockets(spec)?;
        GuestSwitch::check(spec.ask.switch, &host_side::dpdk(spec), spec.ask.vms)?;
        match &spec.ask.pf {
            Some(pf) if spec.ask.nic.on_function() => {
                FunctionSet::check(pf, spec.ask.vms, spec.ask.nic == VmNic::Sriov)
            }
            _ => Ok(()),
        }
    }

    /// Refuses what the QEMU at hand does not know; asks it only where a plan wants something unusual of it.
    ///
    /// # Errors
    /// [`PathError::Guest`]; [`PathError::Qemu`] when it does not start.
    pub fn check_qemu(spec: &VmSpec, bundle: &Bundle) -> Result<(), PathError> {
        spec::known(spec, bundle)
    }

    /// Builds the host's side, boots the guests at the same time, and waits until they forward.
    /// `stopped` says when nobody wants them any more.
    ///
    /// # Errors
    /// As [`BridgePath::build`](crate::BridgePath::build); [`PathError::Guest`] for what this
    /// machine cannot do, [`PathError::Qemu`] when a guest does not come up.
    pub fn build(
        spec: &VmSpec,
        bundle: &Bundle,
        accelerator: &Accelerator,
        stopped: &dyn Fn() -> bool,
    ) -> Result<Self, PathError> {
        let make = || Self::make(spec, &[], bundle, accelerator, stopped);
        Self::patiently(accelerator, make)
    }

    /// As [`VmPath::build`], for guests in which sockets end, one for each of `serve`: its NIC 0 gets
    /// addresses and it serves there; NIC 1 stays idle.
    ///
    /// # Errors
    /// As those of [`VmPath::build`].
    pub fn serving(
        spec: &VmSpec,
        serve: &[Serve],
        bundle: &Bundle,
        accelerator: &Accelerator,
        stopped: &dyn Fn() -> bool,
    ) -> Result<Self, PathError> {
        let spec = VmSpec {
            ask: VmConfig {
                vms: serve.len() as u32,
                ..spec.ask.clone()
            },
            ..spec.clone()
        };
        let make = || Self::make(&spec, serve, bundle, accelerator, stopped);
        Self::patiently(accelerator, make)
    }

    /// Lets guest `number` do some work for at most `limit`, and returns what came of it.
    ///
    /// # Errors
    /// [`NetError::Silent`] when it has ended or does not answer, or `stopped` says that nobody
    /// waits any more.
    pub fn work(
        &self,
        number: usize,
        work: Value,
        limit: Duration,
        stopped: &dyn Fn() -> bool,
    ) -> Result<Value, NetError> {
        let none = || NetError::Silent {
            object: format!("guest {number}"),
            why: "there is none with this number".to_owned(),
        };
        let guest = self.guests.get(number).ok_or_else(none)?;
        guest.work(work, limit, stopped)
    }

    /// Makes a path, anew when a guest ended while it booted under KVM. An emulated KVM host, which the lab
    /// is, loses a virtual machine now and then before its kernel speaks; no other guest should.
    fn patiently(
        accelerator: &Accelerator,
        make: impl Fn() -> Result<Self, PathError>,
    ) -> Result<Self, PathError> {
        let mut ended = Vec::new();
        loop {
            match make() {
                Err(PathError::Qemu(QemuError::Ended { what, last, .. }))
                    if *accelerator == Accelerator::Kvm && ended.len() + 1 < BOOTS =>
                {
                    let note = GuestNote::BootedAgain {
                        guest: what.to_string(),
                        last: last.to_string(),
                    };
                    ended.push(note.into());
                }
                made => {
                    let mut path = made?;
                    path.rig.facts.notes.extend(ended);
                    return Ok(path);
                }
            }
        }
    }

    fn make(
        spec: &VmSpec,
        serve: &[Serve],
        bundle: &Bundle,
        accelerator: &Accelerator,
        stopped: &dyn Fn() -> bool,
    ) -> Result<Self, PathError> {
        Self::check(spec)?;
        spec::known(spec, bundle)?;
        let allowed = place::allowed()?;
        let rest = spec::rest(spec, &allowed);
        let HostSide {
            mut rig,
            backends,
            ends,
            beside,
            sockets,
            dir,
        } = host_side::build(spec, serve.is_empty())?;
        let functions = rig.functions.as_ref();
        let functions = functions.filter(|_| spec.ask.nic == VmNic::Sriov);
        let by_program = GuestSwitch::carries_itself(spec.ask.switch, &rig.dut.ns)?;
        let boot = Boot {
            spec,
            bundle,
            accelerator,
            ns: &rig.dut.ns,
            place: Plan {
                pin: &spec.ask.pin,
                rest: &rest,
            },
            function_driver: functions.map(FunctionSet::guest_module).transpose()?,
            mtu: host_side::mtu(spec),
            // Test frames are whole already.
            whole_frames: by_program && !serve.is_empty(),
            serve,
            stopped,
        };
        let dpdk = host_side::dpdk(spec);
        let start_switch = || {
            let setup = GuestSwitchSpec {
                ns: &rig.dut.ns,
                cpus: &rest,
                dpdk: &dpdk,
                sockets: &sockets,
                stations: &spec.guest_stations(),
                forward: serve.is_empty(),
            };
            GuestSwitch::start(spec.ask.switch, &setup)
        };
        // QEMU waits for a switch that has to read the guest's memory; any other starts while the
        // guests boot.
        let early = if spec.ask.switch.on_dpdk() {
            start_switch()?
        } else {
            None
        };
        let mut starting = Vec::new();
        for (number, backends) in backends.into_iter().enumerate() {
            starting.push(boot.start(number, backends)?);
        }
        let mut switch = match early {
            Some(switch) => Some(switch),
            None => start_switch()?,
        };
        let guests = starting
            .into_iter()
            .map(|guest| guest.finish(&boot))
            .collect::<Result<Vec<Guest>, _>>()?;
        if let Some(switch) = &mut switch {
            switch.wait_for_guests()?;
        }
        let (between, order) = places(ends, &beside, switch.as_ref(), &guests);
        let limit = match rig.functions {
            Some(_) => sriov::LINK_LIMIT,
            None => CARRIER_LIMIT,
        };
        for (name, _) in &between {
            rig.dut.links.wait_carrier(name, limit)?;
        }
        let facts = &mut rig.facts;
        let described = describe(spec, bundle, accelerator, &guests, serve.is_empty());
        facts.notes.extend(described);
        if let Some(switch) = &switch {
            facts.notes.push(switch.note().clone().into());
            facts.threads.extend(switch.threads()?);
        }
        for guest in &guests {
            facts.threads.extend(guest.threads.clone());
            let places = guest.nic_places().zip(&guest.hello.nics);
            let queues = places.map(|(place, nic)| (place, nic.queues));
            facts.queues.extend(queues);
        }
        facts.vlan = spec.ask.switch.tags().then_some(VLAN);
        facts.stations = guests.len().max(1) as u32;
        // QEMU's own sockets do not finish checksums either.
        rig.joined(by_program || spec.ask.nic == VmNic::AfXdp);
        Ok(Self {
            reset_limit: spec.boot_limit,
            can_wait: !spec.ask.switch.on_dpdk(),
            switch,
            rig,
            _dir: dir,
            by: (spec.ask.nic, spec.ask.switch),
            between,
            order,
            guests,
        })
    }

    /// Process numbers of the guests' QEMUs.
    pub fn processes(&self) -> Vec<u32> {
        self.guests.iter().map(|guest| guest.id).collect()
    }

    /// What every guest said when it began to forward.
    pub fn hellos(&self) -> Vec<&Hello> {
        self.guests.iter().map(|guest| &guest.hello).collect()
    }
}

/// The kernel's interfaces between `d0` and `d1`, and the names of all places of the path in the
/// order in which frames from A meet them; guests that share it stand one after the other.
fn places(
    ends: [Vec<(String, Role)>; 2],
    beside: &[[Vec<String>; 2]],
    switch: Option<&GuestSwitch>,
    guests: &[Guest],
) -> (Vec<(String, Role)>, Vec<String>) {
    let [near, far] = ends;
    let [before, behind] = switch.map(GuestSwitch::ends).unwrap_or_default();
    let names = |list: &[(String, Role)]| list.iter().map(|(name, _)| name.clone()).collect();
    let mut order = vec!["a".to_owned(), FARS[0].to_owned()];
    let (first, last): (Vec<String>, Vec<String>) = (names(&near), names(&far));
    order.extend(first.into_iter().chain(before));
    let mut between = near;
    for (number, guest) in guests.iter().enumerate() {
        let own = |side: usize| match beside.get(number) {
            Some(own) => own[side].clone(),
            None => switch
                .and_then(|switch| switch.beside(number, side))
                .into_iter()
                .collect(),
        };
        order.extend(own(0));
        order.extend(guest.nic_places());
        order.extend(own(1));
        let own = beside.get(number).into_iter().flatten().flatten();
        between.extend(own.map(|name| (name.clone(), host_side::role(name))));
    }
    order.extend(behind.into_iter().chain(last));
    order.extend([FARS[1].to_owned(), "b".to_owned()]);
    between.extend(far);
    (between, order)
}

/// What was built, for the run's notes.
fn describe(
    spec: &VmSpec,
    bundle: &Bundle,
    accelerator: &Accelerator,
    guests: &[Guest],
    forward: bool,
) -> Vec<Note> {
    let ask = &spec.ask;
    let mut notes = Vec::new();
    if ask.vms > 1 && forward {
        let what = match ask.nic {
            nic if nic.on_interface() => Shared::TesterInterfaces,
            nic if nic.on_function() => Shared::Port,
            _ => Shared::Switch,
        };
        notes.push(shared(ask.vms, what));
    }
    for Guest {
        name,
        hello,
        threads,
        ..
    } in guests
    {
        let nics = hello.nics.iter().map(|nic| GuestNic {
            name: nic.name.clone(),
            driver: nic.driver.clone(),
            queues: nic.queues,
            rings: nic.rings,
            virtio: virtio::unusual(nic),
        });
        let note = GuestNote::Guest {
            guest: name.to_string(),
            nic: ask.nic.to_string(),
            kernel: hello.release.clone(),
            qemu: bundle.emulator.version.to_string(),
            accelerator: accelerator.to_string(),
            nics: nics.collect(),
        };
        notes.push(note.into());
        let places = threads.iter().map(|thread| {
            let (_, task) = thread.thread.name.split_once('/').unwrap_or_default();
            ThreadPlace {
                thread: task.to_owned(),
                pinned: thread.unpinned.is_none(),
                cpus: thread.cpus.clone(),
            }
        });
        let note = GuestNote::GuestThreads {
            guest: name.to_string(),
            threads: places.collect(),
        };
        notes.push(note.into());
        for thread in threads {
            if thread.unpinned.is_none()
                && thread.cpus.iter().any(|cpu| spec.tester_cpus.contains(cpu))
            {
                let note = GuestNote::GuestOnTesterCpu {
                    thread: thread.thread.name.clone(),
                    cpus: thread.cpus.clone(),
                };
                notes.push(note.into());
            }
        }
        notes.extend(hello.notes.iter().cloned());
    }
    notes
}

impl Path for VmPath {
    fn facts(&self) -> &PathFacts {
        &self.rig.facts
    }

    fn counters(&self) -> Result<PathCounters, NetError> {
        let between: Vec<_> = self
            .between
            .iter()
            .map(|(name, role)| (name.as_str(), *role))
            .collect();
        let reports = guest::reports(&self.guests)?;
        let mut counters = self.rig.counters(&between)?;
        // A macvtap counts what its queue refused twice (drivers/net/macvlan.c,
        // macvlan_dev_get_stats64).
        for place in counters
            .interfaces
            .iter_mut()
            .filter(|place| host_side::is_macvtap(&place.interface))
        {
            place.counters.rx_errors = 0;
        }
        if let Some(switch) = &self.switch {
            let places = switch.places(&counters)?;
            counters.interfaces.extend(places);
            counters.polling = switch.polling();
        }
        for (guest, report) in self.guests.iter().zip(reports) {
            let cpus = StatSample::parse(&report.stat);
            counters.guests.push((guest.name.clone(), cpus));
            let nics = report.nics.iter().map(|(nic, named)| {
                let named = LinkCounters::from_named(|name| named.get(name).copied());
                InterfaceCounters {
                    qdiscs: report.qdiscs.get(nic).cloned().unwrap_or_default(),
                    ..InterfaceCounters::inner(format!("{} {nic}", guest.name), named)
                }
            });
            counters.interfaces.extend(nics);
        }
        let mut pool = std::mem::take(&mut counters.interfaces);
        for name in &self.order {
            let at = pool.iter().position(|place| place.interface == *name);
            counters.interfaces.extend(at.map(|at| pool.remove(at)));
        }
        // Registers of virtual functions: two on either side of the guest.
        let behind = pool.split_off(pool.len() / 2);
        counters.interfaces.splice(1..1, pool);
        let last = counters.interfaces.len().saturating_sub(1);
        counters.interfaces.splice(last..last, behind);
        Ok(counters)
    }

    fn pausable(&self) -> Option<&dyn Pausable> {
        // A switch that polls takes its CPU whether there are frames or not.
        self.can_wait.then_some(self as &dyn Pausable)
    }

    fn resettable(&self) -> Option<&dyn Resettable> {
        Some(self)
    }

    fn kernels(&self) -> Option<&dyn Kernels> {
        Some(self)
    }

    fn neighbours(&mut self) -> Option<&mut dyn Neighbours> {
        Some(self)
    }
}

impl Kernels for VmPath {
    fn names(&self) -> Vec<String> {
        self.guests.iter().map(|guest| guest.name.clone()).collect()
    }

    fn work(&self, number: usize, work: Value, limit: Duration) -> Result<Value, NetError> {
        self.work(number, work, limit, &|| false)
    }
}

impl Neighbours for VmPath {
    fn add(&mut self, pairs: u32) -> Result<Vec<[EndpointSite; 2]>, PathError> {
        let middle = &self.rig.dut.ns;
        let (nic, kind) = self.by;
        if let Some(functions) = &self.rig.functions {
            return neighbours::on_functions(functions, pairs);
        }
        match (kind, &mut self.switch) {
            _ if nic == VmNic::AfXdp => Err(PathError::NoNeighbours { kind: "the guest" }),
            _ if nic == VmNic::Macvtap => neighbours::on_wire(&self.rig, pairs),
            (_, Some(switch)) => {
                neighbours::on_switch(middle, pairs, &mut |joining| switch.join(joining))
            }
            (VmSwitch::Bridge, None) => neighbours::on_switch(middle, pairs, &mut |joining| {
                let links = joining.middle;
                links.change(joining.inner, &enslaved(links.get("br0")?.index))?;
                Ok(joining.plain())
            }),
            (_, None) => Err(PathError::NoNeighbours { kind: "the guest" }),
        }
    }
}

impl Resettable for VmPath {
    fn by(&self) -> ResetKind {
        ResetKind::GuestReset
    }

    fn limit(&self) -> Duration {
        self.reset_limit
    }

    fn reset(&self) -> Result<(), PathError> {
        Ok(self.guests.iter().try_for_each(Guest::reset)?)
    }
}

impl Pausable for VmPath {
    fn pause(&self) -> bool {
        self.guests.iter().all(Guest::stop)
    }

    fn resume(&self) -> bool {
        self.guests.iter().all(Guest::go_on)
    }
}
