//! Functions and ports as tables, their rates as bars, and what became of a limit.

mod bars;
pub mod limit;
pub mod pacing;

use nicety_model::vf::{PhysicalFunction, PortCounters, Shared, VfReport};
use nicety_police::explain::readable;

pub use self::bars::Rates;
use crate::page::{Page, said};

/// What there is.
pub fn list(report: &VfReport, width: u16) -> String {
    let mut page = Page::new(width);
    for nic in &report.nics {
        page.line(&heading(nic));
        page.line(&format!("  {}", abilities(nic)));
        let rows: Vec<Vec<String>> = (nic.functions.iter())
            .map(|f| {
                let mut row = vec![
                    f.vf.to_string(),
                    said(f.mac.as_ref()),
                    f.vlan.map_or("-".to_owned(), |id| id.to_string()),
                    on(f.spoof_check),
                    on(f.trust),
                    said(f.link_state.as_ref()),
                    match &f.foreign {
                        Some(kind) => format!("{kind} of somebody else"),
                        None => rate(f.max_mbit),
                    },
                    rate(f.min_mbit),
                    said(f.driver.as_ref()),
                    f.holder.clone(),
                    said(f.representor.as_ref()),
                ];
                row.extend(shared(f.shared.as_ref()));
                row
            })
            .collect();
        let columns = [
            "vf",
            "MAC",
            "VLAN",
            "spoof check",
            "trust",
            "link",
            "max",
            "min",
            "driver",
            "held by",
            "representor",
            "tenant",
            "hard",
            "soft",
        ];
        page.table("  virtual functions", &columns, &rows);
        page.line("");
    }
    let rows: Vec<Vec<String>> = (report.ports.iter())
        .map(|port| {
            let limit = match (&port.limit, &port.foreign) {
                (Some(rate), _) => rate.to_string(),
                (None, Some(kind)) => format!("{kind} of somebody else"),
                (None, None) => "none".to_owned(),
            };
            let mut row = vec![port.interface.clone(), port.kind.clone(), limit];
            row.extend(shared(port.shared.as_ref()));
            row
        })
        .collect();
    let columns = ["interface", "kind", "max sent", "tenant", "hard", "soft"];
    page.table("ports", &columns, &rows);
    page.into_text()
}

/// Tenant, hard and soft limit as a table has them; nothing where nobody shares.
fn shared(shared: Option<&Shared>) -> [String; 3] {
    let Some(shared) = shared else {
        return Default::default();
    };
    [
        shared.tenant.clone(),
        readable(shared.hard_bps),
        shared.soft_bps.map_or("none".to_owned(), readable),
    ]
}

/// Counters and rates.
pub fn stats(report: &VfReport, width: u16) -> String {
    let columns = [
        "",
        "tx",
        "rx",
        "tx packets",
        "rx packets",
        "tx dropped",
        "rx dropped",
        "broadcast",
        "multicast",
        "share of tx",
        "VF to VF",
        "counted by",
    ];
    let mut page = Page::new(width);
    for nic in &report.nics {
        let sent = |c: Option<&PortCounters>| c.and_then(|c| c.tx_bps).unwrap_or(0.0);
        let all: f64 = nic
            .functions
            .iter()
            .map(|f| sent(f.counters.as_ref()))
            .sum();
        let rows: Vec<Vec<String>> = (nic.functions.iter())
            .map(|f| row(&format!("vf {}", f.vf), f.counters.as_ref(), all))
            .collect();
        page.table(&nic.interface, &columns, &rows);
    }
    let rows: Vec<Vec<String>> = (report.ports.iter())
        .map(|port| row(&port.interface, port.counters.as_ref(), 0.0))
        .collect();
    page.table("ports, seen from their owners", &columns, &rows);
    page.into_text()
}

fn row(name: &str, counters: Option<&PortCounters>, all: f64) -> Vec<String> {
    let Some(c) = counters else {
        let mut row = vec![String::new(); 12];
        row[0] = name.to_owned();
        row[11] = "nobody here: see its owner".to_owned();
        return row;
    };
    let of = |part: f64, whole: f64| {
        (whole > 0.0).then(|| format!("{:.0} %", 100.0 * (part / whole).min(1.0)))
    };
    let share = c.tx_bps.and_then(|bps| of(bps, all));
    // Of what it sends, what never leaves the NIC.
    let local = c.tx_local_bps.zip(c.tx_bps);
    let local = local.and_then(|(local, sent)| of(local, sent));
    vec![
        name.to_owned(),
        said(c.tx_bps.map(readable)),
        said(c.rx_bps.map(readable)),
        c.tx_packets.to_string(),
        c.rx_packets.to_string(),
        said(c.tx_dropped),
        said(c.rx_dropped),
        said(c.broadcast),
        said(c.multicast),
        said(share),
        said(local),
        c.source.clone(),
    ]
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
        Some(total) => format!("{} of {total} functions", nic.enabled),
        None => format!("{} functions", nic.enabled),
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

fn rate(mbit: Option<u32>) -> String {
    match mbit {
        Some(0) => "none".to_owned(),
        Some(mbit) => format!("{mbit} Mbit/s"),
        None => "unsupported".to_owned(),
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
        let shown = |functions| {
            let nics = vec![nic(functions)];
            let report = VfReport {
                nics,
                ..VfReport::default()
            };
            stats(&report, 200)
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
        // Where nobody counts it there is no column.
        let text = shown(vec![function(0, 3e6, None)]);
        assert!(!text.contains("VF to VF"), "{text}");
    }
}
