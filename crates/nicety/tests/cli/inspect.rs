//! `nicety inspect` with the real binary.

use std::fs;

use serde_json::json;

use crate::harness::nicety;
use crate::lab::Lab;

#[test]
fn facts_follow_their_schema_live_and_recorded_as_any_user() {
    let dir = tempfile::tempdir().unwrap();
    let record = dir.path().join("host");
    let record = record.to_str().unwrap();
    let window = ["--window", "200ms"];
    let words = ["inspect", "--json", "--no-hostname", "--out", record];
    let live = nicety(words.iter().chain(&window)).run();
    live.assert_err("counting for 200ms");
    let recorded = nicety(["inspect", "--json", "--sysroot", record]).run();
    assert_eq!(live.assert_code(0).stdout, recorded.assert_code(0).stdout);
    let facts = crate::schema::read(&live.stdout, "HostFacts");
    assert!(facts["cpu"]["cpus"][0]["cpu"].is_number());
    assert!(facts["window"]["seconds"].as_f64().unwrap() >= 0.2);
    assert_eq!(
        facts["window"]["softnet"].as_array().unwrap().len(),
        facts["softnet"].as_array().unwrap().len()
    );
    let table = nicety(["inspect", "--sysroot", record]).run();
    let table = &table.assert_code(0).stdout;
    assert!(table.contains("net.core.rmem_max") && table.contains("frames/s"));
    for bad in ["50ms", "2h", "soon"] {
        let ended = nicety(["tune", "plan", "--window", bad]).run();
        ended.assert_code(2).assert_err(bad);
    }
}

#[test]
fn a_captured_file_tells_the_same_and_is_refused_when_it_is_none() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("host.json");
    let file = file.to_str().unwrap();
    let live = nicety(["inspect", "--json", "--no-hostname", "--out", file]).run();
    let told = nicety(["inspect", "--json", "--sysroot", file]).run();
    assert_eq!(live.assert_code(0).stdout, told.assert_code(0).stdout);
    let plan = nicety(["tune", "plan", "--json", file]).run();
    plan.assert_code(0);
    let state = dir.path().join("state");
    let state = state.to_str().unwrap();
    let kept = nicety(["tune", "persist", "--sysroot", file, "--state", state]).run();
    assert!(kept.assert_code(2).only_line().contains("is a file"));
    fs::write(file, "{}").unwrap();
    let ended = nicety(["tune", "plan", file]).run();
    ended.refused_for("is not a captured host");
    let ended = nicety(["inspect", "--out", "/nowhere/host.json"]).run();
    ended.cannot("/nowhere/host.json");
}

/// Where /sys belongs to another network namespace, the record says so too: without that it would look like a host of
/// hardware that sysfs does not know.
#[test]
fn a_namespace_shows_its_own_interfaces_and_that_sys_is_of_another() {
    let setup = "ip link add br0 type bridge; ip link add v0 type veth peer name v1;\
                 ip link set v0 master br0; ip link set v0 mtu 9000";
    let Some(lab) = Lab::with(setup) else { return };
    let dir = tempfile::tempdir().unwrap();
    let record = dir.path().join("host");
    let record = record.to_str().unwrap();
    let words = ["inspect", "--json", "--no-hostname", "--out", record];
    let live = lab.inside(nicety(words)).run();
    let facts = live.json();
    let interfaces = facts["interfaces"].as_array().unwrap();
    let by_name = |name: &str| interfaces.iter().find(|net| net["name"] == name).unwrap();
    assert_eq!(by_name("br0")["class"], "bridge");
    assert_eq!(by_name("v0")["class"], "veth");
    assert_eq!(by_name("v0")["master"], "br0");
    assert_eq!(by_name("v0")["mtu"], 9000);
    // /sys was mounted outside: nothing of it may be told about these interfaces.
    live.assert_out("/sys belongs to another network namespace");
    live.assert_out("other-namespace");
    assert!(interfaces.iter().all(|net| net["irqs"] == json!([])));
    let recorded = nicety(["inspect", "--json", "--sysroot", record]).run();
    assert_eq!(live.stdout, recorded.assert_code(0).stdout);
}

#[test]
fn bad_folders_are_one_line() {
    let empty = tempfile::tempdir().unwrap();
    let path = empty.path().to_str().unwrap();
    let ended = nicety(["inspect", "--sysroot", path]).run();
    ended.refused_for("holds neither proc nor sys");
    fs::write(empty.path().join("mine"), "").unwrap();
    let ended = nicety(["inspect", "--out", path]).run();
    ended.refused_for("empty folder");
    assert_eq!(fs::read_dir(empty.path()).unwrap().count(), 1);
}
