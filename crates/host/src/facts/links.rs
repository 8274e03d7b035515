//! Interfaces as netlink and ethtool tell them.

use std::collections::{BTreeMap, BTreeSet};

use nicety_model::driver::meaning;
use nicety_model::facts::{
    Coalescing, FeatureFacts, LinkFacts, QdiscFacts, QueuesFacts, RingsFacts, RssFacts,
};
use nicety_model::traffic_control::{Action, Police};
use nicety_netdev::ethtool::{Ethtool, RssTable};
use nicety_netdev::link::{Link, Links};
use nicety_netdev::net_error::NetError;
use nicety_netdev::netns::NetNs;
use nicety_netdev::qdisc;
use nicety_netdev::traffic_control::TrafficControls;

/// Words in the driver's counters that tell of drops.
const DROP_WORDS: [&str; 6] = [
    "drop",
    "no_buffer",
    "missed",
    "out_of_buffer",
    "discard",
    "fifo",
];

/// All interfaces of `ns`.
pub(super) fn read(ns: &NetNs) -> Result<Vec<LinkFacts>, NetError> {
    let links = Links::open(ns)?.list()?;
    let ethtool = Ethtool::open(ns)?;
    let mut qdiscs = qdisc::list(ns).unwrap_or_default();
    policed(ns, &mut qdiscs);
    let names: BTreeMap<u32, &str> = links.iter().map(|l| (l.index, l.name.as_str())).collect();
    let facts = links.iter().map(|link| {
        let of = |index: Option<u32>| {
            let name = names.get(&index?)?;
            Some((*name).to_owned())
        };
        let own = qdiscs.iter().filter(|(index, _)| *index == link.index);
        // The peer of a veth is no interface below it.
        let (peer, lower) = match link.kind.as_str() {
            "veth" => (link.lower, None),
            _ => (None, link.lower),
        };
        let here = |index: Option<u32>| of(index.filter(|_| !link.lower_elsewhere));
        LinkFacts {
            master: of(link.master),
            lower: here(lower),
            peer: here(peer),
            qdiscs: merged(own.map(|(_, qdisc)| qdisc)),
            ..one(link, &ethtool)
        }
    });
    Ok(facts.collect())
}

/// Adds the policers of what comes in; filters are listed only where there may be some.
fn policed(ns: &NetNs, qdiscs: &mut [(u32, QdiscFacts)]) {
    let takes = |qdisc: &QdiscFacts| matches!(qdisc.kind.as_str(), "ingress" | "clsact");
    let at: BTreeSet<u32> = (qdiscs.iter().filter(|(_, qdisc)| takes(qdisc)))
        .map(|(index, _)| *index)
        .collect();
    if at.is_empty() {
        return;
    }
    let controls = TrafficControls::open(ns).and_then(|all| all.read(Some(&at)));
    let Ok(controls) = controls else { return };
    for (index, qdisc) in qdiscs.iter_mut().filter(|(_, qdisc)| takes(qdisc)) {
        let filters = controls
            .get(index)
            .map(|control| control.filters.as_slice());
        let actions = filters
            .unwrap_or_default()
            .iter()
            .flat_map(|filter| &filter.actions);
        let policers: Vec<&Police> = actions
            .filter_map(|action| match action {
                Action::Police(police) => Some(police),
                Action::Redirect(_) | Action::Other(_) => None,
            })
            .collect();
        qdisc.police = Some(!policers.is_empty());
        qdisc.rate_bps = (policers.iter().filter_map(|police| police.rate))
            .map(|bucket| bucket.rate.0)
            .min();
    }
}

fn one(link: &Link, ethtool: &Ethtool) -> LinkFacts {
    let name = link.name.as_str();
    let driver = ethtool.driver(name).ok();
    let driver_name = driver.as_ref().map(|driver| driver.driver.as_str());
    let known = |text: &String| (!text.is_empty() && text != "N/A").then(|| text.clone());
    let hardware = link.kind.is_empty() && !link.loopback;
    let speeds = hardware.then(|| ethtool.speeds(name).ok()).flatten();
    let statistics = if hardware {
        ethtool.statistics(name).unwrap_or_default()
    } else {
        BTreeMap::new()
    };
    LinkFacts {
        name: link.name.clone(),
        index: link.index,
        kind: link.kind.clone(),
        up: link.up,
        carrier: link.carrier,
        mtu: link.mtu,
        mtu_max: Some(link.mtu_range.1).filter(|&mtu| mtu > 0),
        master: None,
        lower: None,
        peer: None,
        vlan: link.vlan,
        mode: link.mode.clone(),
        driver: driver.as_ref().and_then(|d| known(&d.driver)),
        driver_version: driver.as_ref().and_then(|d| known(&d.version)),
        firmware: driver.as_ref().and_then(|d| known(&d.firmware)),
        bus: driver
            .as_ref()
            .and_then(|d| known(&d.bus))
            .filter(|_| hardware),
        speed_mbps: speeds.and_then(|speeds| speeds.now_mbps),
        speed_max_mbps: speeds.and_then(|speeds| speeds.max_mbps),
        queues: queues(link, ethtool),
        rings: ethtool.rings(name).ok().map(|rings| RingsFacts {
            rx: rings.rx,
            rx_max: rings.rx_max,
            tx: rings.tx,
            tx_max: rings.tx_max,
        }),
        coalescing: ethtool.coalesce(name).ok().map(|c| Coalescing {
            rx_usecs: c.rx_usecs,
            rx_frames: c.rx_frames,
            tx_usecs: c.tx_usecs,
            tx_frames: c.tx_frames,
            adaptive_rx: c.adaptive_rx,
            adaptive_tx: c.adaptive_tx,
        }),
        features: features(name, ethtool),
        rss: rss(name, ethtool),
        qdiscs: Vec::new(),
        bridge: link.bridge.clone(),
        counters: link
            .counters
            .named()
            .filter(|(_, value)| *value > 0)
            .map(|(name, value)| (name.to_owned(), value))
            .collect(),
        queue_frames: statistics
            .iter()
            .filter(|(_, value)| **value > 0)
            .filter_map(|(name, value)| Some((rx_queue(name)?, *value)))
            .collect(),
        driver_drops: statistics
            .into_iter()
            .filter(|(name, value)| *value > 0 && is_kept(driver_name, name))
            .collect(),
    }
}

/// Queues by kind; a kind of which there can be none is absent.
fn queues(link: &Link, ethtool: &Ethtool) -> QueuesFacts {
    let channels = ethtool.channels(&link.name).ok();
    let there = |most: u32, value: u32| (most > 0).then_some(value);
    let max = channels.map(|c| c.max);
    let now = channels.map(|c| c.current);
    let pair = |of: fn(&nicety_netdev::ethtool::QueueCounts) -> u32| {
        let most = max.as_ref().map(of).unwrap_or(0);
        let current = now.as_ref().map(of).unwrap_or(0);
        (there(most, current), there(most, most))
    };
    let (combined, combined_max) = pair(|c| c.combined);
    let (rx_only, rx_only_max) = pair(|c| c.rx);
    let (tx_only, tx_only_max) = pair(|c| c.tx);
    QueuesFacts {
        rx: link.rx_queues,
        tx: link.tx_queues,
        combined,
        combined_max,
        rx_only,
        rx_only_max,
        tx_only,
        tx_only_max,
    }
}

/// Switches that are on or can be changed; the rest are fixed to off.
fn features(name: &str, ethtool: &Ethtool) -> BTreeMap<String, FeatureFacts> {
    let features = ethtool.features(name).unwrap_or_default();
    features
        .into_iter()
        .filter(|(_, feature)| feature.active || feature.changeable)
        .map(|(name, feature)| {
            let facts = FeatureFacts {
                on: feature.active,
                changeable: feature.changeable,
            };
            (name, facts)
        })
        .collect()
}

fn rss(name: &str, ethtool: &Ethtool) -> Option<RssFacts> {
    let RssTable(table) = ethtool.rss_table(name).ok()?;
    let mut entries_by_queue = BTreeMap::new();
    for queue in &table {
        *entries_by_queue.entry(*queue).or_insert(0) += 1;
    }
    Some(RssFacts {
        entries: table.len() as u32,
        entries_by_queue,
        udp4_ports: ethtool.udp4_hashes_ports(name).ok(),
    })
}

/// Whether a counter of a driver tells of drops, or why frames are late.
fn is_kept(driver: Option<&str>, name: &str) -> bool {
    DROP_WORDS.iter().any(|word| name.contains(word)) || meaning(driver, name).is_some()
}

/// The receive queue whose frames a driver's counter of this name counts: `rx_queue_0_packets` (igb,
/// ixgbe, ice, virtio_net), `rx-0.packets` (i40e, iavf), `rx0_packets` (mlx5), `queue_0_rx_cnt`
/// (ena).
fn rx_queue(name: &str) -> Option<u32> {
    let between = |begin, end| name.strip_prefix(begin)?.strip_suffix(end)?.parse().ok();
    between("rx_queue_", "_packets")
        .or_else(|| between("rx-", ".packets"))
        .or_else(|| between("rx", "_packets"))
        .or_else(|| between("queue_", "_rx_cnt"))
}

/// The many equal children of `mq` become one line with their drops added up.
fn merged<'a>(qdiscs: impl Iterator<Item = &'a QdiscFacts>) -> Vec<QdiscFacts> {
    let mut merged: Vec<QdiscFacts> = Vec::new();
    for qdisc in qdiscs {
        let same = |known: &&mut QdiscFacts| {
            let said = |it: &QdiscFacts| (it.root, it.rate_bps, it.limit, it.police);
            known.kind == qdisc.kind && said(known) == said(qdisc)
        };
        match merged.iter_mut().find(same) {
            Some(known) => {
                known.drops = match (known.drops, qdisc.drops) {
                    (Some(a), Some(b)) => Some(a + b),
                    (a, b) => a.or(b),
                };
            }
            None => merged.push(qdisc.clone()),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::{is_kept, rx_queue};

    #[test]
    fn counters_are_kept_by_word_or_by_what_the_driver_means() {
        for (driver, name, kept) in [
            ("newnic", "rx_ring_drops", true),
            ("newnic", "tx_pause_frames", true),
            ("newnic", "rx_packets", false),
            ("vmxnet3", "  pkts rx OOB", true),
            ("ice", "link_xoff_tx.nic", true),
            ("ena", "pps_allowance_exceeded", true),
        ] {
            assert_eq!(is_kept(Some(driver), name), kept, "{driver} {name}");
        }
    }

    #[test]
    fn queues_are_known_by_the_names_of_their_counters() {
        for (name, queue) in [
            ("rx_queue_3_packets", Some(3)),
            ("rx-12.packets", Some(12)),
            ("rx0_packets", Some(0)),
            ("queue_7_rx_cnt", Some(7)),
            ("rx_packets", None),
            ("rx_queue_3_bytes", None),
            ("rx_queue_0_xdp_packets", None),
            ("tx_queue_0_packets", None),
            ("rx_64_byte_packets", None),
        ] {
            assert_eq!(rx_queue(name), queue, "{name}");
        }
    }
}
