//! Tries a path with ICMP echo requests that must not be fragmented (RFC 1191, RFC 8201), of the
//! size asked whatever the kernel has learnt of the path (`IP_PMTUDISC_PROBE`, ip(7)).

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use nicety_model::path_mtu::{Carried, PathProbe};
use nicety_packet::checksum::Sum;
use rustix::io::Errno;
use rustix::net::sockopt::{self, Ipv4PathMtuDiscovery, Ipv6PathMtuDiscovery, Timeout};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketType, ipproto};

/// Pause before the next packet, and how long an answer may take.
const PATIENCE: Duration = Duration::from_secs(1);
/// IP header without options, and the header of an echo request (RFC 792, RFC 4443).
const HEADERS_V4: usize = 20 + 8;
const HEADERS_V6: usize = 40 + 8;
const ECHO: usize = 8;
/// The most that the length of an IPv4 packet can say.
const LONGEST: u32 = 65_535;

/// A path that cannot be tried.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// Neither raw sockets nor ping sockets are allowed.
    #[error(
        "cannot send ICMP echo to {peer}: {source}; run as root, or allow it in net.ipv4.ping_group_range"
    )]
    Refused {
        /// Peer.
        peer: IpAddr,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// No route, or no such family here.
    #[error("cannot reach {peer}: {source}; give --peer a host beyond the interface")]
    Unreachable {
        /// Peer.
        peer: IpAddr,
        /// Why.
        #[source]
        source: io::Error,
    },
}

/// The longest packet that the kernel would send to `peer`, in bytes: its route's MTU, or what it has
/// learnt of the path.
///
/// # Errors
/// Without a route.
pub fn known(peer: IpAddr) -> Result<u32, ProbeError> {
    let unreachable = |error: Errno| ProbeError::Unreachable {
        peer,
        source: error.into(),
    };
    let known = || -> Result<u32, Errno> {
        let socket = rustix::net::socket(family(peer), SocketType::DGRAM, None)?;
        // Nothing is sent.
        rustix::net::connect(&socket, &SocketAddr::new(peer, 9))?;
        match peer {
            IpAddr::V4(_) => sockopt::ip_mtu(&socket),
            IpAddr::V6(_) => sockopt::ipv6_mtu(&socket),
        }
    };
    known().map_err(unreachable)
}

/// Sends packets of `bytes` bytes, one a second and `tries` at most, until one is answered or
/// somebody says that they are too long.
///
/// # Errors
/// When no such packet can be sent at all. A link that is not up yet counts as silence.
pub fn probe(peer: IpAddr, bytes: u32, tries: u32) -> Result<PathProbe, ProbeError> {
    let refused = |error: Errno| ProbeError::Refused {
        peer,
        source: error.into(),
    };
    let result = |carried| PathProbe {
        peer,
        bytes,
        carried,
    };
    let (socket, kind) = open(peer).map_err(refused)?;
    sockopt::set_socket_timeout(&socket, Timeout::Recv, Some(PATIENCE)).map_err(refused)?;
    for sequence in 0..tries {
        let begin = Instant::now();
        match once(&socket, kind, peer, bytes, sequence as u16) {
            Ok(true) => return Ok(result(Carried::Yes)),
            Ok(false) => {}
            Err(Errno::MSGSIZE) => {
                let takes = known(peer).ok().filter(|takes| *takes < bytes);
                return Ok(result(Carried::TooLong { takes }));
            }
            Err(error @ (Errno::PERM | Errno::ACCESS)) => return Err(refused(error)),
            // Not yet, or not now: a NIC takes seconds to come back with another MTU.
            Err(_) => {}
        }
        if sequence + 1 < tries {
            std::thread::sleep(PATIENCE.saturating_sub(begin.elapsed()));
        }
    }
    Ok(result(Carried::Silent))
}

fn family(peer: IpAddr) -> AddressFamily {
    match peer {
        IpAddr::V4(_) => AddressFamily::INET,
        IpAddr::V6(_) => AddressFamily::INET6,
    }
}

/// What stands before the ICMP header in what is received, and whose the id in it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The header of IPv4; the id is the sender's.
    RawV4,
    /// Nothing; the id is the sender's.
    RawV6,
    /// Nothing; the kernel has put an id of its own and looked for it.
    Ping,
}

/// A raw socket, else the kernel's ping socket.
fn open(peer: IpAddr) -> Result<(OwnedFd, Kind), Errno> {
    let (protocol, raw) = match peer {
        IpAddr::V4(_) => (ipproto::ICMP, Kind::RawV4),
        IpAddr::V6(_) => (ipproto::ICMPV6, Kind::RawV6),
    };
    let socket = |kind| rustix::net::socket(family(peer), kind, Some(protocol));
    let (socket, kind) = match socket(SocketType::RAW) {
        Ok(socket) => (socket, raw),
        Err(Errno::PERM | Errno::ACCESS) => (socket(SocketType::DGRAM)?, Kind::Ping),
        Err(error) => return Err(error),
    };
    match peer {
        IpAddr::V4(_) => sockopt::set_ip_mtu_discover(&socket, Ipv4PathMtuDiscovery::PROBE)?,
        IpAddr::V6(_) => sockopt::set_ipv6_mtu_discover(&socket, Ipv6PathMtuDiscovery::PROBE)?,
    }
    Ok((socket, kind))
}

/// One packet; whether it was answered in time.
fn once(
    socket: &OwnedFd,
    kind: Kind,
    peer: IpAddr,
    bytes: u32,
    sequence: u16,
) -> Result<bool, Errno> {
    rustix::net::connect(socket, &SocketAddr::new(peer, 0))?;
    let id = std::process::id() as u16;
    let packet = request(peer, bytes, id, sequence);
    rustix::net::send(socket, &packet, SendFlags::empty())?;
    let end = Instant::now() + PATIENCE;
    let mut buffer = vec![0; 1 << 16];
    while Instant::now() < end {
        let got = match rustix::net::recv(socket, buffer.as_mut_slice(), RecvFlags::empty()) {
            Ok((_, got)) => got,
            Err(Errno::AGAIN | Errno::INTR) => continue,
            Err(error) => return Err(error),
        };
        let got = buffer.get(..got).unwrap_or_default();
        if is_answer(got, kind, &packet) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// An echo request of a whole length of `bytes`, its checksum in place.
fn request(peer: IpAddr, bytes: u32, id: u16, sequence: u16) -> Vec<u8> {
    let (headers, kind) = match peer {
        IpAddr::V4(_) => (HEADERS_V4, 8),
        IpAddr::V6(_) => (HEADERS_V6, 128),
    };
    let payload = (bytes.min(LONGEST) as usize).saturating_sub(headers);
    let mut packet = vec![0; ECHO + payload];
    packet[0] = kind;
    packet[4..6].copy_from_slice(&id.to_be_bytes());
    packet[6..8].copy_from_slice(&sequence.to_be_bytes());
    // Of IPv6 and of ping sockets the kernel makes its own.
    let sum = Sum::default().add_bytes(&packet).checksum();
    packet[2..4].copy_from_slice(&sum.to_be_bytes());
    packet
}

/// An echo reply to `packet`: same length and sequence.
fn is_answer(got: &[u8], kind: Kind, packet: &[u8]) -> bool {
    // Of IPv4 the length of the header stands in its first byte, in words (RFC 791).
    let start = match kind {
        Kind::RawV4 => got.first().map_or(0, |first| usize::from(first & 0x0f) * 4),
        Kind::RawV6 | Kind::Ping => 0,
    };
    let reply = got.get(start..).unwrap_or_default();
    let answered = match (packet.first(), reply.first()) {
        (Some(8), Some(0)) | (Some(128), Some(129)) => reply.len() == packet.len(),
        _ => return false,
    };
    let same = |range: std::ops::Range<usize>| reply.get(range.clone()) == packet.get(range);
    answered && same(6..8) && (kind == Kind::Ping || same(4..6))
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use super::*;

    #[test]
    fn requests_have_the_length_asked_and_answers_are_known() {
        let peer = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let packet = request(peer, 1500, 7, 3);
        assert_eq!(packet.len() + 20, 1500);
        assert!(Sum::default().add_bytes(&packet).is_all_ones());
        let mut reply = packet.clone();
        reply[0] = 0;
        let mut framed = vec![0; 20];
        framed[0] = 0x45;
        framed.extend(&reply);
        assert!(is_answer(&framed, Kind::RawV4, &packet));
        assert!(is_answer(&reply, Kind::Ping, &packet));
        assert!(!is_answer(&packet, Kind::Ping, &packet), "a request");
        reply[7] = 4;
        assert!(!is_answer(&reply, Kind::Ping, &packet), "of another");
        assert!(!is_answer(&[], Kind::RawV4, &packet));
        assert!(!is_answer(&framed[..30], Kind::RawV4, &packet), "too short");
        framed[24] = 9;
        assert!(!is_answer(&framed, Kind::RawV4, &packet), "of another id");
        let six = IpAddr::V6(Ipv6Addr::LOCALHOST);
        assert_eq!(request(six, 9000, 7, 3).len() + 40, 9000);
        assert_eq!(request(peer, 10, 7, 3).len(), ECHO, "the least there is");
    }
}
