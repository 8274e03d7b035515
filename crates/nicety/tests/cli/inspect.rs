//! `nicety inspect` with the real binary.

use std::fs;

use serde_json::Value;

use crate::harness::{becomes_nobody, nicety, once, open_dir, root};
use crate::lab::Lab;

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn facts_follow_their_schema_live_and_recorded() {
    let dir = tempfile::tempdir().unwrap();
    let record = dir.path().join("host");
    let record = record.to_str().unwrap();
    let window = ["--window", "200ms"];
    let words = ["inspect", "--json", "--no-hostname", "--record", record];
    let live = nicety(words.iter().chain(&window)).run();
    assert!(
        live.stderr.contains("counting for 200ms"),
        "{}",
        live.stderr
    );
    let recorded = nicety(["inspect", "--json", "--sysroot", record]).run();
    assert_eq!(live.assert_code(0).stdout, recorded.assert_code(0).stdout);
    let schema = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../schema/facts.schema.json"
    );
    let schema = json(&fs::read_to_string(schema).unwrap());
    let facts = json(&live.stdout);
    jsonschema::validate(&schema, &facts).unwrap();
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
        assert!(
            ended.assert_code(2).stderr.contains(bad),
            "{}",
            ended.stderr
        );
    }
}

#[test]
fn a_captured_file_tells_the_same_and_is_refused_when_it_is_none() {
    if !once("a_captured_file_tells_the_same_and_is_refused_when_it_is_none") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("host.json");
    let file = file.to_str().unwrap();
    let live = nicety(["inspect", "--json", "--no-hostname", "--capture", file]).run();
    let told = nicety(["inspect", "--json", "--sysroot", file]).run();
    assert_eq!(live.assert_code(0).stdout, told.assert_code(0).stdout);
    let plan = nicety(["tune", "plan", "--json", "--sysroot", file]).run();
    plan.assert_code(0);
    let state = dir.path().join("state");
    let state = state.to_str().unwrap();
    let kept = nicety(["tune", "persist", "--sysroot", file, "--state", state]).run();
    assert!(kept.assert_code(2).only_line().contains("is a file"));
    fs::write(file, "{}").unwrap();
    let ended = nicety(["tune", "plan", "--sysroot", file]).run();
    let line = ended.assert_code(2).only_line().to_owned();
    assert!(line.contains("is no captured host"), "{line}");
    let ended = nicety(["inspect", "--capture", "/nowhere/host.json"]).run();
    let line = ended.assert_code(3).only_line().to_owned();
    assert!(line.contains("/nowhere/host.json"), "{line}");
}

#[test]
fn a_namespace_shows_its_own_interfaces() {
    let setup = "ip link add br0 type bridge; ip link add v0 type veth peer name v1;\
                 ip link set v0 master br0; ip link set v0 mtu 9000";
    let Some(lab) = Lab::with("a_namespace_shows_its_own_interfaces", setup) else {
        return;
    };
    let ended = lab.inside(nicety(["inspect", "--json"])).run();
    let facts = json(&ended.assert_code(0).stdout);
    let interfaces = facts["interfaces"].as_array().unwrap();
    let by_name = |name: &str| interfaces.iter().find(|net| net["name"] == name).unwrap();
    assert_eq!(by_name("br0")["class"], "bridge");
    assert_eq!(by_name("v0")["class"], "veth");
    assert_eq!(by_name("v0")["master"], "br0");
    assert_eq!(by_name("v0")["mtu"], 9000);
    // /sys was mounted outside: nothing of it may be told about these interfaces.
    assert!(
        ended
            .stdout
            .contains("/sys belongs to another network namespace")
    );
    assert!(interfaces.iter().all(|net| net["irqs"] == json("[]")));
}

#[test]
fn an_ordinary_user_sees_the_host() {
    if !root() {
        println!("SKIP an_ordinary_user_sees_the_host: this is an ordinary user's run already");
        return;
    }
    if !becomes_nobody("an_ordinary_user_sees_the_host") {
        return;
    }
    let dir = open_dir();
    let ended = nicety(["inspect", "--json"])
        .dir(dir.path())
        .by_nobody()
        .run();
    let facts = json(&ended.assert_code(0).stdout);
    assert!(!facts["cpu"]["cpus"].as_array().unwrap().is_empty());
}

#[test]
fn bad_folders_are_one_line() {
    let empty = tempfile::tempdir().unwrap();
    let path = empty.path().to_str().unwrap();
    let ended = nicety(["inspect", "--sysroot", path]).run();
    let line = ended.assert_code(2).only_line().to_owned();
    assert!(line.contains("holds neither proc nor sys"), "{line}");
    fs::write(empty.path().join("mine"), "").unwrap();
    let ended = nicety(["inspect", "--record", path]).run();
    let line = ended.assert_code(2).only_line().to_owned();
    assert!(line.contains("empty folder"), "{line}");
    assert_eq!(fs::read_dir(empty.path()).unwrap().count(), 1);
}

/// Where /sys belongs to another network namespace, the record says so: without that it would look like
/// a host of hardware that sysfs does not know.
#[test]
fn a_record_tells_that_sys_was_of_another_namespace() {
    let test = "a_record_tells_that_sys_was_of_another_namespace";
    let setup = "ip link add name nsv0 type veth peer name nsv1; ip link set nsv0 up";
    let Some(lab) = Lab::with(test, setup) else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let record = dir.path().join("host");
    let record = record.to_str().unwrap();
    let words = ["inspect", "--json", "--no-hostname", "--record", record];
    let live = lab.inside(nicety(words)).run();
    let recorded = nicety(["inspect", "--json", "--sysroot", record]).run();
    let live = &live.assert_code(0).stdout;
    assert_eq!(live, &recorded.assert_code(0).stdout);
    assert!(live.contains("other-namespace"), "{live}");
}
