//! `nicety port limit` on veths, and what passes then.

use std::path::Path;
use std::process::{Child, Command};
use std::thread::sleep;
use std::time::Duration;

use nicety_host::child;
use serde_json::Value;
use tempfile::TempDir;

use crate::harness::{Ended, nicety, skip};
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

/// Sends datagrams of 1400 bytes as fast as the system lets it.
const FLOOD: &str = "exec dd if=/dev/zero bs=1400 2>/dev/null >/dev/udp/192.0.2.2/9";

/// Somebody who sends; ended when dropped.
struct Flood(Child);

impl Drop for Flood {
    fn drop(&mut self) {
        // Fails only when it has ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

struct Rig {
    lab: Lab,
    dir: TempDir,
}

impl Rig {
    fn new() -> Option<Self> {
        let lab = Lab::with(SETUP)?;
        let made = lab.sh("ip link add nt type ifb 2>&1 && ip link del nt || echo SKIP");
        if made.contains("SKIP") {
            skip("this kernel has no ifb");
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
        let words = ["port", "limit"].iter().chain(words).copied();
        let words = words.chain(["--state", state.as_str()]);
        self.lab.inside(nicety(words)).run()
    }

    /// Sets a limit and has it judged, once the sender was given the time to reach it.
    fn judged(&self, rate: &str) -> Value {
        loop {
            let ended = self.limit(&["p0", rate, "--json"]);
            let report: Value = serde_json::from_str(&ended.assert_code(0).stdout).unwrap();
            if report["enforcement"] != "untested" {
                return report;
            }
        }
    }

    fn tune(&self, words: &[&str]) -> Ended {
        let state = self.state();
        let words = ["tune"].iter().chain(words).copied();
        let words = words.chain(["--state", state.as_str()]);
        self.lab.inside(nicety(words)).run()
    }

    /// The tenant sends.
    fn flood(&self) -> Flood {
        let enter = self.lab.enter();
        let mut flood = Command::new(&enter[0]);
        flood.args(&enter[1..]).args(["bash", "-c", FLOOD]);
        Flood(child::spawn(flood).unwrap())
    }

    /// A counter of the bucket that limits the tenant.
    fn bucket(&self, counter: &str) -> u64 {
        let text = self.lab.sh("tc -s -j qdisc show");
        let qdiscs: Vec<Value> = serde_json::from_str(&text).unwrap();
        let bucket = qdiscs.iter().find(|qdisc| qdisc["kind"] == "tbf");
        bucket.unwrap()[counter].as_u64().unwrap()
    }

    /// Waits for that.
    fn until(&self, wanted: impl Fn(&Self) -> bool) {
        while !wanted(self) {
            sleep(Duration::from_millis(20));
        }
    }

    fn shown(&self, port: &str) -> Value {
        let ended = self
            .lab
            .inside(nicety(["port", "list", port, "--window", "0s", "--json"]))
            .run();
        ended.assert_code(0);
        let report: Value = serde_json::from_str(&ended.stdout).unwrap();
        report["ports"][0].clone()
    }
}

#[test]
fn a_limit_is_set_read_back_journaled_and_undone_as_any_user() {
    let Some(rig) = Rig::new() else {
        return;
    };
    let before = rig.lab.state();
    let ended = rig.limit(&["p0", "50mbit", "--verify", "0s"]);
    assert_eq!(ended.assert_code(0).stdout, "p0: none → 50.0 Mbit/s\n");
    assert_eq!(rig.shown("p0")["limit"], 50_000_000);
    let ended = rig.limit(&["p0", "50mbit", "--verify", "0s"]);
    assert_eq!(ended.assert_code(0).stdout, "p0: 50.0 Mbit/s already\n");
    let ended = rig.limit(&["p0", "70mbit", "--verify", "100ms", "--json"]);
    let report: Value = serde_json::from_str(&ended.assert_code(0).stdout).unwrap();
    assert_eq!(report["from"], "50mbit");
    assert_eq!(report["enforcement"], "untested");
    rig.tune(&["undo"]).assert_code(0);
    assert_eq!(rig.shown("p0")["limit"], 50_000_000);
    rig.tune(&["undo", "1"]).assert_code(0);
    assert_eq!(rig.shown("p0")["limit"], Value::Null);
    rig.lab.assert_state(&before);

    // A port that has gone leaves nothing after the rollback, nor after another limit.
    rig.lab
        .sh("ip link add r0 type veth peer name r1; ip link add r2 type veth peer name r3");
    let names = || rig.lab.sh("ip -br link");
    for port in ["r0", "r2"] {
        let ended = rig.limit(&[port, "50mbit", "--verify", "0s"]);
        ended.assert_code(0);
        rig.lab.sh(&format!("ip link del {port}"));
        assert!(names().contains("nicety"), "{}", names());
        match port {
            "r0" => rig.tune(&["undo"]),
            _ => rig.limit(&["p0", "none", "--verify", "0s"]),
        }
        .assert_code(0);
        assert!(!names().contains("nicety"), "{}", names());
    }
    rig.lab.assert_state(&before);

    // As if it had been killed before the redirect: what is there limits nothing, and goes too.
    let half = rig.limit(&["p0", "50mbit", "--verify", "0s"]);
    half.assert_code(0);
    rig.lab.sh("tc filter del dev p0 ingress");
    rig.tune(&["undo"]).assert_code(0);
    rig.lab.assert_state(&before);
}

#[test]
fn what_cannot_be_limited_is_refused_and_nothing_changes() {
    let Some(rig) = Rig::new() else {
        return;
    };
    let before = rig.lab.state();
    for (words, code, line) in [
        (
            &["lo", "5mbit"][..],
            2,
            "lo is not a tap, veth or macvtap; for a virtual function write nicety port limit lo/vf0 RATE",
        ),
        (
            &["zz", "5mbit"],
            2,
            "there is no interface zz in this network namespace; see nicety port list",
        ),
        (
            &["p0/vf1", "5mbit"],
            2,
            "p0 has no virtual functions; see nicety port list",
        ),
        (
            &["p0", "5mbit", "--min", "1mbit"],
            2,
            "p0 is not a virtual function, and only these have a minimum; leave out --min",
        ),
        (
            &["p0", "5"],
            2,
            "RATE: \"5\" has no unit; write \"5mbit\" for megabits per second (kbit, mbit or gbit)",
        ),
        (
            &["p0", "0mbit"],
            2,
            "RATE: \"0mbit\" lets nothing through; write none to remove the limit, or set the port down",
        ),
        (
            &["p0", "5kbit"],
            2,
            "5kbit is too little to work with; write at least 64kbit, or none",
        ),
    ] {
        let ended = rig.limit(words);
        ended.assert_code(code);
        assert_eq!(ended.only_line(), line);
    }
    let foreign = rig.limit(&["q0", "5mbit"]);
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

#[test]
fn a_limit_in_a_clsact_of_somebody_else_leaves_it_there() {
    let Some(rig) = Rig::new() else {
        return;
    };
    rig.lab.sh("tc qdisc add dev p0 clsact; tc filter add dev p0 egress protocol all u32 match u32 0 0 flowid 1:1");
    let before = rig.lab.state();
    rig.limit(&["p0", "1mbit", "--verify", "0s"]).assert_code(0);
    assert_eq!(rig.shown("p0")["limit"], 1_000_000);
    let flood = rig.flood();
    rig.until(|rig| rig.bucket("drops") > 0);
    drop(flood);
    rig.limit(&["p0", "none", "--verify", "0s"]).assert_code(0);
    rig.lab.assert_state(&before);
    // Where it has a filter for what comes in, that stays alone.
    rig.lab
        .sh("tc filter add dev p0 ingress protocol all u32 match u32 0 0 flowid 1:1");
    let refused = rig.limit(&["p0", "50mbit"]);
    refused.assert_code(1);
    let line = refused.only_line();
    assert!(
        line.contains("somebody else's clsact qdisc is on it; leave it there"),
        "{line}"
    );
}

/// Bytes that reach the host from the tenant's flood, as a rate in Mbit/s.
fn flooded(rig: &Rig, port: &str) -> f64 {
    let flood = rig.flood();
    let ended = rig
        .lab
        .inside(nicety(["port", "list", port, "--window", "1s", "--json"]))
        .run();
    ended.assert_code(0);
    let report: Value = serde_json::from_str(&ended.stdout).unwrap();
    drop(flood);
    report["ports"][0]["counters"]["tx_bps"].as_f64().unwrap() / 1e6
}

#[test]
fn a_flood_is_held_by_the_limit() {
    let Some(rig) = Rig::new() else {
        return;
    };
    if !Path::new("/bin/bash").exists() {
        skip("bash is not installed");
        return;
    }
    let free = flooded(&rig, "p0");
    assert!(free > 4.0, "the flood alone is {free:.1} Mbit/s");
    rig.limit(&["p0", "2mbit", "--verify", "0s"]).assert_code(0);
    let held = flooded(&rig, "p0");
    // The bucket is 16 KiB deep, and full at first.
    assert!(
        (1.0..=2.2 + 0.131).contains(&held),
        "{held:.2} Mbit/s behind a limit of 2"
    );
    rig.until(|rig| rig.bucket("backlog") == 0);
    let quiet = rig
        .lab
        .inside(nicety(["port", "pacing", "p0", "--window", "100ms"]))
        .run();
    quiet.assert_code(1);
    assert!(quiet.stderr.starts_with("too few packets to judge: "));
    let _flood = rig.flood();
    let ended = rig
        .lab
        .inside(nicety(["port", "pacing", "p0", "--window", "1s", "--json"]))
        .run();
    let report: Value = serde_json::from_str(&ended.assert_code(0).stdout).unwrap();
    // 1442 bytes at 2 Mbit/s are 5768 µs; more where the sender does not get on.
    let gap = report["pacing"]["gap_us"]["mean"].as_f64().unwrap();
    assert!(gap > 5_200.0, "{report}");
    // The bucket is 16 KiB deep.
    let burst = report["pacing"]["bursts"]["max_bytes"].as_f64().unwrap();
    assert!(burst < 1.3 * 16_384.0, "{report}");
    assert_eq!(report["way"], "sent");
    assert!(report["at"].as_str().unwrap().starts_with("nicety"));
    let report = rig.judged("3mbit");
    assert_eq!(report["enforcement"], "holds", "{report}");
    // The bucket was full: what it lets through at once is no fault of the limit.
    rig.limit(&["p0", "64kbit", "--verify", "0s"])
        .assert_code(0);
    rig.until(|rig| rig.bucket("drops") > 0);
    let ended = rig.limit(&["p0", "64kbit"]);
    ended.assert_code(0);
    assert!(
        ended.stderr.starts_with("the limit holds: p0 sends "),
        "{}",
        ended.stderr
    );
}

#[test]
fn rates_are_watched() {
    let Some(rig) = Rig::new() else {
        return;
    };
    let words = ["port", "list", "p0", "--watch=200ms", "--count", "3"];
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
        .inside(nicety(["port", "list", "p0", "--watch=100ms"]))
        .start();
    let mut endless = endless;
    endless.until("a sample", |running| {
        running.stdout().contains("seen from their owners")
    });
    endless.signal(rustix::process::Signal::INT);
    endless.wait().assert_code(0);
    rig.lab
        .inside(nicety(["port", "list", "--watch", "zz"]))
        .run()
        .assert_code(2);
}
