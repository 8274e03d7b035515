//! The other generators: how each is told to send, and how each is ended.

use std::fs::File;
use std::os::unix::process::CommandExt as _;
use std::path::{Path as FilePath, PathBuf};
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use nicety_benchmarks::program::{self, command};
use nicety_paths::PathPort;
use nicety_port::pin;
use rustix::process::{Pid, Signal, kill_process_group};

use super::stage::{self, Cpus};

/// No peer lives longer, whatever becomes of us: coreutils' timeout ends it.
const LIFE_S: &str = "20";
/// Time a peer has to end after being asked.
const PATIENCE: Duration = Duration::from_millis(1500);

/// A way to use a peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    /// trafgen with its transmit ring, as it does unasked.
    TrafgenRing,
    /// trafgen with one sendto per frame, its way as soon as a gap or rate is given.
    TrafgenSendto,
    Tcpreplay,
    /// testpmd over packet sockets.
    Testpmd,
    /// testpmd over AF_XDP, copying.
    TestpmdXdp,
    /// xdp-trafficgen; `NICETY_XDP_TRAFFICGEN` names another build of it.
    XdpTrafficgen,
}

impl Peer {
    pub const ALL: [Self; 6] = [
        Self::TrafgenRing,
        Self::TrafgenSendto,
        Self::Tcpreplay,
        Self::Testpmd,
        Self::TestpmdXdp,
        Self::XdpTrafficgen,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::TrafgenRing => "trafgen ring",
            Self::TrafgenSendto => "trafgen sendto",
            Self::Tcpreplay => "tcpreplay",
            Self::Testpmd => "testpmd af_packet",
            Self::TestpmdXdp => "testpmd af_xdp",
            Self::XdpTrafficgen => "xdp-trafficgen",
        }
    }

    /// Whether it can be told a rate.
    pub fn has_rate(self) -> bool {
        matches!(self, Self::TrafgenSendto | Self::Tcpreplay)
    }

    /// How long it sends before it is measured: testpmd first touches its memory page by page.
    pub fn settle(self) -> Duration {
        Duration::from_millis(if self.is_testpmd() { 800 } else { 150 })
    }

    fn is_testpmd(self) -> bool {
        matches!(self, Self::Testpmd | Self::TestpmdXdp)
    }

    fn program(self) -> String {
        let name = match self {
            Self::TrafgenRing | Self::TrafgenSendto => "trafgen",
            Self::Tcpreplay => "tcpreplay",
            Self::Testpmd | Self::TestpmdXdp => "dpdk-testpmd",
            Self::XdpTrafficgen => {
                return std::env::var("NICETY_XDP_TRAFFICGEN")
                    .unwrap_or_else(|_| "xdp-trafficgen".to_owned());
            }
        };
        name.to_owned()
    }

    fn package(self) -> &'static str {
        match self {
            Self::TrafgenRing | Self::TrafgenSendto => "netsniff-ng",
            Self::Tcpreplay => "tcpreplay",
            Self::Testpmd | Self::TestpmdXdp => "dpdk-dev",
            Self::XdpTrafficgen => "xdp-tools",
        }
    }

    /// Its own words about its version, or why it cannot be used.
    pub fn version(self) -> Result<String> {
        // testpmd knows no --version; -v names it before the rest fails.
        let arguments = match self {
            Self::Testpmd | Self::TestpmdXdp => {
                "-v --no-huge -m 64 --no-pci --no-shconf --no-telemetry"
            }
            Self::XdpTrafficgen => "udp --version",
            _ => "--version",
        };
        let words: Vec<&str> = arguments.split(' ').collect();
        let version = program::version(&self.program(), &words);
        version.with_context(|| format!("Debian has it in package {}", self.package()))
    }
}

/// What peers read: the frame in their own formats.
#[derive(Debug)]
pub struct Files {
    dir: tempfile::TempDir,
}

impl Files {
    pub fn write() -> Result<Self> {
        let files = Self {
            dir: tempfile::tempdir()?,
        };
        let frame = stage::frame()?;
        let bytes: Vec<String> = frame.iter().map(|byte| format!("{byte:#04x}")).collect();
        std::fs::write(files.trafgen(), format!("{{ {} }}\n", bytes.join(", ")))?;
        // libpcap's file format: header (magic, version 2.4, zone, accuracy, largest frame,
        // Ethernet), then time, length kept and length of each frame.
        let mut pcap = Vec::new();
        for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 1] {
            pcap.extend(word.to_le_bytes());
        }
        let length = u32::try_from(frame.len())?;
        for _ in 0..256 {
            for word in [0, 0, length, length] {
                pcap.extend(word.to_le_bytes());
            }
            pcap.extend(&frame);
        }
        std::fs::write(files.pcap(), pcap)?;
        Ok(files)
    }

    fn trafgen(&self) -> PathBuf {
        self.dir.path().join("frame.cfg")
    }

    fn pcap(&self) -> PathBuf {
        self.dir.path().join("frames.pcap")
    }

    fn said(&self) -> PathBuf {
        self.dir.path().join("said")
    }
}

/// A peer that is running; ended and reaped on drop.
#[derive(Debug)]
pub struct Running {
    child: Child,
    /// See [`Peer::settle`].
    pub settle: Duration,
    said: PathBuf,
}

impl Running {
    /// Starts `peer` on `port`, flat out or at `rate` frames per second.
    pub fn start(
        peer: Peer,
        port: &PathPort,
        rate: Option<u32>,
        files: &Files,
        cpus: Cpus,
    ) -> Result<Self> {
        let said = files.said();
        let output = File::create(&said)?;
        let mut command = command("timeout");
        command
            .args(["--kill-after=1", LIFE_S, &peer.program()])
            .args(arguments(peer, &port.name, rate, files, cpus))
            .current_dir(files.dir.path())
            // testpmd ends when its input does.
            .stdin(Stdio::piped())
            .stdout(output.try_clone()?)
            .stderr(output)
            // trafgen works in children of its own: the group is ended as one.
            .process_group(0);
        let child = port.ns.run(|| {
            // testpmd pins its threads itself and wants both CPUs for it.
            if !peer.is_testpmd() {
                pin::to_cpu(Some(cpus.sender));
            }
            pin::prefer();
            command.spawn()
        })?;
        let child = child.with_context(|| format!("cannot start {}", peer.program()))?;
        Ok(Self {
            child,
            settle: peer.settle(),
            said,
        })
    }

    /// Fails when the peer has ended by itself, with its last words.
    pub fn check(&mut self) -> Result<()> {
        if self.child.try_wait()?.is_none() {
            return Ok(());
        }
        bail!("ended by itself: {}", last_words(&self.said))
    }

    fn end(&mut self) {
        let Ok(id) = i32::try_from(self.child.id()) else {
            return;
        };
        let Some(group) = Pid::from_raw(id) else {
            return;
        };
        // Members of the group may outlive its leader, so it is always signalled.
        let _ = kill_process_group(group, Signal::INT);
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until && matches!(self.child.try_wait(), Ok(None)) {
            sleep(Duration::from_millis(10));
        }
        let _ = kill_process_group(group, Signal::KILL);
        let _ = self.child.wait();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
    }
}

/// The line that tells most: one with a failure in it, else the last.
fn last_words(said: &FilePath) -> String {
    let text = std::fs::read_to_string(said).unwrap_or_default();
    let told = |line: &&str| {
        let line = line.to_lowercase();
        !line.contains("socket memory")
            && ["fail", "error", "cannot", "invalid", "unable"]
                .iter()
                .any(|word| line.contains(word))
    };
    let line = text
        .lines()
        .find(told)
        .or_else(|| text.lines().rfind(|line| !line.trim().is_empty()));
    line.unwrap_or("it said nothing").trim().to_owned()
}

fn arguments(
    peer: Peer,
    interface: &str,
    rate: Option<u32>,
    files: &Files,
    cpus: Cpus,
) -> Vec<String> {
    let words = match peer {
        Peer::TrafgenRing | Peer::TrafgenSendto => {
            let how = match (peer, rate) {
                (_, Some(rate)) => format!("--rate {rate}pps"),
                (Peer::TrafgenSendto, None) => "--gap 0".to_owned(),
                _ => String::new(),
            };
            let conf = files.trafgen();
            let conf = conf.display();
            format!("--dev {interface} --conf {conf} --cpus 1 --notouch-irq --no-cpu-stats {how}")
        }
        Peer::Tcpreplay => {
            let how = match rate {
                Some(rate) => format!("--pps={rate}"),
                None => "--topspeed".to_owned(),
            };
            let pcap = files.pcap();
            let pcap = pcap.display();
            format!("--intf1={interface} --preload-pcap --loop=0 --quiet {how} {pcap}")
        }
        Peer::XdpTrafficgen => format!("udp -n 2000000000 -t 1 {interface}"),
        Peer::Testpmd | Peer::TestpmdXdp => {
            let device = match peer {
                Peer::Testpmd => {
                    format!("net_af_packet0,iface={interface},qpairs=1,qdisc_bypass=1")
                }
                _ => format!(
                    "net_af_xdp0,iface={interface},start_queue=0,queue_count=1,force_copy=1"
                ),
            };
            let Cpus { sender, path } = cpus;
            let destination = stage::frame().unwrap_or_default();
            let destination: Vec<String> = destination
                .iter()
                .take(6)
                .map(|byte| format!("{byte:02x}"))
                .collect();
            let destination = destination.join(":");
            format!(
                "-l {sender},{path} --main-lcore {path} --no-huge -m 512 --no-pci --no-telemetry \
                 --no-shconf --vdev={device} -- \
                 --forward-mode=txonly --auto-start --total-num-mbufs=8192 --txpkts=60 \
                 --eth-peer=0,{destination}"
            )
        }
    };
    words.split_ascii_whitespace().map(str::to_owned).collect()
}
