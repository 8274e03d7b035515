//! DPDK's testpmd between two NICs that it drives itself, with the tester at two interfaces that are
//! connected with them from outside.
//!
//! ```text
//!   a ..(cable).. NIC - testpmd - NIC ..(cable).. b
//! ```

use std::time::Duration;

use nicety_host::link::Links;
use nicety_host::net_error::NetError;
use nicety_host::netns::NetNs;
use nicety_model::Note;
use nicety_model::note::{DpdkInterfaces, PathNote};

use super::dpdk::DpdkSpec;
use super::testpmd::{self, Ports, Running, TESTPMD};
use crate::counters::PathCounters;
use crate::error::PathError;
use crate::external::ExternalPath;
use crate::path::{Coupling, Path, PathThread, Polling, Port};
use crate::pci::Devices;

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
    _devices: Devices,
    outside: ExternalPath,
    notes: Vec<Note>,
    polling: Vec<Polling>,
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
        Devices::check(&spec.devices, [a, b])?;
        match ExternalPath::open(a, b, spec.dpdk.rig.largest_frame) {
            // There is a link once DPDK drives the other end.
            Ok(_) | Err(PathError::NoCarrier { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Takes the NICs from their drivers, and waits until testpmd forwards and both ports have a
    /// link. testpmd is killed when the calling **thread** ends.
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
        let devices = Devices::take(&spec.devices)?;
        let running = Running::start(&spec.dpdk, &host, Ports::Pci(&spec.devices))?;
        let links = Links::open(&host)?;
        let [a, b] = &spec.ports;
        for port in [a, b] {
            // Whoever has none is named below.
            let _ = links.wait_carrier(port, LINK_LIMIT);
        }
        let outside = ExternalPath::open(a, b, spec.dpdk.rig.largest_frame)?;
        let nics = DpdkInterfaces::Nics(devices.words().into());
        let switch = testpmd::words(&running, polling, nics);
        let mut notes = outside.notes().to_vec();
        notes.push(PathNote::Testpmd { switch }.into());
        Ok(Self {
            polling: running.polling(),
            running,
            _devices: devices,
            outside,
            notes,
        })
    }
}

impl Path for TestpmdNicsPath {
    fn kind(&self) -> &'static str {
        "testpmd"
    }

    fn ports(&self) -> &[Port; 2] {
        self.outside.ports()
    }

    fn counters(&self) -> Result<PathCounters, NetError> {
        let mut counters = self.outside.counters()?;
        let nics = self.running.pair(0, [None, None])?;
        // Between `a` and `b`.
        counters.0.splice(1..1, nics);
        Ok(counters)
    }

    fn notes(&self) -> &[Note] {
        &self.notes
    }

    fn threads(&self) -> &[PathThread] {
        &self.running.threads
    }

    fn polling(&self) -> Vec<Polling> {
        self.polling.clone()
    }

    fn existing_ports(&self) -> bool {
        true
    }

    /// The NICs receive by themselves, whatever the sender does.
    fn coupling(&self) -> Coupling {
        Coupling::Decoupled
    }
}
