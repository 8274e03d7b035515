//! `nicety probe` with the real binary.

use nicety_port::xdp::object;
use serde_json::Value;

use crate::harness::{Ended, LONG, in_namespaces, nicety, open_dir, privileged};
use crate::leftovers::Before;

/// The answers, checked against their schema.
fn answers(ended: &Ended) -> Value {
    crate::schema::read(&ended.assert_code(0).stdout, "ProbeReport")
}

fn answer<'a>(told: &'a Value, name: &str) -> &'a Value {
    let all = told["abilities"].as_array().unwrap();
    let found = all.iter().find(|ability| ability["name"] == name);
    found.unwrap_or_else(|| panic!("{name} in {told}"))
}

#[test]
fn what_is_tried_leaves_nothing_behind_as_any_user() {
    if !in_namespaces() {
        return;
    }
    let dir = open_dir();
    let before = Before::now(dir.path());
    // An empty cache: no kernel is booted.
    let cache = dir.path().join("cache");
    let cache = cache.to_str().unwrap();
    let told = answers(
        &nicety(["probe", "--json"])
            .env("NICETY_CACHE", cache)
            .limit(LONG)
            .run(),
    );
    assert_eq!(answer(&told, "af_packet")["answer"], "yes");
    assert_ne!(answer(&told, "bridge")["answer"], "no");
    // The BPF programs are inside, as they are in this program.
    let finding = answer(&told, "xdp")["finding"].as_str().unwrap();
    assert_eq!(
        finding.contains("not built in"),
        object::missing().is_some(),
        "{finding}"
    );
    if privileged() {
        assert_eq!(told["user"], "root");
        assert_eq!(answer(&told, "ports")["answer"], "yes");
    } else {
        assert_eq!(told["user"], "ordinary user");
        wants_root(answer(&told, "xdp"));
    }
    for ability in told["abilities"].as_array().unwrap() {
        let wanting = matches!(ability["answer"].as_str(), Some("no" | "partly"));
        let about_a_function = ability["finding"] == "it is a virtual function itself";
        assert!(
            !wanting || about_a_function || ability["costs"].is_string(),
            "{ability}"
        );
    }
    assert!(!dir.path().join("cache").exists());
    before.check();
}

/// What an ordinary user is told of XDP.
#[track_caller]
fn wants_root(xdp: &Value) {
    assert_eq!(xdp["answer"], "no");
    let remedy = xdp["remedy"].as_str().unwrap_or_default();
    match object::missing() {
        None => assert_eq!(remedy, "run as root", "{xdp}"),
        Some(_) => assert!(remedy.starts_with("apt install clang "), "{xdp}"),
    }
}
