//! DPDK's testpmd between `d0` and `d1`: every frame that comes in at one goes out at the other,
//! unlooked at (`--forward-mode=io`).
//!
//! The interfaces stay the kernel's; testpmd takes their frames from a packet socket or an AF_XDP
//! socket each. Its polling threads never sleep: their CPU is always busy, however little they
//! have to do.

use std::fs;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use nicety_model::note::{DpdkInterfaces, DpdkSwitch, PathNote};
use nicety_netdev::link::LinkCounters;
use nicety_netdev::net_error::NetError;
use nicety_netdev::netns::NetNs;

use super::dpdk::{self, DpdkSpec, MEMORY_MIB};
use super::pinned;
use super::program::{Packaged, Start, unanswered};
use super::restartable::Restartable;
use super::telemetry::{PortStats, Telemetry};
use crate::counters::{InterfaceCounters, PathCounters, Polling};
use crate::error::PathError;
use crate::path::{Path, PathFacts, PathThread};
use crate::resettable::Resettable;
use crate::rig::Rig;
use crate::run_dir::RunDir;

pub(super) const TESTPMD: Packaged = Packaged::on_path("dpdk-testpmd", "dpdk-dev");
/// Buffers: two rings of 2,048 frames in either direction for each of some queues, and reserve.
const BUFFERS: u32 = 32_768;
/// Below RUNTIME_DIRECTORY, for `--file-prefix=nicety`.
const SOCKET: &str = "dpdk/nicety/dpdk_telemetry.v2";

/// What its ports are, of which every two are a pair.
#[derive(Clone, Copy)]
pub(super) enum Ports<'a> {
    /// Drivers on interfaces of the kernel, or on sockets of guests.
    Vdevs(&'a [String]),
    /// NICs that VFIO gives it, by their addresses.
    Pci(&'a [String]),
}

/// Two namespaces joined by testpmd; gone when dropped.
#[derive(Debug)]
pub struct TestpmdPath {
    // Dropped in this order: the program before what it uses.
    running: Running,
    rig: Rig,
}

/// A testpmd that forwards; gone when dropped.
#[derive(Debug)]
pub(super) struct Running {
    telemetry: Telemetry,
    program: Restartable,
    /// Threads that carry frames.
    pub(super) threads: Vec<PathThread>,
}

impl Running {
    /// Starts it and waits until it forwards. It is killed when this process ends.
    pub(super) fn start(spec: &DpdkSpec, ns: &NetNs, ports: Ports<'_>) -> Result<Self, PathError> {
        let polling = spec.polling()?;
        let path = TESTPMD.find()?;
        let dir = Arc::new(RunDir::create()?);
        let mut start = Start {
            name: "testpmd",
            program: &path,
            arguments: arguments(spec, polling, ports),
            environment: Vec::new(),
            ns,
            cpus: &[],
        };
        dpdk::keep_private(&mut start, &dir);
        let mut program = Restartable::start(&start, &dir)?;
        let socket = dir.file(SOCKET);
        let telemetry = program.program().wait_for("its telemetry socket", || {
            Ok(Telemetry::connect(&socket).ok())
        })?;
        let id = program.id();
        let threads = program.program().wait_for("its start of forwarding", || {
            let started = |port| telemetry.started(port).unwrap_or(false);
            if !(0..ports.count()).all(started) {
                return Ok(None);
            }
            let threads = pinned::threads(id, label)?;
            let all = threads.len() == polling.len() && threads.iter().all(polls);
            Ok(all.then_some(threads))
        })?;
        Ok(Self {
            telemetry,
            program,
            threads,
        })
    }

    /// Waits until `ports`, which are guests', carry frames.
    pub(super) fn wait_for_guests(&mut self, ports: Range<usize>) -> Result<(), PathError> {
        let telemetry = &self.telemetry;
        self.program.program().wait_for("its guests' drivers", || {
            let linked = ports
                .clone()
                .all(|port| telemetry.linked(port).unwrap_or(false));
            Ok(linked.then_some(()))
        })
    }

    /// The program; nobody listens to the telemetry of one that was started again.
    pub(super) fn program(&self) -> &dyn Resettable {
        &self.program
    }

    /// What ports `from` and `from + 1`, which are a pair, have counted. `arrived` are the frames
    /// that the interfaces of ports on such have received; other ports say themselves what they missed.
    pub(super) fn pair(
        &self,
        from: usize,
        arrived: [Option<u64>; 2],
    ) -> Result<[InterfaceCounters; 2], NetError> {
        let stats = self
            .stats(from)
            .map_err(|e| NetError::new("read the counters of", "testpmd", unanswered(e)))?;
        Ok([0, 1].map(|side| {
            let (own, other) = (stats[side], stats[1 - side]);
            InterfaceCounters::inner(
                format!("testpmd port {}", from + side),
                LinkCounters {
                    rx_packets: own.received,
                    tx_packets: own.sent,
                    rx_bytes: own.received_bytes,
                    tx_bytes: own.sent_bytes,
                    // What the interface received and the polling thread never saw: the
                    // socket's ring was full. A NIC counts what found no descriptor.
                    rx_missed_errors: arrived[side]
                        .map_or(own.missed, |n| n.saturating_sub(own.received)),
                    // What came in at the other port and could not go out here.
                    tx_dropped: other.received.saturating_sub(own.sent),
                    ..LinkCounters::default()
                },
            )
        }))
    }

    /// Its threads that poll. testpmd 22.11 tells nobody how many of its rounds found frames.
    pub(super) fn polling(&self) -> Vec<Polling> {
        let thread = |thread: &PathThread| Polling {
            who: thread.thread.name.clone(),
            cycles: None,
        };
        self.threads.iter().map(thread).collect()
    }

    fn stats(&self, from: usize) -> io::Result<[PortStats; 2]> {
        Ok([self.telemetry.stats(from)?, self.telemetry.stats(from + 1)?])
    }
}

/// What it is, for the run's notes.
pub(super) fn words(running: &Running, polling: &[u32], interfaces: DpdkInterfaces) -> DpdkSwitch {
    DpdkSwitch {
        polling_cpus: polling.to_vec(),
        interfaces,
        queues: running.telemetry.queues(0).ok(),
    }
}

impl TestpmdPath {
    /// Refuses what this machine cannot do; makes nothing.
    ///
    /// # Errors
    /// As [`TestpmdPath::build`], as far as it can be known beforehand.
    pub fn check(spec: &DpdkSpec) -> Result<(), PathError> {
        spec.check()?;
        spec.polling()?;
        TESTPMD.find().map(drop)
    }

    /// Builds the path and waits until it forwards. testpmd is killed when this process
    /// ends.
    ///
    /// # Errors
    /// [`PathError::NotInstalled`], [`PathError::TooFewCpus`], [`PathError::FrameTooLarge`],
    /// [`PathError::Program`] with what testpmd said when it does not start, and those of
    /// [`BridgePath::build`](crate::BridgePath::build).
    pub fn build(spec: &DpdkSpec) -> Result<Self, PathError> {
        Self::check(spec)?;
        let polling = spec.polling()?;
        let mut rig = Rig::build("testpmd", &spec.rig)?;
        let vdevs = [0, 1].map(|number| dpdk::device(spec.vdev, number, spec.rig.queues.max(1)));
        let running = Running::start(spec, &rig.dut.ns, Ports::Vdevs(&vdevs))?;
        let switch = words(&running, polling, dpdk::interfaces(spec.vdev));
        rig.facts.notes.push(PathNote::Testpmd { switch }.into());
        rig.facts.threads.extend(running.threads.iter().cloned());
        rig.joined(true);
        Ok(Self { running, rig })
    }
}

impl Ports<'_> {
    fn count(self) -> usize {
        let (Self::Vdevs(ports) | Self::Pci(ports)) = self;
        ports.len()
    }

    /// DPDK's arguments for them: NICs of others are left alone.
    fn arguments(self) -> Vec<String> {
        match self {
            Self::Vdevs(vdevs) => {
                let each = vdevs.iter().map(|vdev| format!("--vdev={vdev}"));
                ["--no-pci".to_owned()].into_iter().chain(each).collect()
            }
            Self::Pci(addresses) => {
                let each = addresses.iter();
                each.map(|address| format!("--allow={address}")).collect()
            }
        }
    }
}

fn arguments(spec: &DpdkSpec, polling: &[u32], ports: Ports<'_>) -> Vec<String> {
    let queues = spec.rig.queues.max(1);
    // Logical core 0 only waits for the end; the others poll.
    let beside = spec.beside().first().or(polling.first()).unwrap_or(&0);
    let lcores: Vec<String> = [beside]
        .into_iter()
        .chain(polling)
        .enumerate()
        .map(|(lcore, cpu)| format!("{lcore}@{cpu}"))
        .collect();
    let mut words = vec![
        "--lcores".to_owned(),
        lcores.join(","),
        "--no-huge".to_owned(),
        "--iova-mode=va".to_owned(),
        format!("-m{MEMORY_MIB}"),
        "--file-prefix=nicety".to_owned(),
    ];
    words.extend(ports.arguments());
    words.extend([
        "--".to_owned(),
        "--forward-mode=io".to_owned(),
        "--auto-start".to_owned(),
        "--no-mlockall".to_owned(),
        // A guest's interface has a link when the guest has a driver.
        "--disable-link-check".to_owned(),
        format!("--total-num-mbufs={BUFFERS}"),
        format!("--nb-cores={}", polling.len()),
        format!("--rxq={queues}"),
        format!("--txq={queues}"),
    ]);
    words
}

/// Names of the threads that carry frames before the number of their logical core, by DPDK's version: before
/// 22.11, before 23.07, and since (`rte_eal_init` in lib/eal/linux/eal.c).
const WORKERS: [&str; 3] = ["lcore-worker-", "rte-worker-", "dpdk-worker"];

fn label(name: &str, _: bool) -> Option<String> {
    let lcore = WORKERS.iter().find_map(|of| name.strip_prefix(of))?;
    Some(format!("testpmd lcore {lcore}"))
}

/// Whether a thread runs: one without work yet waits in read(2).
fn polls(thread: &PathThread) -> bool {
    let status = fs::read_to_string(format!("/proc/{}/status", thread.thread.pid));
    status.is_ok_and(|text| text.lines().any(|line| line.starts_with("State:\tR")))
}

impl Path for TestpmdPath {
    fn facts(&self) -> &PathFacts {
        &self.rig.facts
    }

    fn counters(&self) -> Result<PathCounters, NetError> {
        let mut counters = self.rig.counters(&[])?;
        let arrived = ["d0", "d1"].map(|name| counters.of(name).map(|c| c.rx_packets));
        let ports = self.running.pair(0, arrived)?;
        // After `a` and `d0`.
        counters.interfaces.splice(2..2, ports);
        counters.polling = self.running.polling();
        Ok(counters)
    }

    fn resettable(&self) -> Option<&dyn Resettable> {
        Some(self.running.program())
    }
}

#[cfg(test)]
mod tests {
    use nicety_model::FrameSize;

    use super::*;
    use crate::rig::RigSpec;
    use nicety_model::path::Vdev;

    #[test]
    fn threads_that_poll_are_known_by_name() {
        for (name, label_of) in [
            ("lcore-worker-1", Some("testpmd lcore 1")),
            ("rte-worker-1", Some("testpmd lcore 1")),
            ("dpdk-worker12", Some("testpmd lcore 12")),
            ("dpdk-intr", None),
        ] {
            assert_eq!(label(name, true).as_deref(), label_of, "{name}");
        }
    }

    #[test]
    fn nics_are_allowed_by_address_and_virtual_devices_exclude_them() {
        let spec = DpdkSpec {
            rig: RigSpec {
                path_cpus: Vec::new(),
                largest_frame: FrameSize::new(64).unwrap(),
                queues: 2,
            },
            vdev: Vdev::AfPacket,
            cores: 2,
            cpus: vec![4, 5, 6],
        };
        let words = |ports| arguments(&spec, &[4, 5], ports).join(" ");
        let names = ["0000:03:00.0", "0000:03:00.1"].map(str::to_owned);
        let nics = words(Ports::Pci(&names));
        assert!(
            nics.starts_with(
                "--lcores 0@6,1@4,2@5 --no-huge --iova-mode=va -m512 --file-prefix=nicety \
                 --allow=0000:03:00.0 --allow=0000:03:00.1 -- --forward-mode=io"
            ),
            "{nics}"
        );
        assert!(nics.ends_with("--nb-cores=2 --rxq=2 --txq=2"), "{nics}");
        let vdevs = words(Ports::Vdevs(&["net_null0".to_owned()]));
        assert!(vdevs.contains("--no-pci --vdev=net_null0 --"), "{vdevs}");
        assert!(!vdevs.contains("--allow"), "{vdevs}");
    }
}
