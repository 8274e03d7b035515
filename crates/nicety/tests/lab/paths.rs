//! Paths that need more of the kernel than every machine has: measured in the lab.

use std::fs;

use serde_json::Value;

use crate::harness::{alone, open_dir};
use crate::{BOOT, inside_only, lab};

/// One cell each, found fast under emulation: what counts is that frames are carried.
const PLAN: &str = r#"name = "kernel"
[traffic]
frame_sizes = 64
[search]
preset = "quick"
loss_ratio = 0.2
confirm = "0s"
[[path]]
kind = "vlan-bridge"
tagging = ["sub-interface", "filtering"]
[[path]]
kind = "ovs"
datapath = "kernel"
"#;

#[test]
fn vlan_bridges_and_the_kernel_datapath() {
    let _alone = alone();
    if !inside_only("vlan_bridges_and_the_kernel_datapath") {
        return;
    }
    let dir = open_dir();
    let out = dir.path().join("out");
    fs::write(dir.path().join("plan.toml"), PLAN).unwrap();
    let run = format!("{}/run", out.display());
    // Socket engines take the least from a machine without real CPUs.
    let bench = ["nicety", "bench", "plan.toml", "--engine", "af_packet"];
    let mut words = vec!["--out", out.to_str().unwrap(), "--"];
    words.extend(bench);
    words.extend(["--out", &run]);
    let ended = lab("run", &words).dir(dir.path()).limit(BOOT * 3).run();
    // Under emulation a cell may end without a result.
    assert!(matches!(ended.code(), 0 | 1), "{ended:?}");
    let read = |name: &str| fs::read_to_string(out.join("run").join(name)).unwrap();
    let meta: Value = serde_json::from_str(&read("run.json")).unwrap();
    let skipped: Vec<&Value> = meta["skipped"].as_array().into_iter().flatten().collect();
    for entry in &skipped {
        // The programs are this machine's.
        let remedy = entry["remedy"].as_str().unwrap();
        assert!(
            remedy.starts_with("apt install openvswitch-switch"),
            "{entry}"
        );
        println!("SKIP {}: {}", entry["cell"], entry["reason"]);
    }
    let trials = read("trials.jsonl");
    let mut carried = [
        "vlan-bridge,tagging=sub-interface/",
        "vlan-bridge,tagging=filtering/",
        "ovs,datapath=kernel/",
    ]
    .to_vec();
    for trial in trials.lines() {
        let trial: Value = serde_json::from_str(trial).unwrap();
        assert_eq!(
            trial["frames"]["corrupt"].as_u64().unwrap_or(0),
            0,
            "{trial}"
        );
        if trial["frames"]["received"].as_u64() > Some(0) {
            carried.retain(|name| !trial["cell"].as_str().unwrap().starts_with(name));
        }
    }
    let excused = |name: &&str| {
        skipped
            .iter()
            .any(|s| s["cell"].as_str().unwrap().starts_with(name))
    };
    carried.retain(|name| !excused(name));
    assert_eq!(carried, [""; 0], "{}", ended.stderr);
}
