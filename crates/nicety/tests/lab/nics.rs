//! testpmd on NICs of its own: in the lab, on functions of its Intel 82576 by VFIO.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::harness::lines;
use crate::machine::Machine;

/// Cells found fast under emulation: what counts is that frames are carried.
const PLAN: &str = "[traffic]
frame_sizes = [1518]
[search]
preset = \"quick\"
loss_ratio = 0.2
confirm = \"0s\"
";
#[test]
#[ignore = "four minutes under emulation: make test-all"]
fn nics_that_dpdk_drives_go_back_to_their_drivers() {
    let Some(machine) = Machine::enter() else {
        return;
    };
    machine.write("plan.toml", PLAN);
    let ended = machine.play(include_str!("nics.sh"));
    ended.assert_code(0);
    // As they were found, after the start that follows a killed run, and after one that ended.
    for when in ["before", "next", "after"] {
        let as_found = format!(
            "{when}: vf1 igbvf (null) <eth3 >\n{when}: vf2 igbvf (null) <dut1 UP>\n{when}: ledgers 0\n"
        );
        assert!(ended.stdout.contains(&as_found), "{when}: {ended:?}");
    }
    let taken = "killed: vf1 vfio-pci vfio-pci < >\nkilled: vf2 vfio-pci vfio-pci < >\n";
    for line in [taken, "taken code 3\n", "gone code 3\n", "programs 0\n"] {
        assert!(ended.stdout.contains(line), "{line}{ended:?}");
    }
    assert_eq!(ended.stdout.matches("programs 0\n").count(), 2, "{ended:?}");
    let out = machine.out();
    measured(&out.join("run"));
    refused(&out);
}

fn meta(run: &Path) -> Value {
    serde_json::from_slice(&fs::read(run.join("run.json")).unwrap()).unwrap()
}

/// Frames came through, and the run says by what.
fn measured(run: &Path) {
    let trials = lines(&run.join("trials.jsonl"));
    let carried = trials
        .iter()
        .find(|trial| trial["frames"]["received"].as_u64() > Some(0));
    let trial = carried.unwrap();
    assert!(
        trial["cpu"]["who"]["testpmd lcore 1"].is_number(),
        "{trial}"
    );
    let notes = meta(run)["notes"].to_string();
    assert!(
        notes.contains("the NICs 0000:02:10.2 (igbvf, eth3) and 0000:02:10.4 (igbvf, dut1) through VFIO with 2 queues each, read back"),
        "{notes}"
    );
}

/// What cannot be taken is named before the first cell, with the reason.
fn refused(out: &Path) {
    let reasons = |run: &str| -> Vec<String> {
        let skipped = meta(&out.join(run))["skipped"].clone();
        let all = skipped.as_array().unwrap().iter();
        all.map(|cell| cell["reason"].as_str().unwrap().to_owned())
            .collect()
    };
    let at_start = reasons("run");
    for reason in [
        "eth2 is 0000:02:10.0 itself, so the tester cannot have it",
        "there is no PCI device 0000:ff:1f.0",
        "is not an Ethernet controller (class 0x060400)",
        "0000:02:00.0 has 4 virtual functions, which go with its driver",
    ] {
        assert!(
            at_start.iter().any(|said| said.contains(reason)),
            "{reason}: {at_start:?}"
        );
    }
    assert_eq!(at_start.len(), 4, "{at_start:?}");
    let taken = reasons("taken");
    assert!(
        taken[0].starts_with("0000:02:10.2 belongs to dpdk-testpmd (process "),
        "{taken:?}"
    );
}
