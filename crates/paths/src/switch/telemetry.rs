//! Counters of a DPDK program, from its telemetry socket
//! (doc/guides/howto/telemetry.rst of DPDK).

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType};
use serde_json::Value;

/// Longest answer (`MAX_OUTPUT_LEN`, lib/telemetry/telemetry.c).
const LONGEST: usize = 16 * 1024;
/// A program that runs answers at once, also when its threads poll on our CPU.
const LIMIT: Duration = Duration::from_secs(5);

/// A connection to the program.
#[derive(Debug)]
pub(super) struct Telemetry(OwnedFd);

/// What an Ethernet device of DPDK has counted (`rte_eth_stats`, lib/ethdev/rte_ethdev.h).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct PortStats {
    /// Frames received.
    pub(super) received: u64,
    /// Frames sent.
    pub(super) sent: u64,
    /// Bytes received.
    pub(super) received_bytes: u64,
    /// Bytes sent.
    pub(super) sent_bytes: u64,
    /// Frames that found no descriptor, where the driver counts them.
    pub(super) missed: u64,
}

impl Telemetry {
    /// Connects to the socket at `path`.
    pub(super) fn connect(path: &Path) -> io::Result<Self> {
        let socket = rustix::net::socket_with(
            AddressFamily::UNIX,
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC,
            None,
        )?;
        for timeout in [Timeout::Recv, Timeout::Send] {
            set_socket_timeout(&socket, timeout, Some(LIMIT))?;
        }
        rustix::net::connect(&socket, &SocketAddrUnix::new(path)?)?;
        let connection = Self(socket);
        // It says first who it is.
        connection.receive()?;
        Ok(connection)
    }

    /// Counters of one port.
    pub(super) fn stats(&self, port: usize) -> io::Result<PortStats> {
        parse(&self.request(&format!("/ethdev/stats,{port}"))?)
    }

    /// Whether a port has been started.
    pub(super) fn started(&self, port: usize) -> io::Result<bool> {
        Ok(self.info(port)?["dev_started"] == 1)
    }

    /// Whether a port has a link; that of a guest has one when the guest's driver is there.
    pub(super) fn linked(&self, port: usize) -> io::Result<bool> {
        let answer = self.request(&format!("/ethdev/link_status,{port}"))?;
        let answer: Value = serde_json::from_str(&answer)?;
        Ok(answer["/ethdev/link_status"]["status"] == "UP")
    }

    /// Receive queues of a port.
    pub(super) fn queues(&self, port: usize) -> io::Result<u64> {
        let info = self.info(port)?;
        let queues = info["nb_rx_queues"].as_u64();
        queues.ok_or_else(|| io::Error::other(format!("no nb_rx_queues in {info}")))
    }

    /// What it is (`handle_port_info`, lib/ethdev/rte_ethdev.c).
    fn info(&self, port: usize) -> io::Result<Value> {
        let answer = self.request(&format!("/ethdev/info,{port}"))?;
        let mut answer: Value = serde_json::from_str(&answer)?;
        Ok(answer["/ethdev/info"].take())
    }

    fn request(&self, command: &str) -> io::Result<String> {
        rustix::net::send(&self.0, command.as_bytes(), SendFlags::NOSIGNAL)?;
        self.receive()
    }

    fn receive(&self) -> io::Result<String> {
        let mut buffer = vec![0; LONGEST];
        let (_, length) = rustix::net::recv(&self.0, &mut buffer[..], RecvFlags::empty())?;
        buffer.truncate(length);
        if buffer.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        String::from_utf8(buffer).map_err(io::Error::other)
    }
}

fn parse(answer: &str) -> io::Result<PortStats> {
    let answer: Value = serde_json::from_str(answer)?;
    let stats = &answer["/ethdev/stats"];
    let number = |name: &str| {
        stats[name]
            .as_u64()
            .ok_or_else(|| io::Error::other(format!("no {name} in {answer}")))
    };
    Ok(PortStats {
        received: number("ipackets")?,
        sent: number("opackets")?,
        received_bytes: number("ibytes")?,
        sent_bytes: number("obytes")?,
        missed: number("imissed")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_read() {
        let answer = r#"{"/ethdev/stats":{"ipackets":1010,"opackets":9,"ibytes":60856,"obytes":762,"imissed":7,"ierrors":0,"oerrors":0,"rx_nombuf":0,"q_ipackets":[1010,0],"q_errors":[0,0]}}"#;
        let stats = parse(answer).unwrap();
        assert_eq!((stats.received, stats.sent), (1010, 9));
        assert_eq!((stats.received_bytes, stats.sent_bytes), (60856, 762));
        assert_eq!(stats.missed, 7);
        // What it answers for a port that is not there.
        assert!(parse(r#"{"/ethdev/stats":null}"#).is_err());
    }
}
