//! Paths that need more of the kernel than every machine has: measured in the lab.

use std::fs;

use serde_json::Value;

use crate::harness::{alone, lines, open_dir};
use crate::{BOOT, can_boot_once, lab};

const HEAD: &str = r#"name = "kernel"
[traffic]
frame_sizes = 64
[search]
preset = "quick"
loss_ratio = 0.2
confirm = "0s"
[[path]]
"#;
/// What its cells' names begin with, and what makes it.
const PATHS: [(&str, &str); 4] = [
    (
        "vlan-bridge,tagging=sub-interface/",
        "kind = \"vlan-bridge\"\ntagging = \"sub-interface\"\n",
    ),
    (
        "vlan-bridge,tagging=filtering/",
        "kind = \"vlan-bridge\"\ntagging = \"filtering\"\n",
    ),
    (
        "ovs,datapath=kernel/",
        "kind = \"ovs\"\ndatapath = \"kernel\"\n",
    ),
    (
        "ovs,datapath=kernel,tagging=filtering/",
        "kind = \"ovs\"\ndatapath = \"kernel\"\ntagging = \"filtering\"\n",
    ),
];

#[test]
fn vlan_bridges_and_the_kernel_datapath() {
    let _alone = alone();
    if !can_boot_once("vlan_bridges_and_the_kernel_datapath") {
        return;
    }
    let dir = open_dir();
    // Without --out what is written to ./runs is here afterwards.
    let out = dir.path().join("runs");
    let mut script = include_str!("carried.sh").to_owned();
    for (number, (cell, path)) in PATHS.iter().enumerate() {
        let plan = format!("plan{number}.toml");
        fs::write(dir.path().join(&plan), format!("{HEAD}{path}")).unwrap();
        script += &format!("carried runs/{number} {cell} {plan} --out runs/{number}\n");
    }
    fs::write(dir.path().join("run.sh"), script).unwrap();
    let words = ["--fresh", "--", "bash", "run.sh"];
    let ended = lab("run", &words).dir(dir.path()).limit(BOOT * 3).run();
    ended.assert_code(0);
    for (number, (cell, _)) in PATHS.iter().enumerate() {
        let run = out.join(number.to_string());
        let meta: Value = serde_json::from_slice(&fs::read(run.join("run.json")).unwrap()).unwrap();
        if let Some(entry) = meta["skipped"].as_array().and_then(|all| all.first()) {
            // The programs are this machine's.
            let remedy = entry["remedy"].as_str().unwrap();
            assert!(
                remedy.starts_with("apt install openvswitch-switch"),
                "{entry}"
            );
            println!("SKIP {}: {}", entry["cell"], entry["reason"]);
            continue;
        }
        let mut trials = lines(&run.join("trials.jsonl"));
        trials.retain(|trial| trial["cell"].as_str().unwrap().starts_with(cell));
        assert!(
            trials
                .iter()
                .any(|trial| trial["frames"]["received"].as_u64() > Some(0)),
            "nothing came through {cell}: {ended:?}"
        );
        for trial in trials {
            let corrupt = trial["frames"]["corrupt"].as_u64();
            assert_eq!(corrupt.unwrap_or(0), 0, "{trial}");
        }
    }
}
