//! What another program has at the root of a port limits what its owner receives: shared below that, or taken and given
//! back byte for byte.

mod campaign;

use std::fs;
use std::time::{Duration, Instant};

use super::campaign::again;
use super::kernel::Kernel;
use crate::harness::{root, skip};
use crate::receive::{Far, ROOTS};
use crate::uplink::POLICY;

/// As many programs write it, and as Proxmox does.
const BUCKET: &str = "tc qdisc add dev a1 root handle 1: tbf rate 3mbit burst 16kb limit 64kb";
const CLASS: &str = "tc qdisc add dev a1 root handle 1: htb default 1
    tc class add dev a1 parent 1: classid 1:1 htb rate 4mbit burst 16kb";
/// As libvirt does, with a leaf that every kernel has.
const LEAF: &str = "tc qdisc add dev a1 parent 1:1 handle 2: pfifo limit 77";
const CLEAR: &str = "tc qdisc del dev a1 root";
/// What is at the port, with numbers, without counters.
const SHOWN: &str =
    "tc qdisc show dev a1 | sed 's/direct_packets_stat [0-9]*//'; tc class show dev a1";

fn policy(adopt: &str, keys: &str) -> String {
    POLICY
        .replace("period", &format!("adopt = \"{adopt}\"\nperiod"))
        .replace("500ms", "200ms")
        .replace("ports = \"a1\"", &format!("ports = \"a1\"\n{keys}"))
}

fn between(low: f64, high: f64) -> impl Fn(&[f64]) -> bool {
    move |rates| (low..high).contains(&rates[0])
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
        std::thread::sleep(Duration::from_millis(10));
        received() > before
    })
}

#[test]
fn what_is_received_is_shared_below_the_limit_of_another_program() {
    let Some(far) = Far::new(&policy("cap", "rx_max = \"8mbit\"")) else {
        return;
    };
    far.sh(BUCKET);
    let before = far.sh(SHOWN);
    let mut daemon = far.uplink.daemon(&[]);
    let flood = far.paced(1);
    far.until(&mut daemon, "their limit", between(2.5, 3.1));
    let line = "port a1, receiving: tc limits it to 3mbit; it shares below that";
    daemon.until_err(line);
    let roots = far.sh(ROOTS);
    assert!(roots.contains("qdisc tbf 1: "), "{roots}");
    let below = far.sh("tc qdisc show dev a1");
    assert!(below.contains("qdisc tbf 6e63: parent 1:1 "), "{below}");

    // They change it in its place, and make another one in two steps.
    far.sh("tc qdisc change dev a1 root handle 1: tbf rate 5mbit burst 16kb limit 64kb");
    far.until(&mut daemon, "their higher limit", between(4.2, 5.1));
    far.sh(&again(&format!("{CLEAR}; set -e; {CLASS}; {LEAF}")));
    far.until(&mut daemon, "their class", between(3.3, 4.1));
    let below = || far.sh("tc qdisc show dev a1").contains("6e63: parent 1:1 ");
    daemon.until("a bucket below it", |_| below());

    // Killed: both are there, and their leaf comes back.
    daemon.kill();
    assert!(below());
    let classes = "tc class show dev a1 | grep -v 6e63:1";
    far.uplink.police(&["restore"]).run().assert_code(0);
    let restored = far.sh(SHOWN);
    assert!(
        restored.contains("pfifo 2: parent 1:1 limit 77p"),
        "{restored}"
    );
    assert!(far.sh(classes).contains("leaf 2:"), "{restored}");
    assert!(!restored.contains("6e63"), "{restored}");
    assert!(comes(&far));

    // The next one goes on; they take theirs away, and the policy's own limit is left.
    let mut daemon = far.uplink.daemon(&[]);
    far.until(&mut daemon, "their class again", between(3.3, 4.1));
    far.sh(CLEAR);
    daemon.until_err("port a1, receiving: what another program had limited it to is gone");
    far.until(&mut daemon, "the policy's limit", between(6.5, 8.1));
    // As before, below which a bucket makes its own again.
    far.sh(&again(&format!("{CLEAR}; {BUCKET}")));
    far.until(&mut daemon, "theirs as before", between(2.5, 3.1));
    daemon.stop();
    assert_eq!(far.sh(SHOWN), before);
    assert!(comes(&far));
    drop(flood);
}

#[test]
fn what_is_received_is_limited_in_the_place_of_theirs_until_it_is_given_back() {
    // A guarantee alone: theirs is the most.
    let keys = "rx_guarantee = \"1mbit\"";
    let Some(far) = Far::new(&policy("replace", keys)) else {
        return;
    };
    far.sh(&format!("{CLASS}; {LEAF}"));
    let kernel = root().then(|| Kernel::of(&far.uplink));
    let state = || (far.sh(SHOWN), kernel.as_ref().map(Kernel::roots));
    let before = state();
    let mut daemon = far.uplink.daemon(&[]);
    let flood = far.paced(1);
    far.until(&mut daemon, "their limit", between(3.3, 4.1));
    let line = "port a1, receiving: tc limited it to 4mbit; nicety does that now and gives it back at the end";
    daemon.until_err(line);
    // One owner.
    let now = far.sh("tc qdisc show dev a1");
    assert!(
        now.contains("tbf 6e63: root") && !now.contains("htb"),
        "{now}"
    );
    daemon.stop();
    assert_eq!(state(), before);

    // Killed: by hand, and by the next start.
    for by_hand in [true, false] {
        let daemon = far.uplink.daemon(&[]);
        daemon.kill();
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
    far.sh(&again(&format!("{CLEAR}; {BUCKET}")));
    far.until(&mut daemon, "their new limit", between(2.5, 3.1));
    let ours = || far.sh("tc qdisc show dev a1").contains("6e63: root");
    daemon.until("one owner", |_| ours());
    daemon.stop();
    assert!(
        far.sh(ROOTS).contains("tbf 1: root refcnt"),
        "{}",
        far.sh(ROOTS)
    );
    assert!(comes(&far));
    drop(flood);
}

/// A macvtap over a veth of its own, with a neighbour that nobody is.
const MACVTAP: &str = "set -e
    ip link add x1 type veth peer name x0; ip link set x0 up; ip link set x1 up
    ip link add link x1 name mv type macvtap; ip link set mv up
    ip address add 198.51.100.1/24 dev mv
    ip neighbour add 198.51.100.9 lladdr 02:00:00:00:00:77 dev mv
    tc qdisc add dev mv root handle 1: tbf rate 3mbit burst 16kb limit 64kb";
const FLOOD: &str =
    "timeout 1 bash -c 'exec dd if=/dev/zero bs=1400 >/dev/udp/198.51.100.9/9' 2>/dev/null || true";
const CAME: &str = "cat /proc/net/dev | grep x0: | tr -s ' ' | cut -d' ' -f3";

#[test]
fn what_a_macvtap_sends_is_limited_below_theirs_and_in_its_place() {
    let Some(far) = Far::new("") else { return };
    let made = far.sh(&format!("({MACVTAP}) 2>&1 && echo made || true"));
    if !made.ends_with("made\n") {
        skip(format_args!("this kernel has no macvtap: {made}"));
        return;
    }
    let shown = || far.sh("tc qdisc show dev mv; tc class show dev mv");
    let before = shown();
    let write = |adopt: &str| {
        let keys = "cap = \"5mbit\"";
        let policy = policy(adopt, keys).replace("\"a1\"", "\"mv\"");
        fs::write(far.uplink.path("policy.toml"), policy).unwrap();
    };
    write("refuse");
    let file = far.uplink.path("policy.toml");
    let refused = far.uplink.police(&["run", file.to_str().unwrap()]).run();
    refused.assert_code(2);
    let line = refused.only_line();
    let wanted = "tc limits mv to 3mbit already; write adopt = \"cap\" to share below that, or remove it: tc qdisc \
                  del dev mv root";
    assert!(line.ends_with(wanted), "{line}");
    // Bytes that a flood of a second has brought to the other end, and what a rate would have.
    let came = || far.sh(CAME).trim().parse::<u64>().unwrap();
    let flooded = || {
        let (begin, before) = (Instant::now(), came());
        far.sh(FLOOD);
        (came() - before, begin.elapsed().as_secs_f64())
    };
    for (adopt, place, mbit) in [("cap", "parent 1:1", 3.0), ("replace", "root", 5.0)] {
        write(adopt);
        let mut daemon = far.uplink.daemon(&[]);
        let now = shown();
        assert!(now.contains(&format!("tbf 6e63: {place}")), "{now}");
        let said = match adopt {
            "cap" => "port mv: tc limits it to 3mbit; it shares below that",
            _ => {
                "port mv: tc limited it to 3mbit; nicety does that now and gives it back at the end"
            }
        };
        daemon.until_err(said);
        let (bytes, seconds) = flooded();
        let most = mbit * 1e6 / 8.0 * seconds + 2.0 * 163_840.0;
        assert!(
            bytes > 100_000 && (bytes as f64) < most,
            "{bytes} in {seconds} s"
        );
        daemon.kill();
        assert!(shown().contains("6e63:"));
        far.uplink.police(&["restore"]).run().assert_code(0);
        assert_eq!(shown(), before);
    }
    far.sh("ip link del x1");
}

/// libvirt makes the roots of its taps so that nothing waits there: no limit, and as it was in the end.
#[test]
fn a_root_where_nothing_waits_is_taken_and_is_so_again() {
    let Some(far) = Far::new(&policy("refuse", "rx_max = \"8mbit\"")) else {
        return;
    };
    far.sh("tc qdisc add dev a1 root noqueue");
    let root = || far.sh("tc qdisc show dev a1 root");
    for by_hand in [true, false] {
        let daemon = far.uplink.daemon(&[]);
        assert!(root().contains("tbf 6e63: "), "{}", root());
        if by_hand {
            daemon.kill();
            far.uplink.police(&["restore"]).run().assert_code(0);
        } else {
            daemon.stop();
        }
        assert!(root().contains("noqueue 8"), "{}", root());
    }
}
