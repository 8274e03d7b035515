//! What is applied and confirmed, and the ways back.

use std::fs;
use std::path::Path;

use serde_json::json;

use super::{Bench, NEW, OLD, SETUP, changes};
use crate::harness::nicety;
use crate::lab::Lab;

#[test]
fn what_is_confirmed_stays_is_told_and_can_be_undone() {
    let Some(bench) = Bench::new() else { return };
    let active = || bench.run(&["status"]).assert_code(0).stdout.clone();
    assert_eq!(active(), "Nothing is changed here.\n");
    assert_eq!(bench.settings(), OLD);
    let applied = bench.apply(&changes(), "60s");
    applied.assert_code(0);
    applied.assert_out("v0 MTU: 1500 → 9000");
    applied.assert_err("undone in 60 s");
    assert_eq!(bench.settings(), NEW);
    let guards = bench.guards();
    assert_eq!(guards.len(), 1);
    // Leader of a session of its own: a closing terminal hangs up on others.
    assert_eq!(rustix::process::getsid(Some(guards[0])), Ok(guards[0]));

    let second = bench.apply(
        &[(json!({"kind": "mtu", "interface": "v1"}), "1500", "1400")],
        "60s",
    );
    second.refused_for("transaction 1 waits for an answer");

    let waits = active();
    assert!(
        waits.starts_with("4 settings of transaction 1 since 2"),
        "{waits}"
    );
    for part in [" UTC (not confirmed, rolls back in ", "net.ipv4.tcp_rmem"] {
        assert!(waits.contains(part), "{waits}");
    }
    bench.run(&["apply", "--confirm"]).assert_code(0);
    assert!(active().contains("(confirmed)"), "{}", active());
    let json = bench.run(&["status", "--json"]).json();
    assert_eq!(json["active"][0]["settings"].as_array().unwrap().len(), 4);
    assert_eq!(bench.phases(), ["confirmed"]);

    bench.lab.sh("sysctl -qw net.ipv4.tcp_moderate_rcvbuf=0");
    let drifted = bench.run(&["status"]);
    drifted.assert_code(1);
    assert!(drifted.stdout.contains("drifted: 0"), "{drifted:?}");
    assert!(drifted.stderr.contains("drifted: 1 of 4 settings"));

    bench.run(&["undo"]).assert_code(0);
    assert_eq!(bench.settings(), OLD);
    assert_eq!(bench.phases(), ["rolled-back"]);
    assert!(active().starts_with("Nothing is changed here.\n"));
    let again = bench.run(&["undo", "1"]);
    assert!(again.assert_code(0).stderr.contains("was undone before"));
    let late = bench.run(&["apply", "--confirm", "1"]);
    late.assert_code(1).assert_err("can no longer be confirmed");
}

#[test]
fn what_nobody_confirms_goes_back_by_itself_as_any_user() {
    let Some(bench) = Bench::new() else { return };
    bench.apply(&changes(), "2s").assert_code(0);
    bench.until("rolled-back");
    assert_eq!(bench.settings(), OLD);
    let history = bench.run(&["status"]).stdout;
    for part in [
        "not confirmed in time",
        "4 settings: ",
        "tune apply ",
        "rolled-back",
    ] {
        assert!(history.contains(part), "{part}: {history}");
    }
    let long = bench.run(&["status", "-v"]).stdout;
    assert!(
        long.contains("\n1 rolled-back (not confirmed in time)"),
        "{long}"
    );
    assert!(long.contains("v0 MTU: 1500 → 9000"), "{long}");
}

#[test]
fn a_value_of_somebody_else_is_left_alone_unless_forced() {
    let Some(bench) = Bench::new() else { return };
    bench.apply(&changes(), "60s").assert_code(0);
    bench.run(&["apply", "--confirm"]).assert_code(0);
    bench.lab.sh("ip link set v0 mtu 4000");
    let rolled = bench.run(&["undo"]);
    rolled.assert_code(1);
    rolled.assert_err("somebody else changed v0 MTU to 4000");
    let mut mixed = OLD.map(str::to_owned);
    mixed[2] = "mtu 4000".to_owned();
    assert_eq!(bench.settings(), mixed);
    bench.run(&["undo", "1", "--force"]).assert_code(0);
    assert_eq!(bench.settings(), OLD);
}

#[test]
fn a_transaction_of_another_namespace_is_not_undone_here() {
    let (Some(bench), Some(other)) = (Bench::new(), Lab::with(SETUP)) else {
        return;
    };
    bench.apply(&changes(), "60s").assert_code(0);
    bench.run(&["apply", "--confirm"]).assert_code(0);
    let state = bench.state();
    let state: &Path = &state;
    let call = nicety(["tune", "undo", "1", "--state", state.to_str().unwrap()]);
    let ended = other.inside(call).run();
    ended.refused_for("changed another network namespace");
    // Without a number it is passed over, and that is said.
    for all in [None, Some("--all")] {
        let words = ["tune", "undo", "--state", state.to_str().unwrap()];
        let ended = other.inside(nicety(words.into_iter().chain(all))).run();
        let said = &ended.assert_code(0).stderr;
        assert!(said.contains("skipped transaction 1"), "{said}");
        assert!(said.ends_with("nothing to undo here\n"), "{said}");
    }
    assert_eq!(bench.settings(), NEW);
}

#[test]
fn two_at_once_do_not_mix() {
    let Some(bench) = Bench::new() else { return };
    bench.run(&["status"]).assert_code(0);
    let lock = fs::File::create(bench.state().join("lock")).unwrap();
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let ended = bench.apply(&changes(), "60s");
    ended.cannot("another nicety tune works in");
    assert_eq!(bench.settings(), OLD);
}
