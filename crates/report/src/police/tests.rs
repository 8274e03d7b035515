use serde_json::json;

use super::*;

/// Two tenants: one is held by its cap and has burst credit, the other asks for little and may send anything.
fn state() -> State {
    let explanation = |tenant: &str, rate: f64, demand: Option<f64>, guarantee: u64| {
        json!({
            "tenant": tenant, "rate_bps": rate, "demand_bps": demand, "limit_bps": 12_300_000.0, "weight": 1.5,
            "guarantee_bps": guarantee, "bottleneck": { "kind": "cap" },
            "burst": { "credit_bits": 1e6, "full_bits": 3e7, "most_bps": 2e7, "ceiling_bps": 2e7,
                       "lasts_s": 0.5, "full_s": 3.0 },
        })
    };
    let decided = |soft: Option<f64>| {
        json!({
            "rate_bps": 1.0, "given_bps": 1.0, "limit_bps": 1.0, "cap_bps": 12_300_000.0, "soft_bps": soft,
        })
    };
    let decision = json!({
        "ports": [{ "port": "tap0", "tenant": 0, "rate_bps": 12_345_670.0, "limit_bps": 12_300_000,
                    "enforcement": "holds", "present": true }],
        "tenants": [decided(Some(5e6)), decided(None)],
        "writes": [], "guarantees_scaled": 1.0, "total_bps": 15_000_000.0,
    });
    let tenants = json!([
        explanation("a", 12_345_670.0, None, 0),
        explanation("b", 2_500_000.0, Some(3e6), 1_000_000),
    ]);
    let packets = json!({
        "tenants": [
            { "tenant": "a", "rate_pps": 1500.4, "limit_pps": 20_000.0 },
            { "tenant": "b", "max_pps": 20_000, "rate_pps": 1.0, "limit_pps": 20_000.0 },
        ],
        "ports": [],
    });
    serde_json::from_value(json!({
        "schema": 1, "pid": 7, "netns": 1, "policy": "policy.toml", "period_s": 0.1, "capacity_bps": 1e9,
        "periods": 10, "written_s": 1.0, "writes": 3, "errors": 0, "tenants": tenants, "decision": decision,
        "received": { "tenants": tenants, "hard_bps": [1e9, 1e9], "lost": [], "decision": decision },
        "packets": packets,
    }))
    .unwrap()
}

/// The rows of a table of the CSV, each with the names of its columns.
fn rows<'c>(csv: &'c str, table: &str) -> Vec<Vec<(&'c str, &'c str)>> {
    let (head, body) = csv.split_once('\n').unwrap();
    let of = |line: &'c str| head.split(',').zip(line.split(',')).collect::<Vec<_>>();
    let rows = body.lines().map(of);
    rows.filter(|row| row[0].1 == table).collect()
}

fn field<'c>(row: &[(&'c str, &'c str)], name: &str) -> &'c str {
    let found = row.iter().find(|(known, _)| *known == name);
    found.unwrap_or_else(|| panic!("{name}: {row:?}")).1
}

#[test]
fn csv_has_numbers_and_their_units_in_the_names() {
    let csv = status(&state()).csv(true).unwrap();
    let tenants = rows(&csv, "tenants");
    let of = |row: usize, name| field(&tenants[row], name);
    assert_eq!(of(0, "sends (bit/s)"), "12345670");
    assert_eq!(of(0, "guarantee (bit/s)"), "0");
    assert_eq!(of(0, "soft (bit/s)"), "5000000");
    assert_eq!(of(0, "wants (bit/s)"), "inf");
    assert_eq!(of(0, "burst credit (s)"), "0.5");
    assert_eq!(of(0, "full credit (s)"), "3");
    assert_eq!(of(1, "guarantee (bit/s)"), "1000000");
    assert_eq!(of(1, "soft (bit/s)"), "");
    assert_eq!(of(1, "wants (bit/s)"), "3000000");
    let packets = rows(&csv, "packets sent");
    assert_eq!(field(&packets[0], "max packets/s"), "");
    assert_eq!(field(&packets[0], "may be (packets/s)"), "20000");
    assert_eq!(field(&packets[1], "max packets/s"), "20000");
    // Whatever is no name or word is a number.
    let words = ["table", "name", "port", "is", "tenant", "limit is"];
    for line in csv.lines().skip(1) {
        let head = csv.lines().next().unwrap().split(',');
        let fields = head
            .zip(line.split(','))
            .filter(|(name, field)| !words.contains(name) && !field.is_empty());
        for (name, field) in fields {
            assert!(field.parse::<f64>().is_ok(), "{name}: {field} in {line}");
        }
    }
}

#[test]
fn a_terminal_has_words() {
    let options = crate::Options {
        width: 200,
        colour: false,
    };
    let text = status(&state()).text(options, true);
    for words in ["12.3 Mbit/s", "none", "more", "0.5 s", "3.0 s"] {
        assert!(text.contains(words), "{words}: {text}");
    }
}
