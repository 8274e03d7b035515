//! Policers on representors, by a kernel that has them. The lab has no NIC with a switch: veths stand for
//! representors, which receive what their other ends send, as these do.

use std::process::Command;
use std::time::{Duration, Instant};

use nicety_model::BitRate;
use nicety_netdev::netns::NetNs;
use nicety_netdev::policer::{Policed, Policer, Policers, Representor};
use nicety_netdev::undo_log::UndoLog;

use crate::inside;
use crate::machine::Machine;

/// Where a representor is, what a function is, and the address of nobody.
const MAKE: &str = "
modprobe -a sch_ingress cls_matchall act_police veth
ip netns add f
ip link add rep type veth peer name f0 netns f
ip link set rep up
ip -n f address add 192.0.2.1/24 dev f0
ip -n f link set f0 up
ip -n f neighbour add 192.0.2.2 lladdr 02:00:00:00:00:aa dev f0
";
const FLOOD: &str =
    "ip netns exec f bash -c 'timeout 1 dd if=/dev/zero bs=1400 >/dev/udp/192.0.2.2/9' || true";
/// Bytes of a frame without its Ethernet header, as the policer counts it.
const FRAME: u64 = 1428;

fn sh(words: &str) -> String {
    let words = format!("set -e; PATH=$PATH:/usr/sbin:/sbin; {words}");
    let output = Command::new("sh").args(["-c", &words]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

fn limited(found: Policed) -> Policer {
    match found {
        Policed::Limited(policer) => policer,
        other => panic!("{other:?}"),
    }
}

#[test]
fn policers_of_representors() {
    let Some(machine) = Machine::enter() else {
        return;
    };
    let tests = std::env::current_exe().unwrap();
    let script = "exec \"$1\" --ignored --exact --nocapture policers::inside_the_lab";
    let ended = machine.play_with(script, &[tests.to_str().unwrap()]);
    ended.assert_code(0);
    assert!(ended.stdout.contains("1 passed"), "{ended:?}");
}

#[test]
#[ignore = "runs inside the lab"]
fn inside_the_lab() {
    if !inside() {
        return;
    }
    sh(MAKE);
    let index = sh("cat /sys/class/net/rep/ifindex").trim().parse().unwrap();
    let at = Representor { index, name: "rep" };
    let policers = Policers::open(&NetNs::current().unwrap()).unwrap();
    let read = || policers.read(at, &policers.ingress().unwrap()).unwrap();
    let set = |mbit| policers.set(at, BitRate::from_mbit(mbit));

    assert_eq!(read(), Policed::Open);
    // Above 4 GB/s the kernel tells it in another field.
    for mbit in [100, 40_000, 7, 10] {
        set(mbit).unwrap();
        let found = limited(read());
        assert_eq!(found.rate, BitRate::from_mbit(mbit));
        assert!(!found.in_hardware && !found.shared, "{found:?}");
    }
    let begin = Instant::now();
    sh(FLOOD);
    let most = begin.elapsed() + Duration::from_millis(100);
    let found = limited(read());
    let passed = found.frames - u64::from(found.drops);
    assert!(found.drops > 0 && passed > 0, "{found:?}");
    let bytes = BitRate::from_mbit(10).bytes_in(most);
    assert!(
        passed * FRAME <= bytes + bytes / 10,
        "{passed} frames in {most:?}"
    );

    // Somebody takes ours out: found, and made whole again.
    sh("tc filter del dev rep ingress");
    assert_eq!(read(), Policed::Open);
    set(20).unwrap();
    assert_eq!(limited(read()).rate, BitRate::from_mbit(20));
    // Somebody has put something beside it, which stays.
    sh("tc filter add dev rep ingress pref 9 matchall action ok");
    assert!(limited(read()).shared);
    set(30).unwrap();
    set(0).unwrap();
    assert_eq!(read(), Policed::Foreign("ingress".to_owned()));
    let refused = set(5).unwrap_err().to_string();
    assert_eq!(
        refused,
        "limit rep: somebody else's ingress qdisc is on it; remove that first, see tc filter show dev rep ingress"
    );
    assert!(sh("tc filter show dev rep ingress").contains("pref 9"));
    sh("tc qdisc del dev rep ingress");
    // Where all is ours nothing is left.
    set(5).unwrap();
    set(0).unwrap();
    set(0).unwrap();
    assert_eq!(sh("tc qdisc show dev rep ingress"), "");

    // Nobody knows whose an empty one is, unless a nicety that was killed has noted it.
    let what = format!("policer{index}");
    let netns = NetNs::current().unwrap().inode();
    let left = || {
        sh("tc qdisc add dev rep ingress");
        assert_eq!(read(), Policed::Foreign("ingress".to_owned()));
        let (note, _) = UndoLog::claim(&what, netns).unwrap().unwrap();
        note.write(["rep".to_owned()]).unwrap();
        assert_eq!(read(), Policed::Open);
        // It may be at it still.
        assert!(set(5).unwrap_err().to_string().ends_with("try again"));
    };
    let nothing = || {
        assert_eq!(sh("tc qdisc show dev rep ingress"), "");
        assert!(!UndoLog::is_there(&what, netns));
    };
    left();
    set(5).unwrap();
    assert_eq!(limited(read()).rate, BitRate::from_mbit(5));
    assert!(!UndoLog::is_there(&what, netns));
    set(0).unwrap();
    nothing();
    left();
    set(0).unwrap();
    nothing();
    sh("ip netns del f");
}
