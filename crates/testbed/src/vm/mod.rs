//! A guest that forwards between two NICs.
//!
//! ```text
//!  namespace A        namespace DUT            guest             namespace DUT       namespace B
//!      a ---- d0 - br0 - t0 ==== NIC 0 - kernel bridge - NIC 1 ==== t1 - br1 - d1 ---- b
//! ```
//!
//! `a`, `d0`, `d1` and `b` are as on the bridge path, with the same switches and threads. `t0` and
//! `t1` are taps whose other ends QEMU holds. The namespaces are held by file descriptors of this
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
use nicety_model::plan::VmNic;

use crate::counters::{InterfaceCounters, PathCounters, Role};
use crate::error::PathError;
use crate::path::{Coupling, Path, PathThread, Port};
use crate::qemu::{Accelerator, Bundle};
use crate::rig::{Rig, RigSpec};
use crate::veth::{self, CARRIER_LIMIT, Site};
use guest::{Boot, Guest};
use place::Plan;
use spec::Backend;
pub use spec::VmSpec;

/// Smallest MTU of everything on the path.
const MTU: u32 = 1500;

const TAPS: [&str; 2] = ["t0", "t1"];
const FARS: [&str; 2] = ["d0", "d1"];
const BRIDGES: [&str; 2] = ["br0", "br1"];

/// A path through one guest; gone when dropped.
#[derive(Debug)]
pub struct VmPath {
    rig: Rig,
    guest: Guest,
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
        vhost_there(spec)
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
        Self::check(spec)?;
        let allowed = place::allowed()?;
        let rig = Rig::build(&RigSpec {
            path_cpus: spec.path_cpus.clone(),
            largest_frame: spec.largest_frame,
            queues: 1,
        })?;
        for side in 0..2 {
            rig.dut.links.add_bridge(BRIDGES[side])?;
            join(&rig.dut, FARS[side], side, None)?;
        }
        let mtu = spec.largest_frame.mtu_needed().max(MTU);
        let backends = [
            backend(&rig.dut, spec, 0, mtu)?,
            backend(&rig.dut, spec, 1, mtu)?,
        ];
        let rest: Vec<u32> = allowed
            .iter()
            .copied()
            .filter(|cpu| !spec.tester_cpus.contains(cpu))
            .collect();
        let rest = if rest.is_empty() { &allowed } else { &rest };
        let boot = Boot {
            bundle,
            accelerator,
            place: Plan {
                pin: &spec.ask.pin,
                rest,
            },
            mtu,
            stopped,
        };
        let guest = Guest::boot(spec, &boot, backends)?;
        for bridge in BRIDGES {
            veth::set_up(&rig.dut, bridge)?;
        }
        for name in TAPS.iter().chain(&BRIDGES) {
            rig.dut.links.wait_carrier(name, CARRIER_LIMIT)?;
        }
        let mut notes = rig.notes.clone();
        notes.extend(words(spec, bundle, accelerator, &guest));
        let mut threads = rig.threads.clone();
        threads.extend(guest.threads.iter().cloned());
        Ok(Self {
            rig,
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

/// Whether the host has what the NIC needs.
fn vhost_there(spec: &VmSpec) -> Result<(), PathError> {
    const DEVICE: &str = "/dev/vhost-net";
    if spec.ask.nic != VmNic::VhostNet {
        return Ok(());
    }
    let opened = std::fs::File::options().read(true).write(true).open(DEVICE);
    opened.map(drop).map_err(|e| PathError::Guest {
        why: format!("nic = \"vhost-net\" needs {DEVICE}: {e}"),
        remedy: "modprobe vhost_net as root, or measure in the lab (nicety lab run)".to_owned(),
    })
}

/// Puts an interface on the bridge of its side and sets it up.
fn join(dut: &Site, name: &str, side: usize, mtu: Option<u32>) -> Result<(), NetError> {
    let change = LinkChange {
        up: Some(true),
        master: Some(dut.links.get(BRIDGES[side])?.index),
        mtu,
        mac: None,
    };
    dut.links.change(name, &change)
}

fn backend(dut: &Site, spec: &VmSpec, side: usize, mtu: u32) -> Result<Backend, PathError> {
    let queues = tap::create(&dut.ns, TAPS[side], spec.ask.queues)?;
    join(dut, TAPS[side], side, Some(mtu))?;
    Ok(Backend {
        queues,
        vhost: spec.ask.nic == VmNic::VhostNet,
    })
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
        let mut counters = self.rig.counters(&[
            (BRIDGES[0], Role::Bridge),
            (TAPS[0], Role::Inner),
            (TAPS[1], Role::Inner),
            (BRIDGES[1], Role::Bridge),
        ])?;
        let places = &mut counters.0;
        // In the order in which frames meet them.
        let at = places.iter().position(|place| place.interface == TAPS[1]);
        let at = at.unwrap_or(places.len());
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
        Ok(counters)
    }

    fn notes(&self) -> &[String] {
        &self.notes
    }

    fn threads(&self) -> &[PathThread] {
        &self.threads
    }

    fn coupling(&self) -> Coupling {
        self.rig.coupling()
    }

    fn guests(&self) -> Vec<(String, StatSample)> {
        let cpus = self.cpus.lock().unwrap_or_else(PoisonError::into_inner);
        vec![("guest".to_owned(), cpus.clone())]
    }
}
