//! DPDK's testpmd between `d0` and `d1`: every frame that comes in at one goes out at the other,
//! unlooked at (`--forward-mode=io`).
//!
//! The interfaces stay the kernel's; testpmd takes their frames from a packet socket or an AF_XDP
//! socket each. Its polling threads never sleep: their CPU is always busy, however little they
//! have to do.

use std::fs;
use std::io;

use nicety_host::link::LinkCounters;
use nicety_host::net_error::NetError;

use super::dpdk::{self, DpdkSpec, MEMORY_MIB};
use super::program::{Packaged, Program, Start};
use super::run_dir::RunDir;
use super::telemetry::{PortStats, Telemetry};
use super::{pinned, place};
use crate::counters::PathCounters;
use crate::error::PathError;
use crate::path::{Coupling, Middle, Path, PathThread, Polling, Port};
use crate::rig::Rig;

pub(super) const TESTPMD: Packaged = Packaged {
    name: "dpdk-testpmd",
    places: &[],
    package: "dpdk-dev",
};
/// Buffers: two rings of 2,048 frames in either direction for each of some queues, and reserve.
const BUFFERS: u32 = 32_768;
/// Below RUNTIME_DIRECTORY, for `--file-prefix=nicety`.
const SOCKET: &str = "dpdk/nicety/dpdk_telemetry.v2";

/// Two namespaces joined by testpmd; gone when dropped.
#[derive(Debug)]
pub struct TestpmdPath {
    // Dropped in this order: the program before what it uses.
    telemetry: Telemetry,
    _program: Program,
    rig: Rig,
    threads: Vec<PathThread>,
    polling: Vec<Polling>,
    _dir: RunDir,
}

impl TestpmdPath {
    /// Builds the path and waits until it forwards. testpmd is killed when the calling
    /// **thread** ends.
    ///
    /// # Errors
    /// [`PathError::NotInstalled`], [`PathError::TooFewCpus`], [`PathError::FrameTooLarge`],
    /// [`PathError::Program`] with what testpmd said when it does not start, and those of
    /// [`BridgePath::build`](crate::BridgePath::build).
    pub fn build(spec: &DpdkSpec) -> Result<Self, PathError> {
        spec.check()?;
        let polling = spec.polling()?;
        let path = TESTPMD.find()?;
        let mut rig = Rig::build(&spec.rig)?;
        let dir = RunDir::create()?;
        let mut start = Start {
            name: "testpmd",
            program: &path,
            arguments: arguments(spec, polling),
            environment: Vec::new(),
            ns: &rig.dut.ns,
            cpus: &[],
        };
        dpdk::keep_private(&mut start, &dir);
        let mut program = Program::start(&start, &dir)?;
        let socket = dir.file(SOCKET);
        let telemetry = program.wait_for("its telemetry socket", || {
            Ok(Telemetry::connect(&socket).ok())
        })?;
        let id = program.id();
        let threads = program.wait_for("its start of forwarding", || {
            let started = |port| telemetry.started(port).unwrap_or(false);
            if !(started(0) && started(1)) {
                return Ok(None);
            }
            let threads = pinned::threads(id, label)?;
            let all = threads.len() == polling.len() && threads.iter().all(polls);
            Ok(all.then_some(threads))
        })?;
        rig.notes.push(format!(
            "testpmd: DPDK without huge pages, {} polling {} on CPU {}, interfaces through {}",
            polling.len(),
            if polling.len() == 1 {
                "thread"
            } else {
                "threads"
            },
            list(polling),
            spec.vdev.word(),
        ));
        // testpmd 22.11 tells nobody how many of its rounds found frames.
        let polling = threads.iter().map(|thread| Polling {
            who: thread.thread.name.clone(),
            cycles: None,
        });
        let polling = polling.collect();
        let mut all = rig.threads.clone();
        all.extend(threads);
        Ok(Self {
            telemetry,
            _program: program,
            rig,
            threads: all,
            polling,
            _dir: dir,
        })
    }

    /// Frames that testpmd took from the interfaces and gave to none: its output was full.
    fn places(&self) -> io::Result<[PortStats; 2]> {
        Ok([self.telemetry.stats(0)?, self.telemetry.stats(1)?])
    }
}

fn arguments(spec: &DpdkSpec, polling: &[u32]) -> Vec<String> {
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
        "--no-pci".to_owned(),
        "--no-huge".to_owned(),
        "--iova-mode=va".to_owned(),
        format!("-m{MEMORY_MIB}"),
        "--file-prefix=nicety".to_owned(),
    ];
    for number in 0..2 {
        words.push(format!("--vdev={}", spec.vdev.arguments(number, queues)));
    }
    words.extend([
        "--".to_owned(),
        "--forward-mode=io".to_owned(),
        "--auto-start".to_owned(),
        "--no-mlockall".to_owned(),
        format!("--total-num-mbufs={BUFFERS}"),
        format!("--nb-cores={}", polling.len()),
        format!("--rxq={queues}"),
        format!("--txq={queues}"),
    ]);
    words
}

/// The threads that carry frames: `rte-worker-1` (`lcore-worker-1` before DPDK 22.11).
fn label(name: &str, _: bool) -> Option<String> {
    let lcore = name
        .strip_prefix("rte-worker-")
        .or_else(|| name.strip_prefix("lcore-worker-"))?;
    Some(format!("testpmd lcore {lcore}"))
}

/// Whether a thread runs: one without work yet waits in read(2).
fn polls(thread: &PathThread) -> bool {
    let status = fs::read_to_string(format!("/proc/{}/status", thread.thread.pid));
    status.is_ok_and(|text| text.lines().any(|line| line.starts_with("State:\tR")))
}

/// CPU numbers for a sentence.
pub(super) fn list(cpus: &[u32]) -> String {
    let words: Vec<String> = cpus.iter().map(u32::to_string).collect();
    words.join(", ")
}

impl Path for TestpmdPath {
    fn kind(&self) -> &'static str {
        "testpmd"
    }

    fn ports(&self) -> &[Port; 2] {
        &self.rig.ports
    }

    fn counters(&self) -> Result<PathCounters, NetError> {
        let mut counters = self.rig.counters(&[])?;
        let stats = self
            .places()
            .map_err(|e| NetError::new("read the counters of", "testpmd", e))?;
        let arrived = ["d0", "d1"].map(|name| counters.of(name).map_or(0, |c| c.rx_packets));
        let ports = [0, 1].map(|port| {
            let (own, other) = (stats[port], stats[1 - port]);
            place(
                &format!("testpmd port {port}"),
                LinkCounters {
                    rx_packets: own.received,
                    tx_packets: own.sent,
                    rx_bytes: own.received_bytes,
                    tx_bytes: own.sent_bytes,
                    // What the interface received and the polling thread never saw: the
                    // socket's ring was full.
                    rx_missed_errors: arrived[port].saturating_sub(own.received),
                    // What came in at the other port and could not go out here.
                    tx_dropped: other.received.saturating_sub(own.sent),
                    ..LinkCounters::default()
                },
            )
        });
        // After `a` and `d0`.
        counters.0.splice(2..2, ports);
        Ok(counters)
    }

    fn notes(&self) -> &[String] {
        &self.rig.notes
    }

    fn threads(&self) -> &[PathThread] {
        &self.threads
    }

    fn polling(&self) -> Vec<Polling> {
        self.polling.clone()
    }

    fn middle(&self) -> Option<Middle<'_>> {
        Some(Middle {
            ns: &self.rig.dut.ns,
            userspace: true,
        })
    }

    fn coupling(&self) -> Coupling {
        self.rig.coupling()
    }
}
