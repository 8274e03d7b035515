//! The dashboards that are shipped show metrics that there are, and all of them.

use std::collections::BTreeSet;

use serde_json::Value;

const DASHBOARD: &str = include_str!("../../../../packaging/dashboards/police.json");
/// Where the daemon names its metrics, each as a text of its own.
const METRICS: &str = include_str!("../../../policed/src/metrics.rs");
const PREFIX: &str = "nicety_police_";

/// Every text in a value.
fn texts<'a>(value: &'a Value, into: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => into.push(text),
        Value::Array(all) => all.iter().for_each(|one| texts(one, into)),
        Value::Object(all) => all.values().for_each(|one| texts(one, into)),
        _ => {}
    }
}

#[test]
fn a_dashboard_shows_what_the_daemon_tells() {
    let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
    let mut all = Vec::new();
    texts(&dashboard, &mut all);
    let mut shown = BTreeSet::new();
    for text in all {
        for (at, _) in text.match_indices(PREFIX) {
            let rest = &text[at + PREFIX.len()..];
            let end = rest.find(|c: char| !(c.is_ascii_lowercase() || c == '_'));
            let name = &rest[..end.unwrap_or(rest.len())];
            shown.insert(name.strip_suffix("_total").unwrap_or(name).to_owned());
        }
    }
    assert!(shown.len() > 10, "{shown:?}");
    for name in &shown {
        let there = [name.clone(), format!("{name}_total")];
        let there = there
            .iter()
            .any(|name| METRICS.contains(&format!("\"{PREFIX}{name}\"")));
        assert!(there, "no metric {name}");
    }
    // The other way round: what is registered is on the dashboard.
    for name in METRICS.split('"').skip(1).step_by(2) {
        let Some(name) = name.strip_prefix(PREFIX) else {
            continue;
        };
        let name = name.strip_suffix("_total").unwrap_or(name);
        let unit = [
            "_bytes_per_second",
            "_seconds",
            "_ratio",
            "port_bytes",
            "port_frames",
        ];
        if unit.iter().any(|unit| name.ends_with(unit)) {
            assert!(shown.contains(name), "{name} is on no dashboard");
        }
    }
    let panels = dashboard["panels"].as_array().unwrap();
    let ids: BTreeSet<u64> = panels.iter().filter_map(|p| p["id"].as_u64()).collect();
    assert_eq!(ids.len(), panels.len());
}
