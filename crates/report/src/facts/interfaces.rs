//! Interfaces and their interrupts.

use nicety_model::HostFacts;
use nicety_model::cpu_list::format_cpu_list;
use nicety_model::facts::{Coalescing, IrqFacts, LinkFacts, NetFacts, QueuesFacts, RingsFacts};

use crate::document::columns;
use crate::page::Page;

/// Offloads with the short names ethtool(8) gives them, in the order they are shown.
const OFFLOADS: [(&str, &str); 6] = [
    ("rx-gro", "gro"),
    ("rx-lro", "lro"),
    ("tx-tcp-segmentation", "tso"),
    ("tx-generic-segmentation", "gso"),
    ("rx-checksum", "rxcsum"),
    ("rx-gro-hw", "gro-hw"),
];

pub fn render(page: &mut Page, facts: &HostFacts) {
    page.rows(
        "interfaces",
        &facts.interfaces,
        columns![|net|
            "interface" Name: format!("{}{}", net.name(), state(&net.link));
            "class" Text: class(net);
            "driver" Text: net.link.driver.as_ref();
            "node" Number: net.numa_node;
            "Mbit/s" Number: net.link.speed_mbps;
            "MTU" Number: net.link.mtu;
            "in" Text: place(facts, &net.link);
            "queues" Text: queues(&net.link.queues);
            "rings rx/tx" Text: net.link.rings.as_ref().map(rings);
            "coalesce µs" Text: net.link.coalescing.as_ref().map(coalescing);
            "on" Text: on(net);
            "qdisc" Text: qdiscs(&net.link);
            "VFs" Text: net.vfs.as_ref().map(|vfs| format!("{} of {}", vfs.count, vfs.max));
            "drops" Text: drops(net);
        ],
    );
    let mostly = |irq: &IrqFacts| {
        let top = irq.counts.iter().max_by_key(|(_, count)| **count);
        top.map(|(cpu, _)| *cpu)
    };
    page.rows(
        "interrupts",
        &facts.irqs,
        columns![|irq|
            "IRQ" Place: irq.irq;
            "interface" Name: &irq.interface;
            "handler" Name: &irq.name;
            "allowed" Text: format_cpu_list(&irq.affinity);
            "goes to" Text: format_cpu_list(&irq.effective);
            "count" Number: irq.total();
            "mostly on" Number: mostly(irq);
            "placed by" Text: irq.managed.filter(|&managed| managed).map(|_| "kernel");
        ],
    );
}

fn state(link: &LinkFacts) -> &'static str {
    match (link.up, link.carrier) {
        (false, _) => " (down)",
        (_, false) => " (no carrier)",
        _ => "",
    }
}

fn class(net: &NetFacts) -> Option<String> {
    let class = serde_json::to_value(net.class).ok()?;
    class.as_str().map(str::to_owned)
}

/// What it belongs to, is stacked on, and has for ports.
fn place(facts: &HostFacts, link: &LinkFacts) -> String {
    let mut placed = Vec::from_iter(link.master.clone());
    placed.extend(link.lower.as_ref().map(|lower| match link.vlan {
        Some(vlan) => format!("on {lower} VLAN {vlan}"),
        None => format!("on {lower}"),
    }));
    let ports: Vec<&str> = facts.ports(&link.name).map(NetFacts::name).collect();
    if !ports.is_empty() {
        placed.push(format!("ports {}", ports.join(" ")));
    }
    placed.join(", ")
}

fn rings(rings: &RingsFacts) -> String {
    let RingsFacts {
        rx,
        tx,
        rx_max,
        tx_max,
    } = rings;
    format!("{rx}/{tx} of {rx_max}/{tx_max}")
}

fn coalescing(of: &Coalescing) -> String {
    if of.adaptive_rx {
        "adaptive".to_owned()
    } else {
        format!("{}/{}", of.rx_usecs, of.tx_usecs)
    }
}

/// Short names of the offloads that are on.
fn on(net: &NetFacts) -> String {
    let is_on = |name: &str| net.feature(name).is_some_and(|feature| feature.on);
    let on = OFFLOADS.iter().filter(|(name, _)| is_on(name));
    on.map(|(_, short)| *short).collect::<Vec<_>>().join(" ")
}

fn qdiscs(link: &LinkFacts) -> String {
    let roots = link.qdiscs.iter().filter(|qdisc| qdisc.root);
    let kinds = roots.map(|qdisc| qdisc.kind.as_str());
    kinds.collect::<Vec<_>>().join(" ")
}

fn queues(queues: &QueuesFacts) -> String {
    match (queues.combined, queues.combined_max) {
        (Some(now), Some(max)) => format!("{now} of {max}"),
        _ => format!("{} rx, {} tx", queues.rx, queues.tx),
    }
}

/// Counters of frames that came to nothing.
fn drops(net: &NetFacts) -> String {
    const NAMES: [&str; 6] = [
        "rx_dropped",
        "tx_dropped",
        "rx_missed_errors",
        "rx_fifo_errors",
        "rx_over_errors",
        "tx_fifo_errors",
    ];
    let counted = NAMES.iter().map(|name| (name, net.counter(name)));
    let words = counted.filter(|(_, count)| *count > 0);
    words
        .map(|(name, count)| format!("{name} {count}"))
        .collect::<Vec<_>>()
        .join(", ")
}
