//! Transactions on a real driver.

use std::path::Path;

use crate::harness::{alone, open_dir};
use crate::{BOOT, can_boot_once, lab, machine_state};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/lab/tune.sh");
const GAIN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/lab/gain.sh");
/// One after the other: a boot costs more than any.
const BOTH: &str = "for script; do sh $script $0; done";

/// What the script shows of the interface: rings, coalescing, offloads, MTU, steering, bridge
/// netfilter, and where its interrupts go.
fn shown(rings: &str, usecs: &str, offloads: &str, mtu: &str, rest: &str) -> String {
    format!(
        "{rings}\n{usecs}\ntx-tcp-segmentation: {offloads} generic-receive-offload: {offloads}\n\
         mtu {mtu}\n{rest}\neth0-rx-0 0-1\neth0-rx-1 0-1\n"
    )
}

/// Before, after, taken back, refused, with fewer channels, and not confirmed in time.
fn expected() -> String {
    let before = shown(
        "ring RX 256 ring TX 256",
        "rx-usecs 3 tx-usecs 3",
        "on",
        "1500",
        "rps 0 xps 0\nnetfilter 1",
    );
    let after = shown(
        "ring RX 512 ring TX 1024",
        "rx-usecs 10 tx-usecs 10",
        "off",
        "9000",
        "rps 3 xps 2\nnetfilter 0",
    );
    format!("{before}apply\n10\n{after}{REST}")
}

const REST: &str = "\
interrupts
eth0-rx-0 1
eth0-rx-1 0-1
\"what\":\"interrupt\",
\"interface\":\"eth0\",
\"name\":\"eth0-rx-0\"
},
as before
nicety: set coalescing of eth0: Invalid argument (os error 22); all changes were undone
as before
channels 1
channels 2
ring RX 256 ring TX 256
";

/// The lab's files are this machine's, so irqbalance is there where it is here.
const BESIDE_IRQBALANCE: &str = "\
irqbalance
it runs
IRQ N CPUs: holds: set to 1, now 1
";

/// What was measured before, after, before and after.
const MEASURED: &str = "\
T21: code 0, better here
net.bridge.bridge-nf-call-iptables: holds: set to 0, now 0
net.bridge.bridge-nf-call-ip6tables: holds: set to 0, now 0
net.bridge.bridge-nf-call-arptables: holds: set to 0, now 0
net.bridge.bridge-nf-call-iptables 1
T18: code 1, no effect here
net.ipv4.tcp_moderate_rcvbuf 0
";

#[test]
fn settings_of_an_82576() {
    let _alone = alone();
    if !can_boot_once("settings_of_an_82576") {
        return;
    }
    let before = machine_state();
    let dir = open_dir();
    let out = dir.path().join("out");
    let name = out.to_str().unwrap();
    let words = [
        "--out", name, "--cpus", "2", "--", "sh", "-ec", BOTH, name, SCRIPT, GAIN,
    ];
    let ended = lab("run", &words).dir(dir.path()).limit(BOOT * 3).run();
    ended.assert_code(0);
    let mut expected = expected();
    if Path::new("/usr/sbin/irqbalance").exists() {
        expected += BESIDE_IRQBALANCE;
    } else {
        println!("SKIP settings_of_an_82576 (irqbalance): the program is not installed");
    }
    expected += MEASURED;
    assert_eq!(ended.stdout, expected, "{}", ended.stderr);
    assert_eq!(machine_state(), before);
}
