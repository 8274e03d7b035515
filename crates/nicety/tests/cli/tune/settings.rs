//! Kinds of settings, and plans of the rules.

use std::fs;

use nicety_host::child::tie;
use serde_json::json;

use super::{Bench, OLD};
use crate::harness::{nicety, skip};

#[test]
fn the_rules_plan_can_be_applied() {
    let Some(bench) = Bench::new() else { return };
    let plan = bench
        .lab
        .inside(nicety(["tune", "plan", "--only", "T18", "--json"]))
        .run();
    let path = bench.dir.path().join("rules.json");
    fs::write(&path, &plan.assert_code(0).stdout).unwrap();
    let applied = bench.run(&["apply", path.to_str().unwrap(), "--json"]);
    let told = applied.json();
    assert_eq!(told["phase"], "unconfirmed");
    assert_eq!(bench.settings()[0], "1");
    bench.run(&["undo"]).assert_code(0);
    assert_eq!(bench.settings(), OLD);
    bench.run(&["apply", "--only", "T18"]).assert_code(0);
    bench.run(&["undo"]).assert_code(0);
    assert_eq!(bench.settings(), OLD);
}

#[test]
fn nothing_to_change_is_json_as_well() {
    let Some(bench) = Bench::new() else { return };
    let plan = bench.write_plan(&[]);
    let applied = bench.run(&["apply", plan.to_str().unwrap(), "--json"]);
    let told = applied.json();
    assert_eq!(told, json!({"schema": 1, "settings": []}));
    applied.assert_err("nothing to change");
    assert!(bench.phases().is_empty());
}

/// Queues, steering, bridge netfilter and a thread's CPUs, as far as this kernel and user have
/// them.
#[test]
fn every_kind_of_setting_goes_there_and_back_as_any_user() {
    let Some(bench) = Bench::new() else { return };
    let mut sleeper = std::process::Command::new("sleep");
    let mut sleeper = tie(sleeper.arg("60")).spawn().unwrap();
    let status = fs::read_to_string(format!("/proc/{}/status", sleeper.id())).unwrap();
    let allowed = status
        .lines()
        .find_map(|l| l.strip_prefix("Cpus_allowed_list:"))
        .unwrap()
        .trim();
    let first = allowed.split([',', '-']).next().unwrap();
    let thread = json!({"kind": "thread-cpus", "tid": sleeper.id(), "name": "sleep"});
    let mut kinds = vec![(thread, allowed, first)];
    let channels = |side: &str| json!({"kind": "channels", "interface": "v0", "side": side});
    kinds.push((channels("rx"), "2", "1"));
    kinds.push((channels("tx"), "2", "1"));
    let netfilter = "net.bridge.bridge-nf-call-iptables";
    let on = bench
        .lab
        .sh(&format!("sysctl -n {netfilter} 2>/dev/null || true"));
    if on.trim() == "1" {
        kinds.push((json!({"kind": "sysctl", "name": netfilter}), "1", "0"));
    } else {
        skip(format_args!(
            "bridge netfilter: this namespace has no {netfilter} = 1"
        ));
    }
    let steering = "class/net/v1/queues/rx-0/rps_cpus";
    if crate::harness::root() {
        kinds.push((json!({"kind": "sys-file", "path": steering}), "0", "1"));
    } else {
        skip(format_args!(
            "steering: only root of the host may write rps_cpus"
        ));
    }
    let applied = bench.apply(&kinds, "60s");
    assert_eq!(applied.code(), 0, "{}", applied.stderr);
    bench.run(&["apply", "--confirm"]).assert_code(0);
    assert_eq!(bench.run(&["status"]).code(), 0);
    let queues = bench.lab.sh("ethtool -l v0 | tail -5");
    assert!(
        queues.contains("RX:\t\t1") && queues.contains("TX:\t\t1"),
        "{queues}"
    );
    bench.run(&["undo"]).assert_code(0);
    let queues = bench.lab.sh("ethtool -l v0 | tail -5");
    assert!(
        queues.contains("RX:\t\t2") && queues.contains("TX:\t\t2"),
        "{queues}"
    );
    let status = fs::read_to_string(format!("/proc/{}/status", sleeper.id())).unwrap();
    assert!(status.contains(&format!("Cpus_allowed_list:\t{allowed}\n")));
    sleeper.kill().unwrap();
    sleeper.wait().unwrap();
}
