//! The dashboards that are shipped show metrics that there are, and all of them.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};

use crate::harness::{installed, skip};

const DASHBOARD: &str = include_str!("../../../../packaging/dashboards/police.json");
const RUNS: &str = include_str!("../../../../packaging/dashboards/runs.json");
/// Where the daemon names its metrics, each as a text of its own.
const METRICS: &str = concat!(
    include_str!("../../../policed/src/metrics.rs"),
    include_str!("../../../policed/src/metrics/received.rs"),
    include_str!("../../../policed/src/metrics/packets.rs"),
    include_str!("../../../policed/src/metrics/bursts.rs"),
);
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

/// Names of the daemon's metrics in a text, without prefix and `_total`. The daemon has each.
pub fn known_metrics(text: &str) -> BTreeSet<String> {
    let mut named = BTreeSet::new();
    for (at, _) in text.match_indices(PREFIX) {
        let rest = &text[at + PREFIX.len()..];
        let end = rest.find(|c: char| !(c.is_ascii_lowercase() || c == '_'));
        let name = &rest[..end.unwrap_or(rest.len())];
        assert!(
            METRICS.contains(&format!("\"{PREFIX}{name}\"")),
            "no metric {name}"
        );
        named.insert(name.strip_suffix("_total").unwrap_or(name).to_owned());
    }
    assert!(named.len() > 10, "{named:?}");
    named
}

#[test]
fn a_dashboard_shows_what_the_daemon_tells() {
    let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
    let mut all = Vec::new();
    texts(&dashboard, &mut all);
    let shown = known_metrics(&all.join("\n"));
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
}

/// Panels in order, without the rows that group them.
fn panels(dashboard: &Value) -> Vec<&Value> {
    let all = dashboard["panels"].as_array().unwrap();
    let panels = all.iter().filter(|panel| panel["type"] != "row");
    let panels = Vec::from_iter(panels);
    assert!(panels.len() > 10);
    let ids: BTreeSet<u64> = all.iter().filter_map(|p| p["id"].as_u64()).collect();
    assert_eq!(ids.len(), all.len(), "each panel has a number of its own");
    panels
}

#[test]
fn a_reader_of_several_hosts_knows_what_each_panel_says() {
    let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
    let panels = panels(&dashboard);
    for panel in &panels {
        let title = panel["title"].as_str().unwrap();
        assert!(
            !panel["description"].as_str().unwrap().is_empty(),
            "{title}"
        );
        for target in panel["targets"].as_array().unwrap() {
            let legend = target["legendFormat"].as_str().unwrap();
            assert!(legend.contains("{{instance}}"), "{title}: {legend}");
            let query = target["expr"].as_str().unwrap();
            assert!(
                query.contains("instance=~\"$instance\""),
                "{title}: {query}"
            );
        }
        if panel["type"] == "stat" {
            let steps = &panel["fieldConfig"]["defaults"]["thresholds"]["steps"];
            assert!(steps.as_array().unwrap().len() > 1, "{title}");
        }
    }
    // What needs somebody at once is what is seen first.
    assert_eq!(panels[0]["title"], "Limits not enforced");
    let steps = &panels[0]["fieldConfig"]["defaults"]["thresholds"]["steps"];
    assert_eq!(steps[1]["color"], "red");
}

#[test]
fn promtool_reads_every_query_of_a_dashboard() {
    if !installed("promtool", "prometheus") {
        return;
    }
    let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
    let targets = panels(&dashboard)
        .into_iter()
        .flat_map(|panel| panel["targets"].as_array().unwrap());
    // As rules that record the result, with Grafana's variables filled in. YAML takes JSON.
    let rules = targets.enumerate().map(|(n, target)| {
        let query = target["expr"]
            .as_str()
            .unwrap()
            .replace("$__rate_interval", "5m");
        json!({ "record": format!("query:{n}"), "expr": query })
    });
    let rules = Vec::from_iter(rules);
    let said = check_rules(&json!({ "groups": [{ "name": "queries", "rules": rules }] }));
    assert!(said.status.success(), "{said:?}");
    // It does tell.
    let wrong = json!({ "record": "query:wrong", "expr": "sum by (instance) (" });
    let said = check_rules(&json!({ "groups": [{ "name": "queries", "rules": [wrong] }] }));
    assert!(!said.status.success());
}

fn check_rules(rules: &Value) -> Output {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(rules.to_string().as_bytes()).unwrap();
    let mut promtool = Command::new("promtool");
    promtool.args(["check", "rules"]).arg(file.path());
    promtool.output().unwrap()
}

/// A program that `scripts/setup.sh test` has put among the tools of this name.
pub fn tool(name: &str, program: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    root.join(target)
        .join("tools")
        .join(name)
        .join("bin")
        .join(program)
}

/// What the schema does not know of a dashboard; `None`, and a line that says so, where there is no reader.
fn unknown(dashboard: &str) -> Option<String> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(dashboard.as_bytes()).unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/dashboard_schema.py");
    let mut python = Command::new(tool("grafana", "python"));
    python.args([script.as_ref(), file.path()]);
    match python.output() {
        Ok(said) => {
            assert!(said.status.success(), "{said:?}");
            Some(String::from_utf8(said.stdout).unwrap())
        }
        Err(why) => {
            skip(format_args!(
                "no grafana-foundation-sdk ({why}); scripts/setup.sh test fetches it"
            ));
            None
        }
    }
}

#[test]
fn grafana_knows_every_key_of_a_dashboard() {
    let Some(found) = unknown(DASHBOARD) else {
        return;
    };
    assert_eq!(found, "");
    // The schema has no queries in annotations yet: "TODO: Should be DataQuery" (dashboard_kind.cue).
    let mut found = unknown(RUNS).unwrap();
    let is_known = |line: &&str| !line.starts_with("dashboard.annotations.list[0].target.");
    found = found.lines().filter(is_known).collect();
    assert_eq!(found, "");
    // The reader does tell.
    let odd = DASHBOARD.replace(
        "\"colorMode\": \"background\"",
        "\"colourMode\": \"background\"",
    );
    let found = unknown(&odd).unwrap();
    assert!(
        found.contains("options.colourMode: not in the schema"),
        "{found}"
    );
}

/// The queries of the dashboard of runs with Grafana's variables and macros filled in, by title.
pub fn queries_of_runs(cell: &str) -> Vec<(String, String)> {
    let dashboard: Value = serde_json::from_str(RUNS).unwrap();
    let filled = |sql: &Value| {
        let sql = sql.as_str().unwrap();
        let sql = sql.replace(
            "$__timeFilter(time)",
            "time BETWEEN '2026-01-01' AND '2027-01-01'",
        );
        let sql = sql.replace("now() - interval '30 days'", "timestamptz '2026-01-01'");
        let sql = sql
            .replace("$cell", &format!("'{cell}'"))
            .replace("$metric", "throughput");
        let sql = sql
            .replace("$plan", "'made'")
            .replace("$label", "'nightly'");
        assert!(!sql.contains('$'), "a variable is left: {sql}");
        sql
    };
    let title = |value: &Value| value.as_str().unwrap().to_owned();
    let panels = dashboard["panels"].as_array().unwrap().iter();
    let panels = panels.map(|p| (title(&p["title"]), filled(&p["targets"][0]["rawSql"])));
    let variables = dashboard["templating"]["list"].as_array().unwrap().iter();
    let variables = variables.filter(|variable| variable["type"] == "query");
    let variables = variables.map(|v| (title(&v["name"]), filled(&v["query"])));
    let notes = dashboard["annotations"]["list"].as_array().unwrap().iter();
    let notes = notes.map(|n| (title(&n["name"]), filled(&n["target"]["rawSql"])));
    panels.chain(variables).chain(notes).collect()
}
