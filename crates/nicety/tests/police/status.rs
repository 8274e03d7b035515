//! What is told to those who ask, and who may use a state directory.

use std::fs;

use rustix::process::Signal;
use serde_json::Value;

use crate::guests::{guest, with_guests};
use crate::harness::{alone, nicety, root};
use crate::uplink::Uplink;

#[test]
fn ports_are_explained_and_limits_shown() {
    let _alone = alone();
    let Some(uplink) = with_guests("ports_are_explained_and_limits_shown") else {
        return;
    };
    let mut daemon = uplink.daemon(&[]);
    guest(&uplink, "a", &["limit", "3mbit"])
        .run()
        .assert_code(0);
    daemon.until("the soft limit", |_| {
        uplink.status()["decision"]["tenants"][0]["soft_bps"] == 3e6
    });
    let table = uplink.police(&["status"]).run();
    let table = &table.assert_code(0).stdout;
    let row = |name: &str| -> Vec<&str> {
        let row = table
            .lines()
            .find(|line| line.split_whitespace().next() == Some(name));
        row.unwrap_or_default().split_whitespace().collect()
    };
    let columns = ["name", "weight", "guarantee", "hard", "soft", "sends"];
    assert!(row("name").starts_with(&columns), "{table}");
    assert!(
        row("a").starts_with(&["a", "1", "none", "40.0", "Mbit/s", "3.0", "Mbit/s"]),
        "{table}"
    );
    assert!(
        row("b").starts_with(&["b", "2", "none", "40.0", "Mbit/s", "none"]),
        "{table}"
    );

    let line = uplink.police(&["explain", "a1"]).run();
    let line = &line.assert_code(0).stdout;
    assert!(line.starts_with("a1, a port of a: sends "), "{line}");
    assert!(
        line.contains(", its limit of 3.0 Mbit/s is not reached; a: "),
        "{line}"
    );
    assert_eq!(line.lines().count(), 1);
    let json = |name: &str| -> Value {
        let told = uplink.police(&["explain", name, "--json"]).run();
        serde_json::from_str(&told.assert_code(0).stdout).unwrap()
    };
    let (port, tenant) = (json("c1"), json("c"));
    assert_eq!((&port["schema"], &tenant["schema"]), (&1.into(), &1.into()));
    assert_eq!(
        (&port["tenant"], &port["port"]["port"]),
        (&"c".into(), &"c1".into())
    );
    assert_eq!(port["guarantee_bps"], 4_000_000);
    assert!(port["port"]["limit_bps"].is_u64(), "{port}");
    assert_eq!(tenant.get("port"), None);

    let state = uplink.path("state");
    let list = |words: &[&str]| {
        let more = ["--state", state.to_str().unwrap()];
        let words = ["vf", "list"].iter().chain(words).chain(&more);
        let told = uplink.lab.inside(nicety(words)).run();
        told.assert_code(0).stdout.clone()
    };
    let told: Value = serde_json::from_str(&list(&["a1", "--json"])).unwrap();
    let shared = &told["ports"][0]["shared"];
    assert_eq!(shared["tenant"], "a");
    assert_eq!(
        (&shared["hard_bps"], &shared["soft_bps"]),
        (&40e6.into(), &3e6.into())
    );
    let table = list(&[]);
    let columns = "interface kind max sent tenant hard soft";
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(table.lines().any(|line| words(line) == columns), "{table}");
    daemon.signal(Signal::TERM);
    daemon.wait().assert_code(0);
}

#[test]
fn a_state_directory_is_one_daemons_and_none_is_made_for_a_question() {
    let _alone = alone();
    let test = "a_state_directory_is_one_daemons_and_none_is_made_for_a_question";
    let Some(uplink) = Uplink::new(test) else {
        return;
    };
    let wrong = uplink.path("typo");
    for (words, code, part) in [
        (&["status"][..], 3, "no nicety police runs with"),
        (&["explain", "a"], 3, "no nicety police runs with"),
        (&["reload"], 3, "no nicety police runs with"),
        (&["restore"], 2, "there is no directory "),
    ] {
        let words = ["police"].iter().chain(words).copied();
        let words = words.chain(["--state", wrong.to_str().unwrap()]);
        let ended = uplink.lab.inside(nicety(words)).run();
        ended.assert_code(code);
        assert!(ended.only_line().contains(part), "{}", ended.stderr);
        assert!(!wrong.exists());
    }

    let daemon = uplink.daemon(&[]);
    let policy = uplink.path("other.toml");
    fs::write(
        &policy,
        "[link]\ncapacity = \"40mbit\"\n[[tenant]]\nname = \"o\"\nports = \"a0\"\n",
    )
    .unwrap();
    let state = uplink.path("state");
    let pid = fs::read_to_string(uplink.path("a.pid")).unwrap();
    let mut enter = vec!["nsenter", "-t", pid.trim(), "-n"];
    if !root() {
        enter.extend(["-U", "--preserve-credentials"]);
    }
    let other = [
        "police",
        "run",
        policy.to_str().unwrap(),
        "--periods",
        "1",
        "--state",
        state.to_str().unwrap(),
    ];
    let second = nicety(other).below(enter).run();
    second.assert_code(3);
    assert!(
        second.only_line().starts_with(
            "another nicety police, perhaps in another network namespace, has the state directory "
        ),
        "{}",
        second.stderr
    );
    assert_eq!(uplink.status()["tenants"][0]["tenant"], "a");
    daemon.signal(Signal::TERM);
    daemon.wait().assert_code(0);
}

#[test]
fn a_start_that_fails_leaves_no_record() {
    let _alone = alone();
    let Some(uplink) = Uplink::new("a_start_that_fails_leaves_no_record") else {
        return;
    };
    let (policy, out) = (uplink.path("policy.toml"), uplink.path("friday"));
    let words = [
        "run",
        policy.to_str().unwrap(),
        "--out",
        out.to_str().unwrap(),
    ];
    // Without any address the kernel takes all of them for good.
    uplink.lab.sh("ip link set lo up");
    let listen = ["--listen", "192.0.2.77:1"];
    let failed = uplink.police(&[&words[..], &listen].concat()).run();
    failed.assert_code(3);
    assert!(!out.exists());
    let again = uplink.police(&[&words[..], &["--periods", "1"]].concat());
    again.run().assert_code(0);
    assert!(out.join("report.html").exists());
}

#[test]
fn what_somebody_else_has_put_there_is_told_without_a_word_that_is_none() {
    let _alone = alone();
    let test = "what_somebody_else_has_put_there_is_told_without_a_word_that_is_none";
    let Some(uplink) = Uplink::new(test) else {
        return;
    };
    let daemon = uplink.daemon(&[]);
    daemon.signal(Signal::KILL);
    daemon.wait();
    uplink
        .lab
        .sh("tc qdisc del dev b1 ingress; tc qdisc add dev b1 clsact");
    let restored = uplink.police(&["restore"]).run();
    restored.assert_code(1);
    assert!(
        restored
            .stderr
            .contains("port b1: there is a clsact of somebody else now, which is left alone\n"),
        "{}",
        restored.stderr
    );
    assert!(!restored.stderr.contains("--force"));
    uplink.lab.sh("tc qdisc del dev b1 clsact");
}
