//! What is told to those who ask, and who may use a state directory.

use std::fs;

use serde_json::Value;

use crate::guests::{guest, with_guests};
use crate::harness::{nicety, words};
use crate::uplink::Uplink;

#[test]
fn ports_are_explained_and_limits_shown() {
    let Some(uplink) = with_guests() else { return };
    let mut daemon = uplink.daemon(&[]);
    guest(&uplink, "a", &["limit", "3mbit"])
        .run()
        .assert_code(0);
    daemon.until("the soft limit", |_| {
        uplink.status()["decision"]["tenants"][0]["soft_bps"] == 3e6
    });
    let told = uplink.police(&["status", "--json"]).run().json();
    assert_eq!(told["decision"]["tenants"][0]["soft_bps"], 3e6, "{told}");
    let table = uplink.says(&["status"]);
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

    let mut line = String::new();
    daemon.until("what a1 sends", |_| {
        line = uplink.says(&["status", "a1"]);
        line.starts_with("a1, a port of a: sends ")
    });
    assert!(
        line.contains(", its limit of 3.0 Mbit/s is not reached; a: "),
        "{line}"
    );
    assert_eq!(line.lines().count(), 1);
    let json = |name: &str| -> Value {
        let told = uplink.police(&["status", name, "--json"]).run();
        told.json()
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
        let words = ["port", "list", "--window", "0s"]
            .iter()
            .chain(words)
            .chain(&more);
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
    let table = list(&["-v"]);
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let is_there = |wanted: &str| table.lines().any(|line| words(line) == wanted);
    assert!(is_there("port tenant hard soft"), "{table}");
    assert!(is_there("a1 a 40.0 Mbit/s 3.0 Mbit/s"), "{table}");
    daemon.stop();
}

#[test]
fn a_state_directory_is_one_daemons_and_none_is_made_for_a_question_as_any_user() {
    let Some(uplink) = Uplink::new() else { return };
    let wrong = uplink.path("typo");
    for (words, code, part) in [
        (&["status"][..], 3, "no nicety police runs with"),
        (&["status", "a"], 3, "no nicety police runs with"),
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
    let line = format!(
        "police run {} --count 1 --state {}",
        policy.display(),
        state.display()
    );
    let second = nicety(words(&line)).below(uplink.enter("a")).run();
    second.assert_code(3);
    assert!(
        second.only_line().starts_with(
            "another nicety police, perhaps in another network namespace, has the state directory "
        ),
        "{}",
        second.stderr
    );
    assert_eq!(uplink.status()["tenants"][0]["tenant"], "a");
    daemon.stop();
}

#[test]
fn a_start_that_fails_leaves_no_record() {
    let Some(uplink) = Uplink::new() else { return };
    let (policy, out) = (uplink.path("policy.toml"), uplink.path("friday"));
    let line = format!("run {} --out {}", policy.display(), out.display());
    let words = words(&line);
    // Without any address the kernel takes all of them for good.
    uplink.lab.sh("ip link set lo up");
    let listen = ["--listen", "192.0.2.77:1"];
    let failed = uplink.police(&[&words[..], &listen].concat()).run();
    failed.assert_code(3);
    assert!(!out.exists());
    let again = uplink.police(&[&words[..], &["--count", "1"]].concat());
    again.run().assert_code(0);
    assert!(out.join("report.html").exists());
}

#[test]
fn what_somebody_else_has_put_there_is_told_without_a_word_that_is_none() {
    let Some(uplink) = Uplink::new() else { return };
    let daemon = uplink.daemon(&[]);
    daemon.kill();
    uplink
        .lab
        .sh("tc qdisc del dev b1 ingress; tc qdisc add dev b1 clsact; \
             tc filter add dev b1 ingress protocol all u32 match u32 0 0 flowid 1:1");
    let restored = uplink.police(&["restore"]).run();
    restored.assert_code(1);
    restored.assert_err("port b1: there is a clsact of somebody else now, which is left alone\n");
    assert!(!restored.stderr.contains("--force"));
    uplink.lab.sh("tc qdisc del dev b1 clsact");
}
