//! A total of a cluster for a port with a name: the guard follows it.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nicety_host::child;
use nicety_netdev::netns::NetNs;

use super::stage::Host;
use crate::cluster::stage::etcd;
use crate::harness::Ends;

/// Two hosts may send 12 Mbit/s: the other one, whom nobody has heard, keeps its safe share.
const POLICY: &str = "
[link]
capacity = \"40mbit\"
period = \"200ms\"
[cluster]
endpoints = ENDPOINTS
prefix = \"/test/\"
period = \"200ms\"
lease = \"5s\"
hosts = 2
safe_share = 0.5
[[tenant]]
name = \"blue\"
ports = \"pve:101/net1\"
total_max = \"12mbit\"
total_guarantee = \"6mbit\"
";
/// Safe share, and what is granted beside that of the other.
const SAFE: u64 = 3_000_000;
const GRANT: u64 = 9_000_000;

#[test]
fn a_guard_follows_the_name_of_a_port() {
    let Some(host) = Host::new() else { return };
    let Some(etcd) = etcd(1) else { return };
    let ns = format!("/proc/{}/ns/net", host.id());
    etcd.join(&NetNs::at(Path::new(&ns)).unwrap(), 11).unwrap();
    host.sh("mkdir -p /etc/pve/qemu-server; echo net1: virtio >/etc/pve/qemu-server/101.conf");
    let policy = POLICY.replace("ENDPOINTS", &format!("{:?}", etcd.endpoints()));
    let daemon = host.daemon(&policy, |call| call);
    // The guest starts when the guard is there already.
    host.sh(
        "ip link add tap101i1 type veth peer name in101; ip link set tap101i1 up; ip link set in101 up
         ip address add 192.0.2.1/24 dev in101
         ip neighbour add 192.0.2.9 lladdr 02:00:00:00:00:77 dev in101",
    );
    let enter = host.enter();
    let mut flood = Command::new(&enter[0]);
    let script = "exec 3>/dev/udp/192.0.2.9/9; while dd if=/dev/zero bs=1400 count=36 >&3; do sleep 0.02; done";
    flood.args(&enter[1..]).args(["bash", "-c", script]);
    flood.stderr(Stdio::null());
    let _flood = Ends(child::spawn(flood).unwrap());
    let limit = || host.port(0).1;
    let near = |rate: u64| (rate * 9 / 10..rate * 101 / 100).contains(&limit());
    let begin = Instant::now();
    while !near(GRANT) {
        let state = || host.status();
        assert!(begin.elapsed() < Duration::from_secs(120), "{:#}", state());
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(host.port(0).0, "tap101i1");

    // The daemon is killed: its guard lowers the port of that name.
    daemon.kill();
    let lowered = || {
        let rate = host.sh("tc -j qdisc show | grep -o '\"rate\":[0-9]*' | cut -d: -f2");
        rate.trim().parse::<u64>().unwrap() * 8 <= SAFE
    };
    let begin = Instant::now();
    while !lowered() {
        assert!(
            begin.elapsed() < Duration::from_secs(120),
            "{}",
            host.sh("tc qdisc show")
        );
        std::thread::sleep(Duration::from_millis(100));
    }
    println!("lowered {:?} after the kill", begin.elapsed());
    host.police(&["restore"]).run().assert_code(0);
}
