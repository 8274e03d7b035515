//! The default path: two namespaces joined by a kernel bridge.
//!
//! ```text
//!  namespace A      namespace DUT       namespace B
//!      a ----------- d0 - br0 - d1 ---------- b
//! ```
//!
//! `a` and `b` are the tester's ports. `d0` and `d1` receive in NAPI threads of their own. All
//! three namespaces are held by file descriptors only; nothing is made in the caller's.
//!
//! Overload: between `a` and `d0` there is a ring of 256 frames (`VETH_RING_SIZE`,
//! drivers/net/veth.c). When the thread of `d0` falls behind, the kernel drops the frame on the
//! spot, counts it once in `a tx_dropped` and answers a packet socket with ENOBUFS. Such a frame
//! was offered and lost in the path. `sendmmsg` hides the error of a frame that is not the first:
//! a blocking call that accepts fewer frames than given has lost exactly one more.

use nicety_host::link::{LinkChange, Mac};
use nicety_host::net_error::NetError;
use nicety_host::netns::NetNs;
use nicety_host::qdisc;
use nicety_model::FrameSize;

use crate::counters::{InterfaceCounters, PathCounters, Role};
use crate::error::PathError;
use crate::path::{Coupling, Path, PathThread, Port};
use crate::veth::{self, CARRIER_LIMIT, End, Site};

/// Smallest MTU the path is built with, so that ordinary plans share one setup.
const MTU: u32 = 1500;

// Locally administered addresses ("ni" in bytes two and three), the same in every run, so that
// hashes over them are the same too.
const MAC_A: Mac = Mac([0x02, 0x6e, 0x69, 0, 0, 0x0a]);
const MAC_B: Mac = Mac([0x02, 0x6e, 0x69, 0, 0, 0x0b]);
const MAC_D0: Mac = Mac([0x02, 0x6e, 0x69, 0, 0, 0xd0]);
const MAC_D1: Mac = Mac([0x02, 0x6e, 0x69, 0, 0, 0xd1]);

/// What the path shall be like.
#[derive(Debug, Clone)]
pub struct BridgeSpec {
    /// CPUs for the path: `d0` gets the first, `d1` the second, or the first again. Empty leaves
    /// the threads to the scheduler.
    pub path_cpus: Vec<u32>,
    /// Largest frame it has to carry.
    pub largest_frame: FrameSize,
    /// Queues of every veth end, at least 1.
    pub queues: u32,
}

/// Two namespaces joined by a kernel bridge; gone when dropped.
#[derive(Debug)]
pub struct BridgePath {
    a: Site,
    dut: Site,
    b: Site,
    ports: [Port; 2],
    threads: Vec<PathThread>,
    notes: Vec<String>,
}

impl BridgePath {
    /// Builds the path and waits until it has carrier everywhere.
    ///
    /// # Errors
    /// [`NetError::NotPermitted`] for an ordinary user outside a user namespace of his own,
    /// [`NetError::Unsupported`] when the kernel lacks veth or bridge.
    pub fn build(spec: &BridgeSpec) -> Result<Self, PathError> {
        let mut notes = Vec::new();
        let a = Site::create("A", &mut notes)?;
        let dut = Site::create("DUT", &mut notes)?;
        let b = Site::create("B", &mut notes)?;
        let mtu = spec.largest_frame.mtu_needed().max(MTU);
        let queues = spec.queues.max(1);
        dut.links.add_bridge("br0")?;
        let bridge = dut.links.get("br0")?.index;
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
            dut.links.change(
                far,
                &LinkChange {
                    up: Some(true),
                    master: Some(bridge),
                    ..LinkChange::default()
                },
            )?;
            veth::set_up(site, port)?;
            let cpu = pick(&spec.path_cpus, number);
            threads.extend(veth::thread(&dut, far, cpu, &mut notes)?);
        }
        veth::note_unpinned(&threads, &mut notes);
        veth::set_up(&dut, "br0")?;
        for name in ["d0", "d1", "br0"] {
            dut.links.wait_carrier(name, CARRIER_LIMIT)?;
        }
        Ok(Self {
            ports: [a.port("a")?, b.port("b")?],
            a,
            dut,
            b,
            threads,
            notes,
        })
    }

    /// Namespace of the bridge, for whoever wants to look or meddle in the middle of the path.
    pub fn dut(&self) -> &NetNs {
        &self.dut.ns
    }
}

fn pick(cpus: &[u32], number: usize) -> Option<u32> {
    cpus.get(number.checked_rem(cpus.len())?).copied()
}

impl Path for BridgePath {
    fn kind(&self) -> &'static str {
        "bridge"
    }

    fn ports(&self) -> &[Port; 2] {
        &self.ports
    }

    fn counters(&self) -> Result<PathCounters, NetError> {
        let (a, inner, b) = (
            self.a.links.get("a")?,
            self.dut.links.list()?,
            self.b.links.get("b")?,
        );
        let qdiscs = qdisc::list(&self.dut.ns)?;
        let mut places = vec![port_counters("a", a.counters)];
        for (name, role) in [
            ("d0", Role::Inner),
            ("br0", Role::Bridge),
            ("d1", Role::Inner),
        ] {
            let Some(link) = inner.iter().find(|link| link.name == name) else {
                continue;
            };
            places.push(InterfaceCounters {
                interface: name.to_owned(),
                role,
                counters: link.counters,
                qdiscs: qdiscs
                    .iter()
                    .filter(|(index, _)| *index == link.index)
                    .map(|(_, facts)| facts.clone())
                    .collect(),
            });
        }
        places.push(port_counters("b", b.counters));
        Ok(PathCounters(places))
    }

    fn notes(&self) -> &[String] {
        &self.notes
    }

    fn threads(&self) -> &[PathThread] {
        &self.threads
    }

    fn coupling(&self) -> Coupling {
        let threaded = |name| self.threads.iter().any(|t| t.interface == name);
        if threaded("d0") && threaded("d1") {
            Coupling::Decoupled
        } else {
            Coupling::SenderContext
        }
    }
}

/// Counters of one of the tester's ports.
pub(crate) fn port_counters(
    name: &str,
    counters: nicety_host::link::LinkCounters,
) -> InterfaceCounters {
    InterfaceCounters {
        interface: name.to_owned(),
        role: Role::Port,
        counters,
        qdiscs: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::pick;

    #[test]
    fn path_cpus_are_shared_when_there_are_too_few() {
        assert_eq!((pick(&[], 0), pick(&[], 1)), (None, None));
        assert_eq!((pick(&[1], 0), pick(&[1], 1)), (Some(1), Some(1)));
        assert_eq!((pick(&[2, 3], 0), pick(&[2, 3], 1)), (Some(2), Some(3)));
    }
}
