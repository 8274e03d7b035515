//! Interfaces and their interrupts.

use nicety_model::HostFacts;
use nicety_model::cpu_list::format_cpu_list;
use nicety_model::facts::{NetFacts, QueuesFacts};

use crate::page::{Page, said};

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
    let rows: Vec<Vec<String>> = facts.interfaces.iter().map(|net| row(facts, net)).collect();
    let columns = [
        "interface",
        "class",
        "driver",
        "node",
        "Mbit/s",
        "MTU",
        "in",
        "queues",
        "rings rx/tx",
        "coalesce µs",
        "on",
        "qdisc",
        "VFs",
        "drops",
    ];
    page.table("interfaces", &columns, &rows);
    let rows: Vec<Vec<String>> = facts
        .irqs
        .iter()
        .map(|irq| {
            let top = irq.counts.iter().max_by_key(|(_, count)| **count);
            vec![
                irq.irq.to_string(),
                irq.interface.clone(),
                irq.name.clone(),
                format_cpu_list(&irq.affinity),
                format_cpu_list(&irq.effective),
                irq.total().to_string(),
                said(top.map(|(cpu, _)| cpu)),
                said(irq.managed.filter(|&managed| managed).map(|_| "kernel")),
            ]
        })
        .collect();
    let columns = [
        "IRQ",
        "interface",
        "handler",
        "allowed",
        "goes to",
        "count",
        "mostly on",
        "placed by",
    ];
    page.table("interrupts", &columns, &rows);
}

fn row(facts: &HostFacts, net: &NetFacts) -> Vec<String> {
    let link = &net.link;
    let class = serde_json::to_value(net.class).ok();
    let class = class.and_then(|value| value.as_str().map(str::to_owned));
    let state = if !link.up {
        " (down)"
    } else if !link.carrier {
        " (no carrier)"
    } else {
        ""
    };
    let mut placed: Vec<String> = Vec::new();
    placed.extend(link.master.clone());
    placed.extend(link.lower.as_ref().map(|lower| match link.vlan {
        Some(vlan) => format!("on {lower} VLAN {vlan}"),
        None => format!("on {lower}"),
    }));
    let ports: Vec<&str> = facts.ports(&link.name).map(NetFacts::name).collect();
    if !ports.is_empty() {
        placed.push(format!("ports {}", ports.join(" ")));
    }
    let on = OFFLOADS
        .iter()
        .filter(|(name, _)| net.feature(name).is_some_and(|f| f.on));
    vec![
        format!("{}{state}", link.name),
        said(class),
        said(link.driver.clone()),
        said(net.numa_node),
        said(link.speed_mbps),
        link.mtu.to_string(),
        placed.join(", "),
        queues(&link.queues),
        said(
            link.rings
                .as_ref()
                .map(|r| format!("{}/{} of {}/{}", r.rx, r.tx, r.rx_max, r.tx_max)),
        ),
        said(link.coalescing.as_ref().map(|c| match c.adaptive_rx {
            true => "adaptive".to_owned(),
            false => format!("{}/{}", c.rx_usecs, c.tx_usecs),
        })),
        on.map(|(_, short)| *short).collect::<Vec<_>>().join(" "),
        link.qdiscs
            .iter()
            .filter(|qdisc| qdisc.root)
            .map(|qdisc| qdisc.kind.clone())
            .collect::<Vec<_>>()
            .join(" "),
        said(
            net.vfs
                .as_ref()
                .map(|vfs| format!("{} of {}", vfs.count, vfs.max)),
        ),
        drops(net),
    ]
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
