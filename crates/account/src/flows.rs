//! Packets of sockets on their way: what programs saw of each, put together by its ends and what it carries.

use std::collections::BTreeMap;

use nicety_model::SCHEMA;
use nicety_model::flow::{Flow, FlowPacket, PacketKind, Transport};
use nicety_model::journey::{JourneyEnd, Sighting};

use crate::hops::{Seen, Station, end};

/// A packet that was seen nowhere for so long has ended, or waits where nothing is seen.
pub const QUIET_NS: u64 = 300_000_000;
/// Sightings of a packet; of one that goes round for ever no more are kept.
const MOST: usize = 64;

/// A packet at a station.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sight {
    /// Its ends.
    pub flow: Flow,
    /// Of TCP, whether it has an acknowledgement.
    pub answers: bool,
    /// Tells apart packets between the same ends.
    pub identity: u64,
    /// When it was seen, in nanoseconds.
    pub at_ns: u64,
    /// Number of the station.
    pub station: usize,
    /// CPU that ran there.
    pub cpu: u32,
}

/// Packets whose way is not over.
#[derive(Debug, Clone, Default)]
pub struct UnderWay {
    packets: BTreeMap<(Flow, u64), Vec<Sight>>,
    told: u64,
}

impl UnderWay {
    /// Adds what was seen.
    pub fn add(&mut self, sights: &[Sight]) {
        for sight in sights {
            let own = self.packets.entry((sight.flow, sight.identity));
            let own = own.or_default();
            if own.len() < MOST {
                own.push(*sight);
            }
        }
    }

    /// Packets that have ended by `now_ns`, in the order in which they were seen first. `begun_ns` is the beginning of
    /// the trace.
    pub fn ended(&mut self, stations: &[Station], begun_ns: u64, now_ns: u64) -> Vec<FlowPacket> {
        let quiet = |sights: &[Sight]| {
            let last = sights.iter().map(|sight| sight.at_ns).max().unwrap_or(0);
            now_ns.saturating_sub(last) >= QUIET_NS || sights.len() >= MOST
        };
        let mut over: Vec<Vec<Sight>> = Vec::new();
        self.packets.retain(|_, sights| {
            let is = quiet(sights);
            if is {
                over.push(std::mem::take(sights));
            }
            !is
        });
        over.sort_by_key(|sights| sights.first().map(|sight| sight.at_ns));
        let mut packets = Vec::new();
        for sights in &over {
            if let Some(packet) = packet(sights, stations, begun_ns, self.told + 1) {
                self.told += 1;
                packets.push(packet);
            }
        }
        packets
    }
}

fn packet(
    sights: &[Sight],
    stations: &[Station],
    begun_ns: u64,
    number: u64,
) -> Option<FlowPacket> {
    let first = sights.first()?;
    let known = |sight: &Sight| {
        let seen = Seen {
            frame: number,
            sent_ns: first.at_ns,
            at_ns: sight.at_ns,
            station: sight.station,
            cpu: sight.cpu,
            merged: 0,
        };
        stations.get(sight.station).map(|station| (seen, station))
    };
    let mut way: Vec<(Seen, &Station)> = sights.iter().filter_map(known).collect();
    let (last_seen, last) = end(&way)?;
    // A copy that was thrown away is no part of the packet's own way.
    way.retain(|(seen, station)| !station.copies || *seen == last_seen);
    let mut before = first.at_ns;
    let told = way.iter().map(|(seen, station)| {
        let after_ns = seen.at_ns.saturating_sub(before);
        before = seen.at_ns;
        Sighting {
            station: station.name.clone(),
            device: station.device.clone(),
            after_ns,
            cpu: seen.cpu,
            error_ns: None,
        }
    });
    let [from, to] = first.flow.ends.map(|end| end.to_string());
    Some(FlowPacket {
        schema: SCHEMA,
        number,
        seen_s: first.at_ns.saturating_sub(begun_ns) as f64 / 1e9,
        packet: match (first.flow.transport, first.answers) {
            (Transport::Udp, _) => PacketKind::Datagram,
            (Transport::Tcp, false) => PacketKind::Syn,
            (Transport::Tcp, true) => PacketKind::SynAck,
        },
        from,
        to,
        stations: told.collect(),
        end: match &last.cause {
            Some(cause) => JourneyEnd::Dropped {
                cause: cause.clone(),
            },
            None => JourneyEnd::LastSeen {
                station: last.name.clone(),
            },
        },
    })
}

#[cfg(test)]
mod tests;
