//! A fleet of recorded hosts against golden files, and what must hold of its page.

use nicety_model::fleet::FleetReport;
use nicety_report::{html, json, markdown, tables_csv};
use scraper::Html;
use serde_json::{Value, json};

use crate::common::{self, NASTY, count, rendered, terminal};

fn names(numbers: impl Iterator<Item = usize>) -> Vec<String> {
    numbers.map(|n| format!("kvm{n:04}")).collect()
}

fn finding(id: &str, rule: &str, gain: &str, risk: &str, hosts: &[String]) -> Value {
    json!({
        "id": id, "rule": rule, "expects": "CPUs that carry frames run at full speed",
        "why": "A CPU that clocks down is slow when frames come.",
        "source": "Linux Documentation/admin-guide/pm/cpufreq.rst", "cost": "More power.",
        "risk": risk, "certainty": "likely", "gain": gain, "effect": "now",
        "changes": if risk == "low" { hosts.len() } else { 0 },
        "subjects": 2 * hosts.len(), "hosts": hosts,
        "example": {"host": hosts[0], "subject": "eth0", "is": NASTY, "should": "performance on CPUs 0-3",
                    "advice": ["Set it in the BIOS."]},
    })
}

/// So many hosts in two groups and one alone; every tenth has a short ring, one a name of an attacker.
fn fleet(size: usize) -> FleetReport {
    let all = names(1..=size);
    let (first, second) = all.split_at(size * 3 / 4);
    let short: Vec<String> = first.iter().step_by(10).cloned().collect();
    let hosts: Vec<Value> = all
        .iter()
        .map(|name| {
            json!({"name": name, "file": format!("captures/{name}.json"), "captured": "2026-11-24T10:02:07Z",
                   "group": if first.contains(name) { 1 } else { 2 }, "findings": 2,
                   "differs": usize::from(short.contains(name))})
        })
        .chain([json!({"name": NASTY, "file": "captures/x.json", "group": 3, "findings": 0, "differs": 0})])
        .collect();
    let group = |group: usize, hosts: &[String], cpu: &str| {
        json!({"group": group, "cpu": cpu, "nics": "2 × ice", "role": "kvm-host", "hosts": hosts,
               "compared": 240})
    };
    let others = second.len() / 2;
    let fleet = json!({
        "schema": 1, "goal": "throughput", "grouped_by": ["cpu", "nic", "role"], "checked": 34, "riskier": 1,
        "hosts": hosts,
        "groups": [group(1, first, "2 × AMD EPYC 9354"), group(2, second, "2 × Intel Xeon 8380"),
                   group(3, &[NASTY.to_owned()], NASTY)],
        "findings": [
            finding("T23", "governor", "large", "low", &all),
            finding("T14", "mtu", "medium", "high", &short),
        ],
        "differences": [
            {"group": 1, "setting": "eth0 receive ring", "usual": "4096",
             "usual_hosts": first.len() - short.len(), "more_hosts": 0, "unknown": 1,
             "others": [{"value": "256", "hosts": short}]},
            {"group": 1, "setting": "kernel", "usual": "6.12.95", "usual_hosts": first.len() - 1,
             "more_hosts": 0, "unknown": 0, "others": [{"value": NASTY, "hosts": first[..1]}]},
            {"group": 2, "setting": "eth0 MTU", "usual_hosts": 0, "more_hosts": 0, "unknown": 0,
             "others": [{"value": "1500", "hosts": second[..others]},
                        {"value": "9000", "hosts": second[others..]}]},
        ],
        "waiting": [
            {"id": "T09", "rule": "ring", "option": "--window 10s", "hosts": size},
            {"id": "T19", "rule": "tcp-buffer", "option": "--rtt TIME", "hosts": 2},
        ],
        "older": [{"name": "kvm0001", "file": "old/kvm0001.json", "newer": "captures/kvm0001.json"}],
        "unread": [{"file": "captures/notes.json", "why": "is no captured host"}],
    });
    serde_json::from_value(fleet).unwrap()
}

#[test]
fn every_renderer_of_a_fleet() {
    let fleet = fleet(80);
    for width in [20, 80, 160] {
        let text = terminal(&fleet, width);
        common::golden(&format!("fleet.{width}.txt"), &text);
    }
    common::golden("fleet.md", &rendered(|out| markdown(&fleet, out)));
    common::golden("fleet.csv", &rendered(|out| tables_csv(&fleet, out, true)));
    common::golden("fleet.html", &rendered(|out| html(&fleet, out)));
    let text = rendered(|out| json::pretty("fleet", &fleet, out));
    common::golden("fleet.json", &text);
    let back: FleetReport = serde_json::from_str(&text).unwrap();
    assert_eq!(back, fleet);
}

#[test]
fn names_stay_names_on_a_page_and_elsewhere() {
    let fleet = fleet(40);
    let text = rendered(|out| html(&fleet, out));
    let html = Html::parse_document(&text);
    assert_eq!(html.errors.len(), 0, "{:?}", html.errors);
    assert!(!text.contains("<script>alert"));
    assert_eq!(count(&html, "script"), 3);
    assert_eq!(count(&html, "[src], link, img, iframe"), 0);
    assert!(!rendered(|out| markdown(&fleet, out)).contains("<script>"));
    assert!(!terminal(&fleet, 120).contains('\u{1b}'));
}

#[test]
fn a_page_holds_a_thousand_hosts() {
    let text = rendered(|out| html(&fleet(1000), out));
    let html = Html::parse_document(&text);
    // All of them are there; those beyond the first hundred for who asks for them.
    assert_eq!(count(&html, "#hosts tbody tr"), 100);
    assert_eq!(count(&html, "#hosts noscript.rest"), 1);
    let (_, hosts) = text.split_once("id=\"hosts\"").unwrap();
    assert_eq!(hosts.matches(">captures/kvm").count(), 1000);
    // Long lists of hosts wait below their number.
    assert!(count(&html, "#differences details.folded") > 0);
    assert!(text.len() < 2_000_000, "{}", text.len());
}
