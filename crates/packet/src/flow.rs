//! Flow ranges: which addresses and ports the frames of a stream take in turn.

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::PacketError;

/// The benchmarking network 198.18.0.0/15 (RFC 2544 appendix C.2.2).
pub const NETWORK: u32 = 0xc612_0000;
/// Its mask.
pub const NETWORK_MASK: u32 = 0xfffe_0000;
/// Added to [`NETWORK`] for side B.
const SIDE_B: u32 = 0x0001_0000;
/// Ports of side A: 49152 to 57343.
const PORTS_A: u16 = 0xc000;
/// Ports of side B: 57344 to 65535.
const PORTS_B: u16 = 0xe000;
const PORTS_MASK: u16 = 0xe000;

/// The port that sends: the first half of the benchmarking network is side A's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    /// Sends from 198.18.0.0/16 to 198.19.0.0/16.
    A,
    /// Sends from 198.19.0.0/16 to 198.18.0.0/16.
    B,
}

/// Addresses and ports of one flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Flow {
    /// Source address.
    pub source: Ipv4Addr,
    /// Destination address.
    pub destination: Ipv4Addr,
    /// Source UDP port.
    pub source_port: u16,
    /// Destination UDP port.
    pub destination_port: u16,
}

/// `count` distinct flows from one side to the other. Frame `n` of a stream belongs to flow
/// `n mod count`; flow `i` of side B is flow `i` of side A turned round, so that both directions
/// together look like conversations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FlowRange {
    count: u32,
    side: Side,
    stations: u32,
}

impl FlowRange {
    /// Largest number of flows.
    pub const MAX: u32 = 1 << 20;
    /// Largest number of pairs of stations.
    pub const STATIONS_MAX: u32 = 256;

    /// A range of 1 to [`Self::MAX`] flows that `side` sends.
    pub fn new(count: u32, side: Side) -> Result<Self, PacketError> {
        if (1..=Self::MAX).contains(&count) {
            Ok(Self {
                count,
                side,
                stations: 1,
            })
        } else {
            Err(PacketError::Flows { flows: count })
        }
    }

    /// The one flow of a range without variation.
    pub fn single(side: Side) -> Self {
        Self {
            count: 1,
            side,
            stations: 1,
        }
    }

    /// The same flows between `stations` pairs of stations: frame `n` goes from station
    /// `n mod stations` of its port to the station with the same number at the other, see
    /// [`MacAddr::station`](crate::MacAddr::station).
    ///
    /// # Errors
    /// [`PacketError::Stations`] unless there are 1 to 256.
    pub fn between(self, stations: u32) -> Result<Self, PacketError> {
        if (1..=Self::STATIONS_MAX).contains(&stations) {
            Ok(Self { stations, ..self })
        } else {
            Err(PacketError::Stations { stations })
        }
    }

    /// Number of pairs of stations.
    pub fn stations(self) -> u32 {
        self.stations
    }

    /// The station of frame `sequence` where there are several.
    pub(crate) fn station(self, sequence: u32) -> Option<u8> {
        // At most 256 of them, so the number fits.
        (self.stations > 1).then(|| (sequence % self.stations) as u8)
    }

    /// Number of flows.
    pub fn count(self) -> u32 {
        self.count
    }

    /// Who sends.
    pub fn side(self) -> Side {
        self.side
    }

    /// The flow of frame `sequence`: every field advances with every frame, as in the range mode
    /// of pktgen.
    ///
    /// Fifteen bits of the flow's index choose the hosts and the other five the ports, so no two
    /// flows are equal; the index's low eight bits vary the ports too, for receivers that hash
    /// only these. Host bytes run from 1 to 128: no address is a network's own or its broadcast.
    pub fn flow(self, sequence: u32) -> Flow {
        self.numbered(sequence % self.count)
    }

    /// Flow number `i` of all that there are, below [`Self::MAX`].
    pub fn numbered(self, i: u32) -> Flow {
        let host = (i & 0x7f80) << 1 | ((i & 0x7f) + 1);
        let a = Ipv4Addr::from(NETWORK | host);
        let b = Ipv4Addr::from(NETWORK | SIDE_B | host);
        let port = ((i & 0xff) << 5 | i >> 15) as u16;
        let (port_a, port_b) = (PORTS_A | port, PORTS_B | port);
        let (source, destination, source_port, destination_port) = match self.side {
            Side::A => (a, b, port_a, port_b),
            Side::B => (b, a, port_b, port_a),
        };
        Flow {
            source,
            destination,
            source_port,
            destination_port,
        }
    }
}

/// The benchmarking network of IPv6, 2001:2::/48 (RFC 5180 §8 as corrected).
pub const NETWORK_V6: [u16; 3] = [0x2001, 2, 0];

/// An address of the benchmarking network of IPv6 that stands for one of IPv4: side A's are
/// 2001:2:0:a::/64, side B's 2001:2:0:b::/64, with the host's part of the other.
pub fn v6(address: Ipv4Addr) -> Ipv6Addr {
    let host = u32::from(address) & 0xffff;
    let side = if u32::from(address) & SIDE_B == 0 {
        0xa
    } else {
        0xb
    };
    let [a, b, c] = NETWORK_V6;
    Ipv6Addr::new(a, b, c, side, 0, 0, 0, host as u16)
}

/// The address of IPv4 that one of IPv6 stands for, see [`v6`].
pub fn v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let [a, b, c, side, rest @ .., host] = address.segments();
    let side = match side {
        0xa => 0,
        0xb => SIDE_B,
        _ => return None,
    };
    let ours = [a, b, c] == NETWORK_V6 && rest == [0; 3];
    ours.then(|| Ipv4Addr::from(NETWORK | side | u32::from(host)))
}

/// Whether an address is of the benchmarking network of IPv6.
pub fn is_v6(address: Ipv6Addr) -> bool {
    address.segments()[..3] == NETWORK_V6
}

impl Flow {
    /// Whether both addresses are of the benchmarking network.
    pub fn has_our_addresses(&self) -> bool {
        [self.source, self.destination]
            .into_iter()
            .all(|address| u32::from(address) & NETWORK_MASK == NETWORK)
    }

    /// Whether the ports are of a flow range, in either direction.
    pub fn has_our_ports(&self) -> bool {
        matches!(
            (
                self.source_port & PORTS_MASK,
                self.destination_port & PORTS_MASK
            ),
            (PORTS_A, PORTS_B) | (PORTS_B, PORTS_A)
        )
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn first_flows_read_as_expected() {
        let range = FlowRange::new(1000, Side::A).unwrap();
        for (i, source, destination, ports) in [
            (0, "198.18.0.1", "198.19.0.1", (49152, 57344)),
            (1, "198.18.0.2", "198.19.0.2", (49184, 57376)),
            (128, "198.18.1.1", "198.19.1.1", (53248, 61440)),
            (999, "198.18.7.104", "198.19.7.104", (56544, 64736)),
            (1000, "198.18.0.1", "198.19.0.1", (49152, 57344)),
        ] {
            let flow = range.flow(i);
            assert_eq!(flow.source.to_string(), source, "{i}");
            assert_eq!(flow.destination.to_string(), destination, "{i}");
            assert_eq!((flow.source_port, flow.destination_port), ports, "{i}");
        }
    }

    #[test]
    fn a_million_flows_are_distinct_and_ours() {
        let range = FlowRange::new(FlowRange::MAX, Side::A).unwrap();
        let mut seen = HashSet::with_capacity(FlowRange::MAX as usize);
        for i in 0..FlowRange::MAX {
            let flow = range.flow(i);
            assert!(flow.has_our_addresses() && flow.has_our_ports(), "{flow:?}");
            assert!(!matches!(flow.source.octets()[3], 0 | 255), "{flow:?}");
            assert_eq!(u32::from(flow.source) >> 16, 0xc612);
            assert_eq!(u32::from(flow.destination) >> 16, 0xc613);
            assert!(seen.insert(flow), "{flow:?} comes twice");
        }
    }

    #[test]
    fn side_b_answers_side_a() {
        let there = FlowRange::new(70_000, Side::A).unwrap().flow(69_999);
        let back = FlowRange::new(70_000, Side::B).unwrap().flow(69_999);
        assert_eq!(there.source, back.destination);
        assert_eq!(there.destination, back.source);
        assert_eq!(there.source_port, back.destination_port);
        assert_eq!(there.destination_port, back.source_port);
    }

    #[test]
    fn limits() {
        assert!(FlowRange::new(0, Side::A).is_err());
        assert!(FlowRange::new(FlowRange::MAX + 1, Side::A).is_err());
        assert_eq!(FlowRange::new(1, Side::B), Ok(FlowRange::single(Side::B)));
        let one = FlowRange::single(Side::A);
        assert!(one.between(0).is_err() && one.between(257).is_err());
        assert_eq!(one.between(1), Ok(one));
        assert_eq!(
            (one.station(7), one.between(3).unwrap().station(7)),
            (None, Some(1))
        );
    }

    #[test]
    fn others_are_not_ours() {
        let flow = FlowRange::single(Side::A).flow(0);
        let other = Flow {
            source: Ipv4Addr::new(198, 20, 0, 1),
            source_port: 53,
            ..flow
        };
        assert!(!other.has_our_addresses());
        assert!(!other.has_our_ports());
    }
}
