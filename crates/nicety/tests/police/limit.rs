//! `nicety vf limit` on veths, and what passes then.

use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use crate::harness::{Ended, alone, nicety};
use crate::lab::Lab;

/// A tenant `g0` in front of the host's `p0`, and something else that has a qdisc already. The
/// tenant sends to an address that nobody answers for.
const SETUP: &str = "
set -e
for all in all default; do echo 1 > /proc/sys/net/ipv6/conf/$all/disable_ipv6; done
ip link set lo up
ip link add p0 type veth peer name g0
ip link add q0 type veth peer name h0
ip address add 192.0.2.1/24 dev g0
for port in p0 g0 q0 h0; do ip link set $port up; done
ip neighbour add 192.0.2.2 lladdr 02:00:00:00:00:02 dev g0
tc qdisc add dev q0 handle ffff: ingress
";

/// Sends datagrams of 1400 bytes for about two seconds, as fast as the system lets it.
const FLOOD: &str = "timeout 2 dd if=/dev/zero bs=1400 2>/dev/null >/dev/udp/192.0.2.2/9 || true";

struct Rig {
    lab: Lab,
    dir: TempDir,
}

impl Rig {
    fn new(test: &str) -> Option<Self> {
        let lab = Lab::with(test, SETUP)?;
        let made = lab.sh("ip link add nt type ifb 2>&1 && ip link del nt || echo SKIP");
        if made.contains("SKIP") {
            println!("SKIP {test}: this kernel has no ifb");
            return None;
        }
        let dir = tempfile::tempdir().unwrap();
        Some(Self { lab, dir })
    }

    fn state(&self) -> String {
        self.dir.path().join("state").to_str().unwrap().to_owned()
    }

    fn limit(&self, words: &[&str]) -> Ended {
        let state = self.state();
        let words = ["vf", "limit"].iter().chain(words).copied();
        let words = words.chain(["--state", state.as_str()]);
        self.lab.inside(nicety(words)).run()
    }

    fn tune(&self, words: &[&str]) -> Ended {
        let state = self.state();
        let words = ["tune"].iter().chain(words).copied();
        let words = words.chain(["--state", state.as_str()]);
        self.lab.inside(nicety(words)).run()
    }

    fn shown(&self, port: &str) -> Value {
        let ended = self
            .lab
            .inside(nicety(["vf", "list", port, "--json"]))
            .run();
        ended.assert_code(0);
        let report: Value = serde_json::from_str(&ended.stdout).unwrap();
        report["ports"][0].clone()
    }
}

#[test]
fn a_limit_is_set_read_back_journaled_and_undone() {
    let _alone = alone();
    let Some(rig) = Rig::new("a_limit_is_set_read_back_journaled_and_undone") else {
        return;
    };
    let before = rig.lab.state();
    let ended = rig.limit(&["p0", "--max", "50mbit", "--verify", "0s"]);
    assert_eq!(ended.assert_code(0).stdout, "p0: none → 50.0 Mbit/s\n");
    assert_eq!(rig.shown("p0")["limit"], 50_000_000);
    let ended = rig.limit(&["p0", "--max", "50mbit", "--verify", "0s"]);
    assert_eq!(ended.assert_code(0).stdout, "p0: 50.0 Mbit/s already\n");
    let ended = rig.limit(&["p0", "--max", "70mbit", "--verify", "100ms", "--json"]);
    let report: Value = serde_json::from_str(&ended.assert_code(0).stdout).unwrap();
    assert_eq!(report["from"], "50mbit");
    assert_eq!(report["enforcement"], "untested");
    rig.tune(&["rollback"]).assert_code(0);
    assert_eq!(rig.shown("p0")["limit"], 50_000_000);
    rig.tune(&["rollback", "1"]).assert_code(0);
    assert_eq!(rig.shown("p0")["limit"], Value::Null);
    rig.lab.assert_state(&before);

    // A port that has gone leaves nothing after the rollback, nor after another limit.
    rig.lab
        .sh("ip link add r0 type veth peer name r1; ip link add r2 type veth peer name r3");
    let names = || rig.lab.sh("ip -br link");
    for port in ["r0", "r2"] {
        let ended = rig.limit(&[port, "--max", "50mbit", "--verify", "0s"]);
        ended.assert_code(0);
        rig.lab.sh(&format!("ip link del {port}"));
        assert!(names().contains("nicety"), "{}", names());
        match port {
            "r0" => rig.tune(&["rollback"]),
            _ => rig.limit(&["p0", "--max", "none", "--verify", "0s"]),
        }
        .assert_code(0);
        assert!(!names().contains("nicety"), "{}", names());
    }
    rig.lab.assert_state(&before);

    // As if it had been killed before the redirect: what is there limits nothing, and goes too.
    let half = rig.limit(&["p0", "--max", "50mbit", "--verify", "0s"]);
    half.assert_code(0);
    rig.lab.sh("tc filter del dev p0 ingress");
    rig.tune(&["rollback"]).assert_code(0);
    rig.lab.assert_state(&before);
}

#[test]
fn what_cannot_be_limited_is_refused_and_nothing_changes() {
    let _alone = alone();
    let Some(rig) = Rig::new("what_cannot_be_limited_is_refused_and_nothing_changes") else {
        return;
    };
    let before = rig.lab.state();
    for (words, code, line) in [
        (
            &["lo", "--max", "5mbit"][..],
            2,
            "lo is no tap, veth or macvtap; for a virtual function write nicety vf limit lo VF",
        ),
        (
            &["zz", "--max", "5mbit"],
            2,
            "there is no interface zz in this network namespace; see nicety vf list",
        ),
        (
            &["p0", "1", "--max", "5mbit"],
            2,
            "p0 has no virtual functions; see nicety vf list",
        ),
        (
            &["p0", "--max", "5"],
            2,
            "--max: \"5\" has no unit; write \"5mbit\" for megabits per second (kbit, mbit or gbit)",
        ),
        (
            &["p0", "--max", "5kbit"],
            2,
            "5kbit is too little to work with; write at least 64kbit, or none",
        ),
    ] {
        let ended = rig.limit(words);
        ended.assert_code(code);
        assert_eq!(ended.only_line(), line);
    }
    let foreign = rig.limit(&["q0", "--max", "5mbit"]);
    foreign.assert_code(1);
    assert!(
        foreign
            .only_line()
            .contains("q0: somebody else's ingress qdisc is on it; remove that first"),
        "{}",
        foreign.stderr
    );
    assert_eq!(rig.shown("q0")["foreign"], "ingress");
    rig.lab.assert_state(&before);
}

/// Bytes that reach the host from the tenant's flood, as a rate in Mbit/s.
fn flood(rig: &Rig, port: &str) -> f64 {
    let script = format!("( {FLOOD} ) & sleep 0.3");
    rig.lab.sh(&format!("bash -c '{script}' >/dev/null 2>&1"));
    let ended = rig
        .lab
        .inside(nicety(["vf", "stats", port, "--over", "1s", "--json"]))
        .run();
    ended.assert_code(0);
    let report: Value = serde_json::from_str(&ended.stdout).unwrap();
    let rate = report["ports"][0]["counters"]["tx_bps"].as_f64().unwrap();
    rig.lab.sh("sleep 1.5");
    rate / 1e6
}

#[test]
fn a_flood_is_held_by_the_limit() {
    let _alone = alone();
    let Some(rig) = Rig::new("a_flood_is_held_by_the_limit") else {
        return;
    };
    if !Path::new("/bin/bash").exists() {
        println!("SKIP a_flood_is_held_by_the_limit: bash is not installed");
        return;
    }
    let free = flood(&rig, "p0");
    assert!(free > 30.0, "the flood alone is {free:.1} Mbit/s");
    rig.limit(&["p0", "--max", "8mbit", "--verify", "0s"])
        .assert_code(0);
    let held = flood(&rig, "p0");
    assert!(
        (6.0..=8.8).contains(&held),
        "{held:.1} Mbit/s behind a limit of 8"
    );
    let quiet = rig
        .lab
        .inside(nicety(["vf", "pacing", "p0", "--over", "100ms"]))
        .run();
    quiet.assert_code(1);
    assert!(quiet.stderr.starts_with("too few packets to judge: "));
    let flood = || {
        rig.lab
            .sh(&format!("bash -c '( {FLOOD} ) &' >/dev/null 2>&1"))
    };
    flood();
    let ended = rig
        .lab
        .inside(nicety(["vf", "pacing", "p0", "--over", "1s", "--json"]))
        .run();
    let report: Value = serde_json::from_str(&ended.assert_code(0).stdout).unwrap();
    // 1442 bytes at 8 Mbit/s are 1442 µs; more where the sender does not get on.
    let gap = report["pacing"]["gap_us"]["mean"].as_f64().unwrap();
    assert!(gap > 1_300.0, "{report}");
    // The bucket is 16 KiB deep.
    let burst = report["pacing"]["bursts"]["max_bytes"].as_f64().unwrap();
    assert!(burst < 1.3 * 16_384.0, "{report}");
    assert_eq!(report["way"], "sent");
    assert!(report["at"].as_str().unwrap().starts_with("nicety"));
    flood();
    let ended = rig.limit(&["p0", "--max", "9mbit", "--json"]);
    let report: Value = serde_json::from_str(&ended.assert_code(0).stdout).unwrap();
    assert_eq!(report["enforcement"], "holds", "{report}");
    // The bucket was full: what it lets through at once is no fault of the limit.
    rig.lab.sh("sleep 1.5");
    rig.limit(&["p0", "--max", "64kbit", "--verify", "0s"])
        .assert_code(0);
    rig.lab.sh("sleep 2.2");
    flood();
    let ended = rig.limit(&["p0", "--max", "64kbit"]);
    ended.assert_code(0);
    assert!(
        ended.stderr.starts_with("the limit holds: p0 sends "),
        "{}",
        ended.stderr
    );
}

#[test]
fn rates_are_watched() {
    let _alone = alone();
    let Some(rig) = Rig::new("rates_are_watched") else {
        return;
    };
    let words = ["vf", "watch", "p0", "--every", "200ms", "--times", "3"];
    let json = rig
        .lab
        .inside(nicety(words.iter().copied().chain(["--json"])))
        .run();
    let lines: Vec<Value> = (json.assert_code(0).stdout.lines())
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 3);
    assert!(
        lines[2]["ports"][0]["counters"]["tx_bps"].is_number(),
        "{}",
        lines[2]
    );
    let table = rig.lab.inside(nicety(words)).run();
    table.assert_code(0);
    assert_eq!(
        table.stdout.matches("seen from their owners").count(),
        3,
        "{}",
        table.stdout
    );
    let endless = rig
        .lab
        .inside(nicety(["vf", "watch", "p0", "--every", "100ms"]))
        .start();
    let mut endless = endless;
    endless.until("a sample", |running| {
        running.stdout().contains("seen from their owners")
    });
    endless.signal(rustix::process::Signal::INT);
    endless.wait().assert_code(0);
    rig.lab
        .inside(nicety(["vf", "watch", "zz"]))
        .run()
        .assert_code(2);
}
