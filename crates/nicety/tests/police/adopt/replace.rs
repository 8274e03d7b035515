//! A limit of another program is taken, and given back byte for byte.

use std::fs;

use super::campaign::again;
use super::kernel::Kernel;
use super::{SHOWN, limited};
use crate::harness::{as_root, root};
use crate::uplink::{POLICY, THEIRS, Uplink};

/// Theirs, anew; tried again where nicety comes in between.
pub fn anew(mbit: u32, priority: u32) -> String {
    let theirs = THEIRS
        .replace("6mbit", &format!("{mbit}mbit"))
        .replace("prio 50", &format!("prio {priority}"));
    again(&format!(
        "tc qdisc del dev a1 ingress; ip link del theirs; set -e; {theirs}"
    ))
}

fn replacing(uplink: &Uplink) {
    let policy = POLICY
        .replace("period", "adopt = \"replace\"\nperiod")
        .replace("500ms", "200ms");
    fs::write(uplink.path("policy.toml"), policy).unwrap();
}

/// Filters at the port.
fn filters(uplink: &Uplink) -> String {
    let count = uplink
        .lab
        .sh("tc filter show dev a1 parent ffff: | grep -c mirred || true");
    count.trim().to_owned()
}

#[test]
fn a_limit_is_taken_followed_and_given_back() {
    let Some(uplink) = limited() else { return };
    replacing(&uplink);
    let kernel = root().then(|| Kernel::of(&uplink));
    let state = || kernel.as_ref().map(Kernel::state);
    let (before, raw) = (uplink.lab.sh(SHOWN), state());
    let mut daemon = uplink.daemon(&[]);
    let a = uplink.flood("a");
    uplink.until(&mut daemon, "their limit", |[a, ..]| {
        (5.0..6.3).contains(&a)
    });
    let said = "port a1: tc limited it to 6mbit; nicety does that now and gives it back at the end";
    assert!(daemon.stderr().contains(said), "{}", daemon.stderr());
    // One owner: nothing of theirs is at the port.
    assert_eq!(filters(&uplink), "1");
    assert!(
        !uplink
            .lab
            .sh("tc filter show dev a1 parent ffff:")
            .contains("theirs")
    );

    // Theirs changes where frames do not come to it any more, and is followed all the same.
    uplink
        .lab
        .sh("tc qdisc change dev theirs root handle 1: tbf rate 3mbit burst 16kb limit 64kb");
    uplink.until(&mut daemon, "their lower limit", |[a, ..]| {
        (2.0..3.2).contains(&a)
    });
    // They make it anew, before which nothing could come.
    uplink.lab.sh(&anew(6, 1));
    uplink.until(&mut daemon, "their new limit", |[a, ..]| {
        (5.0..6.3).contains(&a)
    });
    assert_eq!(filters(&uplink), "1");
    // And beside nicety's.
    let beside = THEIRS.lines().last().unwrap();
    uplink.lab.sh(beside);
    daemon.until("one owner", |_| filters(&uplink) == "1");

    daemon.stop();
    assert_eq!(uplink.lab.sh(SHOWN), before);
    assert_eq!(state(), raw);

    // Killed: by hand.
    let daemon = uplink.daemon(&[]);
    assert_eq!(filters(&uplink), "1");
    daemon.kill();
    assert_ne!(uplink.lab.sh(SHOWN), before);
    let restored = uplink.police(&["restore", "--json"]).run();
    restored.assert_code(0);
    let value = "\"value\": \"6mbit of tc\"";
    assert!(restored.stdout.contains(value), "{}", restored.stdout);
    assert_eq!(uplink.lab.sh(SHOWN), before);
    assert_eq!(state(), raw);

    // Killed: the next start, and another policy.
    let daemon = uplink.daemon(&[]);
    daemon.kill();
    let policy = fs::read_to_string(uplink.path("policy.toml")).unwrap();
    fs::write(
        uplink.path("policy.toml"),
        policy.replace("\"replace\"", "\"cap\""),
    )
    .unwrap();
    let daemon = uplink.daemon(&[]);
    assert_eq!(filters(&uplink), "2");
    daemon.stop();
    assert_eq!(uplink.lab.sh(SHOWN), before);

    // They take it away while nicety holds it: nothing is put back. And --keep keeps no place of others.
    replacing(&uplink);
    let mut daemon = uplink.daemon(&["--keep"]);
    uplink
        .lab
        .sh("tc qdisc del dev a1 ingress; ip link del theirs");
    daemon.until_err("what another program had limited it to is gone");
    uplink.lab.sh(&anew(6, 50));
    daemon.until("theirs again", |_| {
        filters(&uplink) == "1" && uplink.lab.sh(SHOWN) != before
    });
    daemon.stop();
    assert_eq!(state(), raw);

    // The port goes: there is nothing to give back.
    drop(a);
    let index = uplink.lab.sh("ip -o link show a1 | cut -d: -f1");
    let index = index.trim();
    let mut daemon = uplink.daemon(&[]);
    uplink.lab.sh("ip link del a1");
    let said = "port a1: its limit of 6mbit of tc went with it and is not given back";
    daemon.until("the port's end", |daemon| daemon.stderr().contains(said));
    daemon.stop();
    let ifbs = uplink.lab.sh("ip -o link show type ifb | cut -d: -f2");
    assert!(!ifbs.contains(&format!("nicety{index}")), "{ifbs}");
}

/// A program may come just when its place is free, and puts its filter beside nicety's: that one alone goes.
#[test]
fn a_filter_of_the_same_priority_beside_nicetys_stays() {
    let Some(uplink) = limited() else { return };
    replacing(&uplink);
    uplink.lab.sh("tc qdisc del dev a1 ingress");
    let daemon = uplink.daemon(&[]);
    daemon.kill();
    uplink
        .lab
        .sh(&THEIRS.lines().last().unwrap().replace("prio 50", "prio 1"));
    assert_eq!(filters(&uplink), "2");
    uplink.police(&["restore"]).run().assert_code(0);
    let left = uplink
        .lab
        .sh("tc filter show dev a1 parent ffff: | grep mirred");
    assert_eq!(left.matches("device theirs").count(), 1, "{left}");
    assert_eq!(left.lines().count(), 1, "{left}");
    let ifbs = uplink.lab.sh("ip -o link show type ifb | cut -d: -f2");
    assert_eq!(ifbs.trim(), "theirs");
}

#[test]
fn a_limit_that_could_not_be_given_back_is_refused() {
    if !as_root("only root may make an action that belongs to no filter") {
        return;
    }
    let Some(uplink) = limited() else { return };
    replacing(&uplink);
    // An action that has a life of its own.
    uplink.lab.sh(
        "tc filter del dev a1 parent ffff: prio 50
         tc actions add action mirred egress redirect dev theirs index 7
         tc filter add dev a1 parent ffff: protocol all prio 50 u32 match u32 0 0 action mirred index 7",
    );
    let before = uplink.lab.sh(SHOWN);
    let policy = uplink.path("policy.toml");
    let refused = uplink.police(&["run", policy.to_str().unwrap()]).run();
    refused.assert_code(2);
    let line = refused.only_line();
    let why = "tc limits it to 6mbit, and that could not be given back as it was: its action is shared (tc actions)";
    assert!(line.contains(why), "{line}");
    assert_eq!(uplink.lab.sh(SHOWN), before);
}

#[test]
fn a_cap_of_the_policy_counts_in_the_place_of_theirs() {
    let Some(uplink) = limited() else { return };
    replacing(&uplink);
    let policy = fs::read_to_string(uplink.path("policy.toml")).unwrap();
    let capped = policy.replace("ports = \"a1\"", "ports = \"a1\"\ncap = \"12mbit\"");
    fs::write(uplink.path("policy.toml"), capped).unwrap();
    let mut daemon = uplink.daemon(&[]);
    let _a = uplink.flood("a");
    uplink.until(&mut daemon, "the policy's cap", |[a, ..]| {
        (10.0..12.5).contains(&a)
    });
    daemon.stop();
}
