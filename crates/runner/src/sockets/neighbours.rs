//! Neighbours that flood the same switch while a test runs.

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nicety_model::Remedy;
use nicety_model::sock::{Family, Neighbours, SockSpec, SockTest};
use nicety_netdev::link::Links;
use nicety_paths::EndpointSite;
use nicety_socket::{Connection, Ran, SocketError};

use super::Missing;
use crate::sock::inside::Inside;

/// Payload of their datagrams: full frames of 1500 bytes MTU over IPv4 and IPv6.
const DATAGRAM: [u32; 2] = [1472, 1452];
/// What they get beyond the test's own time; they are stopped when it is over.
const BEYOND: Duration = Duration::from_secs(30);
/// Longest time until all of them flood.
const BEGIN_LIMIT: Duration = Duration::from_secs(10);
/// Packets that say that a flood is there: its connections need a few.
const FLOOD: u64 = 200;

/// Does `work` while every pair floods as fast as it can, one datagram a system call.
pub(super) fn beside<T>(
    pairs: &[[EndpointSite; 2]],
    family: Family,
    ask: &SockSpec,
    work: &dyn Fn() -> T,
) -> Result<(T, Neighbours), Missing> {
    let message_bytes = DATAGRAM[usize::from(family == Family::Ipv6)];
    let flood = SockSpec {
        message_bytes,
        offload: false,
        ..SockSpec::new(SockTest::UdpStream, ask.duration() + BEYOND)
    };
    let mut servers = Vec::new();
    for [_, far] in pairs {
        let server = Inside::start(&far.ns, address(far, family)?, 1);
        servers.push(server.map_err(|error| Missing::server(&error))?);
    }
    let stop = AtomicBool::new(false);
    let (flood, stop) = (&flood, &stop);
    std::thread::scope(|scope| {
        let running: Vec<_> = pairs
            .iter()
            .zip(&servers)
            .map(|([near, _], server)| {
                let to = || -> Result<Ran, SocketError> {
                    let mut connection = Connection::open(&server.address, &server.token, None)?;
                    connection.run(flood, 1, stop, &mut |_| ())
                };
                scope.spawn(move || near.ns.run(to))
            })
            .collect();
        let begun = begun(pairs, &|| running.iter().any(|thread| thread.is_finished()));
        let done = begun.then(work);
        stop.store(true, Ordering::Relaxed);
        let mut sum = Neighbours {
            pairs: pairs.len() as u32,
            message_bytes,
            offered_mbps: 0.0,
            goodput_mbps: 0.0,
        };
        for thread in running {
            let ran = match thread.join() {
                Ok(ran) => ran.map_err(Missing::of)?,
                Err(panic) => std::panic::resume_unwind(panic),
            };
            let ran = ran.map_err(|error| {
                let missing = Missing::socket(&error);
                Missing {
                    reason: format!("a neighbour: {}", missing.reason),
                    ..missing
                }
            })?;
            let rate = |bytes: u64, seconds: f64| {
                if seconds > 0.0 {
                    bytes as f64 * 8.0 / 1e6 / seconds
                } else {
                    0.0
                }
            };
            sum.offered_mbps += rate(ran.client.sent_bytes, ran.client.active_s);
            if let Some(far) = ran.server {
                sum.goodput_mbps += rate(far.received_bytes, far.active_s);
            }
        }
        let done = done.ok_or_else(|| {
            Missing::with(
                "the neighbours did not begin to flood within 10 s",
                &Remedy::here("try fewer of them"),
            )
        })?;
        Ok((done, sum))
    })
}

fn address(site: &EndpointSite, family: Family) -> Result<IpAddr, Missing> {
    match family {
        Family::Ipv4 => Ok(site.ipv4),
        Family::Ipv6 => site.ipv6.ok_or_else(super::stage::no_ipv6),
    }
}

/// Waits until every pair's frames arrive; false when one has ended or time is over.
fn begun(pairs: &[[EndpointSite; 2]], ended: &dyn Fn() -> bool) -> bool {
    let end = Instant::now() + BEGIN_LIMIT;
    let arrived = |[_, far]: &[EndpointSite; 2]| {
        let links = Links::open(&far.ns).ok()?;
        let link = links.get(&far.interface).ok()?;
        Some(link.counters.rx_packets)
    };
    let before: Vec<u64> = pairs
        .iter()
        .map(|pair| arrived(pair).unwrap_or(0))
        .collect();
    loop {
        let flooded = pairs
            .iter()
            .zip(&before)
            .all(|(pair, before)| arrived(pair).is_some_and(|now| now >= before + FLOOD));
        if flooded {
            return true;
        }
        if ended() || Instant::now() >= end {
            return false;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}
