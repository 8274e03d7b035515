//! Connections for a table of them: four-tuples that are all different, in an order that looks random (RFC 4814 §4.5,
//! RFC 9693 §4.4: every combination of ports at most once, so that each first frame opens one connection).

use std::net::Ipv4Addr;

use crate::PacketError;
use crate::flow::{Flow, NETWORK};
use crate::splitmix;

/// Ports that sources use: all that are not reserved, which is what address translation has as well.
const SOURCE_PORTS: u32 = 65_536 - FIRST_SOURCE_PORT;
const FIRST_SOURCE_PORT: u32 = 1024;
/// Ports of the destination begin here: above those that helpers of connection tracking listen to.
const FIRST_DESTINATION_PORT: u32 = 10_000;
const DESTINATION_PORTS: u32 = 40_000;
/// Where side B begins.
const DESTINATION: u32 = NETWORK + 0x0001_0001;

/// The numbers below a count in an order that looks random and repeats none: a Feistel network over the next power of
/// four, gone through again where it leads beyond the count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Order {
    count: u32,
    half_bits: u32,
    seed: u64,
}

/// Rounds of the network: with four, neighbours are as far apart as any.
const ROUNDS: u64 = 4;

impl Order {
    /// The numbers below `count`, which is taken as at least 1; each seed has an order of its own.
    pub fn new(count: u32, seed: u64) -> Self {
        let count = count.max(1);
        let bits = (u32::BITS - (count - 1).leading_zeros()).max(2);
        Self {
            count,
            half_bits: bits.div_ceil(2),
            seed,
        }
    }

    /// How many there are.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// The number at a place; places go round at the end.
    pub fn at(&self, place: u64) -> u32 {
        let mut number = (place % u64::from(self.count)) as u32;
        loop {
            number = self.network(number);
            // A permutation of all leads back below the count, at last to where it began.
            if number < self.count {
                return number;
            }
        }
    }

    fn network(&self, number: u32) -> u32 {
        let mask = (1_u32 << self.half_bits) - 1;
        let (mut left, mut right) = (number >> self.half_bits & mask, number & mask);
        for round in 0..ROUNDS {
            let mixed = splitmix::mixed((u64::from(right) | round << 32) ^ self.seed);
            (left, right) = (right, left ^ (mixed as u32 & mask));
        }
        left << self.half_bits | right
    }
}

/// Four-tuples of `count` connections from hosts of side A to one host of side B.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tuples {
    hosts: u32,
    destination_ports: u32,
    order: Order,
}

impl Tuples {
    /// Most hosts that open connections.
    pub const HOSTS_MAX: u32 = 250;
    /// Most connections: of these the tester's own table is 128 MB.
    pub const MAX: u64 = 16 << 20;

    /// Tuples for `count` connections of `hosts` hosts, 1 to [`Self::HOSTS_MAX`]. The destination has as few ports as
    /// these need.
    ///
    /// # Errors
    /// [`PacketError::Connections`] for none, or more than the hosts have port numbers for.
    pub fn new(count: u64, hosts: u32, seed: u64) -> Result<Self, PacketError> {
        let each = u64::from(hosts) * u64::from(SOURCE_PORTS);
        let most = (each * u64::from(DESTINATION_PORTS)).min(Self::MAX);
        if count == 0 || count > most || !(1..=Self::HOSTS_MAX).contains(&hosts) {
            return Err(PacketError::Connections { count, hosts, most });
        }
        let destination_ports = count.div_ceil(each) as u32;
        // At most 16 Mi and what one more port of the destination has: it fits.
        let all = each * u64::from(destination_ports);
        Ok(Self {
            hosts,
            destination_ports,
            order: Order::new(all as u32, seed),
        })
    }

    /// Connections that there are tuples for: at least as many as were asked for.
    pub fn count(&self) -> u32 {
        self.order.count()
    }

    /// Hosts that open connections.
    pub fn hosts(&self) -> u32 {
        self.hosts
    }

    /// Ports of the destination.
    pub fn destination_ports(&self) -> u32 {
        self.destination_ports
    }

    /// What the host that opens connection `number` sends.
    pub fn flow(&self, number: u32) -> Flow {
        let drawn = self.order.at(u64::from(number));
        let (port, rest) = (drawn % SOURCE_PORTS, drawn / SOURCE_PORTS);
        let (host, to) = (rest % self.hosts, rest / self.hosts);
        Flow {
            source: Ipv4Addr::from(NETWORK + 1 + host),
            destination: Ipv4Addr::from(DESTINATION),
            source_port: (FIRST_SOURCE_PORT + port) as u16,
            destination_port: (FIRST_DESTINATION_PORT + to) as u16,
        }
    }
}

/// Addresses that translation needs so that `hosts` hosts with all their ports fit: of each destination's port it has
/// as many port numbers an address as a host has.
pub fn addresses_needed(connections: u64, hosts: u32) -> u32 {
    let by_ports = connections.div_ceil(u64::from(SOURCE_PORTS));
    // Where every host has an address of its own, no port has to be changed.
    by_ports.clamp(1, u64::from(hosts.max(1))) as u32
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn tuples_are_all_different_and_of_the_benchmarking_network() {
        for (count, hosts) in [(1, 1), (1000, 1), (64_512, 1), (64_513, 1), (200_000, 3)] {
            let tuples = Tuples::new(count, hosts, 7).unwrap();
            assert!(u64::from(tuples.count()) >= count);
            let mut seen = HashSet::new();
            for number in 0..count as u32 {
                let flow = tuples.flow(number);
                assert!(
                    flow.has_our_addresses() && flow.source_port >= 1024,
                    "{flow:?}"
                );
                assert!(seen.insert(flow), "{flow:?} twice among {count}");
            }
        }
        let ports = |count| Tuples::new(count, 1, 0).unwrap().destination_ports();
        assert_eq!((ports(64_512), ports(64_513), ports(1 << 20)), (1, 2, 17));
    }

    #[test]
    fn more_than_there_are_ports_for_are_refused() {
        for (count, hosts) in [(0, 1), (Tuples::MAX + 1, 1), (1, 0), (1, 251)] {
            let error = Tuples::new(count, hosts, 0).unwrap_err();
            assert!(error.to_string().contains("connections of"), "{error}");
        }
    }

    #[test]
    fn neighbours_are_far_apart() {
        let order = Order::new(100_000, 3);
        let near = (0..10_000)
            .filter(|n| order.at(*n).abs_diff(order.at(n + 1)) < 1000)
            .count();
        // 2 % of pairs drawn at random are.
        assert!((100..300).contains(&near), "{near}");
        assert_ne!(order.at(0), Order::new(100_000, 4).at(0));
    }

    #[test]
    fn translation_gets_as_many_addresses_as_it_needs() {
        assert_eq!(addresses_needed(1_000_000, 1), 1);
        assert_eq!(addresses_needed(1_000_000, 8), 8);
        assert_eq!(addresses_needed(1000, 8), 1);
    }

    proptest! {
        #[test]
        fn every_number_comes_once(count in 1_u32..5000, seed: u64) {
            let order = Order::new(count, seed);
            let all: HashSet<u32> = (0..u64::from(count)).map(|place| order.at(place)).collect();
            prop_assert_eq!(all.len() as u32, count);
            prop_assert!(all.iter().all(|number| *number < count));
            prop_assert_eq!(order.at(u64::from(count)), order.at(0));
        }
    }
}
