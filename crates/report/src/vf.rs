//! Functions and ports as tables, their rates on a screen, and what became of a limit.

pub mod limit;
pub mod pacing;
mod seen;
#[cfg(test)]
mod tests;
pub mod watch;

use nicety_model::counted::plural;
use nicety_model::vf::{PhysicalFunction, PortCounters, VfReport};

use crate::document::{Cell, columns};
use crate::page::Page;
use seen::{function, seen};

/// Ports with owner, traffic and limit, for a narrow terminal; of every NIC what its driver can do. With
/// `details` also settings of functions, limits of tenants, and counters.
pub fn list(report: &VfReport, details: bool) -> Page {
    let mut page = Page::default();
    for nic in &report.nics {
        page.line(&heading(nic));
        page.line(&format!("  {}", abilities(nic)));
    }
    page.rows(
        "ports, seen from their owners",
        seen(report),
        columns![|port|
            "port" Name: &port.name;
            "held by" Text: port.holder;
            "tenant" Text: port.tenant();
            "sent" Number: Cell::rate(port.sent());
            "received" Number: Cell::rate(port.received());
            "limit" Number: port.limit();
        ],
    );
    if details {
        settings(&mut page, report);
        counters(&mut page, report);
    }
    page
}

/// What the table of all ports has no room for.
fn settings(page: &mut Page, report: &VfReport) {
    page.rows(
        "tenants",
        seen(report).filter_map(|port| Some((port.shared?, port.name))),
        columns![|(shared, name)|
            "port" Name: name;
            "tenant" Text: &shared.tenant;
            "hard" Number: Cell::rate(shared.hard_bps);
            "soft" Number: shared.soft_bps.map_or("none".into(), Cell::rate);
        ],
    );
    for nic in &report.nics {
        page.rows(
            &format!("{}, virtual functions", nic.interface),
            &nic.functions,
            columns![|f|
                "vf" Place: f.vf;
                "MAC" Text: f.mac.as_ref();
                "VLAN" Number: f.vlan.map_or("-".to_owned(), |id| id.to_string());
                "spoof check" Text: on(f.spoof_check);
                "trust" Text: on(f.trust);
                "link" Text: f.link_state.as_ref();
                "min" Number: rate(f.min_mbit);
                "driver" Text: f.driver.as_ref();
                "representor" Text: f.representor.as_ref();
            ],
        );
    }
}

/// What was counted so far, NIC by NIC.
fn counters(page: &mut Page, report: &VfReport) {
    for nic in &report.nics {
        let counters = nic.functions.iter().map(|f| f.counters.as_ref());
        let all = counters.flatten().filter_map(|c| c.tx_bps).sum();
        let named = nic.functions.iter();
        let named = named.map(|f| (function(&nic.interface, f.vf), f.counters.as_ref()));
        counted(page, &format!("{}, counters", nic.interface), named, all);
    }
    let ports = report.ports.iter();
    let ports = ports.map(|port| (port.interface.clone(), port.counters.as_ref()));
    counted(page, "counters", ports, 0.0);
}

/// A table of counters, by name; `all` is what they send together, in bit/s.
fn counted<'r>(
    page: &mut Page,
    heading: &str,
    named: impl Iterator<Item = (String, Option<&'r PortCounters>)>,
    all: f64,
) {
    let of = |part: Option<f64>, whole: Option<f64>| {
        let whole = whole.filter(|whole| *whole > 0.0);
        let share = part.zip(whole).map(|(part, whole)| (part / whole).min(1.0));
        Cell::sorted(share, |share| format!("{:.0} %", 100.0 * share)).exact_unit("ratio")
    };
    page.rows(
        heading,
        named,
        columns![|(name, c)|
            "port" Name: name;
            "tx packets" Number: c.map(|c| c.tx_packets);
            "rx packets" Number: c.map(|c| c.rx_packets);
            "tx dropped" Number: c.and_then(|c| c.tx_dropped);
            "rx dropped" Number: c.and_then(|c| c.rx_dropped);
            "broadcast" Number: c.and_then(|c| c.broadcast);
            "multicast" Number: c.and_then(|c| c.multicast);
            "share of tx" Number: of(c.and_then(|c| c.tx_bps), Some(all));
            // Of what it sends, what never leaves the NIC.
            "VF to VF" Number: of(c.and_then(|c| c.tx_local_bps), c.and_then(|c| c.tx_bps));
            "counted by" Text: c.map_or("nobody here: see its owner", |c| &c.source);
        ],
    );
}

fn heading(nic: &PhysicalFunction) -> String {
    let link = match nic.link_mbit {
        Some(mbit) => format!("link {mbit} Mbit/s"),
        None => "link down".to_owned(),
    };
    let mut words = vec![nic.interface.clone()];
    words.extend(nic.driver.clone());
    words.extend(nic.pci.clone());
    words.push(link);
    words.push(match nic.total {
        Some(total) => format!("{} of {}", nic.enabled, plural(total, "function")),
        None => plural(nic.enabled, "function"),
    });
    if nic.untold > 0 {
        words.push(format!("{} not told by the driver", nic.untold));
    }
    words.join(", ")
}

fn abilities(nic: &PhysicalFunction) -> String {
    let can = &nic.can;
    let max = match &can.max_rate {
        Some(range) => format!("max rate {range}"),
        None => "max rate unsupported".to_owned(),
    };
    let mut words = vec![max];
    words.push(match can.min_rate.as_str() {
        "refused" => "min rate unsupported".to_owned(),
        word => format!("min rate {word}"),
    });
    words.push(match can.counters.as_str() {
        "none" => "counters unsupported".to_owned(),
        word => format!("counters {word}"),
    });
    let mut ways: Vec<&str> = nic
        .functions
        .iter()
        .filter_map(|f| f.limited_by.as_deref())
        .collect();
    ways.dedup();
    words.extend((!ways.is_empty()).then(|| format!("limits by {}", ways.join(", "))));
    let soft = nic
        .functions
        .iter()
        .filter(|f| f.in_hardware == Some(false));
    let soft: Vec<String> = soft.map(|f| f.vf.to_string()).collect();
    if !soft.is_empty() {
        words.push(format!(
            "vf {} limited in software only: frames that the NIC switches itself pass",
            soft.join(", ")
        ));
    }
    if nic.switchdev {
        words.push("switchdev mode".to_owned());
    }
    if !can.note.is_empty() {
        words.push(can.note.clone());
    }
    words.join("; ")
}

fn on(value: Option<bool>) -> String {
    match value {
        Some(true) => "on",
        Some(false) => "off",
        None => "unsupported",
    }
    .to_owned()
}

fn rate(mbit: Option<u32>) -> Cell {
    match mbit {
        Some(0) => "none".into(),
        Some(mbit) => {
            let mut cell = Cell::rate(f64::from(mbit) * 1e6);
            // As it was set.
            cell.text = format!("{mbit} Mbit/s");
            cell
        }
        None => "unsupported".into(),
    }
}
