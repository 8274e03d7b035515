//! Measurements in the lab: what its kernel has, and a clock that somebody sets.

use std::fs;
use std::path::Path;

use nicety_port::xdp::object;
use serde_json::Value;

use crate::harness::{Ended, skip};
use crate::machine::Machine;

/// Slow under emulation: a cell may well end without a result, which is a negative answer.
const BRIDGE: &str = r#"
name = "lab"
[traffic]
frame_sizes = [64]
[search]
preset = "std"
confirm = "2s"
[[path]]
kind = "bridge"
"#;

/// Between the NIC's two ports: what counts is that frames are counted.
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

/// What a script printed, and the machine with what its run left, or `SKIP`.
fn played(plan: &str, script: &str) -> Option<(Machine, Ended)> {
    let machine = Machine::enter()?;
    machine.write("plan.toml", plan);
    let tests = std::env::current_exe().unwrap();
    let ended = machine.play_with(script, &[tests.to_str().unwrap()]);
    ended.assert_code(0);
    Some((machine, ended))
}

/// The trials of a run that sent any frame; none of these is lost from the books.
fn trials(run: &Path) -> Vec<Value> {
    let text = fs::read_to_string(run.join("trials.jsonl")).unwrap();
    let all = text.lines().map(|line| serde_json::from_str(line).unwrap());
    let trials: Vec<Value> = all
        .filter(|trial: &Value| trial["frames"]["sent"].as_u64() > Some(0))
        .collect();
    assert!(trials.len() > 2, "{}: {text}", run.display());
    for trial in &trials {
        assert_eq!(count(trial, "corrupt"), 0, "{trial}");
        let known = count(trial, "received") + count(trial, "lost");
        assert_eq!(known, count(trial, "sent"), "{trial}");
    }
    trials
}

fn count(trial: &Value, which: &str) -> u64 {
    trial["frames"][which].as_u64().unwrap()
}

/// The programs pass this kernel's verifier, and their counts agree.
#[test]
#[ignore = "searches of a minute under emulation: make test-all"]
fn xdp_on_another_kernel() {
    if let Some(why) = object::missing() {
        skip(format_args!("{why}"));
        return;
    }
    let Some((machine, ended)) = played(BRIDGE, include_str!("xdp.sh")) else {
        return;
    };
    assert!(ended.stdout.starts_with("6."), "{}", ended.stdout);
    for trial in trials(&machine.out().join("xdp")) {
        assert!(count(&trial, "received") > 0, "{trial}");
    }
}

#[test]
fn the_clock_is_set() {
    let plan = BRIDGE.replace("std", "quick");
    let Some((machine, ended)) = played(&plan, include_str!("clock.sh")) else {
        return;
    };
    let said = "limits: 2, other errors: 0\npolice: code 0\nconfirmed\nundone\nmeasured\n";
    assert_eq!(ended.stdout, said, "{}", ended.stderr);
    let trials = trials(&machine.out().join("clock"));
    // Frames are counted whatever the clock does.
    let stepped = "The wall clock was set during the trial, so latency was not measured.";
    let mut noted = 0;
    for trial in &trials {
        let wall = trial["wall_s"].as_f64().unwrap();
        assert!((0.0..60.0).contains(&wall), "{trial}");
        let latency = trial.get("latency_us");
        if trial["notes"].to_string().contains(stepped) {
            assert!(latency.is_none(), "{trial}");
            noted += 1;
        } else if let Some(latency) = latency {
            let [min, max] = ["min", "max"].map(|key| latency[key].as_f64().unwrap());
            assert!(min >= 0.0 && max < 9e6, "{trial}");
        }
    }
    // On a busy machine a trial may end between two steps; its latency was then sane above.
    assert!(noted > 0, "{} trials", trials.len());
}

#[test]
fn nics_stamp_frames() {
    let script = include_str!("stamps.sh");
    let Some((_machine, ended)) = played(PORTS, script) else {
        return;
    };
    let said = "killed: ledgers 1\n\
                eth0: stamps again what it did before a run that was killed\n\
                eth1: stamps again what it did before a run that was killed\n\
                next: ledgers 0\n";
    assert_eq!(ended.stdout, said, "{}", ended.stderr);
}

/// What pktgen sent is what the NIC's ports counted, and nothing of it stays.
#[test]
#[ignore = "three runs of a minute each under emulation: make test-all"]
fn pktgen_between_two_ports() {
    let script = include_str!("pktgen.sh");
    let Some((machine, ended)) = played(PORTS, script) else {
        return;
    };
    let (counts, left) = ended.stdout.split_once('\n').unwrap();
    let counts = counts
        .strip_prefix("pktgen ")
        .unwrap_or_else(|| panic!("{ended:?}"));
    let counts = counts.split(' ').map(|count| count.parse::<u64>().unwrap());
    let trials = trials(&machine.out().join("pktgen"));
    for (which, counted) in ["sent", "received"].into_iter().zip(counts) {
        let sum = trials.iter().map(|trial| count(trial, which)).sum::<u64>();
        assert!(sum > BESIDE, "{sum} {which}");
        let most = sum + BESIDE;
        assert!(
            (sum..=most).contains(&counted),
            "{sum} {which}, the port counted {counted}"
        );
    }
    for trial in &trials {
        // Both directions at once.
        let streams = trial["streams"].as_array().unwrap().iter();
        let sent = streams.filter(|stream| stream["frames"]["sent"].as_u64() > Some(0));
        assert_eq!(sent.count(), 2, "{trial}");
        assert_eq!(count(trial, "duplicate"), 0, "{trial}");
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
