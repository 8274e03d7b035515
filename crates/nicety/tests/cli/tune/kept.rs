//! What is applied and confirmed, and the ways back.

use std::fs;
use std::path::Path;

use serde_json::json;

use super::{Bench, NEW, OLD, SETUP, changes};
use crate::harness::nicety;
use crate::lab::Lab;

#[test]
fn what_is_confirmed_stays_and_can_be_undone() {
    let Some(bench) = Bench::new("what_is_confirmed_stays_and_can_be_undone") else {
        return;
    };
    assert_eq!(bench.settings(), OLD);
    let applied = bench.apply(&changes(), "60s");
    applied.assert_code(0);
    assert!(
        applied.stdout.contains("v0 MTU: 1500 → 9000"),
        "{}",
        applied.stdout
    );
    assert!(
        applied.stderr.contains("undone in 60 s"),
        "{}",
        applied.stderr
    );
    assert_eq!(bench.settings(), NEW);
    let guards = bench.guards();
    assert_eq!(guards.len(), 1);
    // Leader of a session of its own: a closing terminal hangs up on others.
    assert_eq!(rustix::process::getsid(Some(guards[0])), Ok(guards[0]));

    let second = bench.apply(
        &[(json!({"kind": "mtu", "interface": "v1"}), "1500", "1400")],
        "60s",
    );
    assert!(
        second
            .assert_code(2)
            .only_line()
            .contains("transaction 1 waits for an answer")
    );

    bench.run(&["confirm"]).assert_code(0);
    bench.run(&["verify"]).assert_code(0);
    assert_eq!(bench.phases(), ["confirmed"]);

    bench.lab.sh("sysctl -qw net.ipv4.tcp_moderate_rcvbuf=0");
    let drifted = bench.run(&["verify"]);
    drifted.assert_code(1);
    assert!(
        drifted
            .stdout
            .contains("tcp_moderate_rcvbuf: drifted: set to 1, now 0")
    );

    bench.run(&["rollback"]).assert_code(0);
    assert_eq!(bench.settings(), OLD);
    assert_eq!(bench.phases(), ["rolled-back"]);
    let again = bench.run(&["rollback", "1"]);
    assert!(again.assert_code(0).stderr.contains("was undone before"));
    let late = bench.run(&["confirm", "1"]);
    assert!(
        late.assert_code(1)
            .stderr
            .contains("can no longer be confirmed")
    );
}

#[test]
fn what_nobody_confirms_goes_back_by_itself() {
    let Some(bench) = Bench::new("what_nobody_confirms_goes_back_by_itself") else {
        return;
    };
    bench.apply(&changes(), "2s").assert_code(0);
    bench.until("rolled-back");
    assert_eq!(bench.settings(), OLD);
    let history = bench.run(&["history"]).stdout;
    for part in [
        "not confirmed in time",
        "4 settings: ",
        "tune apply ",
        "rolled-back",
    ] {
        assert!(history.contains(part), "{part}: {history}");
    }
    let long = bench.run(&["history", "-v"]).stdout;
    assert!(
        long.starts_with("1 rolled-back (not confirmed in time)"),
        "{long}"
    );
    assert!(long.contains("v0 MTU: 1500 → 9000"), "{long}");
}

#[test]
fn a_value_of_somebody_else_is_left_alone_unless_forced() {
    let Some(bench) = Bench::new("a_value_of_somebody_else_is_left_alone_unless_forced") else {
        return;
    };
    bench.apply(&changes(), "60s").assert_code(0);
    bench.run(&["confirm"]).assert_code(0);
    bench.lab.sh("ip link set v0 mtu 4000");
    let rolled = bench.run(&["rollback"]);
    rolled.assert_code(1);
    assert!(
        rolled
            .stderr
            .contains("somebody else changed v0 MTU to 4000"),
        "{}",
        rolled.stderr
    );
    let mut mixed = OLD.map(str::to_owned);
    mixed[2] = "mtu 4000".to_owned();
    assert_eq!(bench.settings(), mixed);
    bench.run(&["rollback", "1", "--force"]).assert_code(0);
    assert_eq!(bench.settings(), OLD);
}

#[test]
fn a_transaction_of_another_namespace_is_not_undone_here() {
    const NAME: &str = "a_transaction_of_another_namespace_is_not_undone_here";
    let (Some(bench), Some(other)) = (Bench::new(NAME), Lab::with(NAME, SETUP)) else {
        return;
    };
    bench.apply(&changes(), "60s").assert_code(0);
    bench.run(&["confirm"]).assert_code(0);
    let state = bench.state();
    let state: &Path = &state;
    let call = nicety(["tune", "rollback", "1", "--state", state.to_str().unwrap()]);
    let ended = other.inside(call).run();
    assert!(
        ended
            .assert_code(2)
            .only_line()
            .contains("changed another network namespace")
    );
    // Without a number it is passed over, and that is said.
    for all in [None, Some("--all")] {
        let words = ["tune", "rollback", "--state", state.to_str().unwrap()];
        let ended = other.inside(nicety(words.into_iter().chain(all))).run();
        let said = &ended.assert_code(0).stderr;
        assert!(said.contains("skipped transaction 1"), "{said}");
        assert!(said.ends_with("nothing to undo here\n"), "{said}");
    }
    assert_eq!(bench.settings(), NEW);
}

#[test]
fn two_at_once_do_not_mix() {
    let Some(bench) = Bench::new("two_at_once_do_not_mix") else {
        return;
    };
    bench.run(&["history"]).assert_code(0);
    let lock = fs::File::create(bench.state().join("lock")).unwrap();
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let ended = bench.apply(&changes(), "60s");
    assert!(
        ended
            .assert_code(3)
            .only_line()
            .contains("another nicety tune works in")
    );
    assert_eq!(bench.settings(), OLD);
}

#[test]
fn what_is_changed_now_is_told_until_it_is_undone() {
    let Some(bench) = Bench::new("what_is_changed_now_is_told_until_it_is_undone") else {
        return;
    };
    let active = || bench.run(&["active"]).assert_code(0).stdout.clone();
    assert_eq!(active(), "Nothing is changed here.\n");
    bench.apply(&changes(), "10m").assert_code(0);
    let waits = active();
    assert!(
        waits.starts_with("4 settings of transaction 1 since 2"),
        "{waits}"
    );
    assert!(
        waits.contains(" UTC (not confirmed, rolls back in "),
        "{waits}"
    );
    assert!(waits.contains("net.ipv4.tcp_rmem"), "{waits}");
    bench.run(&["confirm"]).assert_code(0);
    assert!(active().contains("(confirmed)"), "{}", active());
    let json = bench.run(&["active", "--json"]).stdout;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(
        json["transactions"][0]["settings"]
            .as_array()
            .unwrap()
            .len(),
        4
    );
    bench.run(&["rollback"]).assert_code(0);
    assert_eq!(active(), "Nothing is changed here.\n");
}
