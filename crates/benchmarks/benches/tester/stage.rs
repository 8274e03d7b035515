//! Where everything is measured: the paths, the CPUs, and the kernel's own counters.

use std::time::Instant;

use anyhow::{Context as _, Result};
use nicety_host::roots::Roots;
use nicety_host::topology::Topology;
use nicety_model::{Direction, FrameSize};
use nicety_netdev::ethtool::Ethtool;
use nicety_netdev::link::Links;
use nicety_netdev::napi;
use nicety_netdev::netns::NetNs;
use nicety_packet::{FlowRange, MacAddr, Side, Template, TemplateSpec};
use nicety_paths::{BridgePath, BridgeSpec, DirectPath, DirectSpec, Path, PathPort};
use nicety_port::Engine;
use nicety_port::af_packet::{AfPacket, PortSockets, PortSpec, Refusal, TrafficSpec};
use nicety_port::xdp::{Opening, probe};

/// Numbers of the tester's stations in [`MacAddr::local`].
const STATIONS: [u32; 2] = [1, 2];

/// One CPU for whoever sends, another for the path's threads.
#[derive(Debug, Clone, Copy)]
pub struct Cpus {
    pub sender: u32,
    pub path: u32,
}

impl Cpus {
    /// The sender gets the lowest CPU, because the first worker of trafgen pins itself to CPU 0;
    /// the path one that shares no core with it, if there is one.
    pub fn choose() -> Result<Self> {
        let roots = Roots::live();
        let topology = Topology::read(&roots.proc, &roots.sys)?;
        let sender = *topology.allowed.first().context("no CPU is allowed")?;
        let siblings = topology.siblings(sender);
        let others = || topology.allowed.iter().copied().filter(|c| *c != sender);
        let path = others()
            .find(|cpu| !siblings.contains(cpu))
            .or_else(|| others().next())
            .context("this needs two CPUs: one sends, the other carries")?;
        Ok(Self { sender, path })
    }
}

/// The smallest frame.
pub fn frame_size() -> Result<FrameSize> {
    Ok(FrameSize::new(FrameSize::MIN)?)
}

/// The frame every tool sends: UDP in IPv4 from station A to station B, without FCS.
pub fn frame() -> Result<Vec<u8>> {
    let template = Template::new(TemplateSpec {
        frame_size: frame_size()?,
        source_mac: MacAddr::local(STATIONS[0]),
        destination_mac: MacAddr::local(STATIONS[1]),
        vlan: None,
        flows: FlowRange::single(Side::A),
        mark: nicety_packet::RunMark::NONE,
    })?;
    Ok(template.bytes().to_vec())
}

/// A veth pair whose ends receive in threads of their own.
pub fn direct(cpus: Cpus) -> Result<DirectPath> {
    Ok(DirectPath::build(&DirectSpec {
        path_cpus: vec![cpus.path],
        largest_frame: frame_size()?,
        queues: 1,
    })?)
}

/// The default path of `nicety bench`.
pub fn bridge(cpus: Cpus) -> Result<BridgePath> {
    Ok(BridgePath::build(&BridgeSpec {
        path_cpus: vec![cpus.path],
        largest_frame: frame_size()?,
        queues: 1,
    })?)
}

/// The same bridge as it is without nicety's preparations: nobody receives in a thread, and the
/// sender's CPU does the path's work.
pub fn plain(cpus: Cpus) -> Result<BridgePath> {
    let path = bridge(cpus)?;
    let undo = |ns: &NetNs, name: &str, features: &[(&str, bool)]| -> Result<()> {
        let undone: Vec<_> = features.iter().map(|(name, on)| (*name, !on)).collect();
        Ethtool::open(ns)?.set_features(name, &undone)?;
        Ok(())
    };
    for (port, far) in path.ports().iter().zip(["d0", "d1"]) {
        undo(&port.ns, &port.name, &napi::SENDER_FEATURES)?;
        undo(path.dut(), far, &napi::RECEIVER_FEATURES)?;
    }
    Ok(path)
}

/// An engine of nicety.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Xdp,
    AfPacket,
}

/// An engine that a thread may take over.
pub type BoxedEngine = Box<dyn Engine + Send>;

impl Kind {
    pub const ALL: [Self; 2] = [Self::Xdp, Self::AfPacket];

    pub fn name(self) -> &'static str {
        match self {
            Self::Xdp => "nicety xdp",
            Self::AfPacket => "nicety af_packet",
        }
    }

    /// Why it cannot be used here.
    pub fn missing(self) -> Option<String> {
        match self {
            Self::Xdp => probe::live_frames().err().map(|why| why.to_string()),
            Self::AfPacket => None,
        }
    }

    /// This engine from the first port to the second. With ports of two different paths nothing
    /// ever arrives: the engine then only sends.
    pub fn open(
        self,
        from: &PathPort,
        to: &PathPort,
        cpus: Cpus,
        flows: u32,
    ) -> Result<BoxedEngine> {
        let spec = |port: &PathPort, station| PortSpec {
            interface: port.name.clone(),
            mac: MacAddr::local(station),
            mtu: port.mtu,
            refusal: Refusal::LostInPath,
            promiscuous: false,
        };
        let specs = [spec(from, STATIONS[0]), spec(to, STATIONS[1])];
        let traffic = TrafficSpec {
            frame_size: frame_size()?,
            direction: Direction::Uni,
            flows,
            stations: 1,
            vlan: None,
            shape: nicety_model::Shape::default(),
            mark: nicety_packet::RunMark::NONE,
        };
        let cpu = vec![Some(cpus.sender)];
        match self {
            Self::Xdp => {
                let mut opening = Opening::new(specs, traffic, cpu)?;
                to.ns.run(|| opening.open(1))??;
                from.ns.run(|| opening.open(0))??;
                Ok(Box::new(opening.finish()))
            }
            Self::AfPacket => {
                let size = traffic.frame_size;
                let a = from.ns.run(|| PortSockets::open(&specs[0], size))??;
                let b = to.ns.run(|| PortSockets::open(&specs[1], size))??;
                Ok(Box::new(AfPacket::new(a, b, traffic, cpu)?))
            }
        }
    }
}

/// The kernel's counters at both ends of a path at one moment.
#[derive(Debug, Clone, Copy)]
pub struct Count {
    pub at: Instant,
    /// Frames handed to the sending end: those it carried and those its far end refused.
    pub offered: u64,
    /// Frames that reached the receiving end.
    pub arrived: u64,
}

/// Reads [`Count`]s of one path.
pub struct Counters {
    ends: [(Links, String); 2],
}

impl Counters {
    pub fn of(path: &dyn Path) -> Result<Self> {
        let [a, b] = path.ports();
        Ok(Self {
            ends: [
                (Links::open(&a.ns)?, a.name.clone()),
                (Links::open(&b.ns)?, b.name.clone()),
            ],
        })
    }

    pub fn read(&self) -> Result<Count> {
        let [(a, a_name), (b, b_name)] = &self.ends;
        let at = Instant::now();
        let sent = a.get(a_name)?.counters;
        let got = b.get(b_name)?.counters;
        Ok(Count {
            at,
            offered: sent.tx_packets + sent.tx_dropped,
            arrived: got.rx_packets,
        })
    }
}
