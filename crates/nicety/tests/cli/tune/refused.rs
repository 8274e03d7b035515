//! What is refused leaves the host as it was.

use std::fs;

use serde_json::json;

use super::{Bench, OLD, changes, plan};
use crate::harness::nicety;

#[test]
fn a_refused_setting_undoes_the_ones_before() {
    let Some(bench) = Bench::new() else { return };
    let mut bad = changes();
    // Last in the order of changes, and more than the kernel takes.
    bad.push((
        json!({"kind": "sysctl", "name": "net.ipv4.ip_default_ttl"}),
        "64",
        "300",
    ));
    let ended = bench.apply(&bad, "60s");
    ended.assert_code(1);
    ended.assert_err("all changes were undone");
    assert_eq!(bench.settings(), OLD);
    assert_eq!(bench.phases(), ["rolled-back"]);
}

#[test]
fn a_host_that_is_not_as_planned_is_not_touched() {
    let Some(bench) = Bench::new() else { return };
    bench.lab.sh("ip link set v0 mtu 1400");
    let mut gone = changes();
    gone.push((json!({"kind": "mtu", "interface": "nic9"}), "1500", "9000"));
    let ended = bench.apply(&gone, "60s");
    ended.assert_code(1);
    ended.assert_err("v0 MTU is 1400, the plan says 1500");
    assert!(ended.stderr.contains("nic9"), "{}", ended.stderr);
    ended.assert_err("2 settings are not as the plan says, so nothing was changed");
    assert!(bench.phases().is_empty());
}

#[test]
fn bad_plans_are_one_line() {
    let Some(bench) = Bench::new() else { return };
    let path = bench.dir.path().join("bad.json");
    let mut other = plan(&changes());
    other["boot_id"] = json!("another");
    let mut newer = plan(&changes());
    newer["schema"] = json!(99);
    let outside = plan(&[(
        json!({"kind": "sysctl", "name": "kernel.core_pattern"}),
        "x",
        "y",
    )]);
    let unknown = plan(&[(json!({"kind": "firmware"}), "x", "y")]);
    for (text, code, part) in [
        ("{".to_owned(), 2, "is not a plan"),
        ("[]".to_owned(), 2, "is not a plan"),
        (
            other.to_string(),
            2,
            "was made on another host or before the last boot",
        ),
        (newer.to_string(), 2, "was written by a newer nicety"),
        (unknown.to_string(), 2, "is not a plan"),
        (
            outside.to_string(),
            1,
            "is not a setting that tuning may touch",
        ),
    ] {
        fs::write(&path, &text).unwrap();
        let ended = bench.run(&["apply", path.to_str().unwrap()]);
        assert!(
            ended.assert_code(code).stderr.contains(part),
            "{text}: {}",
            ended.stderr
        );
    }
    assert_eq!(bench.settings(), OLD);
    assert!(bench.phases().is_empty());
}

#[test]
fn a_damaged_journal_is_named_and_keeps_nothing_else_from_being_done() {
    let Some(bench) = Bench::new() else { return };
    fs::create_dir(bench.state()).unwrap();
    let damaged = bench.state().join("txn-0007.jsonl");
    fs::write(&damaged, b"garbage\xff\n").unwrap();
    let ended = bench.apply(&changes(), "60s");
    let first = ended.assert_code(0).stderr.lines().next().unwrap();
    assert!(
        first.contains("txn-0007.jsonl") && first.contains("line 1"),
        "{first}"
    );
    assert_ne!(bench.settings(), OLD);
    let ended = bench.run(&["undo", "8"]);
    ended.assert_code(0).assert_err("txn-0007.jsonl");
    assert_eq!(bench.settings(), OLD);
    // What is asked of it itself cannot be done, and it is left for somebody to look at.
    let ended = bench.run(&["undo", "7"]);
    ended.assert_code(3).assert_err("txn-0007.jsonl");
    assert_eq!(fs::read(&damaged).unwrap(), b"garbage\xff\n");
}

#[test]
fn a_journal_that_others_can_write_is_not_undone_as_any_user() {
    use std::os::unix::fs::PermissionsExt;
    let Some(bench) = Bench::new() else { return };
    fs::create_dir(bench.state()).unwrap();
    fs::set_permissions(bench.state(), fs::Permissions::from_mode(0o777)).unwrap();
    let ended = bench.apply(&changes(), "60s");
    let line = ended.assert_code(3).only_line().to_owned();
    assert!(
        line.contains("can be written by others") && line.contains("give --state"),
        "{line}"
    );
    assert_eq!(bench.settings(), OLD);
}

#[test]
fn a_state_directory_that_cannot_be_is_one_line_as_any_user() {
    for (arguments, state) in [(["status"], "/proc/nicety"), (["undo"], "/dev/null")] {
        let call = nicety(["tune", arguments[0], "--state", state]);
        let line = call.run().assert_code(3).only_line().to_owned();
        assert!(
            line.contains(state) && line.contains("give --state"),
            "{line}"
        );
    }
}
