//! DPDK's testpmd between two NICs that it drives itself, with the tester at two interfaces that are
//! connected with them from outside.
//!
//! ```text
//!   a ..(cable).. NIC - testpmd - NIC ..(cable).. b
//! ```

use std::time::Duration;

use nicety_model::note::{DpdkInterfaces, PathNote};
use nicety_netdev::link::Links;
use nicety_netdev::net_error::NetError;
use nicety_netdev::netns::NetNs;

use super::dpdk::DpdkSpec;
use super::testpmd::{self, Ports, Running, TESTPMD};
use crate::counters::PathCounters;
use crate::error::PathError;
use crate::external::ExternalPath;
use crate::nics::LeasedNics;
use crate::path::{Coupling, Path, PathFacts};

/// Longest time for the ports to agree with DPDK's on speed and mode.
const LINK_LIMIT: Duration = Duration::from_secs(30);

/// A testpmd between NICs.
#[derive(Debug, Clone)]
pub struct NicsSpec {
    /// Threads and queues; there are no ways to it to be made.
    pub dpdk: DpdkSpec,
    /// PCI addresses of the NICs: testpmd's ports 0 and 1.
    pub devices: [String; 2],
    /// The tester's interfaces, A and B.
    pub ports: [String; 2],
}

/// Two interfaces joined by testpmd on NICs of its own, which go back to their drivers when
/// dropped.
#[derive(Debug)]
pub struct TestpmdNicsPath {
    // Dropped in this order: the program before what it uses.
    running: Running,
    _nics: LeasedNics,
    outside: ExternalPath,
    facts: PathFacts,
}

impl TestpmdNicsPath {
    /// Refuses what this machine cannot do, and NICs that somebody uses; changes nothing.
    ///
    /// # Errors
    /// As [`TestpmdNicsPath::build`], as far as it can be known beforehand.
    pub fn check(spec: &NicsSpec) -> Result<(), PathError> {
        spec.dpdk.fits("NICs that testpmd drives here")?;
        spec.dpdk.polling()?;
        TESTPMD.find()?;
        let [a, b] = &spec.ports;
        LeasedNics::check(&spec.devices, [a, b])?;
        match ExternalPath::open(a, b, spec.dpdk.rig.largest_frame) {
            // There is a link once DPDK drives the other end.
            Ok(_) | Err(PathError::NoCarrier { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Takes the NICs from their drivers, and waits until testpmd forwards and both ports have a
    /// link. testpmd is killed when this process ends.
    ///
    /// # Errors
    /// [`PathError::Guest`] where a NIC cannot be taken, [`PathError::NoKernelSupport`] without
    /// vfio-pci, [`PathError::NotInstalled`], [`PathError::TooFewCpus`], [`PathError::FrameTooLarge`],
    /// [`PathError::Program`] with what testpmd said when it does not start, and those of
    /// [`ExternalPath::open`].
    pub fn build(spec: &NicsSpec) -> Result<Self, PathError> {
        Self::check(spec)?;
        let polling = spec.dpdk.polling()?;
        let host = NetNs::current()?;
        let leased = LeasedNics::lease(&spec.devices)?;
        let running = Running::start(&spec.dpdk, &host, Ports::Pci(&spec.devices))?;
        let links = Links::open(&host)?;
        let [a, b] = &spec.ports;
        for port in [a, b] {
            // Whoever has none is named below.
            let _ = links.wait_carrier(port, LINK_LIMIT);
        }
        let outside = ExternalPath::open(a, b, spec.dpdk.rig.largest_frame)?;
        let nics = DpdkInterfaces::Nics(leased.words().into());
        let switch = testpmd::words(&running, polling, nics);
        let mut notes = outside.facts().notes.clone();
        notes.push(PathNote::Testpmd { switch }.into());
        let facts = PathFacts {
            kind: "testpmd",
            // The NICs receive by themselves, whatever the sender does.
            coupling: Coupling::Decoupled,
            threads: running.threads.clone(),
            notes,
            ..outside.facts().clone()
        };
        Ok(Self {
            running,
            _nics: leased,
            outside,
            facts,
        })
    }
}

impl Path for TestpmdNicsPath {
    fn facts(&self) -> &PathFacts {
        &self.facts
    }

    fn counters(&self) -> Result<PathCounters, NetError> {
        let mut counters = self.outside.counters()?;
        let nics = self.running.pair(0, [None, None])?;
        // Between `a` and `b`.
        counters.interfaces.splice(1..1, nics);
        counters.polling = self.running.polling();
        Ok(counters)
    }
}
