//! A device goes in the middle of it.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::bench::Bench;
use crate::campaign::{PATIENCE, Scene, count, random, row, same};
use crate::harness::{Call, LONG, nicety};
use crate::lab::Lab;
use crate::leftovers::Before;
use crate::uplink::Uplink;

/// What must be as before of all but the port that goes; the bridge's address is the lowest of its ports'.
fn others(uplink: &Uplink, gone: &str) -> Vec<String> {
    let state = uplink.lab.state().into_iter();
    let (of_it, at_it) = (format!("{gone}:"), format!(" {gone}"));
    let is_other = |line: &String| {
        !line.starts_with(&of_it)
            && !line.contains(&at_it)
            && !line.contains("address")
            && !line.contains("bridge_id")
            && !line.contains("root_id")
            && !line.contains("designated")
    };
    state
        .filter(is_other)
        .map(|line| line.replace(" used_hw_stats disabled", ""))
        .collect()
}

fn again(uplink: &Uplink, tenant: &str) {
    let pid = uplink.pid(tenant);
    uplink.lab.sh(&format!(
        "ip link add {tenant}1 type veth peer name {tenant}0 netns {pid}; ip link set {tenant}1 master sw up"
    ));
}

/// A port of `call` goes at random moments within `span`; who goes on is told to end.
fn port_goes(
    name: &str,
    uplink: &Uplink,
    span: Duration,
    call: impl Fn() -> Call,
    recover: impl Fn(),
) {
    let before = others(uplink, "a1");
    let mut random = random(name);
    let rounds = count().div_ceil(4);
    for round in 0..rounds {
        let after = Duration::from_micros(random.u64(0..span.as_micros() as u64));
        let running = call().start();
        sleep(after);
        uplink.lab.sh("ip link del a1");
        let ended = match round % 2 {
            // The daemon sees it and goes on with the others.
            0 => running.end_when(|| false, Duration::from_millis(700), Signal::TERM),
            _ => running.end_when(|| false, Duration::from_millis(50), Signal::KILL),
        };
        let what = format!("{name}, a1 gone after {after:?}: {ended:?}");
        assert_ne!(ended.status.code(), Some(101), "{what}");
        recover();
        same(&before, &others(uplink, "a1"), &what);
        again(uplink, "a");
    }
    row(
        name,
        "a device vanishes",
        rounds,
        "the others all as before",
    );
}

#[test]
fn a_port_vanishes() {
    let Some(uplink) = Uplink::new() else { return };
    let policy = uplink.path("policy.toml");
    let run = || uplink.police(&["run", policy.to_str().unwrap()]);
    let restore = || {
        // A daemon that never came so far made none.
        fs::create_dir_all(uplink.path("state")).unwrap();
        uplink.police(&["restore"]).run().assert_code(0);
    };
    port_goes(
        "police run",
        &uplink,
        Duration::from_millis(1_200),
        run,
        restore,
    );
    let state = uplink.path("limits");
    let state = ["--state", state.to_str().unwrap()];
    let limit = |value| {
        let words = ["port", "limit", "a1", value, "--verify", "0s"];
        uplink.lab.inside(nicety(words.into_iter().chain(state)))
    };
    let recover = || {
        fs::create_dir_all(uplink.path("limits")).unwrap();
        let words = ["tune", "undo", "--all"];
        uplink
            .lab
            .inside(nicety(words.into_iter().chain(state)))
            .run()
            .code();
    };
    port_goes(
        "port limit",
        &uplink,
        Duration::from_millis(80),
        || limit("5mbit"),
        recover,
    );
}

/// A port of the user's, and one that nicety has made.
#[test]
fn a_measured_device_vanishes() {
    let test = "a_measured_device_vanishes";
    let rounds = count().div_ceil(20);
    let mut random = random(test);
    let mut moment = || Duration::from_millis(random.u64(300..4_000));
    for _ in 0..rounds {
        let Some(lab) = Lab::new() else { return };
        let dir = tempfile::tempdir().unwrap();
        let before = Before::now(dir.path());
        let words = [
            "bench", "p0", "p1", "--preset", "quick", "--for", "6s", "--out", "run",
        ];
        let running = lab
            .inside(nicety(words).dir(dir.path()).limit(LONG))
            .start();
        sleep(moment());
        lab.sh("ip link del p0");
        let ended = running.wait();
        assert!(matches!(ended.code(), 1..=4), "{ended:?}");
        assert!(
            (ended.stdout.clone() + &ended.stderr).contains("p0"),
            "it does not say which: {ended:?}"
        );
        let left = lab.sh("tc qdisc show dev p1; ip link show p1");
        assert!(!left.contains("xdp") && !left.contains("clsact"), "{left}");
        before.check();
    }
    row(
        "bench A B",
        "a device vanishes",
        rounds,
        "an error that names it, nothing left",
    );
    let mut hit = 0;
    for _ in 0..rounds {
        let scene = Bench::new("af_packet");
        let running = scene.call().start();
        sleep(moment());
        hit += usize::from(delete_one(running.id()));
        let ended = running.end_when(|| false, PATIENCE / 4, Signal::TERM);
        assert!(matches!(ended.code(), 0..=4), "{ended:?}");
        scene.recover();
        scene.state();
    }
    row(
        "bench, bridge",
        "a device vanishes",
        rounds,
        &format!("an error or a result, nothing left; {hit} hit it"),
    );
}

/// Removes an interface of the path that a run has made; false when it has none (yet).
fn delete_one(pid: i32) -> bool {
    let end = Instant::now() + PATIENCE / 2;
    while Instant::now() < end {
        for net in namespaces(pid) {
            let script = "dev=$(ip -br link | awk -F'[@ ]' '$1 != \"lo\" { print $1; exit }')
                [ -n \"$dev\" ] && ip link del \"$dev\"";
            let net = format!("--net={}", net.display());
            let ended = Command::new("nsenter")
                .args([&net, "sh", "-c", script])
                .output()
                .unwrap();
            if ended.status.success() {
                return true;
            }
        }
        sleep(Duration::from_millis(20));
    }
    false
}

/// Network namespaces that a process has open or its threads are in, but for that of the test.
fn namespaces(pid: i32) -> Vec<PathBuf> {
    let own = fs::read_link("/proc/self/ns/net").unwrap();
    let list = |folder: &str| {
        fs::read_dir(format!("/proc/{pid}/{folder}"))
            .into_iter()
            .flatten()
            .flatten()
    };
    let files = list("fd").map(|entry| entry.path());
    let threads = list("task").map(|entry| entry.path().join("ns/net"));
    let is_other = |path: &PathBuf| {
        fs::read_link(path)
            .is_ok_and(|there| there != own && there.to_string_lossy().starts_with("net:"))
    };
    files.chain(threads).filter(is_other).collect()
}
