//! What all paths between two namespaces share: the tester's ports, and a namespace between
//! them whose interfaces `d0` and `d1` a switch takes its frames from.
//!
//! ```text
//!  namespace A      namespace DUT       namespace B
//!      a ----------- d0 [switch] d1 ---------- b
//! ```

use std::time::Duration;

use nicety_model::note::PathNote;
use nicety_model::{FrameSize, Note, Remedy, ResetKind};
use nicety_netdev::link::{LinkChange, Mac};
use nicety_netdev::net_error::NetError;
use nicety_netdev::privilege::{Privilege, privilege};
use nicety_netdev::qdisc;
use nicety_netdev::xps;

use crate::counters::{InterfaceCounters, PathCounters, Role};
use crate::error::PathError;
use crate::interface::{CARRIER_LIMIT, enslaved};
use crate::path::{Coupling, Middle, PathFacts};
use crate::receive_threads;
use crate::resettable::Resettable;
use crate::site::Site;
use crate::sriov::FunctionSet;
use crate::veth::{self, End};

/// Time that the kernel's bridge has to come back: it forwards as soon as it is up.
const BRIDGE_LIMIT: Duration = Duration::from_secs(10);
/// Smallest MTU the path is built with, so that ordinary plans share one setup.
const MTU: u32 = 1500;

// Locally administered addresses ("ni" in bytes two and three), the same in every run, so that
// hashes over them are the same too.
pub(crate) const MAC_A: Mac = Mac([0x02, 0x6e, 0x69, 0, 0, 0x0a]);
pub(crate) const MAC_B: Mac = Mac([0x02, 0x6e, 0x69, 0, 0, 0x0b]);
/// Hardware addresses of the tester's ports A and B, where they are made here.
pub const END_MACS: [Mac; 2] = [MAC_A, MAC_B];
const MAC_D0: Mac = Mac([0x02, 0x6e, 0x69, 0, 0, 0xd0]);
const MAC_D1: Mac = Mac([0x02, 0x6e, 0x69, 0, 0, 0xd1]);

/// What the two ways to the switch shall be like.
#[derive(Debug, Clone)]
pub struct RigSpec {
    /// CPUs for the threads that receive on `d0` and `d1`: `d0` gets the first, `d1` the second,
    /// or the first again. Empty leaves the threads to the scheduler.
    pub path_cpus: Vec<u32>,
    /// Largest frame it has to carry.
    pub largest_frame: FrameSize,
    /// Queues of every veth end, at least 1.
    pub queues: u32,
}

/// Three namespaces with two veth pairs; gone when dropped.
#[derive(Debug)]
pub(crate) struct Rig {
    /// The ports' virtual functions, where they are such; then `d0` and `d1` are not there.
    pub(crate) functions: Option<FunctionSet>,
    pub(crate) a: Site,
    pub(crate) dut: Site,
    pub(crate) b: Site,
    pub(crate) facts: PathFacts,
}

impl Rig {
    /// Builds it and waits until all four ends have carrier. The receive threads of an interface
    /// share a CPU. `kind` is that of the path.
    pub(crate) fn build(kind: &'static str, spec: &RigSpec) -> Result<Self, NetError> {
        Self::make(kind, spec, false)
    }

    /// As [`Rig::build`], with `d0` and `d1` as NICs that have several receive queues: a frame goes
    /// to the queue that its flow has, as receive side scaling has it, and the queues' threads take
    /// the CPUs in turn.
    pub(crate) fn with_host_queues(kind: &'static str, spec: &RigSpec) -> Result<Self, NetError> {
        Self::make(kind, spec, spec.queues > 1)
    }

    fn make(kind: &'static str, spec: &RigSpec, by_flow: bool) -> Result<Self, NetError> {
        let mut notes = Vec::new();
        let a = Site::create("A", &mut notes)?;
        let dut = Site::create("DUT", &mut notes)?;
        let b = Site::create("B", &mut notes)?;
        let mtu = spec.largest_frame.mtu_needed().max(MTU);
        let queues = spec.queues.max(1);
        let mut threads = Vec::new();
        let pairs = [
            (&a, "a", MAC_A, "d0", MAC_D0, 0),
            (&b, "b", MAC_B, "d1", MAC_D1, 1),
        ];
        for (site, port, port_mac, far, far_mac, number) in pairs {
            let tester = End {
                site,
                name: port,
                mac: port_mac,
            };
            let inner = End {
                site: &dut,
                name: far,
                mac: far_mac,
            };
            veth::connect(tester, inner, mtu, queues)?;
            if by_flow {
                // A veth receives on the queue that its peer has sent on.
                xps::by_flow(&site.ns, port, queues)?;
            }
            dut.set_up(far)?;
            site.set_up(port)?;
            let cpu = |queue: usize| {
                if by_flow {
                    pick(&spec.path_cpus, 2 * queue + number)
                } else {
                    pick(&spec.path_cpus, number)
                }
            };
            let receiving = receive_threads::start(&dut, far, &cpu, &mut notes)?;
            if by_flow {
                notes.extend(receive_threads::queue_words(far, queues, &receiving).map(Note::from));
            }
            threads.extend(receiving);
        }
        if by_flow {
            notes.push(PathNote::FlowsOvertake.into());
        }
        receive_threads::note_unpinned(&threads, &mut notes);
        for name in ["d0", "d1"] {
            dut.links.wait_carrier(name, CARRIER_LIMIT)?;
        }
        let coupling = Coupling::of(&threads, ["d0", "d1"]);
        let ports = [a.port("a")?, b.port("b")?];
        Ok(Self {
            functions: None,
            a,
            dut,
            b,
            facts: PathFacts {
                threads,
                queues: ["a", "d0", "d1", "b"]
                    .map(|name| (name.to_owned(), queues))
                    .into(),
                notes,
                ..PathFacts::new(kind, ports, coupling)
            },
        })
    }

    /// Gives two interfaces of the namespace in the middle to a bridge.
    pub(crate) fn enslave(&self, names: [&str; 2], bridge: u32) -> Result<(), NetError> {
        for name in names {
            self.dut.links.change(name, &enslaved(bridge))?;
        }
        Ok(())
    }

    /// Says that a switch, a program's or the kernel's, is between `d0` and `d1`.
    pub(crate) fn joined(&mut self, userspace: bool) {
        self.facts.middle = Some(Middle {
            ns: self.dut.ns.clone(),
            userspace,
        });
    }

    /// Counters of the four ends and, between `d0` and `d1`, of the interfaces `between` of the
    /// namespace in the middle, where there are such.
    pub(crate) fn counters(&self, between: &[(&str, Role)]) -> Result<PathCounters, NetError> {
        let (a, inner, b) = (
            self.a.links.get("a")?,
            self.dut.links.list()?,
            self.b.links.get("b")?,
        );
        let qdiscs = qdisc::list(&self.dut.ns)?;
        let mut places = vec![InterfaceCounters::port("a", a.counters)];
        let ends = [("d0", Role::Inner)].into_iter();
        for (name, role) in ends
            .chain(between.iter().copied())
            .chain([("d1", Role::Inner)])
        {
            let Some(link) = inner.iter().find(|link| link.name == name) else {
                continue;
            };
            places.push(InterfaceCounters::of_link(link, role, &qdiscs));
        }
        if let Some(functions) = &self.functions {
            // Two on either side of the guest.
            let mut near = functions.counters();
            let far = near.split_off(near.len() / 2);
            places.splice(1..1, near);
            places.extend(far);
        }
        places.push(InterfaceCounters::port("b", b.counters));
        let carry = inner.iter().filter(|link| link.xdp);
        Ok(PathCounters {
            programs: carry.map(|link| link.name.clone()).collect(),
            ..places.into()
        })
    }
}

/// The bridge `br0` in the middle, of paths that have one. Set down it forgets what it learned, and up again it
/// forwards at once: it speaks no spanning tree.
impl Resettable for Rig {
    fn by(&self) -> ResetKind {
        ResetKind::BridgeDownUp
    }

    fn limit(&self) -> Duration {
        BRIDGE_LIMIT
    }

    fn reset(&self) -> Result<(), PathError> {
        let down = LinkChange {
            up: Some(false),
            ..LinkChange::default()
        };
        self.dut.links.change("br0", &down)?;
        Ok(self.dut.set_up("br0")?)
    }
}

/// Refuses several receive queues where frames cannot be sent to them by flow; makes nothing.
pub(crate) fn check_host_queues(queues: u32) -> Result<(), PathError> {
    // Which queue a veth sends on is for root of the machine to say, whoever made the veth
    // (`xps_cpus_store` in net/core/net-sysfs.c).
    if queues < 2 || matches!(privilege(), Ok(Privilege::Privileged)) {
        return Ok(());
    }
    Err(PathError::Guest {
        why: format!("host_queues = {queues}: only root may choose a frame's queue by its flow"),
        remedy: Remedy::here_or_plan("measure as root", "write host_queues = 1"),
    })
}

fn pick(cpus: &[u32], number: usize) -> Option<u32> {
    cpus.get(number.checked_rem(cpus.len())?).copied()
}

#[cfg(test)]
mod tests {
    use super::pick;

    #[test]
    fn path_cpus_are_shared_when_there_are_too_few() {
        assert_eq!((pick(&[], 0), pick(&[], 1)), (None, None));
        assert_eq!((pick(&[1], 0), pick(&[1], 1)), (Some(1), Some(1)));
        assert_eq!((pick(&[2, 3], 0), pick(&[2, 3], 1)), (Some(2), Some(3)));
        assert_eq!(
            (pick(&[2, 3, 4], 4), pick(&[2, 3, 4], 5)),
            (Some(3), Some(4))
        );
    }
}
