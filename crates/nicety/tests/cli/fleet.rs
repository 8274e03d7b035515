//! `nicety tune plan` of many captures with the real binary, on copies of a recorded host with differences planted.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::{each, nicety};

const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/cases/advice");

/// A captured host of `tests/cases` with another text of a file.
fn capture(path: &Path, change: Option<(&str, &str)>) {
    let text = fs::read_to_string(format!("{CASES}/tuned-and-docker/host.json")).unwrap();
    let mut captured: Value = serde_json::from_str(&text).unwrap();
    if let Some((file, text)) = change {
        captured["files"][file] = json!(text);
    }
    fs::write(path, captured.to_string()).unwrap();
}

/// Twelve captures, kvm01 to kvm12; the seventh has short buffers.
fn fleet() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    for host in 1..=12 {
        let small = ("proc/sys/net/core/rmem_max", "1\n");
        let change = (host == 7).then_some(small);
        capture(&dir.path().join(format!("kvm{host:02}.json")), change);
    }
    dir
}

#[test]
fn the_odd_one_is_named_against_its_siblings() {
    let dir = fleet();
    let folder = dir.path().to_str().unwrap();
    let table = nicety(["tune", "plan", folder]).run();
    assert_eq!(table.assert_code(0).stderr, "");
    for part in [
        "12 hosts: ",
        "1 differs from its siblings.",
        "net.core.rmem_max",
        "kvm07",
        "(11 hosts)",
    ] {
        assert!(table.stdout.contains(part), "{part}: {}", table.stdout);
    }
    let page = dir.path().join("fleet.html");
    let words = ["tune", "plan", folder, "--json", "--html"];
    let json = nicety(words.iter().copied().chain([page.to_str().unwrap()])).run();
    let report = crate::schema::read(&json.assert_code(0).stdout, "FleetReport");
    assert_eq!(report["differences"].as_array().unwrap().len(), 1);
    assert_eq!(
        report["differences"][0]["others"][0]["hosts"],
        json!(["kvm07"])
    );
    assert_eq!(report["hosts"].as_array().unwrap().len(), 12);
    assert!(fs::read_to_string(page).unwrap().contains("kvm07"));
    // What one host is told, the fleet is told as well.
    let host = dir.path().join("kvm01.json");
    let plan = nicety(["tune", "plan", "--json", host.to_str().unwrap()]).run();
    let plan = plan.json();
    let mut rules = each(&plan["findings"], |of| &of["id"]);
    let mut told = each(&report["findings"], |of| &of["id"]);
    for ids in [&mut rules, &mut told] {
        ids.sort_by_key(|id| id.as_str());
        ids.dedup();
    }
    assert_eq!(rules, told);
}

#[test]
fn what_is_no_capture_is_one_line_and_the_others_go_on() {
    let dir = fleet();
    let path = |name: &str| dir.path().join(name);
    fs::write(path("notes.json"), "{}\n").unwrap();
    fs::write(path("torn.json"), r#"{"schema":1,"files":{"#).unwrap();
    fs::write(path("newer.json"), r#"{"schema":9,"files":{},"links":{}}"#).unwrap();
    fs::write(
        path("out.json"),
        r#"{"schema":1,"files":{"../x":""},"links":{}}"#,
    )
    .unwrap();
    fs::create_dir(path("old")).unwrap();
    capture(&path("old/kvm03.json"), None);
    let folder = dir.path().to_str().unwrap();
    let ended = nicety(["tune", "plan", folder, "--format", "csv"]).run();
    ended.assert_code(1);
    for (name, part) in [
        ("notes.json", "is not a captured host"),
        ("torn.json", "is not a captured host"),
        ("newer.json", "newer nicety"),
        ("out.json", "leads elsewhere"),
        ("kvm03", "is left out for the newer"),
    ] {
        let mut lines = ended.stderr.lines();
        let line = lines.find(|line| line.contains(name));
        assert!(
            line.is_some_and(|line| line.contains(part)),
            "{name}: {}",
            ended.stderr
        );
    }
    assert_eq!(ended.stderr.lines().count(), 5, "{}", ended.stderr);
    assert!(ended.stdout.starts_with("table,"), "{}", ended.stdout);
    let bad = ["notes.json", "torn.json"].map(path);
    let bad = bad.iter().map(|path| path.to_str().unwrap());
    let none = nicety(["tune", "plan"].into_iter().chain(bad)).run();
    none.assert_code(2);
    let last = none.stderr.lines().last().unwrap_or_default();
    assert!(last.contains("nicety inspect -o"), "{}", none.stderr);
    let wrong = nicety(["tune", "plan", folder, "--group-by", "rack"]).run();
    wrong.refused_for("write cpu, nic, role, name or none");
    let unwritable = nicety(["tune", "plan", folder, "--html", "/nowhere/fleet.html"]).run();
    assert!(
        unwritable
            .assert_code(3)
            .stderr
            .contains("/nowhere/fleet.html")
    );
}

/// A capture carries the host's name and time, so its file may be called anything.
#[test]
fn a_capture_tells_whose_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let (named, nobody) = (path("a.json"), path("b.json"));
    let label = ["--label", "rack 7"];
    for (more, file) in [(&label[..], &named), (&[], &nobody)] {
        let words = ["inspect", "-q", "--no-hostname", "--out", file];
        nicety(words.iter().chain(more)).run().assert_code(0);
    }
    let json = nicety(["tune", "plan", "--json", &named, &nobody]).run();
    let report = json.json();
    let names = each(&report["hosts"], |of| &of["name"]);
    assert_eq!(names, [&json!("b"), &json!("rack 7")]);
    let told = nicety(["inspect", "--json", "--sysroot", &named]).run();
    let told = told.json();
    assert_eq!(told["host"]["label"], "rack 7");
    assert_eq!(told["host"].get("hostname"), None);
}
