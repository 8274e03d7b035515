//! `nicety probe` with the real binary.

use std::fs;

use nicety_port::xdp::object;
use serde_json::Value;

use crate::harness::{
    Ended, LONG, alone, in_namespaces, nicety, open_dir, ordinary_namespaces, privileged, root,
};
use crate::leftovers::Before;

/// The answers, checked against their schema.
fn answers(ended: &Ended) -> Value {
    let schema = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../schema/probe.schema.json"
    );
    let schema: Value = serde_json::from_str(&fs::read_to_string(schema).unwrap()).unwrap();
    let told: Value = serde_json::from_str(&ended.assert_code(0).stdout).unwrap();
    jsonschema::validate(&schema, &told).unwrap();
    told
}

fn answer<'a>(told: &'a Value, name: &str) -> &'a Value {
    let all = told["abilities"].as_array().unwrap();
    let found = all.iter().find(|ability| ability["name"] == name);
    found.unwrap_or_else(|| panic!("{name} in {told}"))
}

#[test]
fn what_is_tried_leaves_nothing_behind() {
    let Some(_alone) = in_namespaces() else {
        return;
    };
    let dir = open_dir();
    let before = Before::now(dir.path());
    // An empty cache: no kernel is booted.
    let cache = dir.path().join("cache");
    let cache = cache.to_str().unwrap();
    let told = answers(
        &nicety(["probe", "--json", "--cache", cache])
            .limit(LONG)
            .run(),
    );
    assert_eq!(answer(&told, "af_packet")["answer"], "yes");
    assert_ne!(answer(&told, "bridge")["answer"], "no");
    if privileged() {
        assert_eq!(told["user"], "root");
        assert_eq!(answer(&told, "ports")["answer"], "yes");
    } else {
        assert_eq!(told["user"], "ordinary user");
        assert_eq!(answer(&told, "xdp")["answer"], "no");
    }
    assert!(!dir.path().join("cache").exists());
    before.check();
}

#[test]
fn whatever_is_missing_says_what_it_costs() {
    let _alone = alone();
    if !ordinary_namespaces("whatever_is_missing_says_what_it_costs") {
        return;
    }
    let dir = open_dir();
    let call = nicety(["probe", "--json"]).limit(LONG).dir(dir.path());
    let told = answers(&if root() { call.by_nobody() } else { call }.run());
    assert_eq!(told["user"], "ordinary user");
    let xdp = answer(&told, "xdp");
    let remedy = xdp["remedy"].as_str().unwrap_or_default();
    match object::missing() {
        None => assert_eq!(remedy, "run as root", "{xdp}"),
        Some(_) => assert!(remedy.starts_with("apt install clang "), "{xdp}"),
    }
    for ability in told["abilities"].as_array().unwrap() {
        let wanting = matches!(ability["answer"].as_str(), Some("no" | "partly"));
        let about_a_function = ability["finding"] == "it is a virtual function itself";
        assert!(
            !wanting || about_a_function || ability["costs"].is_string(),
            "{ability}"
        );
    }
}
