//! Fleets in a terminal.

use nicety_model::fleet::FleetReport;
use serde_json::json;

use crate::document::terminal::shown;

/// Twelve hosts, `differs` of which are odd, with a split setting where asked for.
fn fleet(odd: usize, split: bool) -> FleetReport {
    let names: Vec<String> = (1..=12).map(|n| format!("kvm{n:02}")).collect();
    let hosts: Vec<_> = names
        .iter()
        .enumerate()
        .map(|(at, name)| {
            json!({"name": name, "file": format!("{name}.json"), "group": 1, "findings": 1,
                   "differs": usize::from(at < odd)})
        })
        .collect();
    let mut differences = Vec::new();
    if odd > 0 {
        differences.push(
            json!({"group": 1, "setting": "eth0 receive ring", "usual": "4096",
            "usual_hosts": 12 - odd, "more_hosts": 0, "unknown": 0,
            "others": [{"value": "256", "hosts": names[..odd]}]}),
        );
    }
    if split {
        differences.push(
            json!({"group": 1, "setting": "eth0 MTU", "usual_hosts": 0, "more_hosts": 2,
            "unknown": 1, "others": [{"value": "1500", "hosts": names[..5]},
                                     {"value": "9000", "hosts": names[5..9]}]}),
        );
    }
    let fleet = json!({
        "schema": 1, "goal": "throughput", "grouped_by": ["cpu", "nic", "role"], "checked": 34, "riskier": 0,
        "hosts": hosts,
        "groups": [{"group": 1, "cpu": "2 × EPYC", "nics": "2 × ice", "role": "kvm-host", "hosts": names,
                    "compared": 90}],
        "findings": [], "differences": differences, "waiting": [], "older": [], "unread": [],
    });
    serde_json::from_value(fleet).unwrap()
}

fn text(fleet: &FleetReport, width: u16) -> String {
    let text = shown(fleet, width, false);
    for line in text.lines() {
        assert!(line.chars().count() <= width.into(), "{width}: {line}");
    }
    text
}

#[test]
fn an_equal_fleet_is_one_sentence() {
    let mut equal = fleet(0, false);
    equal.hosts.iter_mut().for_each(|host| host.findings = 0);
    let line = "12 hosts: nothing to change for throughput; siblings are the same.\n";
    assert_eq!(text(&equal, 80), line);
}

#[test]
fn the_odd_ones_stand_against_the_others() {
    for width in [20, 40, 60, 80, 120, 200] {
        let text = text(&fleet(1, true), width);
        assert!(text.contains("kvm01"), "{text}");
    }
    let text = text(&fleet(4, true), 160);
    for part in [
        "4 differ from their siblings.",
        "kvm01 differs most, in 1 setting.",
        "eth0 receive ring  256",
        "kvm01–kvm04",
        "4096 (8 hosts)",
        "no majority among 11 hosts, unknown on 1",
        "further values",
        "2 hosts more",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn what_is_left_out_is_counted() {
    let mut fleet = fleet(0, false);
    let unread = json!([{"file": "a\u{1b}[31m.json", "why": "is no host"}]);
    fleet.unread = serde_json::from_value(unread).unwrap();
    let text = text(&fleet, 80);
    assert!(
        text.contains("Left out: 1 path that could not be read."),
        "{text}"
    );
    let mut page = Vec::new();
    crate::html(&fleet, &mut page).unwrap();
    assert!(String::from_utf8(page).unwrap().contains("is no host"));
}
