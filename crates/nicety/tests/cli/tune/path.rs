//! A larger MTU, and a peer with whom the path is tried.

use std::fs;

use serde_json::json;

use super::Bench;
use crate::harness::{as_root, nicety};
use crate::lab::Lab;

const HERE: &str = "
set -e
ip link set lo up
ip link add v0 mtu 1500 type veth peer name v1 mtu 9000
ip address add 192.0.2.1/24 dev v0
ip link set v0 up
ip route add 198.51.100.0/24 via 192.0.2.2
";

/// In between; its far link is the narrow one.
const ROUTER: &str = "
set -e
sysctl -qw net.ipv4.ip_forward=1
ip link add w0 mtu 1500 type veth peer name w1 mtu 1500
ip address add 198.51.100.1/24 dev w0
ip link set w0 up
";

/// Puts an interface of `from` into the namespace of `to`, with an address.
fn give(from: &Lab, to: &Lab, name: &str, address: &str) {
    let holder = to.enter()[2].clone();
    from.sh(&format!("ip link set {name} netns {holder}"));
    to.sh(&format!(
        "ip address add {address} dev {name}; ip link set {name} up"
    ));
}

#[test]
fn a_larger_mtu_stays_only_where_the_path_carries_it() {
    if !as_root("interfaces go from namespace to namespace as root only") {
        return;
    }
    let (Some(bench), Some(router), Some(far)) =
        (Bench::with(HERE), Lab::with(ROUTER), Lab::with("set -e"))
    else {
        return;
    };
    give(&bench.lab, &router, "v1", "192.0.2.2/24");
    give(&router, &far, "w1", "198.51.100.2/24");
    far.sh("ip route add default via 198.51.100.1");
    let mtu = || fs_mtu(&bench.lab);
    let change = (json!({"kind": "mtu", "interface": "v0"}), "1500", "9000");
    let plan = bench.write_plan(&[change]);
    let apply = |peer: &str| {
        let words = ["apply", plan.to_str().unwrap(), "--peer", peer];
        bench.run(&words)
    };
    // A router says that it is too much.
    let ended = apply("198.51.100.2");
    ended.assert_code(1);
    let said =
        "the path to 198.51.100.2 takes 1500 bytes, not packets of 9000; all changes were undone";
    assert!(ended.stderr.contains(said), "{}", ended.stderr);
    assert_eq!((mtu().as_str(), bench.phases().len()), ("1500", 1));
    // What loses them in silence, as a switch does.
    router.sh("ip link set v1 mtu 1500");
    let ended = apply("192.0.2.2");
    ended.assert_code(1);
    let said = "192.0.2.2 answers no packet of 9000 bytes; it answers those of 1500";
    assert!(ended.stderr.contains(said), "{}", ended.stderr);
    assert_eq!(mtu(), "1500");
    assert_eq!(bench.phases(), ["rolled-back", "rolled-back"]);
    // Nobody there: not begun.
    let ended = apply("192.0.2.77");
    ended.assert_code(1);
    ended.assert_err("nothing was changed");
    assert_eq!(bench.phases().len(), 2);
    // All the way.
    router.sh("ip link set v1 mtu 9000; ip link set w0 mtu 9000");
    far.sh("ip link set w1 mtu 9000");
    apply("198.51.100.2").assert_code(0);
    bench.run(&["apply", "--confirm"]).assert_code(0);
    assert_eq!(mtu(), "9000");
}

fn fs_mtu(lab: &Lab) -> String {
    let text = lab.sh("ip -o link show v0");
    let mut words = text.split_whitespace().skip_while(|word| *word != "mtu");
    words.nth(1).unwrap_or_default().to_owned()
}

#[test]
fn a_recorded_host_asks_no_peer() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("proc")).unwrap();
    let tree = dir.path().to_str().unwrap();
    let ended = nicety(["tune", "plan", tree, "--peer", "192.0.2.1"]).run();
    ended.refused_for("--peer exclude each other");
}
