//! Senders and receivers.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::Scope;
use std::time::{Duration, Instant};

use anyhow::Result;
use nicety_netdev::netns::NetNs;

/// Of the receiver's end.
pub const SINK: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 254);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Tcp,
    Udp,
}

/// One sender.
#[derive(Debug, Clone)]
pub struct Flow {
    pub tenant: &'static str,
    kind: Kind,
    /// Mbit/s offered; as much as goes when absent.
    rate: Option<u64>,
    /// Steps in which it sends.
    when: Range<u32>,
}

/// The sockets of a flow.
#[derive(Debug)]
pub enum Ends {
    Tcp {
        sender: TcpStream,
        receiver: TcpStream,
    },
    Udp {
        sender: UdpSocket,
        receiver: UdpSocket,
    },
}

/// Bytes received, by flow.
#[derive(Debug)]
pub struct Meters(pub Vec<AtomicU64>);

/// Rates by step, in Mbit/s.
#[derive(Debug, Clone, Default)]
pub struct Series {
    pub rates: Vec<f64>,
}

impl Series {
    pub fn mean(&self, steps: Range<usize>) -> f64 {
        let of = self.rates.get(steps).unwrap_or_default();
        of.iter().sum::<f64>() / of.len().max(1) as f64
    }
}

impl Meters {
    pub fn new(count: usize) -> Self {
        Self((0..count).map(|_| AtomicU64::new(0)).collect())
    }

    pub fn read(&self) -> Vec<u64> {
        self.0
            .iter()
            .map(|meter| meter.load(Ordering::Relaxed))
            .collect()
    }
}

/// Largest datagram in an Ethernet frame of 1500.
const DATAGRAM: usize = 1472;
/// For a connection.
const PATIENCE: Duration = Duration::from_secs(10);
/// How soon threads see that it is over.
const BLINK: Duration = Duration::from_millis(200);

impl Flow {
    pub fn new(tenant: &'static str, kind: Kind, rate: Option<u64>, when: Range<u32>) -> Self {
        Self {
            tenant,
            kind,
            rate,
            when,
        }
    }

    /// Makes the sockets: a connection that is made in a flood would come late.
    pub fn connect(&self, from: &NetNs, to: &NetNs) -> Result<Ends> {
        Ok(match self.kind {
            Kind::Tcp => {
                let listener = to.run(|| TcpListener::bind((SINK, 0)))??;
                let at = listener.local_addr()?;
                let sender = from.run(|| TcpStream::connect_timeout(&at, PATIENCE))??;
                let (receiver, _) = listener.accept()?;
                receiver.set_read_timeout(Some(BLINK))?;
                sender.set_write_timeout(Some(BLINK))?;
                Ends::Tcp { sender, receiver }
            }
            Kind::Udp => {
                let receiver = to.run(|| UdpSocket::bind((SINK, 0)))??;
                let at = receiver.local_addr()?;
                receiver.set_read_timeout(Some(BLINK))?;
                let sender = from.run(|| UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)))??;
                sender.connect(at)?;
                sender.set_write_timeout(Some(BLINK))?;
                Ends::Udp { sender, receiver }
            }
        })
    }

    /// Starts receiver and sender; they end soon after `over`.
    pub fn start<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        ends: &'scope Ends,
        meter: &'scope AtomicU64,
        (over, begin, step): (&'scope AtomicBool, Instant, Duration),
    ) {
        let window = (begin + step * self.when.start, begin + step * self.when.end);
        scope.spawn(move || {
            let mut buffer = vec![0; 256 << 10];
            while !over.load(Ordering::Relaxed) {
                let read = match ends {
                    Ends::Tcp { receiver, .. } => (&*receiver).read(&mut buffer),
                    Ends::Udp { receiver, .. } => receiver.recv(&mut buffer),
                };
                // Nothing came for a while, else.
                if let Ok(count) = read {
                    meter.fetch_add(count as u64, Ordering::Relaxed);
                }
            }
        });
        let block = vec![0; 16 << 10];
        let once = move || match ends {
            Ends::Tcp { sender, .. } => (&*sender).write(&block).unwrap_or(0),
            Ends::Udp { sender, .. } => sender.send(&block[..DATAGRAM]).unwrap_or(0),
        };
        scope.spawn(move || self.send(once, window, over));
    }

    fn send(
        &self,
        mut once: impl FnMut() -> usize,
        (begin, end): (Instant, Instant),
        over: &AtomicBool,
    ) {
        std::thread::sleep(begin.saturating_duration_since(Instant::now()));
        let mut sent = 0;
        while !over.load(Ordering::Relaxed) && Instant::now() < end {
            if let Some(rate) = self.rate {
                let due = begin.elapsed().as_secs_f64() * rate as f64 * 1e6 / 8.0;
                if sent as f64 > due {
                    std::thread::sleep(Duration::from_millis(1));
                    continue;
                }
            }
            sent += once();
        }
    }
}
