//! Ports and rights that are not there.

use std::fs;

use crate::harness::{nicety, refusals, root, skip, words};
use crate::lab::Lab;

const REFUSED: &str = r#"
p0 p2
    port p2 does not exist; there is p0, p1, q0, q1, sw
p0 lo
    port lo cannot be used: it is not an Ethernet interface
q0 sw
    port q0 cannot be used: it is a member of the other port sw, there is no path between them
"#;

#[test]
fn ports_that_cannot_be_used() {
    let Some(lab) = Lab::new() else { return };
    let dir = tempfile::tempdir().unwrap();
    let bench = |ports: &str| {
        let words = ["bench"].into_iter().chain(words(ports));
        lab.inside(nicety(words)).dir(dir.path()).run()
    };
    for (ports, line) in refusals(REFUSED) {
        bench(ports).refused(line);
    }
    for (port, line) in [
        (
            "q1",
            "port p1 has no carrier: check the cable, or that the other end is up",
        ),
        ("p1", "port p1 is down: set it up first (ip link set p1 up)"),
    ] {
        lab.sh(&format!("ip link set {port} down"));
        assert_eq!(bench("p0 p1").assert_code(3).only_line(), line);
    }
    lab.sh("ip link set p0 mtu 1400");
    bench("p0 q0").refused("port p0 has MTU 1400, frames of 1518 bytes need 1500: ip link set p0 mtu 1500, or smaller frames");
    let written = fs::read_dir(dir.path()).unwrap().count();
    assert_eq!(written, 0, "something was written");
}

/// Takes every capability away, also from root.
const POWERLESS: [&str; 4] = [
    "setpriv",
    "--bounding-set=-all",
    "--inh-caps=-all",
    "--ambient-caps=-all",
];

#[test]
fn ports_need_packet_sockets_as_any_user() {
    let Some(lab) = Lab::new() else { return };
    let dir = tempfile::tempdir().unwrap();
    let call = nicety(["bench", "p0", "p1", "--out", "run"]).dir(dir.path());
    let ended = lab.inside(call.below(POWERLESS)).run();
    insta::assert_snapshot!(ended.assert_code(3).only_line());
    assert!(!dir.path().join("run").exists());
}

#[test]
fn a_path_needs_a_user_namespace_or_root_as_any_user() {
    let dir = tempfile::tempdir().unwrap();
    let script = "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$@\"";
    let inside = ["unshare", "-Ur", "sh", "-c", script, "sh"];
    let mut probe = std::process::Command::new(inside[0]);
    let probe = probe
        .args(&inside[1..])
        .arg("true")
        .stderr(std::process::Stdio::null());
    if !probe.status().is_ok_and(|status| status.success()) {
        skip("no user namespace to forbid them in");
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
fn an_engine_that_needs_root_is_refused_before_any_work_as_any_user() {
    let dir = tempfile::tempdir().unwrap();
    let call = nicety(["bench", "--engine", "xdp", "--out", "run"]).dir(dir.path());
    // A user has nothing to give up, and setpriv 2.41 fails over it.
    let call = if root() { call.below(POWERLESS) } else { call };
    let ended = call.run();
    assert_eq!(
        ended.assert_code(3).only_line(),
        "engine xdp needs root: run as root, or measure with --engine af_packet, which needs no rights but sends fewer frames"
    );
    assert!(!dir.path().join("run").exists());
}
