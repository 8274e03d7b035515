//! What another program has at the root of a port limits what its owner receives: shared below that, or taken and given
//! back byte for byte.

use std::fs;

use rustix::process::Signal;

use super::kernel::Kernel;
use crate::harness::{Running, alone, root};
use crate::receive::{Far, ROOTS};
use crate::uplink::POLICY;

/// As many programs write it, and as Proxmox does.
const BUCKET: &str = "tc qdisc add dev a1 root handle 1: tbf rate 3mbit burst 16kb limit 64kb";
const CLASS: &str = "tc qdisc add dev a1 root handle 1: htb default 1
    tc class add dev a1 parent 1: classid 1:1 htb rate 4mbit burst 16kb";
/// As libvirt does, with a leaf that every kernel has.
const LEAF: &str = "tc qdisc add dev a1 parent 1:1 handle 2: pfifo limit 77";
const CLEAR: &str = "tc qdisc del dev a1 root";
/// What is at the port, and whether something passes; with numbers, without counters.
const SHOWN: &str = "tc qdisc show dev a1; tc class show dev a1";

fn policy(adopt: &str, keys: &str) -> String {
    POLICY
        .replace("period", &format!("adopt = \"{adopt}\"\nperiod"))
        .replace("500ms", "200ms")
        .replace("ports = \"a1\"", &format!("ports = \"a1\"\n{keys}"))
}

fn between(low: f64, high: f64) -> impl Fn(&[f64]) -> bool {
    move |rates| (low..high).contains(&rates[0])
}

fn said(daemon: &mut Running, what: &str) {
    daemon.until(what, |daemon| daemon.stderr().contains(what));
}

/// What a received in a moment, in bytes: nothing when the port is shut.
fn comes(far: &Far) -> bool {
    let received = || {
        let bytes = far.sh("cat /proc/net/dev | grep a1: | tr -s ' ' | cut -d' ' -f11");
        bytes.trim().parse::<u64>().unwrap()
    };
    let before = received();
    let mut looks = 0..100;
    looks.any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(10));
        received() > before
    })
}

#[test]
fn what_is_received_is_shared_below_the_limit_of_another_program() {
    let _alone = alone();
    let test = "what_is_received_is_shared_below_the_limit_of_another_program";
    let Some(far) = Far::new(test, &policy("cap", "rx_max = \"8mbit\"")) else {
        return;
    };
    far.sh(BUCKET);
    let before = far.sh(SHOWN);
    let mut daemon = far.uplink.daemon(&[]);
    let flood = far.flood(1);
    far.until(&mut daemon, "their limit", between(2.5, 3.1));
    let line = "port a1, receiving: tc limits it to 3mbit; it shares below that";
    said(&mut daemon, line);
    let roots = far.sh(ROOTS);
    assert!(roots.contains("qdisc tbf 1: "), "{roots}");
    let below = far.sh("tc qdisc show dev a1");
    assert!(below.contains("qdisc tbf 6e63: parent 1:1 "), "{below}");

    // They change it in its place, and make another one in two steps.
    far.sh("tc qdisc change dev a1 root handle 1: tbf rate 5mbit burst 16kb limit 64kb");
    far.until(&mut daemon, "their higher limit", between(4.2, 5.1));
    far.sh(&format!("{CLEAR}; set -e; {CLASS}; {LEAF}"));
    far.until(&mut daemon, "their class", between(3.3, 4.1));
    let below = || far.sh("tc qdisc show dev a1").contains("6e63: parent 1:1 ");
    daemon.until("a bucket below it", |_| below());

    // Killed: both are there, and their leaf comes back.
    daemon.signal(Signal::KILL);
    daemon.wait();
    assert!(below());
    let classes = "tc class show dev a1 | grep -v 6e63:1";
    far.uplink.police(&["restore"]).run().assert_code(0);
    let restored = far.sh(SHOWN);
    assert!(restored.contains("pfifo 2: parent 1:1 limit 77p"), "{restored}");
    assert!(far.sh(classes).contains("leaf 2:"), "{restored}");
    assert!(!restored.contains("6e63"), "{restored}");
    assert!(comes(&far));

    // The next one goes on; they take theirs away, and the policy's own limit is left.
    let mut daemon = far.uplink.daemon(&[]);
    far.until(&mut daemon, "their class again", between(3.3, 4.1));
    far.sh(CLEAR);
    said(&mut daemon, "port a1, receiving: what another program had limited it to is gone");
    far.until(&mut daemon, "the policy's limit", between(6.5, 8.1));
    // As before, below which a bucket makes its own again.
    far.sh(&format!("tc qdisc del dev a1 root 2>/dev/null; {BUCKET}"));
    far.until(&mut daemon, "theirs as before", between(2.5, 3.1));
    daemon.signal(Signal::TERM);
    daemon.wait().assert_code(0);
    assert_eq!(far.sh(SHOWN), before);
    assert!(comes(&far));
    drop(flood);
}

#[test]
fn what_is_received_is_limited_in_the_place_of_theirs_until_it_is_given_back() {
    let _alone = alone();
    let test = "what_is_received_is_limited_in_the_place_of_theirs_until_it_is_given_back";
    // A guarantee alone: theirs is the most.
    let keys = "rx_guarantee = \"1mbit\"";
    let Some(far) = Far::new(test, &policy("replace", keys)) else {
        return;
    };
    far.sh(&format!("{CLASS}; {LEAF}"));
    let kernel = root().then(|| Kernel::of(&far.uplink));
    let state = || (far.sh(SHOWN), kernel.as_ref().map(Kernel::roots));
    let before = state();
    let mut daemon = far.uplink.daemon(&[]);
    let flood = far.flood(1);
    far.until(&mut daemon, "their limit", between(3.3, 4.1));
    let line = "port a1, receiving: tc limited it to 4mbit; nicety does that now and gives it back at the end";
    said(&mut daemon, line);
    // One owner.
    let now = far.sh("tc qdisc show dev a1");
    assert!(now.contains("tbf 6e63: root") && !now.contains("htb"), "{now}");
    daemon.signal(Signal::TERM);
    daemon.wait().assert_code(0);
    assert_eq!(state(), before);

    // Killed: by hand, and by the next start.
    for by_hand in [true, false] {
        let daemon = far.uplink.daemon(&[]);
        daemon.signal(Signal::KILL);
        daemon.wait();
        assert_ne!(state(), before);
        if by_hand {
            let restored = far.uplink.police(&["restore", "--json"]).run();
            restored.assert_code(0);
            let value = "\"value\": \"4mbit of tc\"";
            assert!(restored.stdout.contains(value), "{}", restored.stdout);
            assert_eq!(state(), before);
        }
    }
    assert!(comes(&far));
    // Which knows what was there without seeing it. They set another one, which counts then.
    let mut daemon = far.uplink.daemon(&[]);
    far.until(&mut daemon, "what was noted", between(3.3, 4.1));
    far.sh(&format!("{CLEAR}; {BUCKET}"));
    far.until(&mut daemon, "their new limit", between(2.5, 3.1));
    let ours = || far.sh("tc qdisc show dev a1").contains("6e63: root");
    daemon.until("one owner", |_| ours());
    daemon.signal(Signal::TERM);
    daemon.wait().assert_code(0);
    assert!(far.sh(ROOTS).contains("tbf 1: root refcnt"), "{}", far.sh(ROOTS));
    assert!(comes(&far));
    drop(flood);
}
