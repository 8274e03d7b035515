//! Sockets that end in a guest.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::harness::{Ended, nicety, open_dir, skip};
use crate::leftovers::Before;
use crate::{cache, can_boot, guests_on_paths};

/// Some boots and a minute of tests, on a machine that is busy elsewhere.
const RUN: Duration = Duration::from_secs(500);

fn bench(dir: &Path, plan: &str) -> Ended {
    fs::write(dir.join("plan.toml"), plan).unwrap();
    let cache = cache();
    nicety(["bench", "plan.toml", "--out", "run", "--json"])
        .env("NICETY_CACHE", cache.to_str().unwrap())
        .dir(dir)
        .limit(RUN)
        .run()
}

fn run(ended: &Ended) -> Value {
    serde_json::from_str(&ended.stdout).unwrap()
}

#[test]
fn a_guest_is_an_endpoint() {
    if !guests_on_paths() || !can_boot() {
        return;
    }
    let dir = open_dir();
    let before = Before::now(dir.path());
    let ended = bench(
        dir.path(),
        r#"
[[path]]
kind = "vm"
nic = "virtio-net"
vcpus = 2
accel = "tcg"
[[sockets]]
test = ["tcp_rr", "udp_rr"]
message_bytes = 64
family = ["ipv4", "ipv6"]
time = "500ms"
[[sockets]]
test = ["tcp_stream", "tcp_maerts"]
time = "500ms"
# Alone is the first table.
[[sockets]]
test = "udp_rr"
message_bytes = 64
neighbours = 1
time = "500ms"
[[sockets]]
test = ["tcp_rr", "tcp_maerts"]
client = "guest"
message_bytes = 1000
time = "500ms"
"#,
    );
    ended.assert_code(0);
    let run = run(&ended);
    let series = run["sockets"].as_array().unwrap();
    assert_eq!(series.len(), 9, "{}", run["skipped"]);
    // All of them, whatever a control group leaves of their time.
    let cpus = fs::read_to_string("/proc/stat").unwrap();
    let two_cpus = cpus.matches("\ncpu").count() == 2;
    for series in series {
        let result = &series["results"][0];
        assert_eq!(result["ending"], "complete");
        // The guest's CPUs came back: two, not this machine's, and busy.
        let cpu = &result["server"]["cpu"];
        assert_eq!(cpu["host_cpus"], 2, "{result}");
        assert!(cpu["host_busy_cpus"].as_f64().unwrap() > 0.0, "{result}");
        // Both ends are guests then, or one is.
        let from_guest = series["name"].as_str().unwrap().ends_with("/client=guest");
        let there = &result["client"]["cpu"]["host_cpus"];
        assert_eq!(*there == 2, from_guest || two_cpus, "{result}");
        let demand = &result["service_demand"];
        let beside = &result["neighbours"];
        // A neighbour may let nothing through: then, and only then, there is nothing to divide by.
        if demand.is_null() {
            assert!(!beside.is_null(), "{result}");
            assert_eq!(result["client"]["transactions"], 0, "{result}");
        } else {
            assert_eq!(demand["shared_host"], false, "{result}");
            let figure = if result["test"].as_str().unwrap().ends_with("rr") {
                "server_us_per_transaction"
            } else {
                "server_us_per_kb"
            };
            assert!(demand[figure].as_f64().unwrap() > 0.0, "{demand}");
        }
        if series["name"].as_str().unwrap().ends_with("/neighbours=1") {
            assert!(beside["goodput_mbps"].as_f64().unwrap() > 0.0, "{beside}");
        } else {
            assert!(beside.is_null(), "{beside}");
        }
        if result["test"] == "tcp_rr" {
            let count = |end: &str| result[end]["transactions"].as_u64().unwrap();
            assert_eq!(count("client"), count("server"), "{result}");
            assert!(count("client") > 0);
        }
    }
    before.check();
}

/// A switch that is a program computes no checksums for those behind it.
#[test]
fn a_guest_behind_a_program_is_an_endpoint() {
    if !guests_on_paths() || !can_boot() {
        return;
    }
    let dir = open_dir();
    let plan = r#"
[[path]]
kind = "vm"
nic = "virtio-net"
switch = "ovs"
accel = "tcg"
[[sockets]]
test = ["tcp_rr", "tcp_maerts"]
time = "300ms"
"#;
    let ended = bench(dir.path(), plan);
    let run = run(&ended);
    let none = &run["skipped"][0];
    if let Some(remedy) = none["remedy"].as_str()
        && remedy.starts_with("apt install openvswitch-switch")
    {
        skip(none);
        return;
    }
    ended.assert_code(0);
    let series = run["sockets"].as_array().unwrap();
    assert_eq!(series.len(), 2, "{none}");
    for series in series {
        assert_eq!(series["results"][0]["ending"], "complete", "{series}");
    }
}

#[test]
fn the_ready_plan_runs_with_what_this_machine_has() {
    if !guests_on_paths() || !can_boot() {
        return;
    }
    let dir = open_dir();
    let before = Before::now(dir.path());
    let plan = include_str!("../../../../plans/vnic-latency-rate-throughput.toml");
    let plan = plan
        .replace("\"10s\"", "\"100ms\"")
        .replace("parallel = 256", "parallel = 4");
    let ended = bench(dir.path(), &plan);
    assert!(matches!(ended.code(), 0 | 1), "{}", ended.stderr);
    let run = run(&ended);
    let names: Vec<&str> = run["sockets"]
        .as_array()
        .unwrap()
        .iter()
        .map(|series| series["name"].as_str().unwrap())
        .collect();
    for path in ["bridge", "vm,nic=virtio-net"] {
        for test in ["tcp_rr/64", "tcp_rr/64/saturate", "udp_stream/1400"] {
            let name = format!("{path}/{test}");
            assert!(names.contains(&name.as_str()), "{name}: {}", run["skipped"]);
        }
    }
    // Nothing is dropped: 20 tests over each of eight paths.
    let skipped = run["skipped"].as_array().unwrap();
    assert_eq!(names.len() + skipped.len(), 20 * 8, "{names:?}");
    for cell in skipped {
        assert!(!cell["reason"].as_str().unwrap().is_empty(), "{cell}");
        assert!(!cell["remedy"].as_str().unwrap().is_empty(), "{cell}");
    }
    before.check();
}
