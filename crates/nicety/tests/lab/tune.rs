//! Transactions on a real driver.

use std::path::Path;

use crate::harness::skip;
use crate::machine::Machine;

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
IRQ N CPUs: 1 holds
";

/// What was measured before, after, before and after.
const MEASURED: &str = "\
T21: code 0, better here
net.bridge.bridge-nf-call-iptables: 0 holds
net.bridge.bridge-nf-call-ip6tables: 0 holds
net.bridge.bridge-nf-call-arptables: 0 holds
net.bridge.bridge-nf-call-iptables 1
T18: code 1, no effect here
net.ipv4.tcp_moderate_rcvbuf 0
";

#[test]
fn settings_of_an_82576() {
    let Some(machine) = Machine::enter() else {
        return;
    };
    let ended = machine.play(include_str!("tune.sh"));
    ended.assert_code(0);
    let mut expected = expected();
    if Path::new("/usr/sbin/irqbalance").exists() {
        expected += BESIDE_IRQBALANCE;
    } else {
        skip("irqbalance is not installed");
    }
    assert_eq!(ended.stdout, expected, "{}", ended.stderr);
}

#[test]
#[ignore = "measures before and after for minutes: make test-all"]
fn a_gain_is_kept_and_no_gain_is_taken_back() {
    let Some(machine) = Machine::enter() else {
        return;
    };
    let ended = machine.play(include_str!("gain.sh"));
    assert_eq!(ended.assert_code(0).stdout, MEASURED, "{}", ended.stderr);
}
