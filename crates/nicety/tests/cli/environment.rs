//! Ports and rights that are not there.

use std::fs;

use crate::harness::{alone, nicety};
use crate::lab::Lab;

#[test]
fn ports_that_cannot_be_used() {
    let _alone = alone();
    let Some(lab) = Lab::new("ports_that_cannot_be_used") else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    for (change, ports, code, line) in [
        (
            "true",
            "p0,p2",
            2,
            "port p2 does not exist; there is p0, p1, q0, q1, sw",
        ),
        (
            "true",
            "p0,lo",
            2,
            "port lo cannot be used: it is not an Ethernet interface",
        ),
        (
            "true",
            "q0,sw",
            2,
            "port q0 cannot be used: it is a member of the other port sw, there is no path between them",
        ),
        (
            "ip link set q1 down",
            "p0,p1",
            3,
            "port p1 has no carrier: check the cable, or that the other end is up",
        ),
        (
            "ip link set p1 down",
            "p0,p1",
            3,
            "port p1 is down: set it up first (ip link set p1 up)",
        ),
        (
            "ip link set p0 mtu 1400",
            "p0,q0",
            2,
            "port p0 has MTU 1400, frames of 1518 bytes need 1500: ip link set p0 mtu 1500, or smaller frames",
        ),
    ] {
        lab.sh(change);
        let ended = lab
            .inside(nicety(["bench", "--ports", ports]))
            .dir(dir.path())
            .run();
        assert_eq!(ended.assert_code(code).only_line(), line, "{ports}");
    }
    assert_eq!(
        fs::read_dir(dir.path()).unwrap().count(),
        0,
        "something was written"
    );
}

/// Takes every capability away, also from root.
const POWERLESS: [&str; 4] = [
    "setpriv",
    "--bounding-set=-all",
    "--inh-caps=-all",
    "--ambient-caps=-all",
];

#[test]
fn ports_need_packet_sockets() {
    let _alone = alone();
    let Some(lab) = Lab::new("ports_need_packet_sockets") else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let call = nicety(["bench", "--ports", "p0,p1", "--out", "run"]).dir(dir.path());
    let ended = lab.inside(call.below(POWERLESS)).run();
    insta::assert_snapshot!(ended.assert_code(3).only_line());
    assert!(!dir.path().join("run").exists());
}

#[test]
fn a_path_needs_a_user_namespace_or_root() {
    let dir = tempfile::tempdir().unwrap();
    let script = "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$@\"";
    let inside = ["unshare", "-Ur", "sh", "-c", script, "sh"];
    let mut probe = std::process::Command::new(inside[0]);
    let probe = probe
        .args(&inside[1..])
        .arg("true")
        .stderr(std::process::Stdio::null());
    if !probe.status().is_ok_and(|status| status.success()) {
        println!("SKIP a_path_needs_a_user_namespace_or_root: no user namespace to forbid them in");
        return;
    }
    let call = nicety(["bench", "--out", "run"])
        .dir(dir.path())
        .below(POWERLESS)
        .below(inside);
    let ended = call.run();
    assert_eq!(
        ended.assert_code(3).only_line(),
        "enter user namespace: forbidden on this host (user.max_user_namespaces = 0); run as root, or have root set it: sysctl -w user.max_user_namespaces=10000"
    );
    assert!(!dir.path().join("run").exists());
}

#[test]
fn an_engine_that_needs_root_is_refused_before_any_work() {
    let dir = tempfile::tempdir().unwrap();
    let ended = nicety(["bench", "--engine", "xdp", "--out", "run"])
        .dir(dir.path())
        .below(POWERLESS)
        .run();
    assert_eq!(
        ended.assert_code(3).only_line(),
        "engine xdp needs root: run as root, or measure with --engine af_packet, which needs no rights but sends fewer frames"
    );
    assert!(!dir.path().join("run").exists());
}
