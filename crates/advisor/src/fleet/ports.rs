//! Settings of physical ports, bridges, bonds and VLANs. Taps, functions and the like come and go with
//! guests and are left out.

use nicety_model::cpu_list::format_cpu_list;
use nicety_model::facts::{
    BridgeFacts, Coalescing, InterfaceClass, LinkFacts, NetFacts, QueueSteering,
};

use super::profile::{Area, Settings, together};
use super::shape;
use crate::case::Case;

/// Adds them.
pub(super) fn settings(case: &Case<'_>, settings: &mut Settings) {
    let all = &case.facts.interfaces;
    if all.is_empty() {
        return;
    }
    settings.knows(Area::Ports);
    settings.knows(Area::Stacked);
    for net in all {
        settings.about(net.name());
        match net.class {
            InterfaceClass::Hardware if !net.is_vf => port(case, net, settings),
            InterfaceClass::Bridge | InterfaceClass::Bond | InterfaceClass::Vlan => {
                stacked(net, settings);
            }
            _ => {}
        }
    }
    settings.about("");
}

fn port(case: &Case<'_>, net: &NetFacts, settings: &mut Settings) {
    let area = Area::Ports;
    let link = &net.link;
    settings.put(area, "", "present".to_owned());
    settings.put(area, "driver", link.driver.clone());
    // Drivers of the kernel's tree state its version: that is said once.
    let own = link
        .driver_version
        .clone()
        .filter(|version| !case.facts.host.kernel.starts_with(version.as_str()));
    settings.put(area, "driver version", own);
    settings.put(area, "firmware", link.firmware.clone());
    settings.put(area, "link", state(link));
    settings.put(area, "MTU", link.mtu.to_string());
    settings.put(area, "belongs to", master(link));
    let node = net.numa_node.map(|node| node.to_string());
    settings.put(area, "NUMA node", node);
    let functions = net.vfs.as_ref().map(|vfs| vfs.count.to_string());
    settings.put(area, "virtual functions", functions);
    let ring = |of: fn(&nicety_model::facts::RingsFacts) -> u32| {
        link.rings.as_ref().map(|rings| of(rings).to_string())
    };
    settings.put(area, "receive ring", ring(|rings| rings.rx));
    settings.put(area, "send ring", ring(|rings| rings.tx));
    settings.put(area, "queues", queues(link));
    settings.put(area, "interrupts", shape::interrupts(case, net));
    let rss = link.rss.as_ref();
    let used = rss.map(|rss| rss.entries_by_queue.len()).filter(|n| *n > 0);
    settings.put(
        area,
        "RSS",
        used.map(|queues| format!("to {queues} queues")),
    );
    let udp = rss.and_then(|rss| rss.udp4_ports).map(on);
    settings.put(area, "RSS of UDP by ports", udp);
    settings.put(area, "coalescing", link.coalescing.as_ref().map(coalescing));
    settings.put(area, "RPS", steering(&net.rx_steering));
    let entries = net
        .rx_steering
        .iter()
        .filter_map(|queue| queue.flow_entries);
    settings.put(
        area,
        "RFS entries",
        together(entries.map(|n| n.to_string())),
    );
    settings.put(area, "XPS", steering(&net.tx_steering));
    settings.put(area, "threaded NAPI", net.napi_threaded.map(on));
    settings.put(area, "qdisc", qdisc(link));
    for (name, feature) in &link.features {
        settings.listed(area, &format!("offload {name}"), on(feature.on));
    }
}

fn stacked(net: &NetFacts, settings: &mut Settings) {
    let area = Area::Stacked;
    let link = &net.link;
    settings.put(area, "", "present".to_owned());
    settings.put(area, "link", state(link));
    settings.put(area, "MTU", link.mtu.to_string());
    settings.put(area, "belongs to", master(link));
    settings.put(area, "VLAN", link.vlan.map(|vlan| vlan.to_string()));
    settings.put(area, "lower interface", link.lower.clone());
    settings.put(area, "mode", link.mode.clone());
    let none = BridgeFacts::default();
    let bridge = link.bridge.as_ref().unwrap_or(&none);
    for (name, value) in [
        ("calls iptables", bridge.nf_call_iptables),
        ("calls ip6tables", bridge.nf_call_ip6tables),
        ("calls arptables", bridge.nf_call_arptables),
        ("VLAN filter", bridge.vlan_filtering),
        ("multicast snooping", bridge.multicast_snooping),
    ] {
        settings.put(area, name, value.map(on));
    }
}

fn on(on: bool) -> String {
    if on { "on" } else { "off" }.to_owned()
}

/// `25000 Mbit/s`, `no carrier`, `set down`.
fn state(link: &LinkFacts) -> String {
    match (link.up, link.carrier, link.speed_mbps) {
        (false, _, _) => "set down".to_owned(),
        (true, false, _) => "no carrier".to_owned(),
        (true, true, Some(mbps)) => format!("{mbps} Mbit/s"),
        (true, true, None) => "up".to_owned(),
    }
}

fn master(link: &LinkFacts) -> String {
    link.master.clone().unwrap_or_else(|| "nothing".to_owned())
}

/// `16`, `8 receive, 4 send`.
fn queues(link: &LinkFacts) -> Option<String> {
    let queues = &link.queues;
    let separate = (
        queues.rx_only.filter(|n| *n > 0),
        queues.tx_only.filter(|n| *n > 0),
    );
    let words = match (queues.combined.filter(|n| *n > 0), separate) {
        (Some(both), (None, None)) => both.to_string(),
        (both, (rx, tx)) if both.is_some() || rx.is_some() || tx.is_some() => {
            let parts = [(both, "combined"), (rx, "receive"), (tx, "send")];
            let parts = parts
                .iter()
                .filter_map(|(n, word)| Some(format!("{} {word}", (*n)?)));
            parts.collect::<Vec<_>>().join(", ")
        }
        _ if queues.rx == 0 && queues.tx == 0 => return None,
        _ => format!("{} receive, {} send", queues.rx, queues.tx),
    };
    Some(words)
}

/// Values that an adaptive driver moves by itself are left out.
fn coalescing(of: &Coalescing) -> String {
    let side = |adaptive: bool, usecs: u32, frames: u32| match (adaptive, frames) {
        (true, _) => "adaptive".to_owned(),
        (false, 0) => format!("{usecs} µs"),
        (false, frames) => format!("{usecs} µs or {frames} frames"),
    };
    let rx = side(of.adaptive_rx, of.rx_usecs, of.rx_frames);
    let tx = side(of.adaptive_tx, of.tx_usecs, of.tx_frames);
    if rx == tx {
        rx
    } else {
        format!("receive {rx}, send {tx}")
    }
}

/// `off`, `CPUs 0-7`, `a set for each of 16 queues`.
fn steering(queues: &[QueueSteering]) -> Option<String> {
    let sets: std::collections::BTreeSet<String> = queues
        .iter()
        .map(|queue| format_cpu_list(&queue.cpus))
        .collect();
    let first = sets.first()?;
    Some(match sets.len() {
        1 if first.is_empty() => "off".to_owned(),
        1 => format!("CPUs {first}"),
        n if n == queues.len() => format!("a set for each of {n} queues"),
        n => format!("{n} sets for {} queues", queues.len()),
    })
}

/// The root, and what hangs below it.
fn qdisc(link: &LinkFacts) -> Option<String> {
    let root = link.qdiscs.iter().find(|qdisc| qdisc.root)?;
    let below = link.qdiscs.iter().filter(|qdisc| !qdisc.root);
    let mut kinds: Vec<&str> = below.map(|qdisc| qdisc.kind.as_str()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    Some(if kinds.is_empty() {
        root.kind.clone()
    } else {
        format!("{} of {}", root.kind, kinds.join(", "))
    })
}
