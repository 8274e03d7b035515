//! Two guests, the uplink that they share, and somebody behind it who answers.

use std::net::{Ipv4Addr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Result;
use nicety_benchmarks::background::Background;
use nicety_benchmarks::inside::sh;
use nicety_benchmarks::program::Held;
use nicety_netdev::link::{Links, Share};
use nicety_netdev::netns::NetNs;
use nicety_netdev::tap;
use nicety_packet::MacAddr;

use super::guest::{ANSWERS, Guest, Machine};
use super::{Control, Kind, prefer};
use crate::UPLINK;
use crate::flows::SINK;
use crate::rig::Rig;

/// Names of the ports.
pub const PORTS: [&str; 2] = ["v1", "f1"];
/// The sink's end of the uplink.
const SINK_MAC: MacAddr = MacAddr([2, 0, 0, 0, 0, 0xfe]);

pub struct Stage {
    pub victim: Guest,
    pub flooder: Guest,
    kind: Kind,
    rig: Rig,
    echo: Background,
    /// Guests' namespaces, which end with it.
    _guests: Vec<NetNs>,
}

/// Answers every datagram.
fn echo(sink: &NetNs) -> Result<Background> {
    let socket = sink.run(|| UdpSocket::bind((SINK, ANSWERS)))??;
    socket.set_read_timeout(Some(Duration::from_millis(100)))?;
    let answer = move |over: &AtomicBool| {
        prefer(0);
        let mut buffer = [0; 64];
        while !over.load(Ordering::Relaxed) {
            if let Ok((read, from)) = socket.recv_from(&mut buffer) {
                let _ = socket.send_to(&buffer[..read], from);
            }
        }
    };
    Ok(Background::start("echo", answer)?)
}

fn mac(number: u8) -> MacAddr {
    MacAddr([2, 0, 0, 0, 1, number])
}

fn address(number: u8) -> Ipv4Addr {
    Ipv4Addr::new(192, 0, 2, number)
}

impl Stage {
    pub fn new(kind: Kind) -> Result<Self> {
        let rig = Rig::new(&[], UPLINK)?;
        let to = SINK_MAC.to_string();
        sh(&rig.sink, &format!("ip link set u0 address {to}"))?;
        for number in [1, 2] {
            let (ip, mac) = (address(number), mac(number));
            let neighbour = format!("ip neighbour add {ip} lladdr {mac} dev u0");
            sh(&rig.sink, &neighbour)?;
        }
        let way = match kind {
            Kind::Macvtap => "ip link set u1 nomaster".to_owned(),
            _ => format!("bridge fdb replace {to} dev u1 master static"),
        };
        sh(&rig.hub, &way)?;
        let mut guests = Vec::new();
        let mut made = Vec::new();
        for (number, port) in (1..).zip(PORTS) {
            made.push(guest(&rig, kind, (number, port), &mut guests)?);
        }
        let mut made = made.into_iter();
        let (Some(victim), Some(flooder)) = (made.next(), made.next()) else {
            anyhow::bail!("two guests");
        };
        Ok(Self {
            echo: echo(&rig.sink)?,
            victim,
            flooder,
            kind,
            rig,
            _guests: guests,
        })
    }

    /// Puts a control in place; the daemon ends when it is dropped.
    pub fn control(&self, control: Control) -> Result<Option<Held>> {
        match control {
            Control::Nothing => Ok(None),
            Control::Fixed => {
                // As is written about it everywhere: half of the link each.
                let half = format!("tbf rate {}mbit burst 64kb latency 25ms", UPLINK * 97 / 200);
                for (number, port) in PORTS.iter().enumerate() {
                    let script = match self.kind {
                        Kind::Macvtap => format!("tc qdisc add dev {port} root {half}"),
                        Kind::Veth | Kind::Tap => format!(
                            "ip link add hand{number} type ifb; ip link set hand{number} up\n\
                             tc qdisc add dev hand{number} root {half}\n\
                             tc qdisc add dev {port} ingress\n\
                             tc filter add dev {port} parent ffff: protocol all u32 match u32 0 0 \
                             action mirred egress redirect dev hand{number}"
                        ),
                    };
                    sh(&self.rig.hub, &script)?;
                }
                Ok(None)
            }
            Control::Shared => {
                let [victim, flooder] = PORTS;
                let policy = format!(
                    "[link]\ncapacity = \"{UPLINK}mbit\"\nperiod = \"500ms\"\n\
                     [[tenant]]\nname = \"victim\"\nguarantee = \"20mbit\"\nports = \"{victim}\"\n\
                     [[tenant]]\nname = \"flooder\"\nmax_pps = 20000\nports = \"{flooder}\"\n"
                );
                self.rig.daemon(&policy).map(Some)
            }
        }
    }

    /// It is still there to answer.
    pub fn answers(&self) -> bool {
        self.echo.is_running()
    }
}

/// A guest behind a port of a kind.
fn guest(
    rig: &Rig,
    kind: Kind,
    (number, port): (u8, &'static str),
    guests: &mut Vec<NetNs>,
) -> Result<Guest> {
    let (ip, own, to) = (address(number), mac(number), SINK_MAC);
    let tap = match kind {
        Kind::Veth => {
            let ns = NetNs::create(port)?;
            let name = port.trim_end_matches('1');
            rig.join(name, &ns, ip)?;
            sh(&ns, &format!("ip link set {name}0 address {own}"))?;
            for at in [SINK, address(253)] {
                let neighbour = format!("ip neighbour add {at} lladdr {to} dev {name}0");
                sh(&ns, &neighbour)?;
            }
            let socket = ns.run(|| UdpSocket::bind((ip, 40_000)))??;
            guests.push(ns);
            return Ok(Guest::Sockets(socket));
        }
        Kind::Tap => {
            let mut queues = tap::create(&rig.hub, port, 1)?;
            sh(&rig.hub, &format!("ip link set {port} master sw up"))?;
            queues.pop()
        }
        Kind::Macvtap => {
            let below = Links::open(&rig.hub)?.get("u1")?.index;
            let queue = tap::create_macvtap(&rig.hub, port, below, Share::Private)?;
            sh(&rig.hub, &format!("ip link set {port} address {own} up"))?;
            Some(queue)
        }
    };
    let Some(tap) = tap else {
        anyhow::bail!("a tap without a queue");
    };
    rustix::io::ioctl_fionbio(&tap, true)?;
    Ok(Guest::Frames(Machine {
        tap: tap.into(),
        mac: own,
        address: ip,
        to,
    }))
}
