//! What `ovs-appctl dpctl/show -s` prints (ovs-dpctl(8)).

use std::collections::BTreeMap;

/// Counters of a datapath.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct DatapathCounters {
    /// Frames that a flow matched.
    pub(super) hit: u64,
    /// Frames that none matched, handed to ovs-vswitchd for a decision.
    pub(super) missed: u64,
    /// Frames lost on the way to that decision.
    pub(super) lost: u64,
    /// By port.
    pub(super) ports: BTreeMap<String, DatapathPort>,
}

/// Counters of a port of a datapath.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct DatapathPort {
    /// Frames received.
    pub(super) received: u64,
    /// Frames sent.
    pub(super) sent: u64,
    /// Frames that could not be sent.
    pub(super) not_sent: u64,
}

/// Reads the text; `None` when it is of another form.
pub(super) fn parse(text: &str) -> Option<DatapathCounters> {
    let mut datapath_counters = None::<DatapathCounters>;
    let mut port = None::<String>;
    for line in text.lines().map(str::trim) {
        if let Some(rest) = line.strip_prefix("lookups: ") {
            datapath_counters = Some(DatapathCounters {
                hit: number(rest, "hit")?,
                missed: number(rest, "missed")?,
                lost: number(rest, "lost")?,
                ports: BTreeMap::new(),
            });
        } else if let Some(rest) = line.strip_prefix("port ") {
            let (_, rest) = rest.split_once(": ")?;
            port = Some(rest.split_ascii_whitespace().next()?.to_owned());
        } else if let (Some(name), Some(datapath)) = (&port, datapath_counters.as_mut()) {
            let counters = datapath.ports.entry(name.clone()).or_default();
            if let Some(rest) = line.strip_prefix("RX ") {
                counters.received = number(rest, "packets").unwrap_or(counters.received);
            } else if let Some(rest) = line.strip_prefix("TX ") {
                counters.sent = number(rest, "packets").unwrap_or(counters.sent);
                // A question mark where the driver does not count it.
                counters.not_sent = number(rest, "dropped").unwrap_or(0);
            }
        }
    }
    datapath_counters
}

/// The number of `name:NUMBER` in a line.
fn number(line: &str, name: &str) -> Option<u64> {
    let words = line.split_ascii_whitespace();
    let value =
        |word: &str| -> Option<u64> { word.strip_prefix(name)?.strip_prefix(':')?.parse().ok() };
    words.into_iter().find_map(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHOWN: &str = "netdev@ovs-netdev:
  lookups: hit:1001 missed:7 lost:4
  flows: 7
  port 0: ovs-netdev (tap)
    RX packets:0 errors:0 dropped:0 overruns:0 frame:0
    TX packets:0 errors:0 dropped:0 aborted:0 carrier:0
    collisions:0
    RX bytes:0  TX bytes:0
  port 2: p0 (dpdk: configured_rx_queues=1, mtu=1500, tx_tso_offload=false)
    RX packets:1009 errors:0 dropped:0 overruns:? frame:?
    TX packets:3 errors:0 dropped:2 aborted:? carrier:?
    collisions:?
    RX bytes:60762 (59.3 KiB)  TX bytes:250
";

    #[test]
    fn lookups_and_ports_are_read() {
        let datapath = parse(SHOWN).unwrap();
        assert_eq!((datapath.hit, datapath.missed, datapath.lost), (1001, 7, 4));
        assert_eq!(
            datapath.ports["p0"],
            DatapathPort {
                received: 1009,
                sent: 3,
                not_sent: 2
            }
        );
        assert_eq!(datapath.ports["ovs-netdev"], DatapathPort::default());
    }

    #[test]
    fn another_text_is_not_taken_for_zeros() {
        assert_eq!(parse(""), None);
        assert_eq!(parse("ovs-appctl: cannot connect"), None);
        assert_eq!(parse("  lookups: hit:x missed:0 lost:0"), None);
    }
}
