//! How the flows of a test find each other.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect, socket_with, sockopt};

use crate::error::SocketError;
use crate::hello::{self, Key};

/// Longest time for all flows to come.
pub(crate) const JOIN_LIMIT: Duration = Duration::from_secs(10);
/// Longest time for one connection.
const CONNECT_LIMIT: Duration = Duration::from_secs(5);

/// A TCP connection of a test.
#[derive(Debug)]
pub(crate) struct TcpFlow {
    pub(crate) index: u32,
    /// Shared with whoever looks at it, or ends it, from outside its worker.
    pub(crate) stream: Arc<TcpStream>,
}

/// A connected UDP socket of a test.
#[derive(Debug)]
pub(crate) struct UdpFlow {
    pub(crate) index: u32,
    /// Shared as a TCP flow's connection is.
    pub(crate) socket: Arc<UdpSocket>,
}

/// Client: connects `count` flows and says who they are.
pub(crate) fn tcp_client(
    server: SocketAddr,
    key: &Key,
    count: u32,
) -> Result<Vec<TcpFlow>, SocketError> {
    let connect = |index| -> io::Result<TcpFlow> {
        let mut stream = TcpStream::connect_timeout(&server, CONNECT_LIMIT)?;
        stream.set_nodelay(true)?;
        stream.write_all(&hello::greeting(key, index))?;
        Ok(TcpFlow {
            index,
            stream: Arc::new(stream),
        })
    };
    (0..count)
        .map(|index| connect(index).map_err(|e| refused(index, count, server, e)))
        .collect()
}

fn refused(index: u32, count: u32, server: SocketAddr, error: io::Error) -> SocketError {
    SocketError::kernel(
        format!("flow {} of {count} cannot reach {server}", index + 1),
        error,
    )
}

/// Server: takes the flows of one test until all are there. A connection with another greeting,
/// or none, is closed and does not hold anybody up.
pub(crate) fn tcp_server(
    listener: &TcpListener,
    key: &Key,
    count: u32,
    gone: &dyn Fn() -> bool,
) -> Result<Vec<TcpFlow>, String> {
    let end = Instant::now() + JOIN_LIMIT;
    let mut flows: Vec<Option<TcpFlow>> = (0..count).map(|_| None).collect();
    let mut missing = count;
    // Connections that have not said all of their greeting, with what they said.
    let mut silent: Vec<(TcpStream, Vec<u8>)> = Vec::new();
    let most_silent = count as usize + 64;
    while missing > 0 {
        if Instant::now() >= end || gone() {
            return Err(format!(
                "{missing} of {count} flows did not connect within 10 s"
            ));
        }
        let sockets = std::iter::once(PollFd::new(listener, PollFlags::IN));
        let sockets = sockets.chain(silent.iter().map(|(s, _)| PollFd::new(s, PollFlags::IN)));
        let mut sockets: Vec<PollFd<'_>> = sockets.collect();
        let _ = poll(&mut sockets, Some(&TICK));
        while let Ok((stream, _)) = listener.accept() {
            if stream.set_nonblocking(true).is_ok() && stream.set_nodelay(true).is_ok() {
                silent.push((stream, Vec::new()));
            }
            if silent.len() > most_silent {
                // The oldest had the longest time to speak.
                silent.remove(0);
            }
        }
        for (mut stream, mut said) in std::mem::take(&mut silent) {
            let mut rest = vec![0; hello::LENGTH - said.len()];
            match stream.read(&mut rest) {
                Ok(got) if got > 0 => said.extend(&rest[..got]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                _ => continue,
            }
            if said.len() < hello::LENGTH {
                silent.push((stream, said));
                continue;
            }
            let Some(index) = hello::flow_of(&said, key) else {
                continue;
            };
            if let Some(place) = flows.get_mut(index as usize)
                && place.is_none()
            {
                *place = Some(TcpFlow {
                    index,
                    stream: Arc::new(stream),
                });
                missing -= 1;
            }
        }
    }
    Ok(flows.into_iter().flatten().collect())
}

const TICK: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 50_000_000,
};

/// Client: greets from `count` sockets until the server has answered all.
pub(crate) fn udp_client(
    server: SocketAddr,
    key: &Key,
    count: u32,
) -> Result<Vec<UdpFlow>, SocketError> {
    let any: SocketAddr = match server {
        SocketAddr::V4(_) => ([0, 0, 0, 0], 0).into(),
        SocketAddr::V6(_) => ([0_u16; 8], 0).into(),
    };
    let open = |index| -> io::Result<UdpFlow> {
        let socket = UdpSocket::bind(any)?;
        socket.connect(server)?;
        let socket = Arc::new(socket);
        Ok(UdpFlow { index, socket })
    };
    let flows = (0..count).map(|index| open(index).map_err(|e| refused(index, count, server, e)));
    let flows: Vec<UdpFlow> = flows.collect::<Result<_, _>>()?;
    let end = Instant::now() + JOIN_LIMIT;
    let mut patience = Duration::from_millis(50);
    let mut waiting: Vec<&UdpFlow> = flows.iter().collect();
    while !waiting.is_empty() {
        if Instant::now() >= end {
            return Err(SocketError::Silent {
                peer: format!("UDP port {} of {}", server.port(), server.ip()),
                what: "answer the first datagrams",
                seconds: JOIN_LIMIT.as_secs(),
            });
        }
        for flow in &waiting {
            // Lost like any other; the next round sends it again.
            let _ = flow.socket.send(&hello::greeting(key, flow.index));
        }
        let round = Instant::now() + patience;
        waiting.retain(|flow| !answered(flow, key, round));
        patience = (patience * 2).min(Duration::from_secs(1));
    }
    Ok(flows)
}

/// Whether the server's reply comes before `round` is over; those already there are always seen.
fn answered(flow: &UdpFlow, key: &Key, round: Instant) -> bool {
    let mut message = [0; 64];
    loop {
        let left = round.saturating_duration_since(Instant::now());
        let limit = left.max(Duration::from_millis(1));
        if flow.socket.set_read_timeout(Some(limit)).is_err() {
            return false;
        }
        match flow.socket.recv(&mut message) {
            Ok(got) if message[..got] == hello::reply(key, flow.index) => return true,
            Ok(_) => {}
            Err(_) => return false,
        }
        if left.is_zero() {
            return false;
        }
    }
}

/// Server: gives every client socket that greets one of its own, connected to it, on the same
/// port. Greetings repeated because an answer was lost are answered again, wherever the kernel
/// puts them: a datagram that came between bind and connect lies in the wrong socket.
pub(crate) fn udp_server(
    entrance: &UdpSocket,
    client: IpAddr,
    key: &Key,
    count: u32,
    gone: &dyn Fn() -> bool,
) -> Result<Vec<UdpFlow>, String> {
    let end = Instant::now() + JOIN_LIMIT;
    let reason = |error: io::Error| error.to_string();
    let at = entrance.local_addr().map_err(reason)?;
    let mut flows: Vec<Option<(SocketAddr, UdpFlow)>> = (0..count).map(|_| None).collect();
    let mut missing = count;
    while missing > 0 {
        if Instant::now() >= end || gone() {
            return Err(format!(
                "{missing} of {count} flows did not greet within 10 s"
            ));
        }
        let mut greeted = Vec::new();
        {
            let own = flows.iter().flatten().map(|(_, flow)| &*flow.socket);
            let sockets: Vec<&UdpSocket> = std::iter::once(entrance).chain(own).collect();
            let polled = sockets
                .iter()
                .map(|socket| PollFd::new(*socket, PollFlags::IN));
            let mut polled: Vec<PollFd<'_>> = polled.collect();
            let _ = poll(&mut polled, Some(&TICK));
            let ready: Vec<bool> = polled.iter().map(|p| !p.revents().is_empty()).collect();
            for (socket, _) in sockets.iter().zip(ready).filter(|(_, ready)| *ready) {
                let mut message = [0; 64];
                while let Ok((got, from)) = socket.recv_from(&mut message) {
                    let flow = hello::flow_of(&message[..got], key);
                    greeted.extend(flow.map(|flow| (flow, from)));
                }
            }
        }
        for (index, from) in greeted {
            let Some(place) = flows.get_mut(index as usize) else {
                continue;
            };
            if place.is_none() && from.ip().to_canonical() == client.to_canonical() {
                let socket = Arc::new(udp_socket(at, Some(from)).map_err(reason)?);
                *place = Some((from, UdpFlow { index, socket }));
                missing -= 1;
            }
            if let Some((known, flow)) = place
                && *known == from
            {
                // Lost like any other; the client greets again.
                let _ = flow.socket.send(&hello::reply(key, index));
            }
        }
    }
    Ok(flows.into_iter().flatten().map(|(_, flow)| flow).collect())
}

/// A UDP socket at `at` that shares its port with others of this program.
pub(crate) fn udp_socket(at: SocketAddr, peer: Option<SocketAddr>) -> io::Result<UdpSocket> {
    let family = match at {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    };
    let fd = socket_with(family, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
    sockopt::set_socket_reuseaddr(&fd, true)?;
    bind(&fd, &at)?;
    if let Some(peer) = peer {
        connect(&fd, &peer)?;
    }
    let socket = UdpSocket::from(fd);
    socket.set_nonblocking(true)?;
    Ok(socket)
}
