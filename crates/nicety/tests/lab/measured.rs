//! Measurements in the lab.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::harness::{alone, open_dir};
use crate::{inside_only, lab};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/lab/bench.sh");
const PLAN: &str = r#"
name = "lab"
[traffic]
frame_sizes = [64]
[search]
preset = "quick"
confirm = "2s"
[[path]]
kind = "bridge"
"#;

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
    if !inside_only("another_kernel_and_a_stepped_clock") {
        return;
    }
    let dir = open_dir();
    let out = dir.path().join("out");
    fs::create_dir(&out).unwrap();
    fs::write(out.join("plan.toml"), PLAN).unwrap();
    let name = out.to_str().unwrap();
    let ended = lab(
        "run",
        &["--out", name, "--cpus", "2", "--", "sh", SCRIPT, name],
    )
    .run();
    ended.assert_code(0);
    let kernel = ended.stdout.lines().next().unwrap_or_default();
    assert!(kernel.starts_with("6."), "{}", ended.stdout);
    assert!(
        ended.stdout.ends_with("measured xdp\nmeasured af_packet\n"),
        "{}{}",
        ended.stdout,
        ended.stderr
    );
    for trial in trials(&out.join("xdp")) {
        // The programs passed this kernel's verifier, and their counts agree.
        assert!(count(&trial, "received") > 0, "{trial}");
        assert_eq!(
            count(&trial, "received") + count(&trial, "lost"),
            count(&trial, "sent"),
            "{trial}"
        );
    }
    let stepped = "the wall clock was stepped during the trial: latency not measured";
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
