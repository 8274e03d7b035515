//! Functions and ports as tables, their rates on a screen, and what became of a limit.

pub mod limit;
pub mod pacing;
pub mod watch;

use nicety_model::counted::plural;
use nicety_model::vf::{PhysicalFunction, PortCounters, Shared, VfReport};

use crate::document::{Cell, columns};
use crate::page::Page;

/// What there is.
pub fn list(report: &VfReport) -> Page {
    let mut page = Page::default();
    for nic in &report.nics {
        page.line(&heading(nic));
        page.line(&format!("  {}", abilities(nic)));
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
                "max" Number: limit(f.foreign.as_ref(), || rate(f.max_mbit));
                "min" Number: rate(f.min_mbit);
                "driver" Text: f.driver.as_ref();
                "held by" Text: &f.holder;
                "representor" Text: f.representor.as_ref();
                "tenant" Text: f.shared.as_ref().map(|shared| &shared.tenant);
                "hard" Number: Cell::rate(f.shared.as_ref().map(|shared| shared.hard_bps));
                "soft" Number: f.shared.as_ref().map(soft);
            ],
        );
        page.line("");
    }
    page.rows(
        "ports",
        &report.ports,
        columns![|port|
            "interface" Name: &port.interface;
            "kind" Text: &port.kind;
            "max sent" Number: match &port.limit {
                Some(rate) => Cell::rate(rate.0 as f64),
                None => limit(port.foreign.as_ref(), || "none".into()),
            };
            "tenant" Text: port.shared.as_ref().map(|shared| &shared.tenant);
            "hard" Number: Cell::rate(port.shared.as_ref().map(|shared| shared.hard_bps));
            "soft" Number: port.shared.as_ref().map(soft);
        ],
    );
    page
}

/// A limit of somebody else, or `ours`.
fn limit(foreign: Option<&String>, ours: impl Fn() -> Cell) -> Cell {
    foreign.map_or_else(ours, |kind| format!("{kind} of somebody else").into())
}

fn soft(shared: &Shared) -> Cell {
    shared.soft_bps.map_or("none".into(), Cell::rate)
}

/// Counters and rates.
pub fn stats(report: &VfReport) -> Page {
    let mut page = Page::default();
    for nic in &report.nics {
        let counters = nic.functions.iter().map(|f| f.counters.as_ref());
        let all = counters.flatten().filter_map(|c| c.tx_bps).sum();
        let named = nic.functions.iter();
        let named = named.map(|f| (format!("vf {}", f.vf), f.counters.as_ref()));
        counted(&mut page, &nic.interface, named, all);
    }
    let ports = report.ports.iter();
    let ports = ports.map(|port| (port.interface.clone(), port.counters.as_ref()));
    counted(&mut page, "ports, seen from their owners", ports, 0.0);
    page
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
            "" Name: name;
            "tx" Number: Cell::rate(c.and_then(|c| c.tx_bps));
            "rx" Number: Cell::rate(c.and_then(|c| c.rx_bps));
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

#[cfg(test)]
mod tests {
    use super::*;
    use nicety_model::vf::VirtualFunction;

    #[test]
    fn what_never_leaves_the_nic_is_a_share_of_what_is_sent() {
        let function = |vf, tx: f64, local| VirtualFunction {
            vf,
            counters: Some(PortCounters {
                tx_bps: Some(tx),
                tx_local_bps: local,
                ..PortCounters::default()
            }),
            ..VirtualFunction::default()
        };
        let nic = |functions| PhysicalFunction {
            interface: "eth0".to_owned(),
            functions,
            ..PhysicalFunction::default()
        };
        let report = |functions| VfReport {
            nics: vec![nic(functions)],
            ..VfReport::default()
        };
        let csv = |functions| stats(&report(functions)).csv(true).unwrap();
        let shown = |functions| {
            let options = crate::Options {
                width: 200,
                colour: false,
            };
            stats(&report(functions)).text(options, true)
        };
        let text = shown(vec![
            function(0, 3e6, Some(75e4)),
            function(1, 1e6, Some(0.0)),
            function(2, 0.0, Some(0.0)),
        ]);
        let lines: Vec<Vec<&str>> = (text.lines().filter(|line| line.contains("vf ")))
            .map(|line| line.split_whitespace().collect())
            .collect();
        // Share of what all send, then what of it goes to other functions.
        assert_eq!(lines[0][lines[0].len() - 4..], ["75", "%", "25", "%"]);
        assert_eq!(lines[1][lines[1].len() - 4..], ["25", "%", "0", "%"]);
        assert!(text.contains("VF to VF"), "{text}");
        // A program reads the number and its unit, not the words.
        let csv = csv(vec![
            function(0, 3e6, Some(75e4)),
            function(1, 1e6, Some(0.0)),
        ]);
        let rows: Vec<&str> = csv.lines().collect();
        assert_eq!(
            rows[0],
            "name,tx (bit/s),tx packets,rx packets,share of tx (ratio),VF to VF (ratio)"
        );
        assert_eq!(rows[1], "vf 0,3000000,0,0,0.75,0.25");
        // Nor is anything but numbers in their columns.
        for row in &rows[1..] {
            let fields = row.split(',').skip(1);
            let numbers = fields.filter(|field| !field.is_empty());
            assert!(
                numbers.map(str::parse::<f64>).all(|number| number.is_ok()),
                "{row}"
            );
        }
        // Where nobody counts it there is no column.
        let text = shown(vec![function(0, 3e6, None)]);
        assert!(!text.contains("VF to VF"), "{text}");
    }
}
