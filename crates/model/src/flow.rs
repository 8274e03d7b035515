//! Packets of sockets by their ends: which are followed, and where the first ones of a connection passed.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::journey::{JourneyEnd, Sighting};
use crate::keywords::keywords;

/// Any address, any port, or both.
const ANY: &str = "any";

keywords! {
    /// What carries a packet's data.
    Transport {
        /// TCP.
        Tcp = "tcp",
        /// UDP.
        Udp = "udp",
    }
}

impl Transport {
    /// Its number in IP headers.
    pub fn number(self) -> u8 {
        match self {
            Self::Tcp => 6,
            Self::Udp => 17,
        }
    }

    /// The one with this number.
    pub fn of_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|of| of.number() == number)
    }
}

/// An end of a flow; what is absent may be anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct End {
    /// Its address; that of IPv4 in its place among those of IPv6.
    pub address: Option<Ipv6Addr>,
    /// Its port.
    pub port: Option<u16>,
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let address = self.address.map(|address| address.to_canonical());
        match (address, self.port) {
            (Some(address), Some(port)) => SocketAddr::new(address, port).fmt(f),
            (Some(address), None) => address.fmt(f),
            (None, Some(port)) => write!(f, "{ANY}:{port}"),
            (None, None) => ANY.fmt(f),
        }
    }
}

/// The ends of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Flow {
    /// What carries it.
    pub transport: Transport,
    /// Where it comes from, and where it goes.
    pub ends: [End; 2],
}

/// Which packets are followed: those between two ends, either way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowFilter {
    /// What carries them; absent for all.
    pub transport: Option<Transport>,
    /// The ends.
    pub ends: [End; 2],
}

/// No filter.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FlowFilterError {
    /// Not three parts.
    #[error(
        "write a transport and two ends with commas between, as in tcp,any,192.0.2.1:443 or udp,10.0.0.1,any:53"
    )]
    Parts,
    /// No transport.
    #[error("unknown transport {0:?}; write tcp, udp or any")]
    Transport(String),
    /// No end.
    #[error(
        "{0:?} is not an end; write an address, an address with a port, or any, as in 192.0.2.1, 192.0.2.1:443, [2001:db8::1]:443, any:53"
    )]
    End(String),
}

impl FromStr for FlowFilter {
    type Err = FlowFilterError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts: Vec<&str> = text.split(',').map(str::trim).collect();
        let [transport, a, b] = parts.as_slice() else {
            return Err(FlowFilterError::Parts);
        };
        let unknown = || FlowFilterError::Transport((*transport).to_owned());
        Ok(Self {
            transport: match *transport {
                ANY => None,
                word => Some(Transport::of(word).ok_or_else(unknown)?),
            },
            ends: [end(a)?, end(b)?],
        })
    }
}

fn end(text: &str) -> Result<End, FlowFilterError> {
    let wrong = || FlowFilterError::End(text.to_owned());
    let mapped = |address: IpAddr| match address {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    };
    if text == ANY {
        return Ok(End::default());
    }
    if let Some(port) = text.strip_prefix("any:") {
        let port = port.parse::<u16>().ok().filter(|port| *port > 0);
        return Ok(End {
            address: None,
            port: Some(port.ok_or_else(wrong)?),
        });
    }
    if let Ok(both) = text.parse::<SocketAddr>() {
        return match both.port() {
            0 => Err(wrong()),
            port => Ok(End {
                address: Some(mapped(both.ip())),
                port: Some(port),
            }),
        };
    }
    let address = text.parse::<IpAddr>().map_err(|_| wrong())?;
    Ok(End {
        address: Some(mapped(address)),
        port: None,
    })
}

/// What a followed packet is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PacketKind {
    /// Asks for a TCP connection.
    Syn,
    /// Grants it.
    SynAck,
    /// The first UDP datagram between its ends.
    Datagram,
}

/// A packet on its way through this host.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FlowPacket {
    /// Schema version.
    pub schema: u32,
    /// Its number in this trace, from 1.
    pub number: u64,
    /// When it was seen first, in seconds since the trace began.
    pub seen_s: f64,
    /// What it is.
    pub packet: PacketKind,
    /// Address and port that sent it.
    pub from: String,
    /// Address and port that it was for.
    pub to: String,
    /// Where it was seen, in this order, with the time since the place before; of the first 0.
    pub stations: Vec<Sighting>,
    /// Where it ended: dropped, or seen last. Whether a socket took it is not known.
    pub end: JourneyEnd,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_read() {
        let filter: FlowFilter = "tcp, any,192.0.2.1:443".parse().unwrap();
        assert_eq!(filter.transport, Some(Transport::Tcp));
        let told = filter.ends.map(|end| end.to_string());
        assert_eq!(told, ["any", "192.0.2.1:443"]);
        let filter: FlowFilter = "any,[2001:db8::1]:53,any:99".parse().unwrap();
        assert_eq!(filter.transport, None);
        let told = filter.ends.map(|end| end.to_string());
        assert_eq!(told, ["[2001:db8::1]:53", "any:99"]);
        let filter: FlowFilter = "udp,10.0.0.1,fe80::1".parse().unwrap();
        let told = filter.ends.map(|end| end.to_string());
        assert_eq!(told, ["10.0.0.1", "fe80::1"]);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let wrong = |text: &str| text.parse::<FlowFilter>().unwrap_err().to_string();
        assert!(wrong("tcp").starts_with("write a transport"));
        assert!(wrong("sctp,any,any").starts_with("unknown transport \"sctp\""));
        for end in [
            "",
            "10.0.0",
            "10.0.0.1:0",
            "10.0.0.1:70000",
            "any:0",
            "any:x",
        ] {
            let said = wrong(&format!("tcp,any,{end}"));
            assert!(said.contains("is not an end"), "{said}");
        }
    }
}
