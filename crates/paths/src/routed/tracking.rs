//! The router with a table of connections that is measured (RFC 9693): translation to as many addresses as are asked
//! for, entries that do not grow old meanwhile, and nobody but the inner side may open connections.

use std::fmt::Write;
use std::fs;
use std::net::Ipv4Addr;

use nicety_model::path::RoutedParams;
use nicety_netdev::link::Mac;
use nicety_netdev::netns::NetNs;

use super::{TABLE, lacking, rules};
use crate::counters::PathCounters;
use crate::error::PathError;
use crate::networks;
use crate::path::{Path, PathFacts};
use crate::rig::{Rig, RigSpec};
use crate::tool::NFT;

/// Kernel settings of connection tracking, each namespace's own but for the table's size.
const SETTINGS: &str = "/proc/sys/net/netfilter";
/// Longer than any measurement (RFC 9693 §4.4: time-outs must not remove connections meanwhile).
const TIMEOUT_S: u32 = 86_400;
/// First host of side A, and the address that its packets get.
const HOST: u32 = u32::from_be_bytes([198, 18, 0, 1]);
const TRANSLATED: u32 = u32::from_be_bytes([198, 18, 255, 1]);
/// First port that translation has.
const FIRST_PORT: u16 = 1024;

/// A router whose table is measured.
#[derive(Debug, Clone)]
pub struct TrackingSpec {
    /// The two ways to it.
    pub rig: RigSpec,
    /// What it does; rules and short cuts count as they do elsewhere.
    pub ask: RoutedParams,
    /// The tester's stations at ports A and B.
    pub stations: [Mac; 2],
    /// Hosts of side A, 1 to 250.
    pub hosts: u32,
    /// Addresses that sources are translated to, 1 to 250: host `n` gets address `n mod addresses`.
    pub addresses: u32,
    /// Ports of each address that translation has, the first from 1024 on; without it all of them.
    pub ports: Option<u16>,
}

/// What the kernel says about the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableFacts {
    /// Entries a namespace may have; the host's setting. 0 is no limit.
    pub most: u64,
    /// Hash buckets of all namespaces together.
    pub buckets: u64,
    /// Seconds after which an entry of UDP without an answer is forgotten, and one with answers.
    pub timeouts_s: [u32; 2],
}

/// The path; gone when dropped.
#[derive(Debug)]
pub struct TrackingPath {
    rig: Rig,
    table: TableFacts,
}

impl TrackingPath {
    /// Builds the path and waits until it has carrier everywhere.
    ///
    /// # Errors
    /// Those of [`RoutedPath::build`](super::RoutedPath::build).
    pub fn build(spec: &TrackingSpec) -> Result<Self, PathError> {
        NFT.find()?;
        let mut rig = Rig::build("routed", &spec.rig)?;
        networks::connect(&rig.dut, spec.stations, false)?;
        let script = script(spec);
        NFT.run(&rig.dut.ns, &["-f", "-"], &script)
            .map_err(|error| lacking(error, &spec.ask))?;
        let table = rig.dut.ns.run(settings)??;
        rig.joined(false);
        Ok(Self { rig, table })
    }

    /// What the kernel says about the table.
    pub fn table(&self) -> TableFacts {
        self.table
    }

    /// Namespace of the table.
    pub fn router(&self) -> &NetNs {
        &self.rig.dut.ns
    }
}

impl Path for TrackingPath {
    fn facts(&self) -> &PathFacts {
        &self.rig.facts
    }

    fn counters(&self) -> Result<PathCounters, nicety_netdev::net_error::NetError> {
        self.rig.counters(&[])
    }
}

/// The rules of the path, and a table that lets nobody open connections from side B.
fn script(spec: &TrackingSpec) -> String {
    let mut text = rules::translating(&spec.ask, false, &translated(spec));
    text.push_str(
        "table inet nicety_guard {\n  chain forward {\n    type filter hook forward priority filter - 1; \
         policy accept;\n    iifname \"d1\" ct state new drop\n  }\n}\n",
    );
    text
}

/// The statement that translates sources, to the ports that they may have.
fn translated(spec: &TrackingSpec) -> String {
    let address = address(spec);
    match spec.ports {
        None => format!("snat ip to {address}"),
        Some(count) => {
            let last = FIRST_PORT.saturating_add(count.saturating_sub(1));
            // Ports are those of a protocol.
            format!("ip protocol udp snat ip to {address}:{FIRST_PORT}-{last}")
        }
    }
}

/// An address for each host where there are several, because the kernel would choose by a hash.
fn address(spec: &TrackingSpec) -> String {
    let address = |host: u32| Ipv4Addr::from(TRANSLATED + host % spec.addresses.max(1));
    if spec.hosts.max(1) == 1 || spec.addresses <= 1 {
        return address(0).to_string();
    }
    let mut text = String::from("ip saddr map {");
    for host in 0..spec.hosts {
        let comma = if host == 0 { "" } else { "," };
        // Writing to a string does not fail.
        let _ = write!(
            text,
            "{comma} {} : {}",
            Ipv4Addr::from(HOST + host),
            address(host)
        );
    }
    text + " }"
}

/// Lets entries of the calling thread's namespace live, and reads what there is. An old kernel keeps these settings
/// from an ordinary user's namespaces: then they are as they are, and said.
fn settings() -> Result<TableFacts, PathError> {
    let ages = [
        "nf_conntrack_udp_timeout",
        "nf_conntrack_udp_timeout_stream",
    ];
    let mut timeouts_s = [0; 2];
    for (name, seconds) in ages.iter().zip(&mut timeouts_s) {
        let path = format!("{SETTINGS}/{name}");
        let _ = fs::write(&path, TIMEOUT_S.to_string());
        *seconds = number(&path).unwrap_or(0) as u32;
    }
    let most = number(TABLE).map_err(|error| PathError::io("read", TABLE, error))?;
    let buckets = number(&format!("{SETTINGS}/nf_conntrack_buckets")).unwrap_or(0);
    Ok(TableFacts {
        most,
        buckets,
        timeouts_s,
    })
}

fn number(path: &str) -> std::io::Result<u64> {
    let text = fs::read_to_string(path)?;
    let number = text.trim().parse();
    number.map_err(|_| std::io::Error::from(std::io::ErrorKind::InvalidData))
}

#[cfg(test)]
mod tests {
    use nicety_model::FrameSize;
    use nicety_model::path::Nat;

    use super::*;

    fn spec(hosts: u32, addresses: u32) -> TrackingSpec {
        TrackingSpec {
            rig: RigSpec {
                path_cpus: Vec::new(),
                largest_frame: FrameSize::SMALLEST,
                queues: 1,
            },
            ask: RoutedParams {
                nat: Some(Nat::Snat),
                ..RoutedParams::default()
            },
            stations: [Mac([2, 0, 0, 0, 0, 1]), Mac([2, 0, 0, 0, 0, 2])],
            hosts,
            addresses,
            ports: None,
        }
    }

    #[test]
    fn hosts_share_addresses_in_turn() {
        assert_eq!(address(&spec(1, 1)), "198.18.255.1");
        assert_eq!(address(&spec(5, 1)), "198.18.255.1");
        assert_eq!(
            address(&spec(3, 2)),
            "ip saddr map { 198.18.0.1 : 198.18.255.1, 198.18.0.2 : 198.18.255.2, 198.18.0.3 : 198.18.255.1 }"
        );
    }

    #[test]
    fn ports_are_a_part_of_those_from_1024_on() {
        let with = |addresses, ports| TrackingSpec {
            ports: Some(ports),
            ..spec(2, addresses)
        };
        let one = "ip protocol udp snat ip to 198.18.255.1:1024-1024";
        assert_eq!(translated(&with(1, 1)), one);
        assert!(translated(&with(1, 64_512)).ends_with("198.18.255.1:1024-65535"));
        assert!(translated(&with(2, 500)).ends_with("198.18.255.2 }:1024-1523"));
    }

    #[test]
    fn nobody_opens_connections_from_outside() {
        let text = script(&spec(1, 1));
        assert!(text.contains("snat ip to 198.18.255.1\n"), "{text}");
        assert!(text.contains("iifname \"d1\" ct state new drop"), "{text}");
    }
}
