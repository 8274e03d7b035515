//! Measurements in the lab.

use std::fs;
use std::path::Path;

use nicety_port::xdp::object;
use serde_json::Value;

use crate::harness::{alone, open_dir};
use crate::{BOOT, can_boot_once, lab};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/lab/bench.sh");
const PLAN: &str = r#"
name = "lab"
[traffic]
frame_sizes = [64]
[search]
preset = "std"
confirm = "2s"
[[path]]
kind = "bridge"
"#;

/// Between the NIC's two ports: slow under emulation, and what counts is that frames are counted.
const PORTS: &str = r#"
name = "ports"
[traffic]
frame_sizes = [128]
directions = ["bi"]
[search]
preset = "quick"
loss_ratio = 0.2
confirm = "0s"
[[path]]
kind = "ports"
a = "eth0"
b = "eth1"
"#;
/// Frames of a run that are in none of its trials: learning frames and those of the self-check.
const BESIDE: u64 = 1000;

/// The trials of a run that sent any frame.
fn trials(run: &Path) -> Vec<Value> {
    let text = fs::read_to_string(run.join("trials.jsonl")).unwrap();
    let all = text.lines().map(|line| serde_json::from_str(line).unwrap());
    let trials: Vec<Value> = all
        .filter(|trial: &Value| trial["frames"]["sent"].as_u64() > Some(0))
        .collect();
    assert!(trials.len() > 2, "{}: {text}", run.display());
    trials
}

fn count(trial: &Value, of: &str) -> u64 {
    trial["frames"][of].as_u64().unwrap()
}

#[test]
fn another_kernel_and_a_stepped_clock() {
    let _alone = alone();
    if !can_boot_once("another_kernel_and_a_stepped_clock") {
        return;
    }
    if let Some(why) = object::missing() {
        println!("SKIP another_kernel_and_a_stepped_clock: xdp: {why}");
        return;
    }
    let dir = open_dir();
    let out = dir.path().join("out");
    fs::create_dir(&out).unwrap();
    fs::write(out.join("plan.toml"), PLAN).unwrap();
    fs::write(out.join("ports.toml"), PORTS).unwrap();
    let name = out.to_str().unwrap();
    let tests = std::env::current_exe().unwrap();
    let tests = tests.to_str().unwrap();
    let ended = lab(
        "run",
        &[
            "--out", name, "--cpus", "2", "--", "sh", SCRIPT, name, tests,
        ],
    )
    .limit(BOOT * 2)
    .run();
    ended.assert_code(0);
    let kernel = ended.stdout.lines().next().unwrap_or_default();
    assert!(kernel.starts_with("6."), "{}", ended.stdout);
    let (_, said) = ended.stdout.split_once('\n').unwrap();
    let said = said.strip_prefix("measured xdp\nmeasured af_packet\n");
    let said = said.unwrap_or_else(|| panic!("{ended:?}"));
    let stamps = "stamps, killed: ledgers 1\n\
                  eth0: stamps again what it did before a run that was killed\n\
                  eth1: stamps again what it did before a run that was killed\n\
                  stamps: ledgers 0\n";
    let said = said
        .strip_prefix(stamps)
        .unwrap_or_else(|| panic!("{ended:?}"));
    pktgen(&out.join("pktgen"), said);
    for trial in trials(&out.join("xdp")) {
        // The programs passed this kernel's verifier, and their counts agree.
        assert!(count(&trial, "received") > 0, "{trial}");
        assert_eq!(
            count(&trial, "received") + count(&trial, "lost"),
            count(&trial, "sent"),
            "{trial}"
        );
    }
    let stepped = "The wall clock was set during the trial, so latency was not measured.";
    let (mut noted, stepping) = (0, trials(&out.join("af_packet")));
    for trial in &stepping {
        // A trial of a second or more sees three steps; its frames are counted all the same.
        assert_eq!(count(trial, "corrupt"), 0, "{trial}");
        assert_eq!(
            count(trial, "received") + count(trial, "lost"),
            count(trial, "sent"),
            "{trial}"
        );
        assert!(trial["wall_s"].as_f64().unwrap() < 60.0, "{trial}");
        if trial["notes"].to_string().contains(stepped) {
            assert!(trial.get("latency_us").is_none(), "{trial}");
            noted += 1;
        }
    }
    assert!(noted + 1 >= stepping.len(), "{noted} of {}", stepping.len());
}

/// What pktgen sent is what the NIC's ports counted, and nothing of it stays.
fn pktgen(run: &Path, said: &str) {
    let (counts, left) = said.split_once('\n').unwrap();
    let counts: Vec<u64> = counts
        .strip_prefix("pktgen ")
        .unwrap_or_else(|| panic!("{said}"))
        .split(' ')
        .map(|count| count.parse().unwrap())
        .collect();
    let trials = trials(run);
    let sum = |of| trials.iter().map(|trial| count(trial, of)).sum::<u64>();
    for (of, counted) in ["sent", "received"].into_iter().zip(counts) {
        let told = sum(of);
        assert!(told > BESIDE, "{told} {of}");
        assert!(
            (told..=told + BESIDE).contains(&counted),
            "{told} {of}, the port counted {counted}"
        );
    }
    for trial in &trials {
        // Both directions at once.
        let streams = trial["streams"].as_array().unwrap();
        let sent = streams
            .iter()
            .map(|stream| stream["frames"]["sent"].as_u64());
        assert_eq!(sent.filter(|sent| *sent > Some(0)).count(), 2, "{trial}");
        assert_eq!(count(trial, "corrupt"), 0, "{trial}");
        assert_eq!(count(trial, "duplicate"), 0, "{trial}");
        assert_eq!(
            count(trial, "received") + count(trial, "lost"),
            count(trial, "sent"),
            "{trial}"
        );
    }
    assert_eq!(
        left,
        "measured: given <>, ledgers 0\n\
         killed: given <eth0eth1>, ledgers 1\n\
         code 4\n\
         interrupted: given <>, ledgers 0\n\
         somebody else has given it eth1\n\
         somebody else's: given <eth1>, ledgers 0\n"
    );
}
