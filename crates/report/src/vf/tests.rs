use nicety_model::BitRate;
use nicety_model::vf::{HostPort, Shared, VirtualFunction};

use super::*;

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
    let csv = |functions| {
        let mut page = Page::default();
        counters(&mut page, &report(functions));
        page.csv(true).unwrap()
    };
    let shown = |functions| {
        let options = crate::Options {
            width: 200,
            colour: false,
        };
        list(&report(functions), true).text(options, true)
    };
    let text = shown(vec![
        function(0, 3e6, Some(75e4)),
        function(1, 1e6, Some(0.0)),
        function(2, 0.0, Some(0.0)),
    ]);
    let lines: Vec<Vec<&str>> = (text.lines().filter(|line| line.ends_with('%')))
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
        "port,tx packets,rx packets,share of tx (ratio),VF to VF (ratio)"
    );
    assert_eq!(rows[1], "eth0/vf0,0,0,0.75,0.25");
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

#[test]
fn owners_traffic_and_limits_fit_a_narrow_terminal() {
    let counters = Some(PortCounters {
        tx_bps: Some(98.7e6),
        rx_bps: Some(1.2e9),
        ..PortCounters::default()
    });
    let shared = Shared {
        tenant: "blue".to_owned(),
        hard_bps: 1e8,
        soft_bps: None,
    };
    let tap = HostPort {
        interface: "vnet0".to_owned(),
        kind: "tap".to_owned(),
        holder: Some("libvirt:web01/net0".to_owned()),
        limit: Some(BitRate(100_000_000)),
        shared: Some(shared),
        counters,
        ..HostPort::default()
    };
    let veth = HostPort {
        interface: "veth3".to_owned(),
        kind: "veth".to_owned(),
        ..HostPort::default()
    };
    let report = VfReport {
        ports: vec![tap, veth],
        ..VfReport::default()
    };
    let options = crate::Options {
        width: 80,
        colour: false,
    };
    let rows: Vec<String> = (list(&report, false).text(options, true).lines())
        .skip(2)
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    assert_eq!(
        rows,
        [
            "port held by tenant sent received limit",
            "vnet0 libvirt:web01/net0 blue 98.7 Mbit/s 1200.0 Mbit/s 100.0 Mbit/s",
            "veth3 veth none",
        ]
    );
    assert_eq!(
        list(&report, false).csv(true).unwrap().lines().nth(2),
        Some("veth3,veth,,,,")
    );
    let more = list(&report, true).text(options, true);
    assert!(
        more.contains("\ntenants\n") && more.contains("hard"),
        "{more}"
    );
}
