//! The router with a table of connections that is measured (RFC 9693): translation to as many addresses as are asked
//! for, entries that do not grow old meanwhile, and nobody but the inner side may open connections.

use std::fmt::Write;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

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
/// First host of side A, and the address that its packets get: the last two bytes of either.
const HOST: u16 = 1;
const TRANSLATED: u16 = 0xff01;
/// First port that translation has.
const FIRST_PORT: u16 = 1024;

/// A router whose table is measured.
#[derive(Debug, Clone)]
pub struct TrackingSpec {
    /// The two ways to it.
    pub rig: RigSpec,
    /// What it does; rules and short cuts count as they do elsewhere.
    pub ask: RoutedParams,
    /// IP version of connections.
    pub ipv6: bool,
    /// Connections of TCP; else of UDP.
    pub tcp: bool,
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
    /// Seconds after which an entry without an answer is forgotten, and one with answers.
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
        networks::connect(&rig.dut, spec.stations, spec.ipv6)?;
        let script = script(spec);
        NFT.run(&rig.dut.ns, &["-f", "-"], &script)
            .map_err(|error| lacking(error, &spec.ask))?;
        let table = rig.dut.ns.run(|| settings(spec.tcp))??;
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
    let mut text = rules::translating(&spec.ask, spec.ipv6, &translated(spec));
    text.push_str(
        "table inet nicety_guard {\n  chain forward {\n    type filter hook forward priority filter - 1; \
         policy accept;\n    iifname \"d1\" ct state new drop\n  }\n}\n",
    );
    text
}

fn transport(spec: &TrackingSpec) -> &'static str {
    if spec.tcp { "tcp" } else { "udp" }
}

fn ip(spec: &TrackingSpec) -> &'static str {
    if spec.ipv6 { "ip6" } else { "ip" }
}

fn protocol(spec: &TrackingSpec) -> &'static str {
    if spec.ipv6 { "nexthdr" } else { "protocol" }
}

/// The statement that translates sources, to the ports that they may have.
fn translated(spec: &TrackingSpec) -> String {
    let (ip, address) = (ip(spec), address(spec));
    match spec.ports {
        None => format!("snat {ip} to {address}"),
        Some(count) => {
            let last = FIRST_PORT.saturating_add(count.saturating_sub(1));
            // Ports are those of a protocol.
            format!(
                "{ip} {} {} snat {ip} to {address}:{FIRST_PORT}-{last}",
                protocol(spec),
                transport(spec)
            )
        }
    }
}

/// An address for each host where there are several, because the kernel would choose by a hash.
fn address(spec: &TrackingSpec) -> String {
    let number = |host: u32| (host % spec.addresses.max(1)) as u16;
    let address = |host: u32| side_a(spec.ipv6, TRANSLATED + number(host));
    if spec.hosts.max(1) == 1 || spec.addresses <= 1 {
        // Ports may follow.
        return match address(0) {
            IpAddr::V4(address) => address.to_string(),
            IpAddr::V6(address) => format!("[{address}]"),
        };
    }
    let mut text = format!("{} saddr map {{", ip(spec));
    for host in 0..spec.hosts {
        let comma = if host == 0 { "" } else { "," };
        // Writing to a string does not fail.
        let _ = write!(
            text,
            "{comma} {} : {}",
            side_a(spec.ipv6, HOST + host as u16),
            address(host)
        );
    }
    text + " }"
}

/// An address of side A, in IPv6 with the host's part of the other.
fn side_a(ipv6: bool, host: u16) -> IpAddr {
    let [high, low] = host.to_be_bytes();
    if ipv6 {
        Ipv6Addr::new(0x2001, 2, 0, 0xa, 0, 0, 0, host).into()
    } else {
        Ipv4Addr::new(198, 18, high, low).into()
    }
}

/// Lets entries of the calling thread's namespace live, and reads what there is. An old kernel keeps these settings
/// from an ordinary user's namespaces: then they are as they are, and said.
fn settings(tcp: bool) -> Result<TableFacts, PathError> {
    let ages = if tcp {
        [
            "nf_conntrack_tcp_timeout_unacknowledged",
            "nf_conntrack_tcp_timeout_established",
        ]
    } else {
        [
            "nf_conntrack_udp_timeout",
            "nf_conntrack_udp_timeout_stream",
        ]
    };
    if tcp {
        // Segments that say the same again are taken for sent again.
        let path = format!("{SETTINGS}/nf_conntrack_tcp_timeout_max_retrans");
        let _ = fs::write(path, TIMEOUT_S.to_string());
    }
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
            ipv6: false,
            tcp: false,
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
    fn other_headers_have_words_of_their_own() {
        let six = TrackingSpec {
            ipv6: true,
            tcp: true,
            ports: Some(500),
            ..spec(1, 1)
        };
        assert_eq!(
            translated(&six),
            "ip6 nexthdr tcp snat ip6 to [2001:2:0:a::ff01]:1024-1523"
        );
        let two = TrackingSpec {
            hosts: 2,
            addresses: 2,
            ports: None,
            ..six
        };
        assert_eq!(
            translated(&two),
            "snat ip6 to ip6 saddr map { 2001:2:0:a::1 : 2001:2:0:a::ff01, 2001:2:0:a::2 : 2001:2:0:a::ff02 }"
        );
        let fast = TrackingSpec {
            ask: RoutedParams {
                flowtable: Some(nicety_model::path::OnOff::On),
                ..RoutedParams::default()
            },
            ..two
        };
        assert!(script(&fast).contains("meta l4proto { tcp, udp } flow add @fast"));
    }

    #[test]
    fn nobody_opens_connections_from_outside() {
        let text = script(&spec(1, 1));
        assert!(text.contains("snat ip to 198.18.255.1\n"), "{text}");
        assert!(text.contains("iifname \"d1\" ct state new drop"), "{text}");
    }
}
