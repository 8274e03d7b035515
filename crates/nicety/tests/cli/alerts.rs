//! The alert rules that are shipped: rules of Prometheus, about metrics that there are, each with a remedy and a unit test.

use std::path::PathBuf;
use std::process::Command;

use crate::dashboards::known_metrics;
use crate::harness::installed;

const RULES: &str = include_str!("../../../../packaging/alerts/nicety.rules.yml");
const UNIT_TESTS: &str = include_str!("../../../../packaging/alerts/nicety.rules.test.yml");
/// What an alert's link leads to.
const RUNBOOK: &str = include_str!("../../../../docs/guide/monitor.md");
const RUNBOOK_URL: &str = "file:///usr/share/doc/nicety/guide/monitor.md#";

/// Name and text of every alert.
fn alerts() -> Vec<(&'static str, &'static str)> {
    let alerts = RULES.split("- alert: ").skip(1);
    let alerts = Vec::from_iter(alerts.map(|rule| rule.split_once('\n').unwrap()));
    assert!(alerts.len() >= 10);
    alerts
}

#[test]
fn every_alert_says_what_to_do_and_has_a_test() {
    known_metrics(RULES);
    known_metrics(UNIT_TESTS);
    for (name, rule) in alerts() {
        for key in ["expr: ", "severity: ", "summary: ", "description: "] {
            assert_eq!(rule.matches(key).count(), 1, "{name}: {key}");
        }
        let place = name.to_lowercase();
        assert!(rule.contains(&format!("{RUNBOOK_URL}{place}\"")), "{name}");
        assert!(
            RUNBOOK.contains(&format!("\n### {name}\n")),
            "no section {name}"
        );
        assert!(UNIT_TESTS.contains(name), "no unit test of {name}");
    }
    let sections = RUNBOOK.matches("\n### NicetyPolice").count();
    assert_eq!(sections, alerts().len(), "a section without an alert");
}

/// What promtool says to `words` and the file `name` of the package; `None` where it is not installed.
fn promtool(words: &[&str], name: &str) -> Option<std::process::Output> {
    if !installed("promtool", "prometheus") {
        return None;
    }
    let dir = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../packaging/alerts");
    let mut promtool = Command::new("promtool");
    promtool.args(words).arg(dir.join(name));
    Some(promtool.output().unwrap())
}

#[test]
fn promtool_finds_no_fault_in_the_alerts() {
    let Some(said) = promtool(&["check", "rules"], "nicety.rules.yml") else {
        return;
    };
    assert!(said.status.success(), "{said:?}");
    let words = String::from_utf8(said.stdout).unwrap();
    assert!(
        words.contains(&format!("{} rules found", alerts().len())),
        "{words}"
    );
}

#[test]
fn alerts_fire_when_they_should_and_only_then() {
    let Some(said) = promtool(&["test", "rules"], "nicety.rules.test.yml") else {
        return;
    };
    assert!(said.status.success(), "{said:?}");
}

#[test]
fn amtool_finds_no_fault_in_the_routes() {
    if !installed("amtool", "prometheus-alertmanager") {
        return;
    }
    let amtool = |words: &[&str]| {
        let routes = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../packaging/alerts/alertmanager.yml"
        );
        let mut amtool = Command::new("amtool");
        let words = words.iter().map(|word| word.replace("ROUTES", routes));
        let said = amtool.args(words).output().unwrap();
        assert!(said.status.success(), "{said:?}");
        String::from_utf8(said.stdout).unwrap()
    };
    assert!(amtool(&["check-config", "ROUTES"]).contains("SUCCESS"));
    // Every severity that a rule has leads to whom the guide names.
    for (name, rule) in alerts() {
        let (_, severity) = rule.split_once("severity: ").unwrap();
        let severity = severity.lines().next().unwrap();
        let label = format!("severity={severity}");
        let to = amtool(&["config", "routes", "test", "--config.file=ROUTES", &label]);
        let wanted = match severity {
            "critical" => "nicety-pager",
            "warning" | "info" => "nicety-team",
            other => panic!("{name}: {other}"),
        };
        assert_eq!(to.trim(), wanted, "{name}");
    }
}
